"""Schemas that negate, count, compare and look back: the library's verdicts, and no dead ends.

Each schema also goes on random walks under every layout: whatever bytes are picked, the text can be
finished and is valid then.
"""

from __future__ import annotations

import json
from itertools import product
from random import Random
from typing import Any

import pytest

import structgen as sg
from structgen.automata.pushdown.engine import Engine
from structgen.errors import BudgetError, UnsatisfiableSchemaError
from structgen.schema.machine.frames import JsonFrame
from structgen.schema.normal_form import costs
from structgen.util.cancellation import Cancellation, cancellable
from tests.helpers import laws
from tests.helpers.oracle import DIALECTS, json_decider

BYTES = sg.Vocabulary([*(bytes((i,)) for i in range(256)), b""], eos_ids=[256])
VALUES: list[Any] = [
    None, True, False, 0, 1, 1.0, 2, 1.5, "", "a", "ab",
    [], [1], [2], [1, 1], [1, 1.0], [1, 2], [2, 1], [1, True], [0, False], ["a"], ["a", "a"],
    ["a", "b"], [1, "a"], ["a", 1], [1, 2, 3], [1, 1, 1], ["a", 1, "b"], [[1], [1.0]], [[1], [2]],
    [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [{"a": 1}, {"a": 2}], [[], {}], [None, None],
    {}, {"a": 1}, {"a": "x"}, {"b": 1}, {"b": "x"}, {"a": 1, "b": 1}, {"b": "x", "a": "x"},
    {"a": 1, "c": 1}, {"c": None}, {"a": 2, "b": 2, "c": 2}, {"ab": 1}, {"ab": "x", "a": 1},
    {"d": [1]}, {"a": {"a": 1}}, {"a": [1, 1]},
]  # fmt: skip
ANIMAL = {"enum": ["cat", "dog"]}
SCHEMAS: list[Any] = [
    {"not": {"type": ["integer", "object"]}}, {"not": {"enum": [1, "a", [1], {"a": 1}]}},
    {"not": {"not": {"minimum": 1}}}, {"not": {"minLength": 1, "type": "string"}},
    {"not": {"items": {"type": "integer"}}}, {"not": {"prefixItems": [True, {"const": 1}]}},
    {"not": {"minItems": 2, "maxItems": 2}}, {"not": {"contains": {"const": 1}}},
    {"not": {"uniqueItems": True}}, {"not": {"uniqueItems": True, "items": {"type": "integer"}}},
    {"not": {"required": ["a", "b"]}}, {"not": {"properties": {"a": {"type": "integer"}}}},
    {"not": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "type": "object"},
    {"not": {"additionalProperties": {"type": "integer"}}}, {"not": {"minProperties": 2}},
    {"not": {"patternProperties": {"^a": {"type": "integer"}}}},
    {"not": {"propertyNames": {"maxLength": 1}}},
    {"not": {"dependentRequired": {"a": ["b"]}}, "type": "object"},
    {"not": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}},
    {"not": {"allOf": [{"required": ["a"]}, {"properties": {"b": {"type": "string"}}}]}},
    {"oneOf": [{"type": "integer"}, {"minimum": 1}]},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c"]}]},
    {"oneOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"minimum": 2}}}]},
    {"oneOf": [{"items": {"type": "integer"}}, {"minItems": 2}]},
    {"oneOf": [{"minimum": 1}, False]},
    {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
    {"if": {"type": "array"}, "then": {"minItems": 2}, "else": {"not": {"type": "string"}}},
    {"type": "object", "allOf": [
        {"if": {"properties": {"a": {"const": value}}}, "then": {"required": [key]}}
        for value, key in ((1, "b"), (2, "c"), ("x", "b"))
    ]},
    {"contains": {"type": "integer"}}, {"contains": {"const": 1}, "maxItems": 2},
    {"contains": {"type": "integer"}, "minContains": 2, "maxContains": 2},
    {"contains": {"const": 1}, "minContains": 0, "maxContains": 1},
    {"allOf": [{"contains": {"const": 1}}, {"contains": {"type": "string"}}], "maxItems": 3},
    {"uniqueItems": True}, {"uniqueItems": True, "items": {"enum": [1, 2, 3]}, "minItems": 2},
    {"uniqueItems": True, "prefixItems": [{"enum": [1, 2]}, {"const": 1}], "minItems": 2},
    {"uniqueItems": True, "contains": {"type": "integer"}, "minContains": 2},
    {"uniqueItems": True, "items": {"type": "array", "items": {"enum": [1, 2]}, "maxItems": 1}},
    {"properties": {"a": True}, "unevaluatedProperties": False},
    {"anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": True}}],
     "unevaluatedProperties": False},
    {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
     "then": {"properties": {"b": True}}, "unevaluatedProperties": {"type": "string"}},
    {"oneOf": [{"properties": {"a": True}, "required": ["a"]},
               {"properties": {"b": True}, "required": ["b"]}], "unevaluatedProperties": False},
    {"dependentSchemas": {"a": {"properties": {"b": True}}}, "properties": {"a": True},
     "unevaluatedProperties": False},
    {"prefixItems": [True], "unevaluatedItems": {"type": "string"}},
    {"contains": {"type": "integer"}, "unevaluatedItems": {"type": "string"}},
    {"anyOf": [{"prefixItems": [{"const": 1}]}, {"prefixItems": [True, {"const": "a"}]}],
     "unevaluatedItems": False},
    {"anyOf": [{"prefixItems": [{"const": 1}, True]}, {"prefixItems": [{"const": 2}]},
               {"prefixItems": [{"const": "a"}], "contains": {"const": "b"}}],
     "unevaluatedItems": {"type": "string"}},
    {"type": "object", "properties": {"a": ANIMAL, "b": ANIMAL}, "minProperties": 1,
     "not": {"properties": {"a": {"const": "cat"}, "b": {"const": "dog"}}}},
    {"type": "object", "additionalProperties": {"enum": [1, 2]}, "maxProperties": 2,
     "not": {"additionalProperties": {"const": 1}}},
    {"if": {"additionalProperties": False}, "else": {"maxProperties": 1}},
]  # fmt: skip
ORDERS = ("declared", "any")


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_the_library_agrees_on_every_value(schema: Any) -> None:
    """Under any order and white space."""
    schema = {"$schema": DIALECTS[2020], **schema}
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any", whitespace="any"), BYTES)
    texts = [json.dumps(value).encode() for value in VALUES]
    laws.accepts_exactly(constraint, texts, json_decider(schema))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_whatever_is_written_can_be_finished_and_is_valid(schema: Any, order: str) -> None:
    """Random walks in compact texts."""
    schema = {"$schema": DIALECTS[2020], **schema}
    spec = sg.JsonSchema(schema, property_order=order, whitespace="compact")
    constraint = sg.compile(spec, BYTES)
    decide = json_decider(schema)
    for seed in range(4):
        for visit in laws.walk(constraint, Random(seed), 12)[-4:]:
            laws.goes_on(constraint, visit[1])
            laws.completion_is_accepted(constraint, visit, decide)


