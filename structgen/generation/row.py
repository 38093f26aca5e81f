"""One text of a batch while it is written: constraint state, random numbers, token budget.

A row owns everything that belongs to its text, so what is written does not depend on the rows
beside it.
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD
from structgen.constraint.constraint import FINAL
from structgen.constraint.enforced import Enforced
from structgen.errors import (
    GenerationError,
    ModelError,
    NoTokenError,
    SpecError,
    TruncatedError,
)
from structgen.generation.closing import Closer
from structgen.generation.distribution import Sampler, log_sum_exp
from structgen.generation.interfaces import Choose, Constraint, Drawn, Transform, Weigh
from structgen.generation.result import FinishReason, GenerationResult, Timings
from structgen.generation.speculation.stats import Stats
from structgen.generation.text import Text
from structgen.masks import bitmask
from structgen.spec.base import Captured, ReadToken, Spec

_BELOW_ONE = math.nextafter(1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Request:
    """The request for one text: prompt, constraint, sampler, limits.

    prompt: token ids, at least one. budget: most tokens to write. stop: "complete" ends the text
    where only whitespace could follow, "eos" waits for the model's end token. on_truncation: what
    happens when the budget ends first. label: says in errors which of several prompts it was.
    weight: log weights of tokens, which the distribution that is drawn from is multiplied by; or
    None.
    transforms: what changes that distribution by the text so far. stop_sequences: what ends the
    text.
    """

    prompt: tuple[int, ...]
    constraint: Constraint
    closer: Closer
    sampler: Sampler
    budget: int
    stop: Literal["complete", "eos"] = "complete"
    on_truncation: Literal["close", "raise"] = "close"
    label: str = ""
    weight: Weigh | None = None
    transforms: tuple[Transform, ...] = ()
    stop_sequences: tuple[str, ...] = ()


def sample_token(
    _ids: npt.NDArray[np.int64],
    logits: npt.NDArray[np.float64],
    sampler: Sampler,
    rng: np.random.Generator,
) -> int:
    """The plain `Choose`: a draw from the sampler's distribution."""
    return sampler.choose(logits, rng)


