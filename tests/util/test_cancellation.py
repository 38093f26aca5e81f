"""Compilations that are cancelled end at the next unit of work, and leave nothing half done."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.util.cancellation import (
    Cancellation,
    CancelledError,
    cancellable,
    checkpoint,
)

BYTES = sg.Vocabulary([*(bytes((i,)) for i in range(256)), b"<end>"], eos_ids=[256])
SPECS: dict[str, Any] = {
    "schema": {
        "type": "object",
        "properties": {
            "a": {"anyOf": [{"$ref": "#"}, {"type": "array", "items": {"enum": [1, "x", None]}}]},
            "b": {"type": "string", "pattern": "^[a-f]{2,9}(x|yz)*$"},
        },
        "required": ["b"],
    },
    "patterns": {
        "type": "string",
        "allOf": [{"pattern": "a.{5}b.{4}c"}, {"not": {"pattern": "b.{3}a.{2}d"}}],
    },
    "items": {
        "type": "array",
        "uniqueItems": True,
        "minItems": 3,
        "items": {"anyOf": [{"enum": ["x", "y"]}, {"type": "integer", "minimum": 0, "maximum": 3}]},
    },
    "grammar": sg.Lark(
        'start: (word | number)+ "." \nword: "the" | NAME\nnumber: INT\n'
        'NAME: /[a-z]{2,8}/\nINT: /[0-9]+/\nWS: " "\n%ignore WS'
    ),
    "combined": sg.all_of(sg.Lark('start: "(" start ")" | /[ab]+/'), sg.Regex("[(]{2}a.*[)]+")),
}


class Limited(Cancellation):
    """Cancelled after so many units of work."""

    def __init__(self, most: int) -> None:
        self._most = most
        super().__init__()

    @property
    def cancelled(self) -> bool:
        """Whether that many have been done."""
        return self.units > self._most

    @cancelled.setter
    def cancelled(self, value: bool) -> None:
        assert not value


def masks_of(spec: Any) -> list[Any]:
    """The masks along the shortest text of a spec."""
    constraint = sg.compile(spec, BYTES)
    state, rows = constraint.start, []
    for byte in constraint.shortest_completion(state):
        row = np.zeros(BYTES.words, np.int32)
        constraint.fill_mask(state, row)
        rows.append(row.tobytes())
        state = constraint.advance_bytes(state, bytes([byte]))
    return rows


def units_of(spec: Any) -> int:
    """How many units of work it takes."""
    work = Cancellation()
    with cancellable(work):
        masks_of(spec)
    return work.units


@pytest.mark.parametrize("name", SPECS)
@given(share=st.floats(0, 1, exclude_max=True))
@settings(max_examples=12, deadline=None)
def test_what_was_cancelled_can_be_compiled_again(name: str, share: float) -> None:
    """Wherever it was cancelled, the masks are those of a compilation that nobody cancelled."""
    expected = masks_of(SPECS[name])
    most = units_of(SPECS[name])
    assert most > 1
    limit = int(share * most)  # `most` varies a little with what is kept from before
    work = Limited(limit)
    with cancellable(work), contextlib.suppress(CancelledError):
        masks_of(SPECS[name])
    assert work.cancelled or limit > most // 2  # some work may be kept from the last time
    assert masks_of(SPECS[name]) == expected


def test_a_thread_is_ended_from_another_one() -> None:
    """And only that one: this thread's own work goes on."""
    work, begun, ended = Cancellation(), threading.Event(), threading.Event()

    def run() -> None:
        try:
            with cancellable(work):
                while True:
                    checkpoint()
                    begun.set()
        except CancelledError:
            ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(20)
    work.cancel()
    assert ended.wait(20)
    thread.join()
    checkpoint()


def test_work_within_work_has_its_own_cancellation() -> None:
    """The outer one counts again where the inner one has ended."""
    outer, inner = Cancellation(), Cancellation()
    with cancellable(outer):
        checkpoint()
        with cancellable(inner):
            checkpoint()
            checkpoint()
        checkpoint()
    assert (outer.units, inner.units) == (2, 2)
