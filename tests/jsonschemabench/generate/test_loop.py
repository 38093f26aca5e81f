"""The decode loop masks, chooses, times and stops as it says, with a model of random numbers."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsonschemabench.engines.engine import JSON_SCHEMA, Row, Spec
from jsonschemabench.generate.engines import GeneratingStructgen
from jsonschemabench.generate.judge import validity
from jsonschemabench.generate.loop import Job, Session, Written, write
from jsonschemabench.generate.samplers import SAMPLERS, UNCONSTRAINED, arms, label
from structgen import Vocabulary
from structgen.masks import bitmask

END = 256
VOCABULARY = Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_ids=[END])
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 40}, "b": {"enum": ["x", 1]}},
    "required": ["n"],
    "additionalProperties": False,
}


class TableLogits:
    """One row of logits."""

    hidden = None

    def __init__(self, row: Any) -> None:
        self._rows = row[None].copy()

    def wait(self) -> None:
        """There is nothing to wait for."""

    def log_normalizers(self) -> Any:
        """Not asked for by this loop."""
        raise NotImplementedError

    def apply(self, rows: Any) -> None:
        """Mask in place."""
        bitmask.apply(self._rows, rows)

    def numpy(self) -> Any:
        """The row."""
        return self._rows


class TableTarget:
    """A model whose logits depend on the position alone; it writes down what it reads."""

    vocab_size = VOCABULARY.size
    context = None
    takes_trees = False
    takes_drafts = False

    def __init__(self, seed: int, favoured: Sequence[int] = ()) -> None:
        rng = np.random.default_rng(seed)
        self._table = rng.normal(size=(400, self.vocab_size)).astype(np.float32)
        for position, token in enumerate(favoured):
            self._table[position, token] = 100.0
        self.read: list[int] = []

    def prefill(
        self, prompts: Sequence[Sequence[int]], hidden: Any = ()
    ) -> tuple[None, TableLogits]:
        """Read the prompt."""
        self.read = [*prompts[0]]
        return None, TableLogits(self._table[0])

    def forward(
        self, cache: None, tokens: Any, parents: Any = None, hidden: Any = ()
    ) -> TableLogits:
        """Read one more token."""
        self.read += tokens[0]
        return TableLogits(self._table[len(self.read) - 1])

    def commit(self, cache: None, kept: Any) -> None:
        """Not asked for by this loop."""
        raise NotImplementedError

    def select(self, cache: None, rows: Any) -> None:
        """Not asked for by this loop."""
        raise NotImplementedError


class Stub:
    """A compiled spec and its matcher that allow what the test says."""

    memory_bytes = None

    def __init__(self, allowed: set[int], accepts: bool = True) -> None:
        self._allowed = allowed
        self._accepts = accepts

    def start(self, row: Row) -> Stub:
        """Bind the row."""
        self._row = row
        return self

    def mask(self) -> None:
        """The same mask at every step."""
        bits = np.zeros(VOCABULARY.size, np.bool_)
        bits[list(self._allowed)] = True
        self._row[:] = bitmask.pack(bits)

    def accept(self, token: int) -> bool:
        """As the test says."""
        return self._accepts

    def done(self) -> bool:
        """Not asked for by this loop."""
        raise NotImplementedError

    def forced(self) -> bytes:
        """Not asked for by this loop."""
        raise NotImplementedError


def job(budget: int = 50, deadline: float = float("inf")) -> Job:
    """A greedy job."""
    return Job([7], budget, lambda logits: int(logits.argmax()), deadline)


def text_of(written: Written) -> str:
    """The text."""
    return written.data.decode()


def test_without_constraint_the_model_writes_its_favourites() -> None:
    """Until its end token, which is no part of the text; each token is read once."""
    target = TableTarget(0, [*b"hi", END])
    written = write(Session(target, VOCABULARY), job(), None)
    assert (text_of(written), written.finish) == ("hi", "end")
    assert written.tokens == [*b"hi", END]
    assert target.read == [7, *b"hi"]
    assert written.engine_steps == []


def test_the_mask_decides_before_the_choice() -> None:
    """The best of the allowed tokens is taken, however much better the others are."""
    target = TableTarget(0, [ord("z")] * 50)
    written = write(Session(target, VOCABULARY), job(20), Stub({ord("a"), ord("b")}))
    assert set(text_of(written)) <= {"a", "b"}
    assert len(written.engine_steps) == len(written.tokens) == 20


@pytest.mark.parametrize(
    ("compiled", "asked", "finish", "tokens"),
    [
        (Stub({65}), job(5), "token budget", 5),
        (Stub({65}), job(5, deadline=0.0), "time limit", 1),
        (Stub(set()), job(5), "no token", 0),
        (Stub({65}, accepts=False), job(5), "token refused", 1),
        (Stub({END}), job(5), "end", 1),
        (Stub({END}), job(1), "end", 1),
    ],
)
def test_how_a_text_finishes(compiled: Stub, asked: Job, finish: str, tokens: int) -> None:
    """Each way to stop has its name."""
    written = write(Session(TableTarget(1), VOCABULARY), asked, compiled)
    assert (written.finish, len(written.tokens)) == (finish, tokens)


def test_the_parts_add_up() -> None:
    """No part is counted twice: together they are at most what the clock says."""
    begun = time.perf_counter()
    written = write(Session(TableTarget(1), VOCABULARY), job(200), Stub({65}))
    passed = time.perf_counter() - begun
    assert 0 < written.first_token < written.total <= passed
    assert written.engine == pytest.approx(sum(written.engine_steps))
    assert min(written.prompt, written.model, written.engine, written.other) > 0


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_what_structgen_lets_end_is_valid(seed: int) -> None:
    """Whatever the model wants: a text that ended is valid, one that did not says so."""
    engine = GeneratingStructgen()
    engine.prepare(VOCABULARY)
    compiled = engine.compile(Spec(JSON_SCHEMA, json.dumps(SCHEMA)))
    written = SAMPLERS["masked"](Session(TableTarget(seed), VOCABULARY), job(300), compiled)
    assert written.finish == "end"
    assert validity(SCHEMA, json.loads(written.data)) == (True, "")


def test_structgen_generates_with_its_own_defaults() -> None:
    """As its users get it, and as results files say: the order of the schema, little space."""
    assert dict(GeneratingStructgen.settings) == {
        "property_order": "declared",
        "whitespace": "bounded",
    }
    engine = GeneratingStructgen()
    engine.prepare(VOCABULARY)
    compiled = engine.compile(Spec(JSON_SCHEMA, json.dumps(SCHEMA)))
    row = np.zeros(VOCABULARY.words, np.int32)
    matcher = compiled.start(row)
    assert not all(matcher.accept(token) for token in b'{"b"')


def test_the_arm_off_runs_once() -> None:
    """No engine takes part in "off", so it has one row, under a name of its own."""
    assert arms(["p", "q"], ["off", "masked", "aligned"]) == [
        ("", "off"),
        ("p", "masked"),
        ("q", "masked"),
        ("p", "aligned"),
        ("q", "aligned"),
    ]
    assert [label("p", sampler) for sampler in SAMPLERS] == [UNCONSTRAINED, "p", "p, aligned"]