class Row:
    """One text while it is written. `finish` is None until the text has ended."""

    def __init__(self, request: Request, rng: np.random.Generator) -> None:
        """TruncatedError when not even the shortest text fits the budget."""
        self.request = request
        self.state = request.constraint.start
        self.tokens: list[int] = []
        self.finish: FinishReason | None = None
        self.timings: Timings | None = None
        self.stats: Stats | None = None  # what speculation did
        self.rng = rng
        self._raw: list[float] = []
        self._masked: list[float] = []
        self._removed: list[float] = []
        self._closing: FinishReason | None = None  # why the text is being closed, if it is
        self._closing_plan: deque[int] = deque()  # tokens that close the text
        self._text = Text(request.stop_sequences)
        self._marks: list[tuple[int, int]] = []  # for stop sequences: each token's offset and state
        self._paths = [t.begin(request.prompt, request.constraint) for t in request.transforms]
        if request.on_truncation == "close":
            request.closer.check(self.state, request.budget, request.label)
        if request.stop == "complete" and request.closer.complete(self.state):
            self.finish = "complete"

    @property
    def remaining(self) -> int:
        """Tokens that may still be written."""
        return self.request.budget - len(self.tokens)

    @property
    def text(self) -> str:
        """What has been written, up to the last whole character."""
        return self._text.whole

    @property
    def streamed(self) -> str:
        """What `take_piece` has returned: all but what may turn out to be a stop sequence."""
        return self._text.streamed

    def log_probabilities(self, first: int = 0) -> list[tuple[float, float]]:
        """(under the model alone, under the mask) of each token from number `first` on."""
        return list(zip(self._raw[first:], self._masked[first:], strict=True))

    @property
    def closing_plan(self) -> tuple[int, ...]:
        """The tokens that close the text, once it is being closed."""
        return tuple(self._closing_plan)

    def step(self, logits: npt.NDArray[Any], log_raw: float, choose: Choose = sample_token) -> None:
        """Write one more token, or end the text.

        `logits` float[V] are masked already (-inf); `log_raw` is the log of the sum of their
        exponentials before that. `choose` takes a token by the distribution of the request's
        sampler.
        """
        if not math.isfinite(log_raw):
            self._fail_model(log_raw)
        allowed = np.flatnonzero(logits > -np.inf)
        values = logits[allowed].astype(np.float64)
        chosen = None
        weighed, ids = self._weigh(values, allowed)
        if not self._closing_plan and len(ids):
            chosen = int(ids[choose(ids, weighed, self.request.sampler, self.rng)])
        token = self._choose_or_close(chosen)
        if token is None:
            self._end(self._closing or "closed")
            return
        self._write(token, float(logits[token]), log_raw, log_sum_exp(values))

    def uniform(self) -> float:
        """The random number for a draw on the device: what `step` would use; 0.0 if none."""
        return 0.0 if self._closing_plan or self.request.sampler.greedy else self.rng.random()

    def upcoming_uniforms(self, count: int) -> list[float]:
        """The random numbers of the next tokens, as long as the text is not being closed."""
        if self.request.sampler.greedy:
            return [0.0] * count
        numbers: list[float] = copy.deepcopy(self.rng).random(count).tolist()
        return numbers

    def take(self, drawn: Drawn) -> None:
        """Write a token that was drawn on the device with the number that `uniform()` gave."""
        if not math.isfinite(drawn.log_raw):
            self._fail_model(drawn.log_raw)
        token = self._choose_or_close(drawn.token)
        if token is None:
            self._end(self._closing or "closed")
            return
        self._write(token, drawn.logit(token), drawn.log_raw, drawn.log_masked)

    def _weigh(
        self, values: npt.NDArray[np.float64], ids: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Logits and ids of the tokens that weight and transforms allow, their weights added."""
        weighed = values
        for path in self._paths:
            weights = path.log_weights(self.state, ids, values)
            changed = weighed + weights
            if not (
                changed > -np.inf
            ).any():  # the transform refuses all that is left: ignore its refusals
                changed = weighed + np.where(weights > -np.inf, weights, 0.0)
            weighed = changed
        if self.request.weight is not None:
            weighed = weighed + self.request.weight(self.state, ids)
        if weighed is values:
            return values, ids
        kept = weighed > -np.inf
        return weighed[kept], ids[kept]

    def _write(self, token: int, logit: float, log_raw: float, log_masked: float) -> None:
        """Append a token; the numbers are as in `Drawn`."""
        self._record(token, logit, log_raw, log_masked)
        for path in self._paths:
            path.wrote(self.state, token)
        if self.request.stop_sequences:
            self._marks.append((len(self._text), self.state))
        self.state = self.request.constraint.advance(self.state, token)
        if self.state == DEAD:
            self._fail_defect(token)
        if self.state == FINAL:
            self._end("eos")
            return
        stop = self._text.add(self.request.constraint.vocabulary.token_bytes(token))
        if stop >= 0 and not self._closing:
            self._stop(stop)
        if self.finish is None:
            self._end_if_due()

    def take_piece(self) -> str:
        """The text since the last call; "" when there is no new whole character."""
        return self._text.take(ended=self.finish is not None)

    def result(self) -> GenerationResult:
        """The finished text and its value."""
        if self.finish is None or self.timings is None:
            raise GenerationError("the text is not finished", hint="read the stream to its end")
        return GenerationResult(
            text=self.text,
            value=self.request.constraint.spec.parse(self.text),
            tokens=tuple(self.tokens),
            logprob_raw=math.fsum(self._raw),
            logprob_masked=math.fsum(self._masked),
            token_logprobs_raw=_frozen(self._raw),
            token_logprobs_masked=_frozen(self._masked),
            mass_removed=_frozen(self._removed),
            finish_reason=self.finish,
            timings=self.timings,
            prompt_tokens=len(self.request.prompt),
            enforced=Enforced(self.request.constraint.spec),
            stats=self.stats,
            captures=self._captures(),
        )

    def _captures(self) -> tuple[Captured, ...]:
        spec = self.request.constraint.spec
        if not isinstance(spec, Spec):  # a constraint that somebody else wrote
            return ()
        try:
            return spec.captures(self.text, self._read_tokens())
        except SpecError:
            if self.finish != "stop":
                raise
            return ()

    def _read_tokens(self) -> list[ReadToken]:
        """The tokens of the text that begin and end with characters."""
        vocabulary, text = self.request.constraint.vocabulary, self.text
        sizes = np.cumsum([0, *(len(letter.encode()) for letter in text)]).tolist()
        place = {size: i for i, size in enumerate(sizes)}  # of a character, by its first byte
        found, begin = [], 0
        for number in self.tokens:
            data = vocabulary.token_bytes(number)
            end = begin + len(data)
            if data and begin in place and end in place:
                apart = number in vocabulary.special_ids
                found.append(ReadToken(number, data, place[begin], place[end], apart))
            begin = end
        return found

    def _choose_or_close(self, token: int | None) -> int | None:
        """The sampled token, or the next one that closes the text; None when closing needs none."""
        if self._closing_plan:
            return self._closing_plan.popleft()
        if token is None:
            self._fail_no_token()
        request = self.request
        if request.on_truncation == "raise":
            return token
        after = request.constraint.advance(self.state, token)
        if after in {DEAD, FINAL} or request.closer.fits(after, self.remaining - 1):
            return token
        # Until now the text could be closed in time; after this token it could not be any more.
        self._closing = "closed"
        self._closing_plan.extend(request.closer.plan(self.state) or ())
        return self._closing_plan.popleft() if self._closing_plan else None

    def _stop(self, offset: int) -> None:
        """End the text before the stop sequence at an offset, or close it as soon as it may end."""
        constraint = self.request.constraint
        begin, state = self._marks[bisect_right(self._marks, offset, key=itemgetter(0)) - 1]
        state = constraint.advance_bytes(state, self._text.since(begin, offset))
        if constraint.is_accepting(state):
            self._text.cut(offset)
            self.state = state
            self._end("stop")
            return
        plan = self.request.closer.plan(self.state)
        if plan is not None:
            self._closing = "stop"
            self._closing_plan.extend(plan)

    def _record(self, token: int, logit: float, log_raw: float, log_masked: float) -> None:
        self.tokens.append(token)
        self._raw.append(logit - log_raw)
        self._masked.append(min(logit - log_masked, 0.0) if log_masked > -np.inf else -np.inf)
        self._removed.append(min(max(-math.expm1(log_masked - log_raw), 0.0), _BELOW_ONE))

    def _end_if_due(self) -> None:
        if self._closing and not self._closing_plan:
            self._end(self._closing)
        elif (self._closing and self.remaining) or (self.remaining and self.request.stop == "eos"):
            pass
        elif self.request.closer.complete(self.state):
            self._end("complete")
        elif not self.remaining:
            if self.request.on_truncation == "raise":
                self._fail_truncated()
            self._end("closed")

    def _end(self, reason: FinishReason) -> None:
        self.finish = reason
        self._text.end()

    def _fail_truncated(self) -> NoReturn:
        raise TruncatedError(
            f"the text was not finished after {self.request.budget} tokens",
            text=self.text,
            location=self.request.label,
            hint="give more max_tokens, or on_truncation='close' to have it closed in time",
        )

    def _fail_model(self, log_raw: float) -> NoReturn:
        raise ModelError(
            f"the model's logits for token {len(self.tokens) + 1} are not finite "
            f"(log of the sum of exponentials: {log_raw})",
            location=self.request.label,
            hint="load the model with another dtype, such as float32 or bfloat16",
        )

    def _fail_no_token(self) -> NoReturn:
        count = len(bitmask.ids_of(self.request.constraint, self.state))
        why = "the model gives each of them probability 0" if count else "it has none to allow"
        raise NoTokenError(
            f"the constraint allows {count} tokens here, and {why}",
            text=self.text,
            location=self.request.label,
            hint="check that the vocabulary has a token for every byte and an end token"
            if not count
            else "check the model's logits, or allow more in the spec",
        )

    def _fail_defect(self, token: int) -> NoReturn:
        raise GenerationError(
            f"the mask allowed token {token}, which then led nowhere",
            text=self.text,
            location=self.request.label,
            hint="this is a defect of the constraint; please report it with the spec",
        )


def _frozen(values: list[float]) -> npt.NDArray[np.float64]:
    array = np.array(values, np.float64)
    array.flags.writeable = False
    return array
