"""Schemas in documents of OpenAPI are read as their version has them."""

from __future__ import annotations

from typing import Any

import pytest
import referencing

import structgen as sg
from structgen.schema.report.support import support

SCHEMAS: dict[str, Any] = {
    "Pet": {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            "tag": {"type": "string", "nullable": True, "maxLength": 3},
            "size": {"type": "string", "nullable": True, "enum": ["S", "L"]},
            "any": {"nullable": True, "minLength": 2},
            "friend": {"$ref": "#/components/schemas/Pet", "nullable": True},
            "example": {"type": "boolean", "nullable": True, "example": {"type": "x"}},
            "properties": {"type": "array", "nullable": True, "items": {"type": "integer"}},
        },
    }
}
FITS: list[tuple[Any, dict[str, bool]]] = [
    ({"id": 2}, {}),
    ({"id": 1}, {"3.0.3": False, "2.0": False}),
    ({"id": 2, "tag": None}, {"2.0": False}),
    ({"id": 2, "tag": "abc"}, {}),
    ({"id": 2, "tag": "abcd"}, {"3.0.3": False, "2.0": False}),
    ({"id": 2, "tag": 1}, {"3.0.3": False, "2.0": False}),
    ({"id": 2, "size": None}, {"3.0.3": False, "2.0": False}),  # the list has no null
    ({"id": 2, "any": None}, {}),
    ({"id": 2, "any": "x"}, {"3.0.3": False, "2.0": False}),
    ({"id": 2, "friend": None}, {"3.0.3": False, "2.0": False}),  # no type beside it
    ({"id": 2, "friend": {"id": 3, "tag": None}}, {"2.0": False}),
    ({"id": 2, "example": None}, {"2.0": False}),
    ({"id": 2, "properties": None}, {"2.0": False}),
    ({"id": 2, "properties": [1]}, {}),
    ({"id": 2, "properties": [None]}, {"3.0.3": False, "2.0": False}),
]


def document(version: str) -> dict[str, Any]:
    """A document with those schemas."""
    key = "swagger" if version == "2.0" else "openapi"
    return {key: version, "paths": {}, "components": {"schemas": SCHEMAS}}


def registry_of(documents: dict[str, Any]) -> referencing.Registry[Any]:
    """A registry that says nothing of their dialects."""
    opaque: Any = referencing.Specification.OPAQUE
    empty = referencing.Registry[Any]()
    return empty.with_contents(documents.items(), default_specification=opaque)


@pytest.mark.parametrize("version", ["3.0.3", "2.0"])
@pytest.mark.parametrize("apart", [False, True])
def test_an_early_version_is_draft_4_with_nullable(version: str, apart: bool) -> None:
    """Whether its schemas are referred to from inside the document or from outside."""
    whole = document(version)
    registry = None
    schema = {**whole, "$ref": "#/components/schemas/Pet"}
    if apart:
        registry = registry_of({"api": whole})
        schema = {"$ref": "api#/components/schemas/Pet"}
    spec = sg.JsonSchema(schema, registry=registry)
    for value, fits in FITS:
        if fits.get(version, True):
            sg.check(spec, value)
        else:
            with pytest.raises(sg.errors.ValidationError):
                sg.check(spec, value)


def test_documents_that_it_refers_to_are_like_it() -> None:
    """A part of a description in a file of its own says nothing of the version."""
    part = {"type": "integer", "nullable": True, "maximum": 5, "exclusiveMaximum": True}
    registry = registry_of({"part": part})
    whole = document("3.0.1")
    whole["components"]["schemas"] = {"Part": {"$ref": "part"}}
    spec = sg.JsonSchema({**whole, "$ref": "#/components/schemas/Part"}, registry=registry)
    fitting: list[Any] = [None, 4]
    for value in fitting:
        sg.check(spec, value)
    others: list[Any] = [5, "x"]
    for value in others:
        with pytest.raises(sg.errors.ValidationError):
            sg.check(spec, value)


def test_a_later_version_is_draft_2020() -> None:
    """There `nullable` is no keyword, which the report says, and types are lists."""
    part = {"type": ["integer", "null"], "exclusiveMinimum": 3, "nullable": True}
    whole = {"openapi": "3.1.0", "components": {"schemas": {"Part": part}}}
    spec = sg.JsonSchema({**whole, "$ref": "#/components/schemas/Part"})
    sg.check(spec, None)
    with pytest.raises(sg.errors.ValidationError):
        sg.check(spec, 3)
    assert support(sg.JsonSchema({"type": "integer", "nullable": True})).draft == 2020


def test_a_description_may_be_read_again() -> None:
    """A spec as JSON gives the same spec."""
    spec = sg.JsonSchema({**document("3.0.0"), "$ref": "#/components/schemas/Pet"})
    again = sg.JsonSchema.from_json(spec.to_json())
    assert again == spec
    sg.check(again, {"id": 2, "tag": None})