@pytest.mark.parametrize(
    "schema",
    [
        {"uniqueItems": True, "items": {"type": "boolean"}, "minItems": 3},
        {"uniqueItems": True, "contains": {"const": 1}, "minContains": 2},
        {"uniqueItems": True, "prefixItems": [{"const": 1}, {"const": 1.0}], "minItems": 2},
        {
            "uniqueItems": True,
            "minItems": 3,
            "items": {"type": "array", "items": {"const": 0}, "maxItems": 1},
        },
        {"uniqueItems": True, "minItems": 2, "items": {"anyOf": [{"$ref": "#"}, {"const": 1}]}},
        {"contains": {"type": "string"}, "items": {"type": "integer"}},
        {"contains": {"type": "string"}, "minContains": 3, "maxItems": 2},
        {"not": {"uniqueItems": True}, "maxItems": 1},
        {"unevaluatedItems": False, "minItems": 1},
    ],
    ids=json.dumps,
)
def test_arrays_that_cannot_be_are_found(schema: Any) -> None:
    """When compiled, not when it is too late."""
    schema = {"type": "array", **schema}
    with pytest.raises(UnsatisfiableSchemaError):
        sg.compile(sg.JsonSchema(schema), BYTES)


def test_a_value_that_a_later_item_needs_is_not_taken() -> None:
    """Of [1 or 2, 1], without equal items, the first is 2."""
    schema = {"uniqueItems": True, "prefixItems": [{"enum": [1, 2]}, {"const": 1}], "minItems": 2}
    spec = sg.JsonSchema({"type": "array", **schema}, whitespace="compact")
    constraint = sg.compile(spec, BYTES)
    assert constraint.forced_bytes(constraint.start) == b"[2,1"


