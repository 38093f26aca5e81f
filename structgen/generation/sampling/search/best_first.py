"""Best-first search: the most probable texts of a posterior, from a heap of prefixes.

What is most probable so far is expanded next. The probability of a text only falls while it grows,
so whole texts are reached in the order of their probability. They are chosen, not drawn, so their
`log_weight` is nan.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from structgen.generation.sampling.posterior import Posterior, UsageMeter
from structgen.generation.sampling.results import Samples
from structgen.generation.sampling.search.tree import (
    Node,
    Score,
    Strategy,
    Tree,
    check_options,
    chosen_samples,
    search,
    text_at,
)


class Frontier(Strategy):
    """A heap of nodes, and of children that are not made yet, by an upper bound of their score.

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


@dataclass(frozen=True, slots=True)
class BestFirst:
    """The `n` most probable texts (times the potentials' factors), the best first.

    Exact, if the budget lasts: the probability only falls while a text grows, so the first text
    that is reached is the best of all. It holds for potentials too whose weights never rise.

    budget: most prefixes that the model is asked for. batch: prefixes that are asked for together.
    score: if given, of the `candidates` most probable texts those that score best; it is asked once
    for each. width: most children of a prefix that are looked at; None looks at all.
    """

    budget: int = 4096
    batch: int = 8
    score: Score | None = None
    candidates: int = 16
    width: int | None = None

    def draw(self, posterior: Posterior, n: int, seed: int | None = None) -> Samples:
        """The `n` best found; `seed` is not used. TruncatedError when fewer are found in budget."""
        del seed
        check_options(n, self.budget, self.batch, self.candidates, self.width)
        meter = UsageMeter(posterior)
        tree = Tree(posterior, self.budget, self.width)
        frontier = Frontier(tree, n if self.score is None else max(self.candidates, n))
        search(tree, frontier, self.batch)
        found = [(node.place, node.logp) for node in frontier.found]
        if self.score is not None:
            scores = {place: self.score(text_at(posterior, place)) for place, _ in found}
            found.sort(key=lambda one: -scores[one[0]])
        return chosen_samples(posterior, found, n, meter)
