"""`uniqueItems`: masks are right, cost little, and captured values survive saving.

The reference reads byte by byte and has never made a mask, so nothing that a mask left open can
have found its way into it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.pushdown.engine import Engine
from structgen.errors import UnsatisfiableSchemaError
from structgen.masks.bitmask import unpack
from tests.fuzz.judge import BYTES
from tests.helpers import laws
from tests.helpers.oracle import json_decider

SINGLE = (bytes((byte,)) for byte in b'{}[]",:ab01-.e \\u6truefalsn')
PIECES = [
    *SINGLE, b'","', b'"a"', b'","a"', b'","a","', b'a","', b'a","b","', b'"},{"', b'"},',
    b'a"},{"a', b'},{"a":"', b'},{"a":"a"},{"', b'"]', b'"]}', b"],[", b'"],["', b'["a"],["',
    b'],["a"],[', b"1,1", b"1,0,", b'0,"', b",1.0", b'1,{"', b"},1,", b"{}", b"{},{", b"[]",
    b"[],[", b'":"', b'":', b'{"a":', b'{"a":"b"}', b'":1},{"', b"1}", b'1},{"a":1}', b"null",
    b"null,", b"true,", b', "', b',"a":', b',"b":1', b'"b":', b'":{"a":1}},{', b'\\u0061"',
    b'\\u0061","', b'","\\u', b",[", b',{"b', b'"a":1,"b":1},{"', b"ab", b'ab","',
    b'ab"},{"a":"ab"', b'","a', b'b","a', b'"a",{"', b'b",{',
]  # fmt: skip
OTHERS = [bytes((i,)) for i in range(256) if bytes((i,)) not in PIECES]  # so all can be written
END = len(PIECES) + len(OTHERS)
VOCABULARY = sg.Vocabulary([*PIECES, *OTHERS, b"<end>"], eos_ids=[END])

TEXT = {"type": "string"}
OPEN = {"type": "object", "properties": {"a": TEXT, "b": {}}}
PAIR = {
    "type": "object",
    "properties": {"a": TEXT, "b": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
ITEMS: list[dict[str, Any]] = [
    {}, TEXT, OPEN, PAIR,
    {"type": ["string", "integer", "null"]},
    {"anyOf": [PAIR, TEXT, {"type": "array", "items": TEXT, "uniqueItems": True}]},
    {"type": "array", "items": OPEN, "uniqueItems": True},
    PAIR | {"properties": {"a": {"enum": ["a", "b"]}, "b": {"enum": [1]}}},
    {"type": "object", "propertyNames": {"enum": ["a", "b"]}, "dependentRequired": {"a": ["b"]}},
    {"type": "object", "patternProperties": {"^[ab]{1,2}$": {"type": "integer"}}},
    {"type": "string", "pattern": "^a?b?$"},
    {"type": "string", "pattern": "^(a|b+)$"},  # more and more of them, but one begins with a
    {"anyOf": [TEXT, PAIR | {"properties": {"a": {"enum": ["a"]}}}]},  # the same of objects
    {"enum": ["a", "b", "ab", "\u00e9", 1, None, {"a": 1}]},
    {"enum": ["a", "b", "ab", "bb"]},
]  # fmt: skip
AB = {"^[ab]{1,2}$": {"type": "integer"}}
KEYS: list[dict[str, Any]] = [  # of patterns with few words, which may run out, or may not
    {"type": "object", "patternProperties": AB},
    {"type": "object", "patternProperties": AB, "additionalProperties": TEXT, "minProperties": 1},
    {"type": "object", "patternProperties": AB, "additionalProperties": False},
    {"type": "object", "patternProperties": AB | {"b$": False}, "properties": {"a": {}}},
    {"type": "object", "patternProperties": AB, "propertyNames": {"maxLength": 2}},
]
MORE: list[dict[str, Any]] = [
    {"minItems": 1}, {"minItems": 2}, {"maxItems": 3}, {"contains": {"type": "string"}},
    {"prefixItems": [{"type": "integer"}, {"const": 1}]},
    {"minItems": 2, "maxItems": 2}, {"prefixItems": [{"type": "boolean"}]},
    {"prefixItems": [{"const": "a"}, {"enum": ["a", 1]}], "maxItems": 4},
]  # fmt: skip


HALVES = {"type": "number", "multipleOf": 0.5, "exclusiveMinimum": 0, "maximum": 1}
SCARCE: list[dict[str, Any]] = [  # as few values as items, or hardly more
    {"type": "array", "uniqueItems": True, "items": HALVES, "minItems": 2},
    {"type": "array", "uniqueItems": True, "items": HALVES | {"not": {"const": 1}}, "minItems": 1},
    {"type": "array", "uniqueItems": True, "items": {"enum": [0, 1, "a", "b"]}, "minItems": 3},
    {"type": "array", "uniqueItems": True, "minItems": 4, "maxItems": 4,
     "items": {"type": "integer", "minimum": 0, "maximum": 4}},
    {"type": "array", "uniqueItems": True, "minItems": 2, "prefixItems": [{"const": 1}],
     "items": {"enum": [1, "a"]}},
]  # fmt: skip


def schemas() -> Iterator[dict[str, Any]]:
    """Arrays of each kind of item, each with some more conditions, and inside of others."""
    for i, item in enumerate(ITEMS):
        array = {"type": "array", "uniqueItems": True, "items": item}
        more = array | MORE[i % len(MORE)]
        yield array
        yield {"type": "object", "properties": {"a": more, "b": array}, "required": ["a"]}
    yield from KEYS
    yield from SCARCE
    yield from ({"type": "array", "not": {"uniqueItems": True}, "items": i} for i in ({}, PAIR))


def compiled(schema: dict[str, Any], vocabulary: sg.Vocabulary, order: Any) -> sg.Constraint:
    """A fresh constraint."""
    spec = sg.JsonSchema(schema, property_order=order, whitespace="bounded")
    return sg.compile(spec, vocabulary)


def allowed(constraint: sg.Constraint, state: int) -> list[int]:
    """The tokens of a mask, but for those that are there for the sake of completeness."""
    row = np.zeros(VOCABULARY.words, np.int32)
    constraint.fill_mask(state, row)
    found: list[int] = np.flatnonzero(unpack(row, VOCABULARY.size)).tolist()
    return [token for token in found if token < len(PIECES) or token == END]


@pytest.mark.thorough
@pytest.mark.parametrize("schema", [*schemas()], ids=json.dumps)
@settings(max_examples=12)
@given(seed=st.integers(0, 99_999), order=st.sampled_from(["declared", "any"]))
def test_masks_say_what_can_be_read_byte_by_byte(
    schema: dict[str, Any], seed: int, order: Any
) -> None:
    """Of tokens that end items, begin others, or cross several, too; what ends so is valid."""
    try:
        masked, reference = compiled(schema, VOCABULARY, order), compiled(schema, BYTES, order)
    except sg.errors.UnsatisfiableSchemaError:
        return
    decide, rng = json_decider(schema), Random(seed)
    for _ in range(3):
        state, at, text = masked.start, reference.start, b""
        for _ in range(12):
            found = allowed(masked, state)
            behind = [reference.advance_bytes(at, piece) for piece in PIECES]
            wanted = [i for i, after in enumerate(behind) if after != sg.DEAD]
            assert found == wanted + [END] * reference.is_accepting(at), text
            if reference.is_accepting(at):
                assert decide(text), text
            longer = [i for i in wanted if len(PIECES[i]) > 1]
            some = longer if longer and rng.random() < 0.7 else wanted
            if not some:
                break
            token = rng.choice(some)
            state, at, text = masked.advance(state, token), behind[token], text + PIECES[token]
        rest = masked.shortest_completion(state)
        assert decide(text + rest), text + rest
        assert reference.is_accepting(reference.advance_bytes(at, rest)), text + rest


# -- what it costs ------------------------------------------------------------------------------


def asked_for(schema: dict[str, Any], text: bytes, tokens: int) -> int:
    """How often a mask asks Python for something where so many tokens end an item in some way."""
    endings = [b'%x"},{"' % i for i in range(tokens)] + [b'%x",' % i for i in range(tokens)]
    endings += [b'%x"},' % i for i in range(tokens)] + [b'%x"]' % i for i in range(tokens)]
    vocabulary = sg.Vocabulary([*(bytes((i,)) for i in range(256)), *endings, b""], eos_ids=[256])
    constraint = sg.compile(sg.JsonSchema(schema), vocabulary)
    engine = constraint.automaton
    assert isinstance(engine, Engine)
    state = constraint.advance_bytes(constraint.start, text)
    row = np.zeros(vocabulary.words, np.int32)
    before = engine.size
    constraint.fill_mask(state, row)
    return engine.size["frames"] + engine.size["events"] - before["frames"] - before["events"]


FLAG = {"prefixItems": [{"type": "boolean"}]}


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"items": OPEN}, b'[{"a": "ab"}, {"a": "abc'),
        ({"items": PAIR}, b'[{"a": "ab"}, {"a": "abc'),
        ({"items": TEXT}, b'["ab", "abc'),
        ({}, b'["ab", 1, {"a": 1}, "abc'),
        ({"items": {"type": "array", "items": OPEN}}, b'[[{"a": "ab"}], [{"a": "abc'),
        ({"items": {"type": ["string", "object"]}, "minItems": 2, "maxItems": 2}, b'["ab", "abc'),
        ({"items": TEXT} | FLAG, b'[true, "ab", "abc'),
        ({"items": TEXT, "contains": {"const": "a"}}, b'["ab", "abc'),
        ({"contains": {"pattern": "^a"}}, b'["ab", 1, {"a": 1}, "abc'),
    ],
)
def test_what_a_mask_asks_python_for_does_not_grow_with_the_tokens(
    more: dict[str, Any], text: bytes
) -> None:
    """Items are left open where many tokens end them."""
    schema = {"type": "array", "uniqueItems": True} | more
    few, many = (asked_for(schema, text, tokens) for tokens in (4, 200))
    assert few == many < 20


def grows(schema: dict[str, Any], items: list[Any], kind: str) -> list[int]:
    """How many there are of a kind after more and more items."""
    engine = sg.JsonSchema(schema).automaton()
    assert isinstance(engine, Engine)
    found = []
    for i in range(1, len(items)):
        data = json.dumps(items[:i]).encode()[:-1] + b", "
        assert engine.run(engine.start, data)[1] == len(data)
        found.append(engine.size[kind])
    return found


def test_items_share_frames_once_they_are_sure_to_differ() -> None:
    """A further item costs a frame or two: what begins it, not what is inside of it."""
    schema = {"type": "array", "uniqueItems": True, "items": OPEN | {"required": ["a"]}}
    long = {f"k{i}": i for i in range(30)}
    found = grows(schema, [{"a": str(i), "b": {"a": "x"}} | long for i in range(9)], "frames")
    assert found[-1] - found[-2] < 12


def test_words_of_a_list_are_ticked_off() -> None:
    """No frame and no lexer state more for another word, until all have come."""
    words = [f"word{i}" for i in range(40)]
    schema = {"type": "array", "uniqueItems": True, "items": {"enum": words}}
    for kind in ("frames", "events"):
        found = grows(schema, words, kind)
        assert found[-1] - found[2] <= len(words)
    text = json.dumps(words)[:-1].encode()
    constraint = sg.compile(sg.JsonSchema(schema), BYTES)
    state = constraint.advance_bytes(constraint.start, text)
    assert constraint.allowed_bytes(state) & {*b"],"} == {*b"]"}


def test_branches_that_list_other_words_are_not_counted_one_by_one() -> None:
    """An item of one list is in no other list, so it is no choice which of them it is not in."""
    lists = [[f"{i}{letter}" for letter in "abc"] for i in range(12)]
    array = {"type": "array", "uniqueItems": True, "maxItems": 25}
    spec = sg.JsonSchema({"oneOf": [array | {"items": {"enum": words}} for words in lists]})
    sg.check(spec, ["3a", "3c"])
    for wrong in (["3a", "3a"], ["3a", "4a"], []):
        with pytest.raises(sg.errors.ValidationError):
            sg.check(spec, wrong)


# -- what is kept -------------------------------------------------------------------------------


def test_what_was_read_is_still_known_when_it_is_loaded(tmp_path: Path) -> None:
    """A saved array in which an item has begun refuses what came before, and nothing else."""
    schema = {"type": "array", "uniqueItems": True, "items": OPEN}
    constraint = sg.compile(sg.JsonSchema(schema), VOCABULARY)
    for seed in range(5):
        laws.walk(constraint, Random(seed), 12)
    constraint.save(tmp_path / "saved")
    for seed in range(8):
        fresh = sg.compile(sg.JsonSchema(schema), VOCABULARY)
        laws.same_behaviour(sg.load(tmp_path / "saved", VOCABULARY), fresh, Random(seed))
    loaded = sg.load(tmp_path / "saved", VOCABULARY)
    state = loaded.advance_bytes(
        loaded.start, b'[{"a": "a", "c": [1, {}]}, {"a": "a", "c": [1, {}]'
    )
    assert not loaded.allowed_bytes(state) & {*b"}]"}


@pytest.mark.parametrize(
    ("items", "fits"),
    [
        (["1", "1.0"], False),
        (["[1, 2]", "[2, 1]", "[1]", "[]"], True),
        (['{"a": 1, "b": 2}', '{"b": 2, "a": 1}'], False),
        (['{"a": 1, "\\u0062": 2}', '{"b": 2, "a": 1}'], False),
        (['{"a": {"b": "x"}}', '{"a": {"b": "y"}}', '{"a": {}}', '{"a": []}'], True),
        (['{"": [[0]]}', '{"": [[0.0]]}'], False),
        (["true", "1", '"1"', "null", '"null"'], True),
        (['"a"', '"\\u0061"'], False),
        (["0", "-0.0E3359044090232938399"], False),
        (["1", "0e-9999999999999999999999"], True),
        (["[[], [[]]]", "[[], [[]]]"], False),
    ],
)
def test_values_are_compared_however_they_are_spelled(items: list[str], fits: bool) -> None:
    """Numbers by value, objects whatever the order of their keys, texts without their escapes."""
    for whitespace in ("any", "compact"):
        spec = sg.JsonSchema({"uniqueItems": True}, property_order="any", whitespace=whitespace)
        text = "[" + ", ".join(items) + "]"
        text = text if whitespace == "any" else text.replace(" ", "")
        constraint = sg.compile(spec, BYTES)
        state = constraint.advance_bytes(constraint.start, text.encode())
        assert constraint.is_accepting(state) == fits, text


@pytest.mark.parametrize("prefix", [b"[", b"[[", b"[[0", b"[[0,", b'[{"a":[1', b"[1"])
def test_a_completion_ends_where_two_items_must_be_equal(prefix: bytes) -> None:
    """The array within, that may become the twin, is not written on and on."""
    schema = {"type": "array", "maxItems": 2, "not": {"uniqueItems": True}}
    constraint = compiled(schema, BYTES, "any")
    rest = constraint.shortest_completion(constraint.advance_bytes(constraint.start, prefix))
    assert json_decider(schema)(prefix + rest)
    assert len(rest) <= 2 * len(prefix) + 6


@pytest.mark.parametrize(
    ("then", "prefix", "size"),
    [
        ({}, b"[", len("null]")),
        ({}, b'["aa', len('",null]')),
        ({"contains": {"type": "boolean"}}, b"[", len("0,null,0]")),
        ({"contains": {"type": "boolean"}}, b'["aab",1', len(",null,1]")),
        ({"contains": {"enum": [True]}, "maxItems": 3}, b"[1,", len("null,1]")),
        (False, b"[1,null,", len("1]")),
    ],
)
def test_a_completion_is_found_where_the_best_ends_look_as_if_all_fitted(
    then: Any, prefix: bytes, size: int
) -> None:
    """Of the texts that an item can be, those behind the ones that seem shortest are tried too."""
    schema = {"contains": {"type": "null"}, "if": {"uniqueItems": True}, "then": then}
    constraint = compiled(schema, BYTES, "any")
    rest = constraint.shortest_completion(constraint.advance_bytes(constraint.start, prefix))
    assert json_decider(schema)(prefix + rest)
    assert len(rest) == size


def test_objects_of_few_values_are_counted_by_their_members() -> None:
    """Each may come once, and no more are asked for than there are."""
    item = {
        "type": "object",
        "properties": {"a": {"enum": [0, "x"]}, "b": {"type": "boolean"}, "c": {"const": None}},
        "required": ["a"],
        "additionalProperties": False,
    }
    schema = {"type": "array", "items": item, "uniqueItems": True, "minItems": 3}
    decide = json_decider(schema)
    constraint = sg.compile(sg.JsonSchema(schema, whitespace="compact"), BYTES)
    objects = [
        {"a": a} | ({} if b is None else {"b": b}) | ({} if c else {"c": None})
        for a, b, c in product((0, "x"), (None, True, False), (True, False))
    ]
    lists = [objects, objects[:3], objects[:2], [*objects, objects[4]], objects[3:6] * 2]
    texts = [json.dumps(items, separators=(",", ":")).encode() for items in lists]
    laws.accepts_exactly(constraint, texts, decide)
    state = constraint.advance_bytes(constraint.start, texts[0][:-1] + b",")
    assert state == sg.DEAD
    with pytest.raises(UnsatisfiableSchemaError):
        sg.compile(sg.JsonSchema({**schema, "minItems": 13}), BYTES)


@pytest.mark.parametrize(
    ("heads", "counts", "found"),
    [
        ([["ab", [1], None]], (1, 2), None),
        ([["a", None]], (1, 1), 2),
        ([[None], [None, True]], (1, 1), 2),
        ([[None, True], [None, True], [None, True]], (1, 1), 2),
        ([[True, None], [True], [None, "a"]], (1, 1), 2),
    ],
)
def test_null_is_given_to_one_item_alone(
    heads: list[list[Any]], counts: tuple[int, int], found: int | None
) -> None:
    """As any other value: where two items need it, no array fits."""
    kinds = [
        {"contains": {"const": value}, "minContains": count}
        for value, count in zip((True, None), counts, strict=True)
    ]
    array = {"type": "array", "uniqueItems": True, "prefixItems": [{"enum": h} for h in heads]}
    schema = array | {"allOf": kinds}
    if found is None:
        with pytest.raises(UnsatisfiableSchemaError):
            sg.JsonSchema(schema).machine()
        return
    constraint = sg.compile(sg.JsonSchema(schema), BYTES)
    text = constraint.shortest_completion(constraint.start)
    assert json_decider(schema)(text)
    assert len(json.loads(text)) == found
