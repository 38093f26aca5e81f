"""Errors of `check` name the keyword that fails, where it stands, and what breaks it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
import referencing
import referencing.jsonschema
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import StructgenError, ValidationError
from tests.helpers.schemas import MISSPELT_ON_PURPOSE, schemas
from tests.helpers.values import mutated, near_value

pytestmark = MISSPELT_ON_PURPOSE

PERSON: Any = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 4},
        "age": {"$ref": "#/$defs/age"},
        "tags": {"items": {"enum": ["a", 1]}, "maxItems": 2},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
    "$defs": {"age": {"type": "integer", "minimum": 0}},
}
KINDS: Any = {
    "anyOf": [
        {"properties": {"kind": {"const": "a"}, "v": {"type": "integer"}}, "required": ["v"]},
        {"properties": {"kind": {"const": "b"}, "v": {"type": "string"}}, "required": ["v"]},
    ]
}
OLD = "http://json-schema.org/draft-07/schema#"

# schema, text, keyword, its place in the schema, the place of the value, words of the message
FAULTS: list[tuple[Any, str, str, str, str, str]] = [
    (PERSON, '{"name": "A"}', "required", "#/required", "", 'must have the key "age"'),
    (PERSON, '{"age": 1, "zip": 2}', "additionalProperties", "#/additionalProperties", "", '"zip"'),
    (PERSON, '{"name": "Adalbert", "age": 1}', "maxLength", "#/properties/name/maxLength", "/name",
     "at most 4 characters"),
    (PERSON, '{"age": -1}', "minimum", "#/$defs/age/minimum", "/age", ">= 0"),
    (PERSON, '{"age": "x"}', "type", "#/$defs/age/type", "/age",
     'must be an integer (`type` at #/$defs/age): it is the string "x"'),
    (PERSON, '{"tags": ["a", "b"]}', "enum", "#/properties/tags/items/enum", "/tags/1", '"b"'),
    (PERSON, '{"tags": ["a", 1, 1]}', "maxItems", "#/properties/tags/maxItems", "/tags", "2 items"),
    (PERSON, "[]", "type", "#/type", "", "must be an object (`type` at #): it is an array"),
    ({"properties": {"tags": {"uniqueItems": True}}}, '{"tags": [1, 2, 1.0]}', "uniqueItems",
     "#/properties/tags/uniqueItems", "/tags",
     "items of /tags must be unique (`uniqueItems` at #/properties/tags): 1.0 stands at /tags/0"),
    (KINDS, '{"kind": "a", "v": "x"}', "type", "#/anyOf/0/properties/v/type", "/v", "an integer"),
    (KINDS, '{"kind": "b"}', "required", "#/anyOf/1/required", "", '"v"'),
    (KINDS, '{"kind": "c", "v": 1}', "anyOf", "#/anyOf", "", "at least one of 2 schemas"),
    ({"anyOf": [False, {"enum": [1]}]}, '"x"', "enum", "#/anyOf/1/enum", "", "the value 1"),
    ({"anyOf": [False, False, True], "oneOf": [False, {"type": "null"}]}, "1", "type",
     "#/oneOf/1/type", "", "null"),
    ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, "3", "oneOf", "#/oneOf", "",
     "more than one"),
    ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, '"x"', "oneOf", "#/oneOf", "", "none"),
    ({"not": {"type": "integer"}}, "3", "not", "#/not", "", "must not fit"),
    ({"if": {"type": "integer"}, "then": {"minimum": 3}}, "2", "minimum", "#/then/minimum", "",
     ">= 3"),
    ({"contains": {"type": "null"}}, "[1]", "contains", "#/contains", "", "at least 1 item"),
    ({"contains": {"type": "null"}, "maxContains": 1}, "[null, null]", "maxContains",
     "#/maxContains", "", "at most 1 item"),
    ({"contains": {"type": "null"}, "minContains": 2}, "[null]", "minContains", "#/minContains",
     "", "at least 2 items"),
    ({"unevaluatedProperties": {"type": "null"}}, '{"a": null, "b": 1}', "type",
     "#/unevaluatedProperties/type", "/b", "must be null"),
    ({"items": {"properties": {"q": False}}}, '[{"p": 1, "q": 1}]', "properties",
     "#/items/properties", "/0/q", 'the value at /0 may not have the key "q"'),
    ({"patternProperties": {"^x": False}}, '{"xa": 1}', "patternProperties", "#/patternProperties",
     "/xa", 'may not have the key "xa"'),
    ({"$ref": "#n", "$defs": {"x": {"$anchor": "n", "type": "null"}}}, "1", "type",
     "#/$defs/x/type", "", "must be null (`type` at #/$defs/x)"),
    ({"$dynamicRef": "#n", "$defs": {"x": {"$dynamicAnchor": "n", "type": "null"}}}, "1", "type",
     "#/$defs/x/type", "", "must be null"),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3, "exclusiveMaximum": True},
     "3", "maximum", "#/maximum", "", "must be < 3"),
    ({"dependentRequired": {"a": ["b"]}}, '{"a": 1}', "dependentRequired", "#/dependentRequired",
     "", '"b" beside "a"'),
    ({"$schema": OLD, "dependencies": {"a": ["b"]}}, '{"a": 1}', "dependencies", "#/dependencies",
     "", '"b" beside "a"'),
    ({"$schema": OLD, "items": [{"type": "null"}]}, "[1]", "type", "#/items/0/type", "/0", "null"),
    ({"$schema": OLD, "items": [True], "additionalItems": False}, "[1, 2]", "additionalItems",
     "#/additionalItems", "", "than 1 item ("),
    ({"patternProperties": {r"^\p{Lu}": {}}, "additionalProperties": False}, '{"A": 1, "b": 1}',
     "additionalProperties", "#/additionalProperties", "", 'may not have the key "b"'),
    ({"additionalProperties": {"type": "null"}}, '{"a": 1}', "type", "#/additionalProperties/type",
     "/a", "null"),
    ({"dependencies": {"a": ["b"]}}, '{"a": 1}', "dependencies", "#/dependencies", "", '"b"'),
    ({"propertyNames": {"pattern": "^a"}}, '{"b": 1}', "pattern", "#/propertyNames/pattern", "",
     'the key "b" must match ^a'),
    ({"prefixItems": [True], "items": False}, "[1, 2]", "items", "#/items", "", "than 1 item ("),
    ({"properties": {"x": False}}, '{"x": 1}', "properties", "#/properties", "/x",
     'may not have the key "x"'),
    ({"properties": {"a": True}, "unevaluatedProperties": False}, '{"b": 1}',
     "unevaluatedProperties", "#/unevaluatedProperties", "", '"b"'),
    ({"format": "date"}, '"2024-13-01"', "format", "#/format", "", "in the format date"),
    ({"pattern": r"^\d$"}, '"٣"', "pattern", "#/pattern", "", r"must match ^\d$"),
    ({"pattern": r"^\p{Lu}$"}, '"a"', "pattern", "#/pattern", "", r"must match ^\p{Lu}$"),
    ({"multipleOf": 0.1, "maximum": 0.2}, "0.3", "maximum", "#/maximum", "", "<= 0.2"),
    ({"multipleOf": 0.1}, "0.35", "multipleOf", "#/multipleOf", "", "multiple of 0.1"),
    ({"properties": {"a/b": {"const": 1}}}, '{"a/b": 2}', "const", "#/properties/a~1b/const",
     "/a~1b", "must be 1"),
]  # fmt: skip


def fault(schema: Any, text: Any, **options: Any) -> ValidationError:
    """What `check` says about a text that does not fit."""
    with pytest.raises(ValidationError) as caught:
        sg.check(schema, text, **options)
    return caught.value


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: f"{case[2]} {case[1]}"[:40])
def test_the_keyword_that_fails_is_named(case: tuple[Any, str, str, str, str, str]) -> None:
    """As data and first in the message; the byte comes second."""
    schema, text, keyword, schema_path, value_path, words = case
    error = fault(schema, text)
    assert (error.keyword, error.schema_path, error.value_path) == (
        keyword,
        schema_path,
        value_path,
    )
    assert words in error.problem
    assert f"(`{keyword}` at #" in error.problem
    assert f"at byte {error.offset}" in str(error)


SPELLINGS: dict[str, tuple[str, str]] = {
    "a key twice": ('{"name": "A", "name": "B", "age": 1}', 'the key "name" stands twice'),
    "half a character": (r'{"name": "\ud800", "age": 1}', r"the unpaired surrogate \ud800"),
    "order": ('{"age": 1, "name": "A"}', "its keys stand in another order"),
    "white space": ('{"name" :  "A", "age": 1}', "its white space is not as whitespace='bounded'"),
    "both": ('{"age":   1, "name": "A"}', "and its white space"),
    "a number": ('{"name": "A", "age": 1.0}', "is spelled in another way"),
}


@pytest.mark.parametrize("case", SPELLINGS)
def test_a_value_that_fits_is_not_blamed(case: str) -> None:
    """It says which part of the spelling does not fit, and no keyword."""
    text, words = SPELLINGS[case]
    error = fault(PERSON, text, exact_layout=True)
    assert words in error.problem
    assert (error.keyword, error.schema_path, error.value_path) == ("", "", "")


def test_what_is_no_json_is_told_by_its_byte() -> None:
    """A text that is cut, or was never JSON."""
    for text in ('{"name": "A', "{'name': 1}", '{"name": NaN}', ""):
        error = fault(PERSON, text)
        assert error.keyword == ""
        assert error.problem.startswith(("byte", "the text ends"))


def test_other_documents_are_those_of_the_registry() -> None:
    """Nothing is fetched; the keyword's place names the document."""
    resource = referencing.jsonschema.DRAFT202012.create_resource({"minimum": 3})
    registry = referencing.Registry().with_resource("urn:least", resource)
    spec = sg.JsonSchema({"items": {"$ref": "urn:least"}}, registry=registry)
    error = fault(spec, "[4, 1]")
    assert (error.keyword, error.schema_path, error.value_path) == (
        "minimum",
        "urn:least#/minimum",
        "/1",
    )


