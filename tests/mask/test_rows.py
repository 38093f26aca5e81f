"""In: small stores and vocabularies. Out: rows kept once, dropped when full, and never wrong."""

from __future__ import annotations

import numpy as np
import pytest

import structgen as sg
from structgen.mask import rows, walker


def bytewise() -> sg.Vocabulary:
    """A token for each byte, a few longer ones, and an end token."""
    longer = [b'{"', b'":', b'", "', b"true", b"aaaa", b'aa"', "é".encode() * 2]
    tokens = [bytes((b,)) for b in range(256)] + longer
    return sg.Vocabulary([*tokens, None], eos_ids=[len(tokens)])


def all_rows(constraint: sg.Constraint, states: list[int]) -> np.ndarray:
    """int32[states, words]: the masks, one by one."""
    found = np.zeros((len(states), constraint.vocabulary.words), np.int32)
    for row, state in zip(found, states, strict=True):
        constraint.fill_mask(state, row)
    return found


def test_equal_rows_are_kept_once() -> None:
    """Two states with the same mask share a place in the table."""
    store = rows.RowStore(3)
    first = store.add(0, np.array([1, 2, 3], np.int32))
    assert store.add(1, np.array([1, 2, 3], np.int32)) == first
    assert store.add(2, np.array([1, 2, 4], np.int32)) != first
    assert len(store) == 2


def test_masks_stay_right_when_the_store_overflows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that holds next to nothing gives the same masks as one that holds all."""
    spec = sg.JsonSchema({"properties": {"ab": {"type": "integer"}, "b": {"maxLength": 6}}})
    roomy = sg.compile(spec, bytewise())
    roomy.precompute(max_states=300)
    states = list(range(300))
    expected = all_rows(roomy, states)
    monkeypatch.setattr(rows, "MAX_BYTES", 0)
    tight = sg.compile(spec, bytewise())
    queue, seen = [tight.start], {tight.start}
    for state in queue:  # the same walk, so that states get the same numbers
        for byte in sorted(tight.allowed_bytes(state)):
            after = tight.advance_bytes(state, bytes((byte,)))
            if after not in seen and len(queue) < 300:
                seen.add(after)
                queue.append(after)
    assert (all_rows(tight, states) == expected).all()
    batch = np.zeros_like(expected)
    tight.fill_masks(states, batch)
    assert (batch == expected).all()


@pytest.mark.parametrize("schema", [{"minLength": 2, "maxLength": 5}, {"maxLength": 3}])
def test_bounded_strings_equal_a_walk_of_their_automaton(
    schema: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shortcut for lengths gives the rows of the walk that it replaces."""
    spec = sg.JsonSchema({"type": "string", **schema}, property_order="any", whitespace="any")
    quick = sg.compile(spec, bytewise())
    monkeypatch.setattr(walker, "bounds_of", lambda _state: None)
    slow = sg.compile(spec, bytewise())
    for text in ('"', '"a', '"aé', '"ab\\u00e9', '"\\ud83d', '"abc', '"abcd', '"abcde'):
        one, two = (c.advance_bytes(c.start, text.encode()) for c in (quick, slow))
        assert (one == sg.DEAD) == (two == sg.DEAD)
        assert (all_rows(quick, [one]) == all_rows(slow, [two])).all()


def test_keys_beside_free_ones_equal_a_walk_of_the_whole_trie(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Walking only where keys differ from a free string gives the rows of the full walk."""
    spec = sg.JsonSchema(
        {"properties": {"aa": {"type": "integer"}, "ab": True, "é": {"enum": [1]}}}
    )
    quick = sg.compile(spec, bytewise())
    monkeypatch.setattr(walker.Walker, "_looping", lambda _self, _q: None)
    slow = sg.compile(spec, bytewise())
    for text in ("{", '{"', '{"a', '{"aa', '{"aaa', '{"é', '{"aa":1,"', '{"aaaa":1,"a'):
        one, two = (c.advance_bytes(c.start, text.encode()) for c in (quick, slow))
        assert one != sg.DEAD
        assert (all_rows(quick, [one]) == all_rows(slow, [two])).all()
