"""`Static`: trees of a fixed shape, with children chosen or drawn."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import Context, DraftTree
from structgen.generation.speculation.trees.drawing import Pick, add_children
from structgen.generation.speculation.trees.interfaces import Distributions


@dataclass(frozen=True, slots=True)
class Shape:
    """A tree without tokens: for each draft node its parent, 0 being the root, siblings in order.

    Nodes are numbered from 1 on, those nearer to the root first.
    """

    parents: tuple[int, ...]

    @classmethod
    def uniform(cls, nodes: int, depth: int, width: int) -> Shape:
        """`width` children for every node, level by level, as long as there is room."""
        parents: list[int] = []
        level = range(1)
        for _ in range(depth):
            slots = (parent for parent in level for _ in range(width))
            first = len(parents)
            parents += islice(slots, nodes - first)
            level = range(first + 1, len(parents) + 1)
        return cls(tuple(parents))

    def children(self) -> list[list[int]]:
        """For each node its children, best first."""
        found: list[list[int]] = [[] for _ in range(len(self.parents) + 1)]
        for node, parent in enumerate(self.parents, 1):
            found[parent].append(node)
        return found

    def within(self, budget: Budget) -> Shape:
        """The part that a budget allows: the first nodes, the first children, the upper levels."""
        kept: list[int] = []
        slot, depths, counts = {0: 0}, {0: 0}, {0: 0}
        for node, parent in enumerate(self.parents, 1):
            fits = parent in slot and len(kept) < budget.nodes
            if fits and depths[parent] < budget.depth and counts[parent] < budget.width:
                kept.append(slot[parent])
                slot[node], depths[node], counts[node] = len(kept), depths[parent] + 1, 0
                counts[parent] += 1
        return Shape(tuple(kept))


@dataclass(frozen=True, slots=True)
class Static:
    """The same shape in every round: the widest that the budget allows, or a given one.

    pick: see `Pick`. "wor" is RSD's tree with constant branching and, with a planned shape,
    Sequoia's; "iid" is SpecTr's; "top" is that of Medusa. Each level is asked about at once.
    """

    pick: Pick = "wor"
    shape: Shape | None = None

    def grow(self, context: Context, budget: Budget, distributions: Distributions) -> DraftTree:
        """See `TreeBuilder`."""
        shape = self.shape or Shape.uniform(budget.nodes, budget.depth, budget.width)
        wanted = shape.within(budget).children()
        tree = DraftTree(context)
        level: deque[tuple[int, int]] = deque([(0, 0)])  # nodes of the tree, and of the shape
        while level:
            asked = [
                (node, slot)
                for node, slot in level
                if wanted[slot] and tree.estimates[node] >= budget.least and tree.may_go_on(node)
            ]
            level.clear()
            answers = distributions(tree, [node for node, _ in asked]) if asked else []
            for (node, slot), distribution in zip(asked, answers, strict=True):
                added = add_children(tree, node, distribution, len(wanted[slot]), self.pick)
                level += zip(added, wanted[slot], strict=False)
        return tree
