"""`Speculation`: a drafter, an acceptance rule and a length policy, and a cache of named ones."""

from __future__ import annotations

import importlib
import threading
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from structgen.errors import GenerationError
from structgen.generation.checks import refuse
from structgen.generation.interfaces import Target
from structgen.generation.speculation.awrs import write_tested
from structgen.generation.speculation.interfaces import AcceptRule, Drafter, LengthPolicy
from structgen.generation.speculation.names import ENTRIES, check_drafter, check_speculate
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.rules import SampleCompare
from structgen.generation.speculation.verify import Write, write_masked


@dataclass(frozen=True)
class Speculation:
    """A configuration of speculative decoding.

    drafter: what guesses. rule: what decides; SampleCompare is right for all drafters and writes
    what would be written without them. policy: how much to draft. seed: of the drafter's random
    numbers, which are apart from those that the text is drawn with. lossy: must be True for a rule
    that changes the distribution of the text. tested: draw each token by testing tokens one by one,
    so that no mask is made for a draft; only with SampleCompare, and with a distribution that is
    neither truncated nor weighed. `logprob_masked` and `mass_removed` of the results are then
    estimates.
    """

    drafter: Drafter
    rule: AcceptRule = field(default_factory=SampleCompare)
    policy: LengthPolicy = field(default_factory=Fixed)
    seed: int = 0
    lossy: bool = False
    tested: bool = False

    def __post_init__(self) -> None:
        check_drafter(self.drafter)
        _check("rule", self.rule, "plan", "an acceptance rule, such as SampleCompare()")
        _check("policy", self.policy, "budget", "a length policy, such as Fixed(Budget(nodes=8))")
        if not self.rule.lossless and not self.lossy:
            raise GenerationError(
                f"{type(self.rule).__name__} changes the distribution of the text",
                hint="say lossy=True to use it, or take another rule",
            )
        if self.tested and not isinstance(self.rule, SampleCompare):
            raise GenerationError(
                f"{type(self.rule).__name__} needs the whole masked distribution, and testing "
                "single tokens does not give it",
                expected="SampleCompare with tested=True",
            )

    @property
    def write(self) -> Write:
        """How a token is written at a node of a draft."""
        return write_tested if self.tested else partial(write_masked, self.rule)

    @property
    def name(self) -> str:
        """The drafter's name."""
        return getattr(self.drafter, "name", type(self.drafter).__name__)

    def rng(self, number: int) -> np.random.Generator:
        """The drafter's random numbers for one text of a batch."""
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, number, 1])))


class Speculations:
    """A cache of the speculations asked for by name. Threads may share it.

    A drafter that is asked for by name lives as long as its Generator, so what it learns of one
    text serves the next.
    """

    def __init__(self) -> None:
        self._made: dict[str, Speculation] = {}
        self._lock = threading.Lock()

    def of(self, value: Any, target: Target[Any]) -> Speculation:
        """The Speculation for a value of `speculate=` other than None; named ones are cached."""
        check_speculate(value)
        if isinstance(value, Speculation):
            return value
        if not isinstance(value, str):
            return Speculation(value)
        with self._lock:
            if value not in self._made:
                made = _made(value, target)
                self._made[value] = made if isinstance(made, Speculation) else Speculation(made)
            return self._made[value]


def _made(name: str, target: Target[Any]) -> Any:
    """A drafter or a Speculation by its name."""
    entry = ENTRIES[name]
    make = getattr(importlib.import_module(entry.module), entry.maker)
    return make(target) if entry.of_target else make()


def _check(name: str, part: object, method: str, expected: str) -> None:
    """GenerationError unless a part of a Speculation is an object that has a method."""
    if isinstance(part, type) or not hasattr(part, method):
        refuse(name, part, expected, name)
