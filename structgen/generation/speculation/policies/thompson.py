"""`Thompson`: Thompson sampling of the draft length, from Beta beliefs of acceptance."""

from __future__ import annotations

import threading
from dataclasses import replace

from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.policies.checks import check_share
from structgen.generation.speculation.policies.costs import CostTable
from structgen.generation.speculation.tree import Context


class Thompson:
    """Draws an acceptance rate for each depth from its belief, and drafts the best length for them.

    Beliefs are Beta distributions, one for each depth, given that the tokens above were kept: the
    control of EESD (Liu et al. 2024, section 3.3), with the cost of a pass in its objective.
    """

    def __init__(
        self,
        size: Budget | None = None,
        costs: CostTable | None = None,
        *,
        memory: float = 0.99,
    ) -> None:
        """size: the largest; the default is a chain. memory: weight of a round, per round since."""
        check_share("memory", memory)
        self.size = size or Budget(nodes=16, depth=16, width=1)
        self.costs = costs or CostTable()
        self._memory = memory
        self._kept = [1.0] * self.size.depth
        self._refused = [1.0] * self.size.depth
        self._rows = 1
        self._lock = threading.Lock()

    @property
    def acceptance(self) -> list[float]:
        """For each depth, the mean of the belief how often a token is kept if its parent is."""
        with self._lock:
            return [k / (k + r) for k, r in zip(self._kept, self._refused, strict=True)]

    def budget(self, context: Context) -> Budget:
        """The best length for shares that are drawn from the beliefs; it may be none."""
        if self.costs.plain_due(self._rows):
            return replace(self.size, nodes=0)
        with self._lock:
            shares = context.rng.beta(self._kept, self._refused)
        best, depth, expected, reached = 1.0, 0, 0.0, 1.0
        for d, share in enumerate(shares.tolist(), 1):
            reached *= share
            expected += reached
            rate = self.costs.rate(expected, self._nodes(d), self._rows)
            if rate > best:
                best, depth = rate, d
        return replace(self.size, depth=depth, nodes=self._nodes(depth))

    def observe(self, context: Context, seen: Round) -> None:
        """Update the beliefs about the depths that were put to the test."""
        if seen.width < 1:
            return
        self.costs.observe(seen)
        deepest = max(seen.tree.depths)
        tested = min(len(seen.path) + 1, deepest, len(seen.written), self.size.depth)
        with self._lock:
            self._rows = seen.rows
            for d in range(self.size.depth):
                self._kept[d] = 1.0 + self._memory * (self._kept[d] - 1.0)
                self._refused[d] = 1.0 + self._memory * (self._refused[d] - 1.0)
            for d in range(tested):
                kept = d < len(seen.path)
                self._kept[d] += kept
                self._refused[d] += not kept

    def _nodes(self, depth: int) -> int:
        return min(self.size.nodes, depth * self.size.width)
