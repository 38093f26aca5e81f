"""The protocol of tree builders: they ask a drafter for next-token distributions.

builder ── tree, nodes ──▶ drafter ──▶ (tokens, probabilities) of each ──▶ builder adds children
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.tree import Context, Doubles, DraftTree, Ids

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
