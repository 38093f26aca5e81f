"""Schemas that cannot be compiled raise errors that say what is wrong, and where."""

from __future__ import annotations

import json
from typing import Any

import pytest

import structgen as sg
from structgen.errors import (
    DanglingReferenceError,
    PatternError,
    SpecError,
    StructgenError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)

BYTES = sg.Vocabulary([bytes((i,)) for i in range(256)])
BROKEN: list[tuple[type[StructgenError], str, Any]] = [
    (SpecError, "#/type", {"type": "text"}),
    (SpecError, "#/type", {"type": ["string", 3]}),
    (SpecError, "#/enum", {"enum": "a"}),
    (SpecError, "#/properties/a~1b/minimum", {"properties": {"a/b": {"minimum": "1"}}}),
    (SpecError, "#/multipleOf", {"multipleOf": 0}),
    (SpecError, "#/multipleOf", {"multipleOf": -2}),
    (SpecError, "#/minLength", {"minLength": -1}),
    (SpecError, "#/maxItems", {"maxItems": 1.5}),
    (SpecError, "#/required", {"required": "a"}),
    (SpecError, "#/required", {"required": [1]}),
    (SpecError, "#/properties", {"properties": []}),
    (SpecError, "#/properties/a", {"properties": {"a": 5}}),
    (SpecError, "#/anyOf", {"anyOf": []}),
    (SpecError, "#/allOf/1", {"allOf": [{}, "x"]}),
    (SpecError, "#/items", {"prefixItems": [{}], "items": [{}]}),
    (SpecError, "#/$ref", {"$ref": 1}),
    (SpecError, "#/$schema", {"$schema": 7}),
    (DanglingReferenceError, "#/items/$ref", {"items": {"$ref": "#/$defs/gone"}}),
    (DanglingReferenceError, "#/$ref", {"$ref": "https://example.com/none.json"}),
    (DanglingReferenceError, "#", {"$ref": "#"}),
    (DanglingReferenceError, "#/$defs/a", {"$ref": "#/$defs/a", "$defs": {
        "a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {}]}}}),
    (PatternError, "#/pattern", {"pattern": "a("}),
    (PatternError, "#/patternProperties/[", {"patternProperties": {"[": {}}}),
]  # fmt: skip
UNSATISFIABLE: list[Any] = [
    False,
    {"type": "string", "minLength": 3, "maxLength": 2},
    {"type": "integer", "minimum": 3, "maximum": 2},
    {"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 3},
    {"type": "array", "minItems": 3, "maxItems": 2},
    {"type": "array", "items": False, "minItems": 1},
    {"type": "array", "prefixItems": [{}, False], "minItems": 2},
    {"type": "object", "minProperties": 2, "maxProperties": 1},
    {"type": "object", "required": ["a"], "properties": {"a": False}},
    {"type": "object", "required": ["a", "b"], "maxProperties": 1},
    {"type": "object", "required": ["a"], "additionalProperties": False},
    {"type": "object", "required": ["b"], "propertyNames": {"pattern": "^a"}},
    {"type": "object", "properties": {"a": {}}, "additionalProperties": False, "minProperties": 2},
    {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
    {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
    {"enum": [1, "a", [2]], "type": "object"},
    {"const": {"a": 1}, "required": ["b"]},
    {"allOf": [{"type": "string"}, {"type": "number"}]},
    {"anyOf": [False, {"enum": [3], "minimum": 4}]},
    {"type": "string", "allOf": [{"pattern": "^a+$"}, {"pattern": "^b+$"}]},
    {"type": "integer", "multipleOf": 7, "minimum": 8, "maximum": 13},
    {"not": {}},
]


def compile_any(schema: Any) -> sg.Constraint:
    """The constraint of a schema under any order and white space."""
    return sg.compile(sg.JsonSchema(schema, property_order="any", whitespace="any"), BYTES)


@pytest.mark.parametrize(
    ("kind", "place", "schema"), BROKEN, ids=lambda x: json.dumps(x, default=str)
)
def test_a_broken_schema_is_refused_with_its_place(
    kind: type[StructgenError], place: str, schema: Any
) -> None:
    """The error has the JSON Pointer of the culprit, and says what was expected or what to do."""
    with pytest.raises(kind) as caught:
        compile_any(schema)
    assert type(caught.value) is kind
    assert caught.value.location == place
    assert caught.value.problem
    assert place in str(caught.value)


@pytest.mark.parametrize("schema", UNSATISFIABLE, ids=json.dumps)
def test_a_schema_that_nothing_fits_is_called_unsatisfiable(schema: Any) -> None:
    """Neither broken nor unsupported: legal, understood, and without any value."""
    with pytest.raises(UnsatisfiableSchemaError) as caught:
        compile_any(schema)
    assert caught.value.location.startswith("#")


def test_text_that_is_not_json_is_refused_with_line_and_column() -> None:
    """Schemas may be given as text; a comma too many is found where it is."""
    with pytest.raises(SpecError) as caught:
        sg.JsonSchema('{\n "type": "string",\n}')
    assert caught.value.location.startswith("line ")


@pytest.mark.parametrize("schema", ["[1]", "3", '"x"', "null"])
def test_json_that_is_no_schema_is_refused(schema: str) -> None:
    """A schema is an object or a boolean."""
    with pytest.raises(SpecError):
        compile_any(schema)


@pytest.mark.parametrize("option", ["property_order", "whitespace", "formats"])
def test_an_unknown_option_is_refused(option: str) -> None:
    """Options have a few values each, and others are errors at once."""
    with pytest.raises(SpecError):
        sg.JsonSchema({}, **dict[str, Any]({option: "sideways"})).machine()


def test_a_draft_that_is_not_enforced_is_never_passed_over() -> None:
    """A part of draft 3 is refused by the keyword that names it, and its place."""
    with pytest.raises(UnsupportedSchemaError) as caught:
        compile_any({"not": {"$schema": "http://json-schema.org/draft-03/schema#"}})
    assert caught.value.keyword == "$schema"
    assert caught.value.location == "#/not/$schema"
