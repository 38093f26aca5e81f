"""`BestFirst`: the tree of the most probable continuations (SpecExec)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass

from structgen.generation.distribution import largest
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import NONE, Context, DraftTree
from structgen.generation.speculation.trees.interfaces import Distribution, Distributions


@dataclass(frozen=True, slots=True)
class BestFirst:
    """The continuations that are most probable as a whole, none left to chance.

    Of all token sequences within the budget's depth and width it keeps the `budget.nodes` most
    probable (Svirschevski et al. 2024, SpecExec, section 4.1), as points, so every rule takes them.
    Levels are grown one after another, each with one question to the drafter about those nodes that
    may still be among the best. beam: at most so many of them; None sets no limit.
    """

    beam: int | None = None

    def grow(self, context: Context, budget: Budget, distributions: Distributions) -> DraftTree:
        """See `TreeBuilder`."""
        tree = DraftTree(context)
        best = Best(budget)
        level = [0]
        for _ in range(budget.depth):
            level = best.of(tree, level)[: self.beam]
            if not level:
                break
            answers = distributions(tree, level)
            level = [
                child
                for node, distribution in zip(level, answers, strict=True)
                for child in expand(tree, node, distribution, budget.width, best)
            ]
        return tree.part(best_nodes(tree, budget.nodes))


class Best:
    """The estimates of the best nodes of a tree so far, as many as the budget has room for."""

    def __init__(self, budget: Budget) -> None:
        # What is exactly as probable as the least is still worth it.
        self._heap = [math.nextafter(budget.least, -math.inf)] * budget.nodes

    @property
    def floor(self) -> float:
        """What a further node must exceed."""
        return self._heap[0] if self._heap else math.inf

    def add(self, estimate: float) -> None:
        """Count a further node."""
        heapq.heappushpop(self._heap, estimate)

    def of(self, tree: DraftTree, nodes: Iterable[int]) -> list[int]:
        """Those of the nodes that are among the best and may go on, most probable first."""
        found = [n for n in nodes if tree.estimates[n] >= self.floor and tree.may_go_on(n)]
        return sorted(found, key=lambda node: -tree.estimates[node])


def expand(
    tree: DraftTree, node: int, distribution: Distribution, width: int, best: Best
) -> list[int]:
    """Add the most probable children of a node, as long as they are among the best."""
    ids, probabilities = distribution
    ends = len(tree.context.constraint.vocabulary.eos_ids)  # what the tree may refuse
    added: list[int] = []
    for i in largest(probabilities, min(width + ends, len(ids))).tolist():
        probability = float(probabilities[i])
        if len(added) == width or tree.estimates[node] * probability <= best.floor:
            break
        child = tree.add(node, int(ids[i]), probability)
        if child != NONE:
            best.add(tree.estimates[child])
            added.append(child)
    return added


def best_nodes(tree: DraftTree, count: int) -> list[int]:
    """The `count` draft tokens with the largest estimates; with a node, its parent is there."""
    order = sorted(range(1, len(tree)), key=lambda node: (-tree.estimates[node], node))
    return order[:count]
