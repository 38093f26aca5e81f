"""A schema is compiled within bounded work, or refused with the place and what to do."""

from __future__ import annotations

import json
import string
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import BudgetError, ValidationError
from structgen.schema.json_schema import MAX_WORK, JsonSchema
from structgen.schema.keywords import schemas
from structgen.util.cancellation import Cancellation, allow, cancellable, checkpoint, limited

BYTES = sg.Vocabulary([*(bytes((i,)) for i in range(256)), b"<end>"], eos_ids=[256])
Schema = dict[str, Any]


def _arrays(count: int) -> Schema:
    """Unions of prefixes, whose conjunctions evaluate different numbers of items."""
    return {
        "allOf": [
            {"anyOf": [{"prefixItems": [{"const": k} for k in range(i + j)]} for j in range(1, 4)]}
            for i in range(count)
        ],
        "unevaluatedItems": False,
    }


def _contains(count: int) -> Schema:
    """A union of items to find; each evaluates those it finds."""
    return {
        "type": "array",
        "anyOf": [{"contains": {"const": i}} for i in range(count)],
        "unevaluatedItems": {"type": "string"},
    }


def _bounded(count: int) -> Schema:
    """Unions with bounds on the number of members, which no clauses express."""
    return {
        "type": "object",
        "allOf": [
            {
                "anyOf": [
                    {"minProperties": i + 1, "properties": {f"a{i}": {"type": "string"}}},
                    {"maxProperties": 20 - i, "properties": {f"b{i}": True}},
                ]
            }
            for i in range(count)
        ],
        "unevaluatedProperties": False,
    }


def _patterns(count: int) -> Schema:
    """Unions of key patterns that overlap."""
    return {
        "allOf": [
            {
                "anyOf": [
                    {"patternProperties": {f"a{i}": {"type": "string"}}},
                    {"patternProperties": {f"b{i}": {"type": "integer"}}},
                ]
            }
            for i in range(count)
        ],
        "unevaluatedProperties": False,
    }


def _wildcards(count: int) -> Schema:
    """Key patterns of which no two that ask for different types may both match, in two places."""
    letters = string.ascii_lowercase
    types = ("string", "integer", "boolean", "null", "array", "object")

    def patterns(begin: int) -> Schema:
        pairs = [
            (letters[(i * 7 + begin) % 26], letters[(i * 5 + begin * 3) % 26]) for i in range(count)
        ]
        kinds = ({"type": types[(i + begin) % 6]} for i in range(count))
        return {
            "patternProperties": {
                f"{a}.*{b}": kind for (a, b), kind in zip(pairs, kinds, strict=True)
            }
        }

    return {"allOf": [{"properties": {"x": patterns(begin)}} for begin in (1, 2)]}


def _nested(count: int) -> Schema:
    """A union in a union in a union, each with its own `unevaluatedProperties`."""
    schema: Schema = {"properties": {"z": True}}
    for i in range(count):
        branches = [
            {"properties": {f"p{i}": {"type": "integer"}}},
            {"allOf": [schema]},
            {"properties": {f"q{i}": True}, "required": [f"q{i}"]},
        ]
        schema = {"anyOf": branches, "unevaluatedProperties": {"type": "number"}}
    return schema


@pytest.mark.parametrize(
    ("family", "count"),
    [
        (_arrays, 7),
        (_contains, 12),
        (_bounded, 6),
        (_bounded, 9),
        (_patterns, 6),
        (_nested, 9),
        (_wildcards, 6),
    ],
)
def test_what_takes_long_to_combine_is_refused_within_bounded_work(
    family: Callable[[int], Schema], count: int
) -> None:
    """With a place in the schema and advice."""
    work = Cancellation()
    with cancellable(work), pytest.raises(BudgetError) as caught:
        sg.JsonSchema(family(count)).machine()
    assert caught.value.location.startswith("#")
    assert caught.value.hint
    assert work.units < 2 * MAX_WORK