def test_the_last_value_left_ends_an_array_of_different_items() -> None:
    """No comma where nothing could follow it."""
    schema = {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}
    constraint = sg.compile(sg.JsonSchema(schema, whitespace="compact"), BYTES)
    laws.accepts_exactly(
        constraint,
        [b'["b","a"]', b'["b","b"]', b'["b"]', b'["b","a","a"]'],
        json_decider(schema),
    )
    state = constraint.advance_bytes(constraint.start, b'["b","a"')
    assert constraint.forced_bytes(state) == b"]"


@pytest.mark.parametrize("schema", [{"not": {"uniqueItems": True}}, {"uniqueItems": True}])
def test_a_completion_depends_on_the_item_that_is_being_read(schema: Any) -> None:
    """What completes one string may repeat, or fail to repeat, another."""
    schema = {"type": "array", "minItems": 2, **schema}
    constraint = sg.compile(sg.JsonSchema(schema, whitespace="compact"), BYTES)
    decide = json_decider({"$schema": DIALECTS[2020], **schema})
    for beginning in (b'["', b'["9', b'["x","9', b"[1", b"[10", b'[{"a":1},{"', b'[{"a":1},{"a'):
        state = constraint.advance_bytes(constraint.start, beginning)
        whole = beginning + constraint.shortest_completion(state)
        assert decide(whole), whole


AN_OBJECT, A_NUMBER, NULL = ({"type": name} for name in ("object", "number", "null"))
A_NULL_B_NUMBER = {"properties": {"a": NULL, "b": A_NUMBER}}


@pytest.mark.parametrize(
    ("denied", "shortest"),
    [
        ([{"patternProperties": {"b|d": AN_OBJECT}}, A_NULL_B_NUMBER], 8),
        ([{"properties": {"b": AN_OBJECT, "c": AN_OBJECT}}, A_NULL_B_NUMBER], 8),
        (
            [
                {"patternProperties": {"a": AN_OBJECT, "b": {"minLength": 2}}},
                {"properties": {"b": {"maxLength": 0}, "c": NULL}},
            ],
            9,
        ),
        ([{"properties": {f"{n}": NULL, "b": {"const": n}}} for n in range(3)], 7),
        ([{"additionalProperties": AN_OBJECT}, {"additionalProperties": A_NUMBER}], 7),
    ],
)
def test_one_value_meets_several_conditions(denied: list[Any], shortest: int) -> None:
    """Where it can: then completions have no further members."""
    schema = {"type": "object", "allOf": [{"not": each} for each in denied]}
    constraint = sg.compile(sg.JsonSchema(schema, whitespace="compact"), BYTES)
    found = constraint.shortest_completion(constraint.start)
    assert json_decider({"$schema": DIALECTS[2020], **schema})(found)
    assert len(found) == shortest


def test_many_overlapping_branches_stay_apart() -> None:
    """Optional keys in thirty branches, which conjunctions of negations would multiply."""
    branches = [
        {"properties": {"kind": {"const": f"k{i}"}, f"x{i}": {"type": "integer"}}}
        for i in range(30)
    ]
    schema = {"type": "object", "oneOf": branches}
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any"), BYTES)
    decide = json_decider({"$schema": DIALECTS[2020], **schema})
    texts = [b'{"kind":"k3"}', b'{"kind":"k3","x3":"a"}', b'{"kind":"z"}', b"{}", b'{"x3":"a"}']
    laws.accepts_exactly(constraint, texts, decide)


