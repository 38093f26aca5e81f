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
from structgen.errors import UnsupportedSchemaError, ValidationError
from structgen.schema.closing import closed

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


def test_drafts_that_cannot_say_it_are_refused() -> None:
    """With the place; where keys stand in one place they can."""
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    assert closed({**draft, **PERSON})["additionalProperties"] is False
    with pytest.raises(UnsupportedSchemaError, match="#/properties/x"):
        closed({**draft, "properties": {"x": {"allOf": [PERSON, ITEM]}}})


def test_the_command_line_closes_objects(capsys: pytest.CaptureFixture[str]) -> None:
    """`--closed` does what the option does."""
    schema = json.dumps(PERSON)
    assert main(["check", schema, "--text", '{"a": 1, "z": 2}']) == 0
    assert main(["check", schema, "--text", '{"a": 1, "z": 2}', "--closed"]) == 1
    assert "additionalProperties" in capsys.readouterr().out
