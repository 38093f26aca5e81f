"""Errors about texts that do not fit say what the schema expects."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.pushdown.engine import Engine
from structgen.errors import StructgenError, ValidationError
from tests.helpers.schemas import MISSPELT_ON_PURPOSE, schemas

pytestmark = MISSPELT_ON_PURPOSE

ITEM: Any = {
    "type": "object",
    "properties": {
        "price": {"type": "number", "minimum": 0, "multipleOf": 0.01},
        "currency": {"enum": ["EUR", "USD"]},
    },
    "required": ["price", "currency"],
}
BASKET: Any = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": ITEM}},
    "required": ["items"],
}

PHRASES: list[tuple[Any, str]] = [
    ({}, "any value"),
    ({"type": "boolean"}, "true or false"),
    ({"type": ["null", "string"]}, "null or a string"),
    ({"type": "integer", "exclusiveMinimum": 0, "maximum": 9}, "an integer > 0 and <= 9"),
    ({"type": "number", "multipleOf": 0.5}, "a number that is a multiple of 0.5"),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "number", "minimum": 1,
      "exclusiveMinimum": True}, "a number > 1"),
    ({"type": "string", "minLength": 1}, "a string of at least 1 character"),
    ({"type": "string", "maxLength": 5, "pattern": "^a"},
     "a string of up to 5 characters that matches ^a"),
    ({"type": "string", "minLength": 2, "maxLength": 2}, "a string of 2 characters"),
    ({"type": "string", "format": "date"}, "a string in the format date"),
    ({"type": "string", "format": "colour"}, "a string"),
    ({"const": 3}, "the value 3"),
    ({"enum": ["a", 1, None]}, 'one of "a", 1, null'),
    ({"type": "array", "minItems": 2, "uniqueItems": True},
     "an array of at least 2 items without equal items"),
    ({"type": "object", "required": ["a", "b"], "maxProperties": 3},
     "an object with the keys a, b of up to 3 keys"),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "an integer or null"),
    ({"allOf": [{"type": "number", "minimum": 1}, {"minimum": 2}]}, "a number >= 2"),
    ({"$ref": "#/$defs/x", "$defs": {"x": {"const": "y"}}}, 'the value "y"'),
    ({"minLength": 3}, "any value (if it is a string of at least 3 characters)"),
    ({"type": "integer", "not": {"enum": [1, 2]}}, "an integer other than 1, 2"),
    ({"type": "integer", "not": {"multipleOf": 2}}, "an integer (limited further by 'not')"),
]  # fmt: skip


def fault(schema: Any, text: str) -> ValidationError:
    """What `check` says about a text that does not fit."""
    with pytest.raises(ValidationError) as caught:
        sg.check(sg.JsonSchema(schema, property_order="any", whitespace="any"), text)
    return caught.value


@pytest.mark.parametrize(("schema", "words"), PHRASES, ids=lambda x: json.dumps(x)[:60])
def test_values_are_described_as_the_schema_has_them(schema: Any, words: str) -> None:
    """The keywords' values appear in the words, wherever `$ref` and branches have put them."""
    assert fault(schema, "?").expected == words


def test_an_error_names_place_value_and_missing_keys() -> None:
    """Inside a price: what it must be, and what the object around it still needs."""
    error = fault(BASKET, '{"items": [{"price": 1, "currency": "EUR"}, {"price": "free"}]}')
    assert error.path == "/items/1/price"
    assert error.offset == 54
    assert "a number >= 0 that is a multiple of 0.01" in error.expected
    assert error.expected.endswith("; keys still required: currency")


def test_keys_are_still_required_until_they_have_come() -> None:
    """In any order, the list shrinks; when it is empty nothing is said."""
    said = [
        fault(BASKET, '{"items": [{' + beginning).expected.partition("keys still required: ")[2]
        for beginning in ("?", '"price": 1, ?', '"currency": "EUR", ?', '"x": 1, "price": 1, ?')
    ]
    assert said == ["price, currency", "currency", "price", "currency"]
    assert fault(BASKET, '{"items": [{"price": 1, "currency": "EUR" ?').expected == "',' or '}'"


def test_alternatives_share_what_is_required_of_all_of_them() -> None:
    """A key that only one branch requires is not required yet."""
    schema = {
        "type": "object",
        "anyOf": [{"required": ["a", "b"]}, {"required": ["a", "c"]}],
    }
    assert fault(schema, "{?").expected.endswith("keys still required: a")


def test_values_that_must_come_again_are_described_with_their_numbers() -> None:
    """An item that is to differ must not end as one before it did, whose numbers are exact."""
    error = fault({"uniqueItems": True}, '[{"a": 1.50, "b": 2}, {"b": 2, "a": 1.5}]')
    assert error.keyword == "uniqueItems"
    assert "any value other than 1.5 or the value 1.5" in error.expected


def test_a_long_list_is_cut() -> None:
    """Messages stay readable."""
    error = fault({"enum": [f"value {i}" for i in range(500)]}, "?")
    assert len(error.expected) < 300
    assert error.expected.endswith("...")


TYPES = {"null": "null", "true": "true", "-": "number", "5": "number", '"': "string",
         "[": "array", "{": "object"}  # fmt: skip


@given(schema=schemas(hard=True), seed=st.integers(0, 2**32))
def test_words_never_deny_what_may_come(schema: Any, seed: int) -> None:
    """Whatever begins a value that fits, its type (or its value) is among the words."""
    try:
        machine = sg.JsonSchema(schema, property_order="any", whitespace="compact").machine()
    except StructgenError:
        return
    words = machine.expected(machine.start)
    assert words
    engine = Engine(lambda: machine)
    first = chr(Random(seed).choice(engine.next_bytes(engine.start)))
    kind = next((kind for begin, kind in TYPES.items() if begin[0] == first), "number")
    kind = "true" if first == "t" else "false" if first == "f" else kind
    said = words.split(" or ")
    if not any(part.startswith(("any value", "one of", "the value", "...")) for part in said):
        nouns = {"number": ("a number", "an integer"), "string": ("a string",),
                 "array": ("an array",), "object": ("an object",)}  # fmt: skip
        assert any(part.startswith(nouns.get(kind, (kind,))) for part in said), (words, first)
