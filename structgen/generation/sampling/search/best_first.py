"""Best-first search: whole texts in order of probability, from a heap of prefixes."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import count

from structgen.generation.sampling.search.tree import Node, Strategy, Tree


class Frontier(Strategy):
    """A heap of nodes, and of children that are not made yet, by what they can be at best.

    Attributes: `found`, the whole texts in the order in which they were reached.
    """

    def __init__(self, tree: Tree, wanted: int) -> None:
        """The search ends when `wanted` texts are found."""
        self.found: list[Node] = []
        self._wanted = wanted
        self._order = count()  # of equals, the first comes first
        self._heap: list[tuple[float, int, Node, bool]] = []
        if not tree.root.closed:
            self._push(tree.root, tree.root.score, made=True)

    def select(self, tree: Tree, most: int) -> list[Node]:
        """The best nodes that must be expanded; whole texts that are better are found first."""
        nodes: list[Node] = []
        while self._heap and len(self.found) < self._wanted:
            _, _, node, made = self._heap[0]
            expand = not node.ended if made else node.wants_expansion
            if len(nodes) == most if expand else (made and nodes):
                break  # it waits for those that are expanded now: they may lead to better ones
            heapq.heappop(self._heap)
            if expand:
                nodes.append(node)
            elif made:
                self.found.append(node)
            else:
                child = tree.next_child(node)
                self._push_rest(tree, node)
                if child is not None:
                    self._push(child, child.score, made=True)
        return nodes

    def update(self, tree: Tree, nodes: Sequence[Node]) -> None:
        """See `Strategy.update`."""
        for node in nodes:
            self._push_rest(tree, node)

    def _push_rest(self, tree: Tree, node: Node) -> None:
        """Remember the children that are not made, by the best of them."""
        if node.ranking is not None and tree.has_more(node):
            self._push(node, node.score + node.ranking.bound, made=False)

    def _push(self, node: Node, score: float, *, made: bool) -> None:
        heapq.heappush(self._heap, (-score, next(self._order), node, made))