def test_keys_are_compared_in_the_dialect_of_the_patterns() -> None:
    """In Java a class in a class is a union; ECMA-262 reads `[[a]` and a `]` behind it."""
    schema = {"patternProperties": {"^[[a]]$": {}}, "additionalProperties": False}
    error = fault(sg.JsonSchema(schema, patterns="java"), '{"a": 1, "a]": 1}')
    assert error.keyword == "additionalProperties"
    assert 'the key "a]"' in error.problem


def test_formats_that_are_annotations_are_not_blamed() -> None:
    """Neither by the option, nor those that no specification names."""
    spec = sg.JsonSchema({"format": "date", "maxLength": 1}, formats="annotate")
    assert fault(spec, '"ab"').keyword == "maxLength"
    assert fault({"format": "colour", "maxLength": 1}, '"ab"').keyword == "maxLength"


def test_words_name_no_keyword_that_the_schema_lacks() -> None:
    """Values that were taken are listed; `contains` is called by its name."""
    unique = {"items": {"type": "integer"}, "uniqueItems": True}
    assert "an integer other than 1, 2" in fault(unique, "[1,2,1]").expected
    most = {"contains": {"type": "null"}, "maxContains": 1}
    assert "limited further by 'contains'" in fault(most, "[null,null]").expected


def misfit(schema: Any, text: str) -> ValidationError | None:
    """What `check` says, None where the text fits or the schema is refused."""
    try:
        sg.check(schema, text)
    except ValidationError as error:
        return error
    except StructgenError:
        pass
    return None


@given(schema=schemas(hard=True), seed=st.integers(0, 2**32))
def test_a_keyword_that_is_named_is_one_of_the_schema(schema: Any, seed: int) -> None:
    """And its place in the value is one that the value has."""
    rng = Random(seed)
    value = mutated(near_value(schema, rng), rng)
    error = misfit(schema, json.dumps(value))
    if error is not None and error.keyword:
        assert f'"{error.keyword}"' in json.dumps(schema)
        at = value
        for step in error.value_path.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            at = at[int(key)] if isinstance(at, list) else at[key]
