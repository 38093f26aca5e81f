"""In: a drafter, a rule, a length policy. Out: Speculation, how to speculate."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from structgen.errors import GenerationError
from structgen.generation.speculation.interfaces import AcceptRule, Drafter, LengthPolicy
from structgen.generation.speculation.names import check_drafter
from structgen.generation.speculation.policies.fixed import Fixed
from structgen.generation.speculation.rules import SampleCompare
from structgen.generation.speculation.tested import write_tested
from structgen.generation.speculation.verify import Write, write_masked


@dataclass(frozen=True)
class Speculation:
    """How to speculate.

    drafter: what guesses. rule: what decides; SampleCompare is right for all drafters and writes
    what would be written without them. policy: how much to draft. seed: of the drafter's random
    numbers, which are apart from those that the text is drawn with. lossy: must be True for a rule
    that changes the law of the text. tested: draw each token by testing tokens one by one, so that
    no mask is made for a draft; only with SampleCompare, and with a law that is neither truncated
    nor weighed. `logprob_masked` and `mass_removed` of the results are then estimates.
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
                f"{type(self.rule).__name__} changes the law of the text",
                hint="say lossy=True to use it, or take another rule",
            )
        if self.tested and not isinstance(self.rule, SampleCompare):
            raise GenerationError(
                f"{type(self.rule).__name__} needs the masked law, which testing does not give",
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


def _check(name: str, part: object, method: str, expected: str) -> None:
    """GenerationError unless a part of a Speculation is an object that has a method."""
    if isinstance(part, type) or not hasattr(part, method):
        raise GenerationError(f"{name} is {part!r:.80}", location=name, expected=expected)
