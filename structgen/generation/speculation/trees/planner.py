"""Plans the best static tree shape from acceptance rates and costs (Sequoia).

Under the assumption that the i-th child is kept with probability rates[i], given that its parent
is, a tree is worth the sum over its nodes of the products of rates along their paths: the tokens
that a round writes (Chen et al. 2024, Sequoia, section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.tree import Context, Doubles, DraftTree
from structgen.generation.speculation.trees.drawing import Distributions, Pick
from structgen.generation.speculation.trees.growing import Shape, Static

#: Tokens per time for `expected` draft tokens kept of `nodes`: `CostTable.rate` is one.
Rate = Callable[[float, int], float]


@dataclass(frozen=True, slots=True)
class Planned:
    """A shape, and how many of its tokens are expected to be kept."""

    shape: Shape
    expected: float


class Planner:
    """The best shapes of all sizes, by dynamic programming: O(depth * width * nodes^2).

    rates: for the first, second, ... child, how often it is kept; they need not fall. depth: most
    tokens in a row. nodes: most draft tokens.
    """

    def __init__(self, rates: Sequence[float], nodes: int, depth: int) -> None:
        self._rates = list(rates)
        self._nodes = nodes
        # values[d][n]: of the best tree with n nodes, its root counted, and d levels below.
        self._values: list[Doubles] = [_only_root(nodes)]
        # picks[d][i][n]: nodes that child i gets, of n for it and the later children.
        self._picks: list[list[npt.NDArray[np.int64]]] = [[]]
        for _ in range(depth):
            self._deepen()

    def best(self, nodes: int) -> Planned:
        """The best shape of at most so many draft tokens."""
        values = self._values[-1][: min(nodes, self._nodes) + 2]
        size = int(values.argmax())  # the first of equals, so none that is of no use
        parents: list[int] = []
        level = [(0, size, len(self._values) - 1)]
        while level:
            following = []
            for node, count, depth in level:
                for child in self._split(count - 1, depth):
                    parents.append(node)
                    following.append((len(parents), child, depth - 1))
            level = following
        return Planned(Shape(tuple(parents)), float(values[size]) - 1.0)

    def best_size(self, rate: Rate, least: int = 0) -> Planned:
        """The shape that writes most tokens per time; hardware-aware (Sequoia, section 3.3).

        least: draft tokens that it may have in any case.
        """
        plans = [self.best(nodes) for nodes in range(min(least, self._nodes), self._nodes + 1)]
        return max(plans, key=lambda plan: rate(plan.expected, len(plan.shape.parents)))

    def _deepen(self) -> None:
        """One more level: divide the nodes below a root among its children, from the last on."""
        child = self._values[-1]
        later = np.zeros(self._nodes + 1)
        picks: list[npt.NDArray[np.int64]] = []
        total = np.arange(self._nodes + 1)
        for rate in reversed(self._rates):
            gains = np.full((self._nodes + 1, self._nodes + 1), -np.inf)
            for own in total:  # with none, later children must do without as well
                gains[own:, own] = rate * child[own] + later[: self._nodes + 1 - own]
            gains[:, 0] = 0.0
            picks.append(gains.argmax(1))
            later = gains.max(1)
        self._picks.append(picks[::-1])
        self._values.append(np.concatenate([[0.0], 1.0 + later]))

    def _split(self, count: int, depth: int) -> list[int]:
        """How many nodes each child gets, of `count`."""
        found = []
        for picks in self._picks[depth]:
            own = int(picks[count])
            if own == 0:
                break
            found.append(own)
            count -= own
        return found


def _only_root(nodes: int) -> Doubles:
    values = np.ones(nodes + 2)
    values[0] = 0.0
    return values


@dataclass(slots=True)
class RankRates:
    """How often the first, second, ... child of a node was kept, as `Planner` wants it.

    Every rate begins as if it had been seen `trust` times at `prior / rank`.
    """

    width: int
    prior: float = 0.6
    trust: float = 4.0
    _tried: list[int] = field(default_factory=list)
    _kept: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tried, self._kept = [0] * self.width, [0] * self.width

    def observe(self, seen: Round) -> None:
        """Count the nodes of a round whose children were looked at: the path, without the token
        that ended the text."""
        tree = seen.tree
        for node, token in zip((0, *seen.path), seen.written, strict=False):
            for rank, child in enumerate(list(tree.children[node])[: self.width]):
                self._tried[rank] += 1
                self._kept[rank] += child == token

    @property
    def rates(self) -> list[float]:
        """For each rank the share that was kept, given that the parent was."""
        return [
            (kept + self.trust * self.prior / rank) / (tried + self.trust)
            for rank, (kept, tried) in enumerate(zip(self._kept, self._tried, strict=True), 1)
        ]


class Sequoia:
    """Trees of the shape that is best by what was seen so far, planned again every few rounds.

    pick: see `Pick`; Sequoia draws without replacement. rate: tokens per time, such as a cost
    table's; None takes as many nodes as the budget has. every: rounds between two plans.
    """

    def __init__(
        self, width: int = 4, pick: Pick = "wor", rate: Rate | None = None, every: int = 32
    ) -> None:
        self.ranks = RankRates(width)
        self._pick = pick
        self._rate = rate
        self._every = every
        self._rounds = 0
        self._shapes: dict[tuple[int, int], Shape] = {}

    def grow(self, context: Context, budget: Budget, distributions: Distributions) -> DraftTree:
        """See `TreeBuilder`."""
        key = budget.nodes, budget.depth
        shape = self._shapes.get(key)
        if shape is None:
            planner = Planner(self.ranks.rates, *key)
            # Without drafts nothing is learnt; not drafting at all is the length policy's choice.
            plan = planner.best_size(self._rate, 1) if self._rate else planner.best(budget.nodes)
            shape = self._shapes[key] = plan.shape
        return Static(self._pick, shape).grow(context, budget, distributions)

    def observe(self, seen: Round) -> None:
        """See `LearningBuilder`."""
        self.ranks.observe(seen)
        self._rounds += 1
        if self._rounds % self._every == 0:
            self._shapes = {}
