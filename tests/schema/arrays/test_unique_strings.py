"""`uniqueItems` of strings: they are compared as values, whatever their escapes."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.pushdown.engine import Engine
from tests.fuzz.judge import BYTES
from tests.helpers.oracle import json_decider

WORDS = st.sampled_from(["", "a", "b", "ab", "\u00e9", "\U0001f600", '"', "\\"])
ITEMS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "minLength": 1},
    {"type": "string", "pattern": "^[a-z]+$"},
    {"type": "string", "maxLength": 2},
    {"type": "string", "pattern": "^[^x]+$", "maxLength": 2},
    {"type": ["string", "null"], "pattern": "^[ab][^x]{0,1}$"},
    {"type": ["null", "string"], "minLength": 2, "maxLength": 2},
    {"type": ["string", "integer"], "minLength": 1, "maxLength": 3},
    {
        "type": "string",
        "pattern": "^[a-z]|[Cc][Oo][Ll][Ll][Ee][Cc][Tt][Ii][Oo][Nn]|[Cc][Oo][Rr][Ee]$",
    },
]


def spelled(word: str, how: int) -> str:
    """A string in JSON, its characters as they are, or escaped."""
    if how == 0:
        return json.dumps(word, ensure_ascii=False)
    return json.dumps(word) if how == 1 else '"' + "".join(map(_unit, word)) + '"'


def _unit(letter: str) -> str:
    units = letter.encode("utf-16-be").hex()
    return "".join("\\u" + units[i : i + 4] for i in range(0, len(units), 4))


@pytest.mark.parametrize("item", ITEMS)
@given(words=st.lists(st.tuples(WORDS, st.integers(0, 2)), max_size=4))
def test_items_differ_however_they_are_spelled(
    item: dict[str, Any], words: list[tuple[str, int]]
) -> None:
    """A text is accepted if and only if no value in it comes twice, and each fits."""
    one = sg.compile(sg.JsonSchema(item, escapes="any"), BYTES)
    array = {"type": "array", "items": item, "uniqueItems": True}
    constraint = sg.compile(sg.JsonSchema(array, escapes="any"), BYTES)
    texts = [spelled(*word) for word in words]
    state = constraint.advance_bytes(constraint.start, ("[" + ",".join(texts) + "]").encode())
    fit = all(one.is_accepting(one.advance_bytes(one.start, text.encode())) for text in texts)
    values = [word for word, _ in words]
    assert constraint.is_accepting(state) == (fit and len(set(values)) == len(values))


@pytest.mark.parametrize(
    ("more", "by_text"),
    [
        ({}, True),
        ({"minItems": 2}, False),
        ({"contains": {"minLength": 2}}, True),
        ({"contains": {"minLength": 2}, "minContains": 2}, False),
    ],
)
def test_items_are_told_apart_by_text_where_nothing_else_is_asked(
    more: dict[str, Any], by_text: bool
) -> None:
    """Then an array has few frames, not one for every set of items; completions are right."""
    schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True} | more
    engine = sg.JsonSchema(schema, whitespace="compact").automaton()
    assert isinstance(engine, Engine)
    frames = []
    text = b'["",'
    for letter in b"abcdef":
        text += b'"%c",' % letter
        at, read = engine.run(engine.start, text)
        assert read == len(text)
        rest = engine.completions().shortest(at)
        assert len(set(json.loads(text + rest))) == len(json.loads(text + rest))
        frames.append(engine.size["frames"])
    assert (frames[1] == frames[-1]) == by_text


@pytest.mark.parametrize(
    "item",
    [
        {"pattern": "^[^/:*]+$", "maxLength": 40},
        {"pattern": "^[a-z][a-z0-9_-]{0,62}$"},
        {"pattern": "^[a-z]+(-[a-z]+)*$", "minLength": 2, "maxLength": 30, "not": {"const": "no"}},
    ],
)
def test_patterns_with_a_bound_are_told_apart_by_text(item: dict[str, Any]) -> None:
    """As long strings without one are: what was read makes no frames."""
    schema = {"type": "array", "items": {"type": "string", **item}, "uniqueItems": True}
    engine = sg.JsonSchema(schema, whitespace="compact").automaton()
    assert isinstance(engine, Engine)
    frames = []
    for letters in ("ab", "abcdef"):
        engine.run(engine.start, b"[" + b"".join(b'"a%c",' % x for x in letters.encode()))
        frames.append(engine.size["frames"])
    assert frames[0] == frames[1]


SHORT: list[dict[str, Any]] = [
    {"items": {"type": "string", "maxLength": 2}},
    {"items": {"type": "string", "minLength": 2, "maxLength": 2}, "maxItems": 9},
    {"items": {"type": "string", "pattern": "^[^x]+$", "maxLength": 2}},
    {"items": {"type": ["string", "null"], "pattern": "^[ab][^x]$"}, "maxItems": 9},
    {"items": {"type": "string", "pattern": "^[ab][a-z]*[^x]$", "maxLength": 2}},
    {"items": {"type": ["string", "null"], "maxLength": 2}, "minItems": 1},
    {"items": {"type": ["string", "null"], "maxLength": 2}, "maxItems": 9},
    {"items": {"type": ["string", "integer"], "minLength": 1, "maxLength": 2}, "minItems": 3},
    {"prefixItems": [{"type": "string"}], "items": {"type": "string", "maxLength": 2}},
    {"prefixItems": [{"type": ["string", "null"], "maxLength": 3}], "items": {"maxLength": 2}},
]
TAKEN = st.lists(st.sampled_from(["ab", "aa", "bb", "aé", "a\U0001f600"]), max_size=5, unique=True)


@pytest.mark.parametrize("array", SHORT)
@given(taken=TAKEN, first=st.sampled_from("ab"), how=st.integers(0, 2), more=st.booleans())
def test_no_text_is_begun_that_all_its_ends_are_taken_of(
    array: dict[str, Any], taken: list[str], first: str, how: int, more: bool
) -> None:
    """Of the last letter there is room for, those are left that make a text of its own."""
    schema = {"type": "array", "uniqueItems": True, **array}
    spec = sg.JsonSchema(schema, whitespace="compact", escapes="any")
    constraint = sg.compile(spec, BYTES)
    decide = json_decider(schema)
    read = ["null"] * (more and "null" in str(array)) + [spelled(word, how) for word in taken]
    before = ("[" + "".join(f"{item}," for item in read)).encode()
    begun = constraint.advance_bytes(constraint.start, before)
    for last, spelling in product("abé\U0001f600", range(3)):
        text = spelled(first + last, spelling)[:-1].encode()
        at = constraint.advance_bytes(begun, text)
        assert (at >= 0) == (first + last not in taken)
        if at >= 0:
            assert decide(before + text + constraint.shortest_completion(at))


FOUND: list[dict[str, Any]] = [  # an item that must come, too
    {"contains": {"const": "a"}, "items": {"type": "string"}},
    {"contains": {"enum": ["a", "b"]}, "items": {"pattern": "^(a|b.*)$"}},
    {"contains": {"enum": [None, "a"]}, "items": {"not": {"type": "integer"}}},
    {"contains": {"pattern": "^a"}, "minItems": 1, "prefixItems": [{"enum": ["a", "b"]}]},
    {
        "contains": {"const": "a"},
        "allOf": [{"contains": {"minLength": 2}}, {"contains": {"const": [0]}}],
    },
]
FOUND_VALUES = st.sampled_from(["", "a", "b", "ab", "bb", None, 0.5, [0], [1]])


@pytest.mark.parametrize("array", FOUND, ids=json.dumps)
@given(items=st.lists(FOUND_VALUES, max_size=5), cut=st.integers(0, 30))
def test_one_of_items_that_differ_must_be_found(
    array: dict[str, Any], items: list[Any], cut: int
) -> None:
    """What has come is known when it is found, and whatever has come, the text can be finished."""
    schema = {"type": "array", "uniqueItems": True} | array
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any", whitespace="any"), BYTES)
    decide = json_decider(schema)
    text = json.dumps(items).encode()
    state = constraint.advance_bytes(constraint.start, text)
    assert constraint.is_accepting(state) == decide(text)
    state = constraint.advance_bytes(constraint.start, text[:cut])
    if state != sg.DEAD:
        assert decide(text[:cut] + constraint.shortest_completion(state))


def test_an_item_that_is_counted_twice_comes_first() -> None:
    """And nothing that is shorter and brings the end no nearer."""
    both = [{"contains": {"enum": [{"a": 1}, {}]}}, {"contains": {"enum": [[], {}]}}]
    engine = sg.JsonSchema({"type": "array", "uniqueItems": True, "allOf": both}).automaton()
    at, _ = engine.run(engine.start, b"[true,")
    assert engine.completions().shortest(at) == b"{}]"
