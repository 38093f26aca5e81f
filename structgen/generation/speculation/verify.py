"""Verification of a draft: tokens are written along the tree until one was not drafted.

The distribution at a node is computed only where the path goes: mask of its state, weights,
transforms of the tokens written so far, temperature, truncation. Then the acceptance rule's plan
and one random number give a token. If a child has that token, its logits are there already and the
path goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.errors import GenerationError
from structgen.generation.distribution import Sampler, draw, log_sum_exp
from structgen.generation.interfaces import Constraint, DrawingLogits, Drawn
from structgen.generation.row import Row, sample_token
from structgen.generation.speculation.interfaces import AcceptRule, Fork
from structgen.generation.speculation.tree import NONE, Doubles, DraftTree, Ids
from structgen.masks import bitmask

#: Writes one token to a row, at a node of a draft, given the node's logits float[V], unmasked.
Write = Callable[[Row, DraftTree, int, npt.NDArray[Any]], None]


def verify(row: Row, tree: DraftTree, logits: npt.NDArray[Any], write: Write) -> list[int]:
    """Write tokens to `row` until one was not drafted or the text ends; returns the nodes kept.

    logits: float[n, V], one row for each node of the tree, masked by nothing. The distribution of
    what is written is that of the plain loop if it is at each node (Leviathan et al. 2023, section
    3; for the tree by induction over its depth).
    """
    node, kept = 0, [0]
    while row.finish is None:
        count = len(row.tokens)
        write(row, tree, node, logits[node])
        if len(row.tokens) == count:
            break  # the text ended without another token
        node = tree.child(node, row.tokens[-1])
        if node == NONE:
            break
        kept.append(node)
    return kept


def write_masked(
    rule: AcceptRule, row: Row, tree: DraftTree, node: int, logits: npt.NDArray[Any]
) -> None:
    """Write a token as the rule decides; a lossless one keeps the masked distribution."""
    scores = logits.copy()
    log_raw = log_sum_exp(scores.astype(np.float64))
    mask = bitmask.row_of(row.request.constraint, row.state, len(scores))
    bitmask.apply(scores[None], mask[None])
    row.step(scores, log_raw, _chooser(rule, tree, node))


def write_drawn(
    drawn: Sequence[Drawn], row: Row, _tree: DraftTree, node: int, _logits: npt.NDArray[Any]
) -> None:
    """Write what was drawn at the node on the device already; see `draw_on_device`."""
    row.uniform()  # consume the number that `upcoming_uniforms` gave for this draw
    row.take(drawn[node])


def draw_on_device(
    logits: DrawingLogits, rows: Sequence[Row], trees: Sequence[DraftTree]
) -> list[list[Drawn]]:
    """For each row, what would be written at each node of its tree, drawn on the device.

    All nodes of a depth share the random number that the plain loop would draw with there.
    """
    constraints: list[Constraint] = []
    states: list[int] = []
    samplers: list[Sampler] = []
    uniforms: list[float] = []
    for row, tree in zip(rows, trees, strict=True):
        constraints += [row.request.constraint] * len(tree)
        states += tree.states
        samplers += [row.request.sampler] * len(tree)
        numbers = row.upcoming_uniforms(max(tree.depths) + 1)
        uniforms += [numbers[depth] for depth in tree.depths]
    drawn = iter(logits.draw(logits.masks(constraints, states), samplers, uniforms))
    return [list(islice(drawn, len(tree))) for tree in trees]


def decide(rule: AcceptRule, fork: Fork, rng: np.random.Generator) -> int:
    """The position of the token written at a fork: a draw from the rule's plan."""
    accept, residual = rule.plan(fork)
    index = draw(np.concatenate([accept, residual]), rng)
    children = fork.children
    return children[index] if index < len(children) else index - len(children)


def _chooser(rule: AcceptRule, tree: DraftTree, node: int) -> Any:
    """How a token is chosen at a node: as without a draft, if no child affects the rule."""
    if node not in tree.draws and (rule.lossless or not tree.children[node]):
        return sample_token
    draws = tree.draws.get(node)
    if draws is not None and draws.scheme not in rule.schemes:
        raise GenerationError(
            f"{type(rule).__name__} is not right for {draws.scheme.value}",
            expected=" or ".join(scheme.value for scheme in rule.schemes) or "no drawn children",
            hint="give the drafter's own rule, or SampleCompare, which is right for all",
        )
    return partial(_choose, rule, tree, node)


def _choose(
    rule: AcceptRule,
    tree: DraftTree,
    node: int,
    ids: Ids,
    logits: Doubles,
    sampler: Sampler,
    rng: np.random.Generator,
) -> int:
    """A `Choose` that follows the rule; the distributions are spread over the tokens of both."""
    draws, children = tree.draws.get(node), tree.children[node]
    distribution = sampler.distribution(logits)
    support = _with(ids, np.array(sorted(children), np.int64))
    if draws is not None:
        support = _with(support, draws.ids)
    drawn = () if draws is None else draws.tokens
    fork = Fork(
        p=_spread(support, ids, distribution),
        q=None if draws is None else _spread(support, draws.ids, draws.law),
        drawn=tuple(np.searchsorted(support, drawn).tolist()),
        points=tuple(np.searchsorted(support, [t for t in children if t not in drawn]).tolist()),
        scheme=None if draws is None else draws.scheme,
        ids=support,
        prefix=(*tree.context.tokens, *tree.path(node)),
    )
    token = support[decide(rule, fork, rng)]
    return int(np.searchsorted(ids, token))


def _with(ids: Ids, others: Ids) -> Ids:
    """The ascending ids of both; those given where they have all of the others, as is usual."""
    if len(ids) == len(others) and np.array_equal(ids, others):
        return ids
    at = np.searchsorted(ids, others)
    known = ids[np.minimum(at, len(ids) - 1)] == others
    return ids if known.all() else np.insert(ids, at[~known], others[~known])


def _spread(support: Ids, ids: Ids, distribution: Doubles) -> Doubles:
    """A distribution over `ids` as one over `support`, which has them all."""
    if len(support) == len(ids):
        return distribution
    spread = np.zeros(len(support))
    spread[np.searchsorted(support, ids)] = distribution
    return spread
