"""Judges an engine on one case: feeds each instance, and compares the answer with the right one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jsonschemabench.engines import engine_class
from jsonschemabench.engines.engine import Compiled, Engine, Matcher, Refused, Row, Spec
from jsonschemabench.masks.job import ContradictionError, feed
from jsonschemabench.running.outcomes import CRASH, of_instance, of_refusal, worst
from structgen import Vocabulary

#: whether a text is accepted, and how many of its tokens are
Read = Callable[[Matcher, list[int]], tuple[bool, int]]


@dataclass(frozen=True)
class JudgeJob:
    """A spec, the tokens of its instances, and whether each should be accepted.

    masks: look at the mask in front of each token and at the end, as a sampler does; otherwise
    tokens are only fed, which is many times faster and does not see a mask that is wrong.
    """

    spec: Spec
    tokens: list[list[int]]
    valid: list[bool]
    masks: bool = True


@dataclass(frozen=True)
class Judgement:
    """The outcome of the case: the worst of its instances' `outcomes`.

    `positions`: how many tokens of each instance were accepted; `kind` and `error`: those of the
    refusal or of the first crash.
    """

    outcome: str
    outcomes: tuple[str, ...]
    positions: tuple[int, ...]
    kind: str = ""
    error: str = ""


class Judge:
    """An engine with its vocabulary, ready to judge one case after another."""

    def __init__(self, engine: Engine, vocabulary: Vocabulary) -> None:
        engine.prepare(vocabulary)
        self._engine = engine
        self._ends = vocabulary.eos_ids[:1]
        self._row: Row = np.zeros(vocabulary.words, np.int32)

    def __call__(self, job: JudgeJob) -> Judgement:
        """Judge the instances of one case. What an engine raises is its crash."""
        try:
            compiled = self._engine.compile(job.spec)
        except Refused as refused:
            outcome = of_refusal(refused.kind, any_valid=any(job.valid))
            return all_alike(len(job.valid), outcome, refused.kind, refused.message)
        except Exception as error:  # noqa: BLE001
            return all_alike(len(job.valid), CRASH, "exception", _line(error))
        read = self._masked if job.masks else self._fed
        pairs = zip(job.tokens, job.valid, strict=True)
        found = [self._one(read, compiled, tokens, valid) for tokens, valid in pairs]
        outcomes, positions, errors = zip(*found, strict=True) if found else ((), (), ())
        first = next(filter(None, errors), "")
        return Judgement(worst(outcomes), outcomes, positions, "crash" if first else "", first)

    def _one(
        self, read: Read, compiled: Compiled, tokens: list[int], valid: bool
    ) -> tuple[str, int, str]:
        """Outcome, number of accepted tokens, error message."""
        try:
            accepted, position = read(compiled.start(self._row), tokens)
        except Exception as error:  # noqa: BLE001
            return CRASH, 0, _line(error)
        return of_instance(valid=valid, accepted=accepted), position, ""

    def _masked(self, matcher: Matcher, tokens: list[int]) -> tuple[bool, int]:
        return feed(matcher, self._row, tokens, self._ends, [])

    def _fed(self, matcher: Matcher, tokens: list[int]) -> tuple[bool, int]:
        for position, token in enumerate(tokens):
            if not matcher.accept(token):
                return False, position
        return matcher.done(), len(tokens)


def start(name: str, vocabulary: Vocabulary) -> Callable[[JudgeJob], dict[str, Any]]:
    """Prepare an engine; returns what does a job. Called once in the child process."""
    judge = Judge(engine_class(name)(), vocabulary)

    def do(job: JudgeJob) -> dict[str, Any]:
        return {"judged": judge(job)}

    return do


def all_alike(count: int, outcome: str, kind: str, error: str) -> Judgement:
    """The judgement of a case in which none of `count` instances could be fed."""
    return Judgement(outcome, (outcome,) * count, (0,) * count, kind, error)


def byte_vocabulary() -> Vocabulary:
    """A token for each byte, and an end token: what needs no file and cuts texts finest."""
    table = [bytes((byte,)) for byte in range(256)]
    return Vocabulary([*table, b"<|end|>"], eos_ids=[256], encode=byte_tokens)


def byte_tokens(text: str) -> list[int]:
    """The tokens of a text in that vocabulary."""
    return list(text.encode())


def _line(error: Exception) -> str:
    name = "" if isinstance(error, ContradictionError) else f"{type(error).__name__}: "
    return " ".join(f"{name}{error}".split())[:500]
