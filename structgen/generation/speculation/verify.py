"""In: a draft tree, the target's logits for its nodes. Out: tokens written, and the path kept.

A node's law is worked out where the path really goes: mask of its state, weights, transforms of
the tokens written so far, temperature, truncation. Then the rule's plan, and one random number.
Whatever token comes of it, if a child has it, its logits are there already and the path goes on.
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
from structgen.generation.speculation.interfaces import AcceptRule, Doubles, Fork, Ids
from structgen.generation.speculation.tree import NONE, DraftTree
from structgen.masks import bitmask

#: Writes one token to a row, at a node of a draft, given the node's logits float[V], unmasked.
Write = Callable[[Row, DraftTree, int, npt.NDArray[Any]], None]


def verify(row: Row, tree: DraftTree, logits: npt.NDArray[Any], write: Write) -> list[int]:
    """Write tokens to `row` until one was not drafted or the text ends; returns the nodes kept.

    logits: float[n, V], one row for each node of the tree, masked by nothing. The law of what is
    written is that of the plain loop if it is at each node (Leviathan et al. 2023, section 3; for
    the tree by induction over its depth).
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
    """Write a token as the rule decides; for a lossless one its law is the masked law."""
    scores = logits.copy()
    log_raw = log_sum_exp(scores.astype(np.float64))
    mask = bitmask.allocate(1, len(scores))
    row.request.constraint.fill_mask(row.state, mask[0])
    bitmask.apply(scores[None], mask)
    row.step(scores, log_raw, _chooser(rule, tree, node))


def write_drawn(
    drawn: Sequence[Drawn], row: Row, _tree: DraftTree, node: int, _logits: npt.NDArray[Any]
) -> None:
    """Write what was drawn at the node already, where the logits are; see `draw_there`."""
    row.uniform()  # which `drawn` has foreseen
    row.take(drawn[node])


def draw_there(
    logits: DrawingLogits, rows: Sequence[Row], trees: Sequence[DraftTree]
) -> list[list[Drawn]]:
    """For each row, what would be written at each node of its tree: drawn where the logits are.

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
        numbers = row.foresee(max(tree.depths) + 1)
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
    """How a token is chosen at a node. Without children that matter: as without a draft."""
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
    """A `Choose` that follows the rule; the laws are spread over the tokens of both."""
    draws, children = tree.draws.get(node), tree.children[node]
    law = sampler.distribution(logits)
    support = _with(ids, np.array(sorted(children), np.int64))
    if draws is not None:
        support = _with(support, draws.ids)
    drawn = () if draws is None else draws.tokens
    fork = Fork(
        p=_spread(support, ids, law),
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
    places = np.searchsorted(ids, others)
    there = ids[np.minimum(places, len(ids) - 1)] == others
    return ids if there.all() else np.insert(ids, places[~there], others[~there])


def _spread(support: Ids, ids: Ids, law: Doubles) -> Doubles:
    """A law over `ids` as one over `support`, which has them all."""
    if len(support) == len(ids):
        return law
    spread = np.zeros(len(support))
    spread[np.searchsorted(support, ids)] = law
    return spread
