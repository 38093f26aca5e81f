"""Schemas of draft 3 mean what the jsonschema library takes them for."""

from __future__ import annotations

import json
from typing import Any

import pytest
import referencing
import referencing.jsonschema
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft3Validator

import structgen as sg
from structgen.errors import SpecError, StructgenError, UnsupportedSchemaError
from structgen.schema.references.draft3 import DRAFT_4

URI = "http://json-schema.org/draft-03/schema#"
PERSON: Any = {
    "$schema": URI,
    "id": "http://example.com/person",
    "type": "object",
    "properties": {
        "name": {"type": "string", "required": True},
        "age": {"type": ["integer", {"enum": ["unknown"]}], "divisibleBy": 2},
        "home": {"$ref": "#/properties/work", "required": True},
        "work": {
            "extends": {"type": "object"},
            "disallow": ["null", {"properties": {"x": {"required": True}}}],
        },
        "note": {"type": "any"},
    },
    "dependencies": {"age": "note", "note": ["name"]},
    "additionalProperties": False,
}

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 6), st.sampled_from(["", "a", "ab", 1.5])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object", "any"]


def _types(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    name = st.sampled_from(TYPES)
    return st.one_of(name, st.lists(st.one_of(name, schemas), min_size=1, max_size=3))


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    keys = st.one_of(st.sampled_from("abc"), st.lists(st.sampled_from("abc"), max_size=2), inner)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": _types(inner),
            "disallow": _types(inner),
            "extends": st.one_of(inner, st.lists(inner, max_size=2)),
            "properties": names,
            "required": st.booleans(),
            "dependencies": st.dictionaries(st.sampled_from("abc"), keys, max_size=2),
            "items": st.one_of(inner, st.lists(inner, max_size=2)),
            "additionalItems": st.one_of(inner, st.just(False)),
            "additionalProperties": st.one_of(inner, st.just(False)),
            "minimum": st.integers(-2, 3),
            "exclusiveMinimum": st.booleans(),
            "divisibleBy": st.sampled_from([1, 2, 0.5]),
            "minItems": st.integers(0, 2),
            "maxLength": st.integers(0, 1),
            "enum": st.lists(VALUES, min_size=1, max_size=3, unique_by=json.dumps),
        },
    )


SCHEMAS = st.recursive(_schemas(st.just({"type": "any"})), _schemas, max_leaves=4)


def fits(schema: Any, value: Any) -> bool:
    """Whether `check` accepts it."""
    try:
        sg.check(schema, json.dumps(value))
    except sg.errors.ValidationError:
        return False
    except sg.errors.UnsatisfiableSchemaError:
        return False
    return True


@given(schema=SCHEMAS, value=VALUES)
def test_what_fits_is_what_the_library_says(schema: Any, value: Any) -> None:
    """Of all keywords that later drafts renamed, dropped or say elsewhere, among others."""
    schema = {**schema, "$schema": URI}
    try:
        found = fits(schema, value)
    except StructgenError:
        return  # refused
    assert found == Draft3Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        ({"name": "A", "home": {}}, True),
        ({"name": "A", "home": {}, "age": 4, "note": 1}, True),
        ({"name": "A", "home": {}, "age": "unknown", "note": None}, True),
        ({"name": "A", "home": {}, "age": 3, "note": 1}, False),
        ({"name": "A", "home": {}, "age": 4}, False),
        ({"name": "A"}, False),
        ({"home": {}}, False),
        ({"name": "A", "home": {"x": 1}}, False),
    ],
)
def test_a_person(value: Any, valid: bool) -> None:
    """Properties that are required by themselves, also where they are a reference."""
    assert fits(PERSON, value) is valid
    assert Draft3Validator(PERSON).is_valid(value) is valid


@pytest.mark.parametrize("stated", [True, False], ids=["by $schema", "by its specification"])
def test_documents_of_draft_3_may_be_referred_to(stated: bool) -> None:
    """From schemas of later drafts, and into what is at its place still."""
    contents: Any = {"properties": {"a": {"type": "integer", "required": True}}}
    contents |= {"items": {"disallow": "null"}} | ({"$schema": URI} if stated else {})
    resource = referencing.jsonschema.DRAFT3.create_resource(contents)
    registry = referencing.Registry[Any]().with_resource("http://example.com/three", resource)
    spec = sg.JsonSchema({"$ref": "http://example.com/three"}, registry=registry)
    assert fits(spec, {"a": 1})
    assert not fits(spec, {})
    inner = sg.JsonSchema({"$ref": "http://example.com/three#/items"}, registry=registry)
    assert fits(inner, [])
    assert not fits(inner, None)


def test_errors_name_the_key_that_is_required() -> None:
    """At the object, where draft 4 has it."""
    with pytest.raises(sg.errors.ValidationError, match='must have the key "home"') as caught:
        sg.check(PERSON, {"name": "A"})
    assert caught.value.schema_path == "#/required"
    assert sg.JsonSchema(PERSON).schema["$schema"] == DRAFT_4


@pytest.mark.parametrize(
    ("schema", "error", "place"),
    [
        ({"properties": {"a": {"anyOf": [{}]}}}, UnsupportedSchemaError, "#/properties/a/anyOf"),
        ({"required": ["a"]}, SpecError, "#/required"),
        ({"items": [{"type": ["null", 3]}]}, SpecError, "#/items/0/type"),
        ({"type": "strong"}, SpecError, "#/type"),
        ({"divisibleBy": 0}, SpecError, "#/multipleOf"),
    ],
)
def test_what_draft_3_does_not_have_is_refused(
    schema: Any, error: type[StructgenError], place: str
) -> None:
    """Keywords of later drafts, too, which would restrict nothing."""
    with pytest.raises(error) as caught:
        sg.check({"$schema": URI, **schema}, "1")
    assert caught.value.location == place


def test_a_schema_that_is_nested_too_deeply_is_refused() -> None:
    """By an error of its own kind."""
    schema: Any = {}
    for _ in range(5000):
        schema = {"items": schema}
    with pytest.raises(sg.errors.BudgetError, match="nested too deeply"):
        sg.JsonSchema({"$schema": URI, **schema})