@given(
    st.sampled_from([_arrays, _contains, _bounded, _patterns, _nested, _wildcards]),
    st.integers(1, 2),
    st.recursive(
        st.sampled_from([0, 1, 2, "x", None]),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["a0", "b0", "a1", "p0", "q1", "z", "xa0b0", "x", "ig"]), inner
            )
        ),
        max_leaves=8,
    ),
)
def test_what_is_combined_is_judged_as_jsonschema_does(
    family: Callable[[int], Schema], count: int, value: Any
) -> None:
    """Few of the same unions are combined exactly."""
    schema = family(count)
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    try:
        sg.check(schema, json.dumps(value))
    except ValidationError:
        assert not expected, value
    else:
        assert expected, value


def test_a_limit_counts_units_and_may_be_raised_from_within() -> None:
    """Outside of it nothing is counted; an inner limit stands in the place of the outer one."""
    with limited(3, grows=True):
        checkpoint(3)
        allow(2)
        checkpoint(2)
        with limited(1):
            checkpoint()
        with pytest.raises(BudgetError):
            checkpoint()
    checkpoint(10**9)
    allow(1)
    checkpoint(10**9)


def _prefixes(count: int) -> Schema:
    """Keys that begin in some ways, of which some begin with others, and five at least."""
    named = {f"^p{i}": {"type": "integer", "minimum": i} for i in range(count)}
    return {"patternProperties": named, "additionalProperties": False, "minProperties": 5}


def _shapes(count: int) -> Schema:
    """Key patterns that do not overlap, each with a required key of its own in the value."""
    named = {f"^x{i}_[a-z]+$": {"required": [f"p{i}"]} for i in range(count)}
    return {"patternProperties": named, "additionalProperties": False}


def _listed_objects(count: int) -> Schema:
    return {"enum": [{"id": i, "name": f"name{i}"} for i in range(count)]}


def _listed_arrays(count: int) -> Schema:
    return {"enum": [[i, f"name{i}"] for i in range(count)]}


def calls_to_compile(schema: Schema) -> int:
    """How many functions are called while a schema is compiled."""
    made = [0]

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        made[0] += event == "call"

    sys.setprofile(count)
    try:
        sg.compile(sg.JsonSchema(schema), BYTES)
    finally:
        sys.setprofile(None)
    return made[0]


@pytest.mark.parametrize("made", [_prefixes, _shapes, _listed_objects, _listed_arrays])
def test_twice_as_many_of_a_kind_take_little_more_than_twice_the_work(
    made: Callable[[int], Schema],
) -> None:
    """No pattern or constant is compared with all others by functions of their own."""
    calls_to_compile(made(8))  # what is done once in a process
    few = calls_to_compile(made(100))
    assert calls_to_compile(made(200)) < 2.2 * few


@pytest.mark.parametrize("count", [7, 40])
def test_the_cheapest_members_of_many_patterns_are_found(count: int) -> None:
    """The shortest object is as short as one with the shortest keys and values."""
    constraint = sg.compile({"type": "object", **_prefixes(count)}, BYTES)
    text = constraint.shortest_completion(constraint.start)
    jsonschema.validate(json.loads(text), _prefixes(count))
    keys = sorted(f"p{i}" for i in range(count))
    values = {key: max(i for i in range(count) if key.startswith(f"p{i}")) for key in keys}
    members = sorted(len(f'"{key}":{value}') for key, value in values.items())
    assert len(text) <= len("{}") + sum(members[:5]) + len(",") * 4


def test_only_so_many_states_are_explored_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many strings have a format with a length of its own; others when read."""
    asked: list[Any] = []

    def explore(language: Any, **_: bool) -> int:
        asked.append(language)
        return schemas.MAX_AHEAD // 2

    monkeypatch.setattr(schemas, "explore_ahead", explore)
    names = {f"p{i}": {"type": "string", "format": "uri", "maxLength": 20 + i} for i in range(20)}
    JsonSchema({"type": "object", "properties": names}).machine()
    strings = [language for language in asked if language.longest in range(20, 40)]
    assert len(strings) == 2
