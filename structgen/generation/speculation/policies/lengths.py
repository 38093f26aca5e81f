"""How long the next draft is: always the same, as recent drafts were, or what promises most."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field, replace

from structgen.generation.checks import check_share, check_some, refuse
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.policies.costs import CostTable
from structgen.generation.speculation.tree import Context


@dataclass(frozen=True, slots=True)
class Fixed:
    """A length policy that always gives the same budget."""

    size: Budget = field(default_factory=lambda: Budget(nodes=16))

    def __post_init__(self) -> None:
        """GenerationError for what is no Budget."""
        if not isinstance(self.size, Budget):
            refuse("size", self.size, "a Budget: Budget(nodes=8)", "size")

    def budget(self, context: Context) -> Budget:
        """The fixed budget."""
        return self.size

    def observe(self, context: Context, seen: Round) -> None:
        """Nothing is learned."""


@dataclass
class _Recent:
    """Moving averages of one text: tokens in a row that were drafted, and kept."""

    drafted: float
    kept: float


@dataclass(frozen=True, eq=False)
class Adl:
    """As long as recent drafts were, and `step` tokens more where all of them has been kept.

    The adaptive draft length of DiffuSpec (Li et al. 2025, section 3.3), for drafters that need
    a length and draft less where they see an end: it goes down to what they really draft,
    and up while the target keeps pace. size: the largest, which is also the first. least: tokens
    in a row that are always drafted. weight: of the newest draft in the averages.
    """

    size: Budget = field(default_factory=lambda: Budget(nodes=16, depth=16, width=1))
    least: int = 2
    step: int = 4
    weight: float = 0.5

    def __post_init__(self) -> None:
        check_share("weight", self.weight)
        check_some("tokens", min(self.least, self.step))

    def budget(self, context: Context) -> Budget:
        """The size for the next draft of this text."""
        recent: _Recent | None = context.notes.get(self)
        if recent is None:
            return self.size
        more = self.step if recent.kept >= recent.drafted else 0
        depth = min(max(math.ceil(recent.drafted) + more, self.least), self.size.depth)
        return replace(self.size, depth=depth, nodes=min(self.size.nodes, depth * self.size.width))

    def observe(self, context: Context, seen: Round) -> None:
        """Count a draft; where there was none, nothing is learned."""
        drafted, kept = max(seen.tree.depths), len(seen.path)
        if not drafted:
            return
        recent = context.notes.setdefault(self, _Recent(drafted, kept))
        recent.drafted += self.weight * (drafted - recent.drafted)
        recent.kept += self.weight * (kept - recent.kept)


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
