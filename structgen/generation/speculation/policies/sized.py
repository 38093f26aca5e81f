"""`Sized`: the draft size with the most tokens per time, from acceptance and costs."""

from __future__ import annotations

import threading
from dataclasses import replace

from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.policies.checks import check_share
from structgen.generation.speculation.policies.costs import CostTable
from structgen.generation.speculation.tree import Context

_TRUST = 2.0  # rounds that a guess is worth
_DECLINE = 0.95  # guess for a token: this share of what the one before it gains


class Sized:
    """Gives the number of draft tokens at which tokens per time are expected to be most.

    Learns how often the draft token that was added k-th is kept, so it suits drafters that add the
    most probable tokens first. The size is the best of (E[kept] + 1) / (T(n) + draft): the
    hardware-aware size of Sequoia (Chen et al. 2024, section 3.3), learned while decoding.
    """

    def __init__(
        self,
        size: Budget | None = None,
        costs: CostTable | None = None,
        *,
        first: float = 0.8,
        memory: float = 0.98,
    ) -> None:
        """size: the largest. first: guess how often the first token is kept; each further one is
        taken to be nearly as good as the one before, until rounds say otherwise. memory: weight of
        a round, per round since; what is not tried returns to the guess.
        """
        check_share("first", first)
        check_share("memory", memory)
        self.size = size or Budget(nodes=32)
        self.costs = costs or CostTable()
        self._first = first
        self._memory = memory
        self._tried = [0.0] * self.size.nodes
        self._kept = [0.0] * self.size.nodes
        self._rows = 1
        self._lock = threading.Lock()

    @property
    def gains(self) -> list[float]:
        """For each draft token in the order added, how often it is kept."""
        gains, guess = [], self._first
        with self._lock:
            for kept, tried in zip(self._kept, self._tried, strict=True):
                gains.append((kept + _TRUST * guess) / (tried + _TRUST))
                guess = _DECLINE * gains[-1]
        return gains

    def budget(self, context: Context) -> Budget:
        """The best size; none while nothing is worth drafting."""
        due = self.costs.plain_due(self._rows)
        nodes = 0 if due else self.costs.best_size(self.gains, self._rows)
        return replace(self.size, nodes=nodes)

    def observe(self, context: Context, seen: Round) -> None:
        """Count what was kept of the draft."""
        if seen.width < 1:
            return
        self.costs.observe(seen)
        kept = set(seen.path)
        with self._lock:
            self._rows = seen.rows
            for k in range(self.size.nodes):
                tried = k + 1 < len(seen.tree)
                self._tried[k] = self._memory * self._tried[k] + tried
                self._kept[k] = self._memory * self._kept[k] + (tried and k + 1 in kept)
