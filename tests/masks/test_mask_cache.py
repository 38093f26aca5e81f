"""A row taken from another state is the row of this state."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.masks import mask_cache
from structgen.masks.bitmask import unpack

NAMES = ("a", "b", "ab", "c")
PIECES = (
    *(bytes((byte,)) for byte in b'{}[]",: abcx0123456789truefalsn\\u'),
    b'"a', b'{"', b'":', b'","', b'"}', b'"},', b'"},{', b'}}', b'},"', b'"a":', b'"b":', b'"ab":"',
    b',"a":0', b',"b":0,', b'0,"', b'0}', b'0},', b'0,"a"', b'0,"b":0}', b'":0', b'":0,"', b'":0}',
    b'":"",', b'":"","', b'"],"', b']}', b'":{"', b'":{}}', b'":{},"c', b'"x":0', b',"x":0',
    b'b":0,"a', b'["', b'["a', b'"]', b'","a"', b'"a"', b'","a","',
)  # fmt: skip
OTHERS = [bytes((i,)) for i in range(256) if bytes((i,)) not in PIECES]  # so all can be written
END = len(PIECES) + len(OTHERS)
VOCABULARY = sg.Vocabulary([*PIECES, *OTHERS, b"<end>"], eos_ids=[END])
TRIED = [*range(len(PIECES)), END]
WALKS, STEPS = 8, 14


def objects(depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Schemas of objects, some of whose children are objects."""
    scalars = st.sampled_from(
        [
            {"type": "integer"},
            {"type": "integer", "minimum": 1},
            {"type": "string"},
            {"type": "string", "maxLength": 12},  # longer than any token, and no more behind one
            {"type": "string", "minLength": 1, "maxLength": 2},
            {"enum": ["", 0, "a"]},
        ]
    )
    children: st.SearchStrategy[Any] = scalars
    if depth:
        inner = objects(depth - 1)
        apart = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
        short = {"items": {"type": ["string", "null"], "maxLength": 2}, "maxItems": 9}
        children = scalars | inner | st.just(apart) | st.just(apart | short)
        children |= st.builds(lambda s: {"type": "array", "items": s}, inner)
    names = st.sampled_from(NAMES)
    return st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(names, children, min_size=1, max_size=3),
            "required": st.lists(names, unique=True, max_size=2),
            "additionalProperties": st.sampled_from([False, {"type": "integer"}]),
        }
    )


def walked(constraint: sg.Constraint, rng: Random) -> set[int]:
    """The states of some walks, their masks compared with what can be read."""
    row = np.zeros(VOCABULARY.words, np.int32)
    known: set[int] = set()
    for _ in range(WALKS):
        state = constraint.start
        for _ in range(STEPS):
            constraint.fill_mask(state, row)
            allowed = np.flatnonzero(unpack(row, VOCABULARY.size)).tolist()
            if state not in known:
                known.add(state)
                wanted = [t for t in TRIED if constraint.advance(state, t) != sg.DEAD]
                assert [t for t in TRIED if t in set(allowed)] == wanted
            longer = [t for t in allowed if t < len(PIECES) and len(PIECES[t]) > 1]
            some = longer if longer and rng.random() < 0.6 else allowed
            state = constraint.advance(state, rng.choice([t for t in some if t in TRIED]))
            if state < 0:
                break
    return known


@given(objects(2), st.integers(0, 999), st.sampled_from(["any", "compact"]))
def test_masks_say_what_can_be_read_however_they_were_found(
    schema: dict[str, Any], seed: int, whitespace: Any
) -> None:
    """Each bit is that of brute force, whether a row was made or another state's."""
    spec = sg.JsonSchema(schema, property_order="any", whitespace=whitespace)
    try:
        constraint = sg.compile(spec, VOCABULARY)
    except sg.errors.UnsatisfiableSchemaError:
        return
    walked(constraint, Random(seed))


@pytest.mark.thorough
@pytest.mark.parametrize("most", [2, 3, 12])
@pytest.mark.parametrize("kinds", ["string", ["string", "null"], ["string", "integer"]])
@given(st.integers(0, 999), st.sampled_from([{}, {"maxItems": 5}, {"minItems": 2}]))
def test_masks_of_texts_that_differ_and_have_a_length(
    most: int, kinds: Any, seed: int, more: dict[str, Any]
) -> None:
    """The same for arrays, of which the last letter of a text may be the only one left."""
    items = {"type": kinds, "maxLength": most}
    array = {"type": "array", "items": items, "uniqueItems": True, **more}
    walked(sg.compile(sg.JsonSchema(array), VOCABULARY), Random(seed))


def test_what_is_known_grows_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records, their hash table, recipes and stack nodes grow from next to no room."""
    for name in ("RECORD_WORDS", "SLOTS", "RECIPES"):
        monkeypatch.setattr(mask_cache, name, 16)
    child = {"properties": {name: {"enum": [name, 1]} for name in NAMES}, "required": ["b"]}
    schema = {"properties": dict.fromkeys(NAMES, child), "required": ["c", "ab"]}
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any"), VOCABULARY)
    for seed in range(6):
        walked(constraint, Random(seed))
    arrays = constraint._masks._mask_cache._arrays  # type: ignore[attr-defined]
    assert min(len(arrays.records), len(arrays.places), len(arrays.recipes)) > 16


@pytest.mark.parametrize("closed", [False, True])
def test_many_states_have_a_row_that_was_made_for_another(closed: bool) -> None:
    """What has come before matters no longer where only what is missing does."""
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in NAMES},
        "required": ["a"],
        "additionalProperties": not closed,
    }
    spec = sg.JsonSchema(schema, property_order="any", whitespace="any")
    constraint = sg.compile(spec, VOCABULARY)
    made: list[int] = []
    write = constraint._masks.write
    constraint._masks.write = lambda at, row: made.append(at) or write(at, row)  # type: ignore[method-assign, func-returns-value]
    states = set().union(*(walked(constraint, Random(seed)) for seed in range(12)))
    assert len(made) < 0.75 * len(states)


def test_behind_a_comma_nothing_is_found_out_again() -> None:
    """Where keys of any name may come, how to find them is the same in objects with other names."""
    schemas = [{"properties": {name: {"type": "integer"}}} for name in ("a", "b", "abc")]
    asked: list[list[int]] = []
    vocabulary = sg.Vocabulary(VOCABULARY.tokens, eos_ids=[END])  # of which nothing is known
    for schema in schemas:
        c = sg.compile(sg.JsonSchema(schema, property_order="any", whitespace="any"), vocabulary)
        s = c.advance_bytes(c.start, b'{"x":0,')
        masks: Any = c._masks
        fill, codes = masks._fill_cache, list[int]()
        masks._fill_cache = lambda code, at, f=fill, seen=codes: seen.append(code) or f(code, at)
        c.mask_view(s)
        asked.append(codes)
    assert asked[0]
    assert asked[1:] == [[], []]
