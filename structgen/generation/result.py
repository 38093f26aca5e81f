"""The result of generation: text, value, probabilities, and where the time went."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from structgen.constraint.enforced import Enforced
from structgen.generation.speculation.stats import Stats
from structgen.spec.base import Captured

Doubles = npt.NDArray[np.float64]

FinishReason = Literal["complete", "eos", "closed", "stop"]


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds spent while a row was being written, shared with the rows beside it in a batch.

    model: forward passes. mask: finding the allowed tokens and masking the logits. other: all the
    rest (sampling, probabilities, text). Time spent by the reader of a stream is not counted.
    """

    model: float
    mask: float
    other: float
    tokens: int

    @property
    def total(self) -> float:
        """model + mask + other."""
        return self.model + self.mask + self.other

    @property
    def tokens_per_second(self) -> float:
        """Tokens of this row per second of `total`; 0 when there are none."""
        return self.tokens / self.total if self.tokens else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class GenerationResult:
    """What was generated for one prompt. Arrays are read-only, with one entry per token.

    text: the text, which fits the spec.
    value: what the text stands for: JSON parsed, an instance of the Python type, or the text.
    tokens: ids in order; when the model ended the text itself, the end token is the last. Those
        that wrote a stop sequence are among them.
    logprob_raw, logprob_masked: natural log of the probability of all tokens, at temperature 1,
        under the model alone, and under the model with the constraint's mask (renormalised).
    token_logprobs_raw, token_logprobs_masked: float64[len(tokens)], the summands of these.
    mass_removed: float64[len(tokens)], in [0, 1): probability that the mask took away at each step.
    finish_reason: "complete" (nothing more could follow), "eos" (the model chose to end), "closed"
        (the token budget was ending, so the shortest way to a valid end was written) or "stop" (a
        stop sequence came: see Settings).
    prompt_tokens: number of tokens of the prompt.
    enforced: that the text was written under the spec, and under which: see
        `structgen.constraint.enforced`.
    stats: what speculation did, or None without it.
    captures: what rules of a grammar have captured (`[capture]`), in the order in which they end;
        none of a text that a stop sequence has ended before the grammar could.
    """

    text: str
    value: Any
    tokens: tuple[int, ...]
    logprob_raw: float
    logprob_masked: float
    token_logprobs_raw: Doubles
    token_logprobs_masked: Doubles
    mass_removed: Doubles
    finish_reason: FinishReason
    timings: Timings
    prompt_tokens: int
    enforced: Enforced
    stats: Stats | None = None
    captures: tuple[Captured, ...] = ()


class Clock:
    """Splits the time that passes into model, mask and other; stands still while paused."""

    __slots__ = ("_mark", "mask", "model", "other")

    def __init__(self) -> None:
        self.model = self.mask = self.other = 0.0
        self._mark = time.perf_counter()

    def lap(self) -> float:
        """Seconds since the last lap or resume."""
        now = time.perf_counter()
        passed, self._mark = now - self._mark, now
        return passed

    def resume(self) -> None:
        """Forget the time since the last lap."""
        self._mark = time.perf_counter()

    def timings(self, tokens: int) -> Timings:
        """The times so far, for a row of that many tokens."""
        return Timings(self.model, self.mask, self.other, tokens)
