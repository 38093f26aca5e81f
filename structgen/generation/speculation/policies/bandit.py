"""`Bandit`: a multi-armed bandit over draft budgets, by UCB1 or EXP3.

BanditSpec (Hou et al. 2025) treats configurations of speculative decoding as arms whose rewards
are unknown: UCB for stationary rewards, EXP3 for rewards that may change (adversarial).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from structgen.generation.checks import check_share, check_some
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.policies.costs import CostTable
from structgen.generation.speculation.tree import Context


class Arms(Protocol):
    """Chooses among arms whose rewards are in [0, 1]. Threads may share it."""

    def choose(self, rng: np.random.Generator) -> int:
        """The arm to take."""

    def reward(self, arm: int, value: float) -> None:
        """Learn the reward of an arm that was chosen."""


class Ucb:
    """The arm with the largest upper bound of its mean (UCB1; Auer et al. 2002, figure 1).

    caution: factor of the bonus; 1 is the paper's, for which regret grows as the log of the rounds.
    """

    def __init__(self, arms: int, caution: float = 1.0) -> None:
        check_some("arms", arms)
        check_share("caution", caution, most=math.inf)
        self._caution = caution
        self.counts = [0] * arms
        self._sums = [0.0] * arms
        self._lock = threading.Lock()

    @property
    def means(self) -> list[float]:
        """The mean reward of each arm; 0.0 of one that was not taken."""
        return [s / max(n, 1) for s, n in zip(self._sums, self.counts, strict=True)]

    def choose(self, rng: np.random.Generator) -> int:
        """The arm with the largest bound; first, each once."""
        with self._lock:
            if 0 in self.counts:
                return self.counts.index(0)
            total = 2 * math.log(sum(self.counts))
            bounds = [
                s / n + self._caution * math.sqrt(total / n)
                for s, n in zip(self._sums, self.counts, strict=True)
            ]
        return max(range(len(bounds)), key=bounds.__getitem__)

    def reward(self, arm: int, value: float) -> None:
        """Count a reward in [0, 1]."""
        check_share("reward", value)
        with self._lock:
            self.counts[arm] += 1
            self._sums[arm] += value


class Exp3:
    """Draws arms by exponential weights (Auer et al. 2002b, section 3); rewards may change freely.

    exploration: share of rounds in which any arm is taken.
    """

    def __init__(self, arms: int, exploration: float = 0.1) -> None:
        check_some("arms", arms)
        check_share("exploration", exploration, least=1e-6)
        self._exploration = exploration
        self._log_weights = np.zeros(arms)
        self._lock = threading.Lock()

    @property
    def distribution(self) -> list[float]:
        """The probability of each arm."""
        weights = np.exp(self._log_weights - self._log_weights.max())
        share = weights / weights.sum()
        distribution: list[float] = (
            (1 - self._exploration) * share + self._exploration / len(share)
        ).tolist()
        return distribution

    def choose(self, rng: np.random.Generator) -> int:
        """A draw from `distribution`."""
        with self._lock:
            distribution = self.distribution
        return int(rng.choice(len(distribution), p=distribution))

    def reward(self, arm: int, value: float) -> None:
        """Weigh a reward in [0, 1] by how improbable its arm was."""
        check_share("reward", value)
        with self._lock:
            distribution = self.distribution
            self._log_weights[arm] += (
                self._exploration * value / distribution[arm] / len(distribution)
            )


class Bandit:
    """A length policy that learns which of several budgets writes most tokens per time.

    The reward of a round is the tokens written per cost of a pass of that width (and of its draft),
    divided by the most that there could be.
    """

    def __init__(
        self,
        budgets: Sequence[Budget],
        arms: Arms | None = None,
        costs: CostTable | None = None,
    ) -> None:
        """arms: how to choose; by default Ucb. A budget of no nodes is plain decoding."""
        check_some("budgets", len(budgets))
        self.budgets = tuple(budgets)
        self.arms = arms or Ucb(len(budgets))
        self.costs = costs or CostTable()
        self._most = 1 + max(min(b.nodes, b.depth) for b in self.budgets)

    def budget(self, context: Context) -> Budget:
        """The budget of the arm chosen."""
        arm = self.arms.choose(context.rng)
        context.notes[self] = arm
        return self.budgets[arm]

    def observe(self, context: Context, seen: Round) -> None:
        """Reward the arm that this text's last draft was made with."""
        self.costs.observe(seen)
        arm = context.notes.pop(self, None)
        if arm is not None:
            rate = self.costs.rate(len(seen.written) - 1, len(seen.tree) - 1, seen.rows)
            self.arms.reward(arm, min(rate / self._most, 1.0))
