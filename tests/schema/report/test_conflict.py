"""Where nothing fits a schema, the error names what excludes each other, and only that."""

from __future__ import annotations

from typing import Any

import pytest

import structgen as sg
from structgen.errors import BudgetError, UnsatisfiableSchemaError
from structgen.schema.report import conflict

STRING: Any = {"type": "string"}
RECURSIVE: Any = {"type": "object", "properties": {"me": {"$ref": "#/definitions/A"}, "n": STRING},
                  "required": ["n", "me"]}  # fmt: skip

CONFLICTS: dict[str, tuple[Any, str]] = {
    "bounds": ({"title": "t", "type": "integer", "minimum": 5, "multipleOf": 2, "maximum": 3},
               "/type /minimum /maximum"),
    "a required key that may not be there": (
        {"type": "object", "properties": {"a": STRING, "type": STRING}, "required": ["a", "b"],
         "additionalProperties": False}, "/type /required/1 /additionalProperties"),
    "a value of a required key": (
        {"properties": {"allOf": {"enum": ["x"], "minLength": 2, "pattern": "x"}, "b": False},
         "type": "object", "required": ["allOf"], "maxProperties": 3},
        "/properties/allOf/enum /properties/allOf/minLength /type /required/0"),
    "items": ({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3},
              "/type /items/enum /uniqueItems /minItems"),
    "a tuple": ({"type": "array", "prefixItems": [{}, False, STRING], "minItems": 2},
                "/type /prefixItems/1 /minItems"),
    "names": ({"type": "object", "propertyNames": {"pattern": "^x", "maxLength": 9},
               "required": ["x", "y"]}, "/type /propertyNames/pattern /required/1"),
    "one of allOf": ({"allOf": [STRING, {"description": "d"}, {"type": ["null", "integer"]}]},
                     "/allOf/0/type /allOf/2/type"),
    "every branch": ({"anyOf": [{"type": "string", "enum": [1]}, False, {"title": "t", "not": {}}]},
                     "/anyOf/0/type /anyOf/0/enum /anyOf/1 /anyOf/2/not"),
    "a definition": (
        {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a~1b",
         "type": "null", "definitions": {"a/b": {"type": "string", "const": 1, "maxLength": 3}}},
        "/definitions/a~1b/type /definitions/a~1b/const"),
    "a definition in a list": (
        {"type": "object", "properties": {"a": {"$ref": "#/parts/1"}}, "required": ["a"],
         "parts": [{}, {"title": "t", "type": "string", "const": 1}]},
        "/type /parts/1/type /parts/1/const /required/0"),
    "a definition that asks for itself": (
        {"$ref": "#/definitions/A", "definitions": {"A": RECURSIVE}},
        "/definitions/A/type /definitions/A/properties/me/$ref /definitions/A/required/1"),
    "a condition": (
        {"type": "object", "properties": {"k": {"const": "a"}}, "required": ["k"],
         "if": {"properties": {"k": {"const": "a"}}}, "then": {"maxProperties": 0}, "else": False},
        "/type /properties/k/const /required/0 /then"),
    "what others leave": (
        {"type": "object", "allOf": [{"properties": {"a": STRING}}], "required": ["a", "b"],
         "unevaluatedProperties": False, "minProperties": 1},
        "/type /required/1 /unevaluatedProperties"),
    "branches that are one": ({"oneOf": [{"type": "integer"}, {"multipleOf": 1, "type": "number"}]},
                              "/oneOf"),
    "how often": ({"type": "array", "contains": STRING, "minContains": 2, "maxItems": 1},
                  "/type /contains /maxItems"),
    "nothing at all": (False, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFLICTS)
def test_the_parts_are_named(name: str) -> None:
    """All that it takes, whatever else the schema says, with their values."""
    schema, pointers = CONFLICTS[name]
    with pytest.raises(UnsatisfiableSchemaError, match="no JSON value fits the schema") as caught:
        sg.JsonSchema(schema).machine()
    wanted = [f"#{pointer}" for pointer in pointers.split(" ")]
    assert sorted(caught.value.conflict) == sorted(wanted)
    assert all(f"{pointer} (" in caught.value.hint for pointer in wanted)


@pytest.mark.parametrize("name", CONFLICTS)
def test_without_one_of_them_something_fits(name: str) -> None:
    """Where the rest of the schema is in no conflict of its own."""
    schema, pointers = CONFLICTS[name]
    for pointer in pointers.split(" "):
        if isinstance(schema, dict) and "/then" not in pointers and "/contains" not in pointers:
            sg.JsonSchema(_without(schema, pointer.split("/")[1:])).machine()


def _without(value: Any, path: list[str]) -> Any:
    """A copy without what a path leads to; a subschema in a list becomes `true`."""
    step = path[0].replace("~1", "/")
    if isinstance(value, list):
        found = list(value)
        if len(path) > 1:
            found[int(step)] = _without(value[int(step)], path[1:])
        elif isinstance(value[int(step)], str):
            del found[int(step)]
        else:
            found[int(step)] = True
        return found
    if len(path) > 1:
        return value | {step: _without(value[step], path[1:])}
    return {key: v for key, v in value.items() if key != step}


def test_many_parts_are_cut() -> None:
    """In the message; the error has them all."""
    schema = {"anyOf": [{"type": "string", "enum": [i]} for i in range(9)]}
    with pytest.raises(UnsatisfiableSchemaError, match="and 12 more exclude each other") as caught:
        sg.JsonSchema(schema).machine()
    assert len(caught.value.conflict) == 18


def test_a_pattern_between_slashes_is_named() -> None:
    """With the pattern that was meant."""
    with pytest.raises(UnsatisfiableSchemaError, match=r"no slashes around them: '\^\[A-Z\]\$'"):
        sg.JsonSchema({"type": "string", "pattern": "/^[A-Z]$/i"}).machine()


def test_a_search_that_takes_too_long_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes all the same, and a limit around it stays in force."""
    monkeypatch.setattr(conflict, "MAX_WORK", 2 * conflict.TRY)
    with pytest.raises(UnsatisfiableSchemaError) as caught:
        sg.JsonSchema(CONFLICTS["bounds"][0]).machine()
    assert caught.value.conflict == ()
    assert "exclude each other" in caught.value.hint


def test_a_closed_schema_is_weakened_as_it_is() -> None:
    """What `closed` adds is a part like others."""
    schema = {"type": "object", "properties": {"a": STRING}, "required": ["b"]}
    with pytest.raises(UnsatisfiableSchemaError) as caught:
        sg.JsonSchema(schema, closed=True).machine()
    assert set(caught.value.conflict) == {"#/type", "#/required/0", "#/additionalProperties"}
    assert not isinstance(caught.value, BudgetError)