def test_items_that_no_value_fits_end_an_array() -> None:
    """So tuples that begin differently have one array in common, not one for each set of them."""
    tuples = [{"prefixItems": [{"const": f"a{i}"}, *[{}] * (i % 3)]} for i in range(40)]
    schema = {"type": "array", "anyOf": tuples, "unevaluatedItems": {"type": "integer"}}
    engine = sg.JsonSchema(schema, property_order="any", whitespace="compact").automaton()
    assert isinstance(engine, Engine)
    at, _ = engine.run(engine.start, b"[")
    frame = engine.frame_at(at & 0xFFFFFFFF)
    assert isinstance(frame, JsonFrame)
    assert len(frame.threads) <= len(tuples) + 1
    constraint = sg.compile(
        sg.JsonSchema(schema, property_order="any", whitespace="compact"), BYTES
    )
    texts = [json.dumps(v, separators=(",", ":")) for v in ([], ["a1", "x", 2], ["a0", "x"], ["b"])]
    laws.accepts_exactly(
        constraint, [t.encode() for t in texts], json_decider({"$schema": DIALECTS[2020], **schema})
    )


def test_work_beyond_the_limits_is_refused_by_name() -> None:
    """Independent conditions multiply; the error names the subschema."""
    conditions = [
        {"if": {"required": [f"a{i}"]}, "then": {"minProperties": i + 2}} for i in range(40)
    ]
    branches = [{"anyOf": [{"minProperties": i}, {"maxProperties": i}]} for i in range(40)]
    with pytest.raises(BudgetError) as caught:
        sg.compile(sg.JsonSchema({"allOf": [*conditions, {"not": {"allOf": branches}}]}), BYTES)
    assert caught.value.location.startswith("#")


def test_what_is_asked_twice_is_no_alternative_of_its_own() -> None:
    """None of five, or two of them: as many alternatives as there are ways to say so."""
    five = [
        {"type": "object", "properties": {k: {"type": "string"}}, "required": [k]} for k in "abcde"
    ]
    schema = {"not": {"oneOf": five}}
    engine = sg.JsonSchema(schema, property_order="any", whitespace="compact").automaton()
    assert isinstance(engine, Engine)
    at, _ = engine.run(engine.start, b"{")
    frame = engine.frame_at(at & 0xFFFFFFFF)
    assert isinstance(frame, JsonFrame)
    assert len(frame.threads) < 50
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any"), BYTES)
    texts = [
        json.dumps(dict(zip("abcde", values, strict=True)) | {"f": 1}, separators=(",", ":"))
        for values in product(["x", 1], repeat=5)
    ]
    texts += [text.replace('"a":"x",', "").replace('"c":"x",', "") for text in texts]
    decide = json_decider({"$schema": DIALECTS[2020], **schema})
    laws.accepts_exactly(constraint, [text.encode() for text in texts], decide)


@pytest.mark.parametrize(
    ("schema", "size"),
    [
        ({"type": "number", "not": {"type": "integer"}, "minimum": 2}, 3),
        ({"type": "number", "allOf": [{"not": {"multipleOf": 2}}, {"not": {"multipleOf": 3}}]}, 1),
        ({"type": "integer", "not": {"anyOf": [{"minimum": -3}, {"multipleOf": 2}]}}, 2),
        ({"type": "number", "not": {"anyOf": [{"maximum": 9}, {"const": 10}]}}, 2),
    ],
)
def test_short_numbers_are_found_without_a_search(
    schema: Any, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search takes long where several conditions are about multiples and single values."""
    spec = sg.JsonSchema(schema, whitespace="compact")
    constraint = sg.compile(spec, BYTES)
    assert len(constraint.shortest_completion(constraint.start)) == size
    monkeypatch.setattr(costs, "shortest", None)
    costs._digits.cache_clear()
    constraint = sg.compile(
        sg.JsonSchema(schema, whitespace="compact", property_order="any"), BYTES
    )
    assert len(constraint.shortest_completion(constraint.start)) == size


def test_long_names_that_must_come_are_found_at_once() -> None:
    """Though any shorter key may come as well: a few units of work for each member."""
    names = [f"a rather long name, number {i}" for i in range(30)]
    members = {name: {"type": "string", "minLength": 1} for name in names}
    inner = {"type": "object", "properties": members, "required": names}
    spec = sg.JsonSchema(inner, property_order="any", whitespace="any")
    constraint, work = sg.compile(spec, BYTES), Cancellation()
    with cancellable(work):
        text = constraint.shortest_completion(constraint.start)
    assert sorted(json.loads(text)) == sorted(names)
    assert len(text) == 1 + sum(len(f'"{name}":" ",') for name in names)
    assert work.units < 30 * len(names)
