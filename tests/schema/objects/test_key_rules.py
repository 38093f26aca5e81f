"""Overlapping key patterns: which keys may come, and what their values must fit."""

from __future__ import annotations

import json
from itertools import product
from random import Random
from typing import Any

import pytest

import structgen as sg
from structgen.automata.pushdown.engine import Engine
from structgen.errors import UnsatisfiableSchemaError
from structgen.schema.machine.frames import JsonFrame
from structgen.schema.objects import matcher
from tests.helpers import laws
from tests.helpers.oracle import DIALECTS, json_decider
from tests.schema.objects.test_obligations import BYTES

PATTERNS = ["a", "b", "ab", "ba", "^a", "b$", "^a.*b$", "bb", "^[ab]$", "^.b"]
CHILDREN: list[Any] = [
    {"type": "string"}, {"type": "integer"}, {"type": ["integer", "null"]}, {"type": "object"},
    {"type": ["string", "null"]}, {"enum": [1, 2]}, {"enum": [2, "x"]}, {"maximum": 1}, {}, False,
    {"type": "array", "minItems": 1}, {"type": "array", "maxItems": 1},
    {"type": "array", "items": {"type": "null"}},
]  # fmt: skip
VALUES = [1, 2, "x", None, {}, [], [None]]


def drawn(rng: Random) -> Any:
    """Patterns about a few letters, in one or two schemas about the same object."""

    def group() -> dict[str, Any]:
        patterns = rng.sample(PATTERNS, rng.randrange(1, 4))
        found: dict[str, Any] = {
            "patternProperties": {pattern: rng.choice(CHILDREN) for pattern in patterns}
        }
        if rng.random() < 0.4:
            found["additionalProperties"] = rng.choice([False, *CHILDREN])
        if rng.random() < 0.2:
            found["propertyNames"] = {"pattern": rng.choice(PATTERNS)}
        if rng.random() < 0.2:
            found["properties"] = {"ab": rng.choice(CHILDREN)}
        return found

    found: dict[str, Any] = {
        "type": "object",
        "allOf": [group() for _ in range(rng.randrange(1, 3))],
    }
    if rng.random() < 0.2:
        found["minProperties"] = 1
    return found


