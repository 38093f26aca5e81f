"""Engines are judged right, wrong or crashed, in each way that they can misbehave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pytest

from jsonschemabench.engines.engine import JSON_SCHEMA, Engine, Refused, Row, Spec
from jsonschemabench.running import outcomes
from jsonschemabench.running.judge import (
    Judge,
    JudgeJob,
    Judgement,
    all_alike,
    byte_tokens,
    byte_vocabulary,
    start,
)
from structgen import Vocabulary

VOCABULARY = byte_vocabulary()


class Flawed(Engine):
    """An engine that lets the texts through that its schema names, unless that names a flaw."""

    name = "flawed"
    distribution = "none"
    module = "none"
    settings: ClassVar[Mapping[str, str]] = {}
    kinds = (JSON_SCHEMA,)

    def prepare(self, vocabulary: Vocabulary) -> None:
        """Keep the vocabulary."""
        self.vocabulary = vocabulary

    def compile(self, spec: Spec) -> Flawed:
        """Refuse, raise, or go on, as the spec says."""
        if spec.text in ("unsatisfiable", "unsupported"):
            raise Refused(spec.text, "not\nthis")
        if spec.text == "raise":
            raise ZeroDivisionError("in the engine")
        self.text = spec.text
        return self

    memory_bytes = None

    def start(self, row: Row) -> Flawed:
        """Begin a text; the mask allows digits, and the end behind two of them."""
        self.row = row
        self.read = b""
        return self

    def mask(self) -> None:
        """Digits, and the end where it may be."""
        self.row[:] = 0
        for token in byte_tokens("0123456789"):
            self.row[token >> 5] |= np.int32(1 << (token & 31))
        if self.done() and self.text != "no end":
            self.row[256 >> 5] |= 1

    def accept(self, token: int) -> bool:
        """Go on, unless the flaw is met."""
        if self.text == "raise at 7" and token == ord("7"):
            raise RuntimeError("seven")
        self.read += b"" if token == 256 else bytes((token,))
        return self.text != "stubborn"

    def done(self) -> bool:
        """Behind two digits."""
        return len(self.read) == 2

    def forced(self) -> bytes:
        """Nothing."""
        return b""


def judge(text: str, *, masks: bool = True, **instances: bool) -> Judgement:
    """What becomes of texts (named with a leading underscore) that should be accepted or not."""
    tokens = [byte_tokens(name[1:]) for name in instances]
    valid = list(instances.values())
    return Judge(Flawed(), VOCABULARY)(JudgeJob(Spec(JSON_SCHEMA, text), tokens, valid, masks))


def test_each_instance_has_its_outcome_and_the_case_the_worst() -> None:
    """Two digits are accepted, whether that is right or not."""
    found = judge("fine", _12=True, _1=False, _1a=True, _34=False)
    assert found.outcomes == (
        outcomes.PASS,
        outcomes.PASS,
        outcomes.REJECTED_VALID,
        outcomes.ACCEPTED_INVALID,
    )
    assert found.positions == (2, 1, 1, 2)
    assert found.outcome == outcomes.ACCEPTED_INVALID
    assert found.error == ""


@pytest.mark.parametrize("kind", ["unsatisfiable", "unsupported"])
@pytest.mark.parametrize("valid", [True, False])
def test_a_refusal_is_right_only_if_nothing_is_valid(kind: str, valid: bool) -> None:
    """And only if the engine says that nothing is; its message is one line."""
    found = judge(kind, _1=False, _2=valid)
    right = kind == "unsatisfiable" and not valid
    outcome = outcomes.REFUSED_UNSATISFIABLE if right else outcomes.REFUSED_SATISFIABLE
    assert found == Judgement(outcome, (outcome, outcome), (0, 0), kind, "not this")


def test_what_is_refused_without_any_instance_is_refused_all_the_same() -> None:
    """A case of the wild may have no instances."""
    assert judge("unsupported").outcome == outcomes.REFUSED_SATISFIABLE
    assert judge("fine").outcome == outcomes.PASS


def test_an_error_while_compiling_is_a_crash_of_the_case() -> None:
    """Its name and message are kept."""
    found = judge("raise", _12=True, _1=False)
    assert found == all_alike(2, outcomes.CRASH, "exception", "ZeroDivisionError: in the engine")


def test_an_error_in_a_text_is_a_crash_of_that_instance() -> None:
    """The others are judged."""
    found = judge("raise at 7", _12=True, _17=True, _34=True)
    assert found.outcomes == (outcomes.PASS, outcomes.CRASH, outcomes.PASS)
    assert (found.outcome, found.error) == (outcomes.CRASH, "RuntimeError: seven")


@pytest.mark.parametrize(
    ("flaw", "words"), [("stubborn", "it is not accepted"), ("no end", "the mask forbids")]
)
def test_an_engine_that_contradicts_itself_has_crashed(flaw: str, words: str) -> None:
    """What the mask allows must be accepted, and a text may end where its mask says so."""
    found = judge(flaw, _12=True)
    assert found.outcomes == (outcomes.CRASH,)
    assert words in found.error


def test_without_masks_only_steps_and_the_end_count() -> None:
    """A mask that is wrong then goes unseen, a step that is refused does not."""
    assert judge("no end", masks=False, _12=True, _1=False).outcome == outcomes.PASS
    assert judge("no end", masks=False, _1=True).outcome == outcomes.REJECTED_VALID
    found = judge("stubborn", masks=False, _12=True)
    assert (found.outcomes, found.positions) == ((outcomes.REJECTED_VALID,), (0,))


def test_a_worker_starts_with_the_engine_of_a_name() -> None:
    """And wraps what comes out, as workers ask."""
    job = JudgeJob(Spec(JSON_SCHEMA, '{"type": "null"}'), [byte_tokens("null")], [True])
    assert start("structgen", VOCABULARY)(job)["judged"].outcomes == (outcomes.PASS,)
