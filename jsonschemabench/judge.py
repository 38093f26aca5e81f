"""In: an engine, a spec, and instances with their verdicts. Out: an outcome for each instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jsonschemabench.engines import engine_class
from jsonschemabench.engines.engine import Compiled, Engine, Refused, Row, Spec
from jsonschemabench.masks_job import ContradictionError, feed
from jsonschemabench.outcomes import CRASH, of_instance, of_refusal, worst
from structgen import Vocabulary


@dataclass(frozen=True)
class JudgeJob:
    """A spec, the tokens of its instances, and whether each should be accepted."""

    spec: Spec
    tokens: list[list[int]]
    valid: list[bool]


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
        found = [self._one(compiled, *one) for one in zip(job.tokens, job.valid, strict=True)]
        outcomes, positions, errors = zip(*found, strict=True) if found else ((), (), ())
        first = next(filter(None, errors), "")
        return Judgement(worst(outcomes), outcomes, positions, "crash" if first else "", first)

    def _one(self, compiled: Compiled, tokens: Sequence[int], valid: bool) -> tuple[str, int, str]:
        """Outcome, number of accepted tokens, error message."""
        try:
            matcher = compiled.start(self._row)
            accepted, position = feed(matcher, self._row, list(tokens), self._ends, [])
        except Exception as error:  # noqa: BLE001
            return CRASH, 0, _line(error)
        return of_instance(valid=valid, accepted=accepted), position, ""


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
