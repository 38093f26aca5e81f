"""The decode loop that every engine is measured in: writes one text, and times each part of a step.

Nothing runs at the same time as anything else, so the parts of a step add up to the step:

    model (forward pass, waited for) ─▶ engine (mask) ─▶ other (apply, choose) ─▶ engine (accept)

A text ends with an end token. When the token budget or the time ends first it is incomplete; no
engine is helped to close it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from jsonschemabench.engines.engine import Compiled
from structgen.generation.interfaces import Target
from structgen.masks import bitmask
from structgen.vocabulary.vocabulary import Vocabulary

Finish = Literal["end", "token budget", "time limit", "no token", "token refused"]
Choose = Callable[[npt.NDArray[np.float64]], int]  # index into the logits of the allowed tokens


@dataclass(frozen=True, slots=True)
class Job:
    """What one text is written from. `deadline` is a time of `time.perf_counter`.

    temperature, seed: what `choose` follows, for arms that choose whole texts.
    """

    prompt: Sequence[int]
    budget: int
    choose: Choose
    deadline: float
    temperature: float = 0.0
    seed: int = 0


@dataclass(slots=True)
class Written:
    """One text and its times, in seconds.

    data: the bytes of the text, without end token. prompt: the forward pass over the prompt.
    first_token: from the start of the loop until the first token is chosen. model, engine, other:
    the parts of all steps, the prompt's forward pass left out. engine_steps: of each step, the
    part that the engine took.
    """

    finish: Finish = "token budget"
    tokens: list[int] = field(default_factory=list)
    data: bytes = b""
    prompt: float = 0.0
    first_token: float = 0.0
    model: float = 0.0
    engine: float = 0.0
    other: float = 0.0
    engine_steps: list[float] = field(default_factory=list)

    @property
    def total(self) -> float:
        """Seconds from the start of the loop to its end."""
        return self.prompt + self.model + self.engine + self.other


@dataclass(frozen=True, slots=True)
class Session:
    """A model that is ready, and the vocabulary in the size of its logits."""

    target: Target[Any]
    vocabulary: Vocabulary


def write(session: Session, job: Job, compiled: Compiled | None) -> Written:
    """Write one text; without a compiled spec the model writes what it likes."""
    target, vocabulary = session.target, session.vocabulary
    ends = frozenset(vocabulary.eos_ids)
    row = bitmask.allocate(1, target.vocab_size)
    written = Written()
    mark = time.perf_counter()

    def lap() -> float:
        nonlocal mark
        before, mark = mark, time.perf_counter()
        return mark - before

    cache, logits = target.prefill([job.prompt])
    logits.wait()
    written.prompt = lap()
    matcher = None if compiled is None else compiled.start(row[0])
    written.other = lap()
    while True:
        if matcher is not None:
            matcher.mask()
            written.engine_steps.append(lap())
            logits.apply(row)
        token = _choose(logits.numpy()[0], job.choose)
        written.other += lap()
        if token is None:
            written.finish = "no token"
            break
        written.tokens.append(token)
        if matcher is not None:
            accepted = matcher.accept(token)
            written.engine_steps[-1] += lap()
            if not accepted:
                written.finish = "token refused"
                break
        if len(written.tokens) == 1:
            written.first_token = written.prompt + written.other + sum(written.engine_steps)
        if token in ends:
            written.finish = "end"
            break
        if len(written.tokens) >= job.budget:
            break
        if mark > job.deadline:
            written.finish = "time limit"
            break
        logits = target.forward(cache, [[token]])
        logits.wait()
        written.model += lap()
    written.engine = sum(written.engine_steps)
    written.data = vocabulary.decode_bytes(t for t in written.tokens if t not in ends)
    return written


def _choose(scores: npt.NDArray[Any], choose: Choose) -> int | None:
    """A token by its logits float[V]; None when -inf leaves none."""
    allowed = np.flatnonzero(scores > -np.inf)
    if not len(allowed):
        return None
    return int(allowed[choose(scores[allowed].astype(np.float64))])
