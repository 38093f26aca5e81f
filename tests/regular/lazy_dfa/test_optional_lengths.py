"""Texts that are empty or long: a bound that another one implies is none."""

from __future__ import annotations

import numpy as np
import pytest

import structgen as sg
from structgen.regular.lazy_dfa.counters import without_far_bounds
from structgen.regular.regex import ANY_CHAR, EPSILON, INFINITE, alt, repeat

WORDS = [b"<end>", *(bytes([byte]) for byte in range(256)), b"aa", b'""', b"a" * 40]


@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize("least", [3, 75, 255])
def test_masks_let_through_what_is_empty_or_long(least: int, *, keys: bool) -> None:
    """As values and as keys."""
    schema = {"anyOf": [{"maxLength": 0}, {"minLength": least}]}
    closed = {"type": "object", "propertyNames": schema, "additionalProperties": {"type": "null"}}
    constraint = sg.compile(
        closed if keys else {"type": "string", **schema}, sg.Vocabulary(WORDS, eos_ids=[0])
    )
    begin, end = (b'{"', b'": null}') if keys else (b'"', b'"')
    row = np.zeros(constraint.vocabulary.words, np.int32)
    constraint.fill_mask(constraint.advance_bytes(constraint.start, begin), row)
    assert [bool(row[t // 32] >> t % 32 & 1) for t in (257, 259)] == [True, True]
    for length, fits in [(0, True), (1, False), (least - 1, False), (least, True)]:
        state = constraint.advance_bytes(constraint.start, begin + b"a" * length + end)
        assert (state != sg.DEAD and constraint.is_accepting(state)) is fits


def test_a_far_bound_that_can_go_nowhere_is_none() -> None:
    """`(.{255,})?` is `(.{255,})*`, which has no bound."""
    optional = alt(EPSILON, repeat(ANY_CHAR, 255, None))
    assert without_far_bounds(optional, 1) == (optional, INFINITE)
