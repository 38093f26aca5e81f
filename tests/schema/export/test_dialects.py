"""Exports obey the rules of their dialect, and every loss is reported.

The laws, judged by the jsonschema library: what no loss makes stricter lets every valid value
through, and what no loss makes looser lets nothing else through.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import (
    BudgetError,
    SpecError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)
from structgen.schema.export.dialects import DIALECTS, Loss
from structgen.schema.export.export import export_schema
from structgen.schema.export.rules import violations
from tests.helpers.schemas import MISSPELT_ON_PURPOSE, schemas
from tests.helpers.values import any_value, mutated, near_value

pytestmark = MISSPELT_ON_PURPOSE

NAMES = sorted(DIALECTS)
EVERY = pytest.mark.parametrize("name", NAMES)


def as_json_schema(schema: Any) -> Any:
    """An exported schema with `nullable` said in JSON Schema's words."""
    if isinstance(schema, list):
        return [as_json_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {k: as_json_schema(v) for k, v in schema.items() if k != "nullable"}
    return {"anyOf": [plain, {"type": "null"}]} if schema.get("nullable") is True else plain


def valid(schema: Any, value: Any) -> bool:
    """The verdict of the oracle."""
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


def check_laws(schema: Any, name: str, values: list[Any]) -> None:
    """Export, and compare the verdicts on values before and after."""
    exported, losses = export_schema(schema, name)
    assert violations(exported, DIALECTS[name]) == []
    effects = {loss.effect for loss in losses}
    after = as_json_schema(exported)
    for value in values:
        before, now = valid(schema, value), valid(after, value)
        if not effects & {"stricter", "both"}:
            assert now or not before, (value, exported, losses)
        if not effects & {"looser", "both"}:
            assert before or not now, (value, exported, losses)


@EVERY
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(schema=schemas(), seed=st.integers(0, 2**32))
def test_losses_tell_how_verdicts_change(name: str, schema: Any, seed: int) -> None:
    """Both laws hold for random schemas, and the rules of the dialect are kept."""
    rng = Random(seed)
    values = [near_value(schema, rng) for _ in range(6)]
    values += [mutated(value, rng) for value in values] + [any_value(rng) for _ in range(4)]
    try:
        check_laws(schema, name, values)
    except (SpecError, UnsupportedSchemaError, UnsatisfiableSchemaError, BudgetError):
        assume(False)


PLAIN: Any = {
    "type": "object",
    "title": "Person",
    "properties": {
        "name": {"type": "string", "description": "in full"},
        "age": {"type": ["integer", "null"]},
        "role": {"enum": ["admin", "user"]},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
    },
    "required": ["name", "age", "role", "tags"],
    "additionalProperties": False,
    "$defs": {"tag": {"type": "string"}},
}


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini"])
def test_what_a_dialect_has_comes_through_unchanged(name: str) -> None:
    """A plain schema has no losses; titles, descriptions and references stay."""
    exported, losses = export_schema(PLAIN, name)
    assert losses == ()
    assert exported["title"] == "Person"
    assert exported["properties"]["name"] == {"type": "string", "description": "in full"}
    assert exported["properties"]["tags"]["items"] == {"$ref": "#/$defs/tag"}
    assert exported["properties"]["age"] == {"type": ["integer", "null"]}
    assert list(exported["properties"]) == list(PLAIN["properties"])


def losses_of(schema: Any, name: str) -> set[tuple[str, str, str]]:
    """The losses without their messages."""
    return {(x.pointer, x.keyword, x.effect) for x in export_schema(schema, name)[1]}


def closed(**properties: Any) -> Any:
    """A closed object with these keys, all required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


LOSSES: list[tuple[str, Any, set[tuple[str, str, str]]]] = [
    ("openai", {**closed(a={"type": "null"}, b={"type": "string"}), "required": ["a"]},
     {("#/properties/b", "required", "both")}),
    ("openai", {**closed(a={"type": ["string", "null"]}), "required": []},
     {("#/properties/a", "required", "stricter")}),
    ("openai", {"type": "object", "properties": {}}, {("#", "additionalProperties", "stricter")}),
    ("openai", closed(a={"type": "string", "minLength": 3}),
     {("#/properties/a/minLength", "minLength", "looser")}),
    ("openai", closed(a={"type": "string", "default": "x"}),
     {("#/properties/a/default", "default", "same")}),
    ("openai", closed(a={"enum": ["x", "y"], "default": "x"}),
     {("#/properties/a/default", "default", "same")}),
    ("openai", closed(a={"type": "integer", "exclusiveMinimum": 2}), set()),
    ("openai", closed(a={"type": "array", "items": {"type": "null"}, "uniqueItems": True}),
     {("#/properties/a/uniqueItems", "uniqueItems", "looser")}),
    ("openai", closed(a={"type": "string", "pattern": "^(?=a)"}),
     {("#/properties/a/pattern", "pattern", "looser")}),
    ("openai", closed(a={"allOf": [{"type": "number", "minimum": 1}, {"maximum": 2}]}), set()),
    ("openai", closed(a={"oneOf": [{"type": "string"}, {"type": "null"}]}), set()),
    ("openai", closed(a={"oneOf": [{"type": "number"}, {"type": "integer"}]}),
     {("#/properties/a/oneOf", "oneOf", "looser")}),
    ("openai", closed(a={"type": "integer", "not": {"const": 3}}),
     {("#/properties/a/not", "not", "looser")}),
    ("openai", {"type": "array", "items": {"type": "null"}}, {("#", "type", "both")}),
    ("openai", closed(a={"type": "string", "format": "uri"}),
     {("#/properties/a/format", "format", "looser")}),
    ("anthropic", closed(a={"type": "string", "format": "uri"}), set()),
    ("anthropic", closed(a={"type": "array", "items": {"type": "null"}, "minItems": 2}),
     {("#/properties/a/minItems", "minItems", "looser")}),
    ("anthropic", closed(a={"type": "number", "minimum": 2, "multipleOf": 2}),
     {("#/properties/a/minimum", "minimum", "looser"),
      ("#/properties/a/multipleOf", "multipleOf", "looser")}),
    ("anthropic", closed(a={"const": {"x": [1]}}), {("#/properties/a/const", "const", "looser")}),
    ("gemini", {"type": "integer", "exclusiveMinimum": 2}, set()),
    ("gemini", {"type": "number", "exclusiveMinimum": 2},
     {("#/exclusiveMinimum", "exclusiveMinimum", "looser")}),
    ("gemini", {"type": "array", "prefixItems": [{"type": "null"}], "items": False}, set()),
    ("gemini", {"type": "object", "additionalProperties": {"type": "null"}}, set()),
    ("gemini", {"allOf": [{"properties": {"a": {"type": "null"}}}, {"type": "object"}],
                "unevaluatedProperties": False}, set()),
    ("gemini", {"properties": {"a": {"type": "null"}}},
     {("#/properties", "properties", "stricter")}),
    ("gemini-openapi", {"type": ["string", "null"], "maxLength": 3, "pattern": "^a"}, set()),
    ("gemini-openapi", closed(), {("#/additionalProperties", "additionalProperties", "looser")}),
    ("gemini-openapi", {"type": "array", "prefixItems": [{"type": "null"}, {"type": "string"}],
                        "items": {"type": "null"}}, {("#/prefixItems", "prefixItems", "looser")}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "schema", "expected"),
    LOSSES,
    ids=lambda x: None if isinstance(x, set) else str(x)[:60],
)
def test_each_loss_has_its_place_and_effect(
    name: str, schema: Any, expected: set[tuple[str, str, str]]
) -> None:
    """The pointer leads into the original; the effect says whether values were won or lost."""
    assert losses_of(schema, name) == expected
    rng = Random(0)
    values = [near_value(schema, rng) for _ in range(20)]
    check_laws(schema, name, values + [mutated(value, rng) for value in values])


TREE: Any = {
    **closed(value={"type": "string"}, next={"$ref": "#"}),
    "required": ["value"],
}


def test_recursion_stays_where_a_dialect_has_it() -> None:
    """By a definition that refers to itself."""
    for name in ("openai", "gemini"):
        exported, _ = export_schema(TREE, name)
        assert "#/$defs/" in json.dumps(exported["properties"]["next"])
        value = {"value": "a", "next": {"value": "b", "next": {"value": 3}}}
        assert not valid(as_json_schema(exported), value)


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("anthropic", TREE),
        ("gemini-openapi", TREE),
        ("gemini", {**closed(next={"type": "array", "items": {"$ref": "#"}})}),
    ],
)
def test_recursion_elsewhere_is_a_typed_error(name: str, schema: Any) -> None:
    """Nothing near it can be said."""
    with pytest.raises(UnsupportedSchemaError) as caught:
        export_schema(schema, name)
    assert caught.value.keyword == "$ref"
    assert caught.value.location.startswith("#/")


def test_sizes_beyond_the_limits_are_typed_errors() -> None:
    """Too many keys, levels or values of enums."""
    wide = closed(**{f"k{i}": {"type": "null"} for i in range(5001)})
    deep: Any = {"type": "null"}
    for _ in range(11):
        deep = closed(a=deep)
    long = closed(a={"enum": [str(i) for i in range(1001)]})
    for name, schema in (("openai", wide), ("openai", deep), ("openai", long)):
        with pytest.raises(UnsupportedSchemaError):
            export_schema(schema, name)


def test_optional_keys_beyond_the_limit_are_left_out() -> None:
    """Anthropic has room for 24: the others may not come, which is stricter."""
    keys = {f"k{i}": {"type": "null"} for i in range(30)}
    schema = {**closed(**keys, nest=closed(a={"type": "null"})), "required": ["nest"]}
    exported, losses = export_schema(schema, "anthropic")
    assert len(exported["properties"]) == 25
    assert {loss.effect for loss in losses} == {"stricter"}
    assert [loss.pointer for loss in losses] == [f"#/properties/k{i}" for i in range(24, 30)]


def test_no_schema_is_left_of_what_nothing_fits() -> None:
    """And broken schemas and unknown dialects are told as such."""
    with pytest.raises(UnsatisfiableSchemaError):
        export_schema({"type": "object", "properties": {"a": False}, "required": ["a"]}, "openai")
    with pytest.raises(SpecError):
        export_schema({"type": "text"}, "openai")
    with pytest.raises(SpecError):
        export_schema({}, "open-ai")


def test_the_rules_find_what_is_not_accepted() -> None:
    """The checker by itself refuses what a dialect does not have."""
    openai = DIALECTS["openai"]
    for schema in (
        {"type": "array", "items": {"type": "null"}},
        {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": False},
        {"type": "object", "properties": {}, "required": []},
        closed(a={"type": "string", "minLength": 3}),
        closed(a={"allOf": [{"type": "null"}]}),
        closed(a={}),
        closed(a={"$ref": "#/$defs/a", "title": "a"}),
    ):
        assert violations(schema, openai), schema
    assert violations(closed(a={"type": "null"}), openai) == []


def test_the_order_of_keys_is_said_where_it_can_be() -> None:
    """Gemini's `propertyOrdering` lists the keys as they stand."""
    exported, _ = export_schema(PLAIN, "gemini")
    assert exported["propertyOrdering"] == list(PLAIN["properties"])


def test_losses_are_plain_data() -> None:
    """The public name gives the schema and the losses."""
    _, losses = sg.export_schema(closed(a={"type": "string", "maxLength": 2}), "openai")
    assert losses == (Loss("#/properties/a/maxLength", "maxLength", "looser", losses[0].message),)
