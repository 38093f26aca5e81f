"""A closed schema takes the values of the open one that have no keys but those it names.

The oracle is the jsonschema library, on both.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.cli.main import main
from structgen.errors import ValidationError
from structgen.schema.closing import closed
from structgen.schema.export.export import export_schema
from tests.helpers.oracle import DIALECTS

PERSON = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"properties": {"c": {}}}},
    "required": ["a"],
}
ITEM = {"properties": {"a": {"type": "integer"}}}
DEFS = {"$defs": {"A": PERSON, "B": {"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"q": {}}}]}}}
SCHEMAS: list[dict[str, Any]] = [
    PERSON,
    {"allOf": [PERSON, {"properties": {"q": {"type": "null"}}}]},
    {"$ref": "#/$defs/A", **DEFS},
    {"$ref": "#/$defs/B", **DEFS},
    {"properties": {"a": {"$ref": "#/$defs/A"}, "q": {"$ref": "#/$defs/B"}}, **DEFS},
    {"anyOf": [PERSON, {"type": "null"}]},
    {"oneOf": [{"$ref": "#/$defs/A"}, {"type": "integer"}], **DEFS},
    {"properties": {"q": {}}, "if": {"required": ["q"]}, "then": {"properties": {"c": {}}}},
    {"properties": {"a": {"$ref": "#"}, "allOf": ITEM}},
    {"items": ITEM, "prefixItems": [PERSON], "not": {"properties": {"q": {"type": "null"}}}},
    {"patternProperties": {"^[abc]$": {"properties": {"q": {}}}}},
    {"properties": {"a": {}}, "dependentSchemas": {"a": {"properties": {"c": {}}}}},
    {"$ref": "#/$defs/B/allOf/1", **DEFS},
]
VALUES = st.recursive(
    st.sampled_from([None, 1]),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(["a", "b", "c", "q", "allOf"]), inner, max_size=3),
        st.lists(inner, max_size=2),
    ),
    max_leaves=6,
)


def fits(schema: Any, value: Any) -> bool:
    """What the library says."""
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a value."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from objects(inner)


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
@given(value=VALUES)
def test_what_fits_has_only_keys_that_are_named(number: int, value: Any) -> None:
    """It fits the open schema as well, and one more key in the outermost object breaks it."""
    schema = SCHEMAS[number]
    before = copy.deepcopy(schema)
    narrow = closed(schema)
    assert schema == before
    assert closed(narrow) == narrow
    if fits(narrow, value):
        assert fits(schema, value)
        names = "items" not in schema and isinstance(value, dict)
        assert not (names and fits(narrow, {**value, "more": 1}))
    text = json.dumps(value)
    accepted = True
    try:
        sg.check(sg.JsonSchema(schema, closed=True), text)
    except ValidationError:
        accepted = False
    assert accepted == fits(narrow, value)


def test_values_with_named_keys_still_fit() -> None:
    """Also where the keys come from several places."""
    person = {"a": 1, "b": {"c": 2}}
    for number in (0, 2, 5, 6):
        assert fits(closed(SCHEMAS[number]), person)
        assert not fits(closed(SCHEMAS[number]), {"a": 1, "b": {"c": 2, "d": 3}})
    assert fits(closed(SCHEMAS[1]), {**person, "q": None})
    assert fits(closed(SCHEMAS[4]), {"a": person, "q": {**person, "q": 1}})
    assert not fits(closed(SCHEMAS[4]), {"a": {**person, "q": 1}})
    assert fits(closed(SCHEMAS[11]), {"a": 1, "c": 2})
    assert not fits(closed(SCHEMAS[11]), {"c": 2})
    assert fits(closed(SCHEMAS[12]), {"q": None})
    assert [*objects(closed({"type": "object"}))] == [{"type": "object"}]


EARLIER = ["http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#"]


@pytest.mark.parametrize("draft", EARLIER)
@given(number=st.sampled_from([0, 1, 2, 3, 4, 5, 6, 8, 10, 12]), value=VALUES)
def test_earlier_drafts_are_closed_the_same_way(draft: str, number: int, value: Any) -> None:
    """Though they have no `unevaluatedProperties`; the oracle is the schema in a later draft."""
    schema = SCHEMAS[number]
    spec = sg.JsonSchema({"$schema": draft, **schema}, closed=True)
    assert closed(spec.schema) == spec.schema
    accepted = True
    try:
        sg.check(spec, json.dumps(value))
    except ValidationError:
        accepted = False
    assert accepted == fits(closed(schema), value)


def test_in_earlier_drafts_a_reference_hides_what_stands_beside_it() -> None:
    """Names there are none, and `unevaluatedProperties` is no keyword; what it leads to counts."""
    schema = {
        "$schema": EARLIER[1],
        "properties": {
            "a": {"$ref": "#/definitions/A", "properties": {"q": {}}, "additionalProperties": True},
            "b": {"allOf": [{"$ref": "#/definitions/A"}, ITEM]},
            "c": {"properties": {"x": {}}, "unevaluatedProperties": {}},
            "d": {"properties": {"x": {}}, "dependencies": {"x": {"properties": {"y": {}}}}},
        },
        "definitions": {"A": {"properties": {"name": {"type": "string"}}}},
    }
    spec = sg.JsonSchema(schema, closed=True)
    good: list[Any] = [
        {"a": {"name": "x"}}, {"b": {"name": "x", "a": 1}}, {"a": 1}, {"c": {"x": 1}},
        {"d": {"x": 1, "y": 2}},
    ]  # fmt: skip
    bad: list[Any] = [
        {"a": {"name": "x", "q": 1}}, {"a": {"name": 1}}, {"b": {"name": "x", "a": 1, "q": 1}},
        {"c": {"x": 1, "y": 1}}, {"d": {"y": 2}}, {"e": 1},
    ]  # fmt: skip
    for value in good:
        sg.check(spec, json.dumps(value))
    for value in bad:
        with pytest.raises(ValidationError) as refused:
            sg.check(spec, json.dumps(value))
        assert "may not have the key" in str(refused.value) or value == {"a": {"name": 1}}


def test_closed_schemas_of_any_draft_are_exported_alike() -> None:
    """To the dialects of providers, without a loss where keys are all that was added."""
    schema = {"type": "object", "allOf": [PERSON], "properties": {"q": {"type": "null"}}}
    later, earlier = (
        export_schema(closed({"$schema": draft, **schema}), "gemini")
        for draft in (DIALECTS[2020], EARLIER[1])
    )
    assert later == earlier
    assert later[0]["additionalProperties"] is False


def test_the_command_line_closes_objects(capsys: pytest.CaptureFixture[str]) -> None:
    """`--closed` does what the option does."""
    schema = json.dumps(PERSON)
    assert main(["check", schema, "--text", '{"a": 1, "z": 2}']) == 0
    assert main(["check", schema, "--text", '{"a": 1, "z": 2}', "--closed"]) == 1
    assert "additionalProperties" in capsys.readouterr().out
