"""Subschemas that are equal word for word are found, and no others are taken for equal."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

import structgen as sg
from structgen.schema.keywords.copies import Copies
from structgen.schema.normal_form.expressions import Atom
from structgen.schema.references.references import Place
from structgen.schema.references.resources import Resource, Spot
from structgen.schema.references.vocabularies import Dialect
from tests.schema.objects.test_obligations import BYTES

DIALECT = Dialect(2020)
ROOT = Place(Spot(Resource("a:b", {}, DIALECT, ""), DIALECT, ""))
OTHER = Place(Spot(Resource("a:c", {}, DIALECT, ""), DIALECT, ""))

SAME: list[tuple[Any, Any]] = [
    ({"type": "string"}, {"type": "string", "title": "t", "description": "d", "examples": [1]}),
    ({"items": {"maxItems": 1}}, {"items": {"default": [], "maxItems": 1}}),
    ({"properties": {"a": {"const": 1}, "b": {}}}, {"properties": {"b": {}, "a": {"const": 1}}}),
    ({"anyOf": [{}, {"$ref": "#/x"}]}, {"anyOf": [{"title": "t"}, {"$ref": "#/x"}], "$defs": {}}),
    ({"dependencies": {"a": ["b"], "c": {}}}, {"dependencies": {"c": {}, "a": ["b"]}}),
]
OTHERS: list[tuple[Any, Any]] = [
    ({"const": 1}, {"const": True}),
    ({"const": "title"}, {"const": "x"}),
    ({"properties": {"title": {"const": 1}}}, {"properties": {"title": {"const": 2}}}),
    ({"properties": {"title": {}}}, {"properties": {}}),
    ({"items": {"not": {"minItems": 1}}}, {"items": {"not": {"minItems": 2}}}),
    ({"anyOf": [{"const": 1}, {"const": 2}]}, {"anyOf": [{"const": 1}]}),
    ({"additionalProperties": False}, {"additionalProperties": {}}),
    ({"$id": "x"}, {"$id": "x"}),
    ({"items": {"$anchor": "x"}}, {"items": {"$anchor": "x"}}),
    ({"const": {"default": 1}}, {"const": {"default": 2}}),
    ({"multipleOf": object()}, {"multipleOf": object()}),
]


def first_of(one: Any, other: Any, *, place: Place = ROOT) -> bool:
    """Whether the second of two subschemas is said to say what the first says."""
    copies, atoms = Copies(), (Atom(one, ROOT), Atom(other, place))
    assert copies.first(atoms[0]) is atoms[0]
    found = copies.first(atoms[1])
    assert found in atoms
    assert copies.first(atoms[1]) is found
    return found is atoms[0]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_copies_are_found(one: Any, other: Any) -> None:
    """Whatever is written beside what they say; but not of another document."""
    assert first_of(one, other)
    assert first_of(other, one)
    assert not first_of(one, other, place=OTHER)


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_others_are_not_taken_for_copies(one: Any, other: Any) -> None:
    """In whatever they differ, and where they have names of their own."""
    assert not first_of(one, other)
    assert not first_of(other, one)


def test_deep_copies_are_looked_at_without_an_end() -> None:
    """As deep as is looked they are found, and deeper ones are not taken for such."""

    def nested(depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {"const": 1}
        for _ in range(depth):
            found = {"items": found}
        return found

    assert first_of(nested(40), nested(40))
    assert not first_of(nested(900), nested(900))


COPY = {"type": "object", "patternProperties": {"^[a-z]+$": {"enum": [1, "x"]}}}
LIST = {"type": "array", "items": {"type": "string"}, "minItems": 1}
FORMS: list[dict[str, Any]] = [
    {"oneOf": [
        {"properties": {"c": {**COPY, "title": "one"}, "l": LIST, "x": {"type": "integer"}}},
        {"properties": {"c": {**COPY, "title": "two"}, "l": LIST, "y": {"type": "integer"}}},
    ], "type": "object"},
    {"oneOf": [
        {"properties": {"c": COPY, "x": True}, "additionalProperties": False},
        {"properties": {"c": COPY, "y": True}, "additionalProperties": False},
        {"properties": {"c": {**COPY, "minProperties": 1}, "z": True}, "required": ["z"]},
    ], "type": "object"},
    {"properties": {"c": {"title": "t", **COPY}},
     "not": {"type": "object", "properties": {"c": COPY}}},
    {"not": {"items": {"const": 1}}, "items": {"const": True}, "type": "array"},
]  # fmt: skip
VALUES: list[Any] = [
    {}, {"c": {}}, {"c": {"a": 1}}, {"c": {"a": 2}}, {"c": {"a": 2}, "x": 1}, {"x": 1}, {"x": "1"},
    {"c": {}, "x": "1"}, {"c": {}, "y": 1}, {"l": [], "x": 1}, {"l": ["a"], "y": "1"}, {"z": 1},
    {"c": {}, "z": 1}, {"c": {"a": "x"}, "z": None}, {"x": 1, "y": 1}, [True], [1], [], [1, True],
]  # fmt: skip


def accepts(constraint: sg.Constraint, value: Any) -> bool:
    """Whether a constraint takes the text of a value, and the text may end there."""
    state = constraint.advance_bytes(constraint.start, json.dumps(value).encode())
    return state != sg.DEAD and constraint.is_accepting(state)


@pytest.mark.parametrize("schema", FORMS)
def test_values_fit_as_jsonschema_has_it(schema: dict[str, Any]) -> None:
    """Where branches are copies of each other in part."""
    constraint = sg.compile(sg.JsonSchema(schema), BYTES)
    judge = jsonschema.Draft202012Validator(schema)
    verdicts = set()
    for value in VALUES:
        accepted = accepts(constraint, value)
        assert accepted == judge.is_valid(value), value
        verdicts.add(accepted)
    assert verdicts == {True, False}


@pytest.mark.thorough
def test_a_value_that_decides_much_decides_it_clause_by_clause() -> None:
    """Twelve conditions left to one value: not all their combinations are tried."""
    names = [f"b{i}" for i in range(12)]
    ruled_out = [
        {"required": ["a", name], "properties": {"a": {"type": "object", "required": [f"k{i}"]}}}
        for i, name in enumerate(names)
    ]
    schema = {"type": "object", "allOf": [{"not": one} for one in ruled_out]}
    constraint = sg.compile(sg.JsonSchema(schema), BYTES)
    judge = jsonschema.Draft202012Validator(schema)
    for value in ({"k3": 1}, {"k": 1}, 1, {"k11": 1, "k0": 1}):
        text = {**dict.fromkeys(names, 0), "a": value}
        assert accepts(constraint, text) == judge.is_valid(text)
