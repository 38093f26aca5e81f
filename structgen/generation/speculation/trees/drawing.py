"""Tree builders ask a drafter for next-token distributions, and add children to draft nodes.

builder ── tree, nodes ──▶ drafter ──▶ (tokens, probabilities) of each ──▶ builder adds children:
the most probable tokens, or random draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from structgen.generation.distribution import draw, largest
from structgen.generation.sampling.samplers.steps import without_replacement
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.tree import (
    NONE,
    Context,
    Doubles,
    DraftTree,
    Draws,
    Ids,
    Scheme,
)

#: What may come next: tokens int64[k], ascending, all of them allowed, and their probabilities
#: float64[k], all positive, which sum to 1. Empty where the drafter knows of nothing.
#: `structgen.generation.speculation.masked.masked_law` makes one of logits.
Distribution = tuple[Ids, Doubles]

#: The distributions after some nodes of a tree, which a drafter gives: one for each node, in their
#: order. Within one `grow` every call is about the same growing tree; a node comes at most once,
#: after its parent did; nodes asked about together are what a model can read in one forward pass.
#: The tree that `grow` returns may leave nodes out, and then renumbers the others.
Distributions = Callable[[DraftTree, Sequence[int]], Sequence[Distribution]]


class TreeBuilder(Protocol):
    """A strategy: which continuations are worth a place in the tree."""

    def grow(self, context: Context, budget: Budget, distributions: Distributions) -> DraftTree:
        """A tree of at most `budget.nodes` draft tokens, `budget.depth` in a row."""


@runtime_checkable
class LearningBuilder(TreeBuilder, Protocol):
    """A builder that learns from the rounds of its trees; one may serve many texts at once."""

    def observe(self, seen: Round) -> None:
        """Learn from a round; sessions call it."""


def notify(builder: TreeBuilder, seen: Round) -> None:
    """Let a builder learn from a round, if it does."""
    if isinstance(builder, LearningBuilder):
        builder.observe(seen)


#: How children come about. "top": the most probable, as points. "iid": independent draws. "wor":
#: draws without replacement, by Gumbel keys (Kool et al. 2019). "greedy": the most probable as
#: points, and after them one draw from the others (Hu et al. 2025, section 5).
Pick = Literal["top", "iid", "wor", "greedy"]


def without_end_tokens(context: Context, distribution: Distribution) -> Distribution:
    """A distribution without the end tokens, not renormalised: drafting the end saves nothing.

    So what is drawn from it, made to sum to 1, is never of no use.
    """
    ids, probabilities = distribution
    ends = np.array(sorted(context.constraint.vocabulary.eos_ids), np.int64)
    at = np.searchsorted(ids, ends)
    ending = at[ids[np.minimum(at, len(ids) - 1)] == ends] if len(ids) else at[:0]
    return (
        (np.delete(ids, ending), np.delete(probabilities, ending)) if len(ending) else distribution
    )


def add_children(
    tree: DraftTree, node: int, distribution: Distribution, count: int, pick: Pick
) -> list[int]:
    """Give a node up to `count` children, fewer where there are fewer tokens; returns them.

    How many are drawn is settled before, so every rule for the scheme is right for them.
    """
    ids, probabilities = without_end_tokens(tree.context, distribution)
    count = min(count, len(ids))
    if count == 0 or not tree.may_go_on(node):
        return []
    if pick == "top":
        return _points(tree, node, (ids, probabilities), largest(probabilities, count))
    if pick == "greedy":
        return _greedy(tree, node, (ids, probabilities), count)
    rng = tree.context.rng
    if pick == "iid":
        drawn = [draw(probabilities, rng) for _ in range(count)]
        return add_drawn(tree, node, Scheme.IID, (ids, probabilities), drawn)
    order = without_replacement(np.log(probabilities), rng)
    return add_drawn(
        tree, node, Scheme.WOR, (ids, probabilities), [next(order) for _ in range(count)]
    )


def add_drawn(
    tree: DraftTree, node: int, scheme: Scheme, distribution: Distribution, drawn: Sequence[int]
) -> list[int]:
    """Add the tokens at positions `drawn` as drawn children; `distribution` need not sum to 1."""
    ids, probabilities = distribution
    draws = Draws(
        scheme, ids, probabilities / probabilities.sum(), tuple(int(ids[i]) for i in drawn)
    )
    nodes = tree.add_draws(node, draws, [float(probabilities[i]) for i in drawn])
    return list(dict.fromkeys(nodes))


def _points(tree: DraftTree, node: int, distribution: Distribution, picked: Ids) -> list[int]:
    ids, probabilities = distribution
    added = [tree.add(node, int(ids[i]), float(probabilities[i])) for i in picked]
    return [child for child in added if child != NONE]


def _greedy(tree: DraftTree, node: int, distribution: Distribution, count: int) -> list[int]:
    ids, probabilities = distribution
    order = largest(probabilities, count)
    points = _points(tree, node, distribution, order[:-1])
    if count == len(ids):  # all are children: nothing is left to chance
        return points + _points(tree, node, distribution, order[-1:])
    others: Doubles = probabilities.copy()
    others[order[:-1]] = 0.0
    possible = others > 0.0
    rest = (ids[possible], others[possible])
    return points + add_drawn(tree, node, Scheme.IID, rest, [draw(rest[1], tree.context.rng)])