@pytest.mark.parametrize("seed", range(60))
def test_the_library_agrees_on_every_key(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On all keys of up to three letters, with values of all types; and nothing is stuck."""
    monkeypatch.setattr(matcher, "MAX_SPLITTING", 0)
    schema = {"$schema": DIALECTS[2020], **drawn(Random(seed))}
    decide = json_decider(schema)
    keys = ["".join(key) for size in range(4) for key in product("abc", repeat=size)]
    texts = [
        json.dumps({key: value}, separators=(",", ":")).encode()
        for key, value in product(keys, VALUES)
    ]
    spec = sg.JsonSchema(schema, property_order="any", whitespace="compact")
    try:
        constraint = sg.compile(spec, BYTES)
    except UnsatisfiableSchemaError:
        assert not any(map(decide, texts))
        return
    laws.accepts_exactly(constraint, texts, decide)
    for walk in range(3):
        visit = laws.walk(constraint, Random(walk), 12)[-1]
        laws.goes_on(constraint, visit[1])
        laws.completion_is_accepted(constraint, visit, decide)


@pytest.mark.parametrize("size", [20, 40])
def test_patterns_that_overlap_in_many_ways_are_read_side_by_side(size: int) -> None:
    """Each of many letters asks for a type: a key with two of them must not ask for two types."""
    kinds = ["string", "integer", "boolean"]
    letters = [chr(0x4E00 + i) for i in range(size)]
    patterns = {letter: {"type": kinds[i % 3]} for i, letter in enumerate(letters)}
    schema = {"$schema": DIALECTS[2020], "type": "object", "patternProperties": patterns}
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any"), BYTES)
    keys = ["", letters[0], letters[0] + letters[3], letters[0] + letters[1], "x" + letters[2]]
    texts = [
        json.dumps({key: value}, ensure_ascii=False).encode()
        for key, value in product(keys, [1, "x", True, None])
    ]
    laws.accepts_exactly(constraint, texts, json_decider(schema))


@pytest.mark.parametrize("count", [1, 3])
def test_a_number_of_members_is_reached_with_keys_of_patterns(count: int) -> None:
    """Bounds count keys that patterns tell apart as they count others."""
    patterns = {
        f"^{x}[0-9]$": {"type": kind}
        for x, kind in zip("abcdef", ["null", "array"] * 3, strict=True)
    }
    schema = {
        "$schema": DIALECTS[2020],
        "type": "object",
        "minProperties": count,
        "patternProperties": patterns,
        "additionalProperties": False,
    }
    constraint = sg.compile(
        sg.JsonSchema(schema, property_order="any", whitespace="compact"), BYTES
    )
    decide = json_decider(schema)
    laws.accepts_exactly(
        constraint, [b'{"a1":null,"b1":[],"a2":null}', b'{"a1":null}', b"{}", b'{"a1":[]}'], decide
    )
    whole = constraint.shortest_completion(constraint.start)
    assert decide(whole)
    assert len(json.loads(whole)) == count


KINDS = {"string": "^title|text|note$", "null": "^none|nothing$", "integer": "^wide|x|height$"}
SHORT_KEYS = {
    "type": "object",
    "minProperties": 1,
    "allOf": [
        {
            "patternProperties": {"^[a-z_-]{0,250}$": {"type": ["string", "integer"]}},
            "additionalProperties": False,
        }
    ],
    "patternProperties": {pattern: {"type": kind} for kind, pattern in KINDS.items()}
    | {"^x{1,99}$": {"minimum": 2}, "^y": False},
    "additionalProperties": False,
}


@pytest.mark.parametrize("begun", ["{", '{"', '{"ti', '{"wi', '{"no', '{"-', '{"-x', '{"-x":1,"'])
def test_keys_of_a_bounded_length_are_ended_soon(begun: str) -> None:
    """Also where all keys of some pattern have a value that another one refuses."""
    constraint = sg.compile(sg.JsonSchema(SHORT_KEYS), BYTES)
    state = constraint.advance_bytes(constraint.start, begun.encode())
    text = begun.encode() + constraint.shortest_completion(state)
    assert json_decider(SHORT_KEYS)(text), text


@pytest.mark.parametrize(
    "key", ["title", "text", "no", "none", "x", "wide", "yx", "note", "-x", ""]
)
def test_keys_of_a_bounded_length_fit_as_the_library_says(key: str) -> None:
    """With values of all types."""
    constraint = sg.compile(sg.JsonSchema(SHORT_KEYS), BYTES)
    decide = json_decider(SHORT_KEYS)
    for value in VALUES:
        text = json.dumps({key: value}).encode()
        state = constraint.advance_bytes(constraint.start, text)
        assert constraint.is_accepting(state) == decide(text), text


def test_objects_that_require_other_members_share_the_classes_of_their_keys() -> None:
    """What the patterns make of the keys is found once."""
    names = [f"n{i}" for i in range(9)]
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in names},
        "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 1}},
        "anyOf": [{"required": [name]} for name in names],
    }
    engine = sg.JsonSchema(schema).automaton()
    assert isinstance(engine, Engine)
    at, _ = engine.run(engine.start, b"{")
    frame = engine.frame_at(at & 0xFFFFFFFF)
    assert isinstance(frame, JsonFrame)
    matchers = [t.matcher for t in frame.threads]
    assert len(matchers) == len(names)
    assert len({id(matcher.all_key_classes) for matcher in matchers}) == 1


def test_a_name_that_may_not_come_is_not_begun_for_what_patterns_ask() -> None:
    """`c` needs `b`, and there is room for one: no text goes on with it."""
    once = {"maxProperties": 1, "patternProperties": {"a|c": True}}
    known = {
        "dependentRequired": {"c": ["b"]},
        "patternProperties": {"[ab]": True, "a|c": {"enum": [0]}},
        "unevaluatedProperties": False,
    }
    letter = {"additionalProperties": False, "patternProperties": {"^.$": True}}
    schema = {"type": "object", "if": {"maxProperties": 0}, "else": letter, "allOf": [once, known]}
    c = sg.compile(sg.JsonSchema(schema, property_order="any"), BYTES)
    assert c.advance_bytes(c.start, b'{"c') == sg.DEAD
    for begun in (b'{"a', b'{"b'):
        state = c.advance_bytes(c.start, begun)
        assert c.is_accepting(c.advance_bytes(state, c.shortest_completion(state)))
