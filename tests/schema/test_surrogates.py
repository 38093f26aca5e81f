r"""Surrogates in JSON strings, paired and unpaired, are refused or allowed as `surrogates` says.

The oracle is `json.loads`, which keeps an unpaired surrogate, and `re`, which reads it as itself.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import structgen as sg
from structgen.errors import SpecError, UnsatisfiableSchemaError
from structgen.schema.json_schema import JsonSchema

VOCABULARY = sg.Vocabulary([b"<end>", *(bytes((byte,)) for byte in range(256))], eos_ids=[0])
UNIT = st.one_of(
    st.sampled_from(["\\ud800", "\\uDBFF", "\\udc00", "\\uDfFf", "\\ud83d", "\\ude00", "\\u0041"]),
    st.sampled_from(["a", "é", "中", "😀", "\\n", "\\\\", '\\"', "\ufffd"]),
)


def accepts(schema: Any, text: str, **options: Any) -> bool:
    """Does a text fit?"""
    constraint = sg.compile(JsonSchema(schema, **options), VOCABULARY)
    state = constraint.advance_bytes(constraint.start, text.encode())
    return state != sg.DEAD and constraint.is_accepting(state)


SCHEMAS = [
    ({"type": "string"}, r"[\s\S]*"),
    ({"type": "string", "minLength": 2, "maxLength": 3}, r"[\s\S]{2,3}"),
    ({"type": "string", "pattern": "^[^a]*$"}, "[^a]*"),
    ({"type": "string", "pattern": "^.[a-z\U0001f600]$"}, "[^\n\r\u2028\u2029][a-z\U0001f600]"),
    ({"type": "string", "pattern": "^[a-z]*$"}, "[a-z]*"),
    ({"type": "string", "not": {"pattern": "^[a-z]"}}, r"(?![a-z])[\s\S]*"),
    ({"const": "\ud800"}, "\ud800"),
    ({"enum": ["\udc00", "a\udbff", "\ufffd"]}, "\udc00|a\udbff|\ufffd"),
    ({"type": "string", "not": {"enum": ["\ud800", "\udfff"]}}, "(?![\ud800\udfff]$)[\\s\\S]*"),
    ({"type": "string", "pattern": r"^\ud800|\uDC00$"}, "\ud800[\\s\\S]*|[\\s\\S]*\udc00"),
    ({"type": "string", "pattern": "^[\ud800-\udbffa]*$"}, "[\ud800-\udbffa]*"),
    ({"type": "string", "pattern": r"^[\ud000-\udc00]+$"}, "[\ud000-\udc00]+"),
    ({"type": "string", "pattern": "^[^\udc00]{2}$"}, "[^\udc00]{2}"),
    ({"type": "string", "pattern": r"^\p{Cs}+$"}, "[\ud800-\udfff]+"),
    ({"type": "string", "not": {"pattern": r"\ud83d"}}, "[^\ud83d]*"),
    ({"type": "string", "pattern": r"^(?:[a-z]|[\ud800-\udbff][\udc00-\udfff])*$"}, "[a-z]*"),
]


@pytest.mark.parametrize("index", range(len(SCHEMAS)))
@pytest.mark.parametrize("mode", ["allow", "refuse"])
@given(units=st.lists(UNIT, max_size=4))
def test_unpaired_surrogates_are_read_as_the_caller_chooses(
    mode: str, index: int, units: list[str]
) -> None:
    """Each is itself; two halves in a row are the character that they spell."""
    schema, pattern = SCHEMAS[index]
    text = '"' + "".join(units) + '"'
    unpaired = any(0xD800 <= ord(letter) <= 0xDFFF for letter in json.loads(text))
    fits = re.fullmatch(pattern, json.loads(text)) is not None
    wanted = fits and (mode == "allow" or not unpaired)
    try:
        assert accepts(schema, text, surrogates=mode, escapes="any") == wanted, text
    except UnsatisfiableSchemaError:
        assert mode == "refuse"
        assert not wanted


TELLING = [
    {"type": "string", "maxLength": 2, "pattern": "^[^\\uE000-\\uFFFC]*$"},
    {"type": "string", "pattern": r"^(?:[a-z]|[\ud800-\udbff][\udc00-\udfff])*$"},
    {"type": "string", "not": {"pattern": r"^\ud800|[^\udc00]$"}},
    {
        "type": "string",
        "pattern": r"^[\ud800-\udbff]",
        "not": {"pattern": r"^.[^\udc00-\udfff]|^.$"},
    },
    {"enum": ["\ud83d", "a\ude00"]},
]


@pytest.mark.parametrize("schema", TELLING)
@given(units=st.lists(UNIT, max_size=4))
def test_a_half_in_a_string_leads_to_no_dead_end(schema: Any, units: list[str]) -> None:
    """After every prefix that is accepted some text can be finished."""
    spec = JsonSchema(schema, surrogates="allow")
    try:
        constraint = sg.compile(spec, VOCABULARY)
    except UnsatisfiableSchemaError:
        assert schema is TELLING[3]  # a high half, and then nothing but a low one
        return
    state = constraint.start
    for byte in ('"' + "".join(units)).encode():
        state = constraint.advance_bytes(state, bytes((byte,)))
        if state == sg.DEAD:
            return
        end = constraint.advance_bytes(state, constraint.shortest_completion(state))
        assert constraint.is_accepting(end)


def test_an_unpaired_surrogate_is_no_replacement_character() -> None:
    """Not by `const`, `enum` or a class that names it, as it is another code point."""
    for schema in (
        {"const": "\ufffd"},
        {"enum": ["\ufffd", "a"]},
        {"type": "string", "pattern": "^[\ufffd]$"},
    ):
        assert accepts(schema, '"\ufffd"', surrogates="allow")
        assert not accepts(schema, '"\\ud800"', surrogates="allow")
        assert not accepts(schema, '"\\udfff"', surrogates="allow", escapes="any")
    assert accepts({"not": {"const": "\ufffd"}}, '"\\ud800"', surrogates="allow")


@pytest.mark.parametrize("order", ["any", "declared"])
def test_values_within_others_may_be_unpaired_surrogates(order: Any) -> None:
    """Constants in objects and lists, and the tags of unions."""
    tagged = {"type": "object", "required": ["k"]}
    schema = {
        "anyOf": [
            {"const": [{"a": "\ud800"}, 1]},
            {**tagged, "properties": {"k": {"const": "\udfff"}}, "minProperties": 2},
            {**tagged, "properties": {"k": {"const": "\udffe"}}, "maxProperties": 1},
        ]
    }
    for text, fits in {
        r'[{"a": "\ud800"}, 1]': True,
        r'[{"a": "\ud801"}, 1]': False,
        r'{"k": "\udfff", "v": null}': True,
        r'{"k": "\udffe"}': True,
        r'{"k": "\udfff"}': False,
        r'{"k": "\udffe", "v": null}': False,
        r'{"k": "\ufffd", "v": null}': False,
    }.items():
        assert accepts(schema, text, surrogates="allow", property_order=order) == fits, text


def test_characters_that_stand_in_are_read_as_others_of_private_use() -> None:
    """Where they are not named, so that lengths and classes take them; they are no surrogates."""
    text = '"\U0010fc00"'
    assert accepts({"type": "string", "minLength": 1, "maxLength": 1}, text, surrogates="allow")
    assert accepts({"type": "string", "pattern": "^[^a]$"}, text, surrogates="allow")
    for schema in ({"const": "\udc00"}, {"pattern": r"^[\udc00a]$", "type": "string"}):
        assert not accepts(schema, text, surrogates="allow")
    assert accepts({"const": "\U0010fc00"}, text)


def test_keys_have_no_unpaired_surrogates() -> None:
    """They must be told apart."""
    assert not accepts({}, '{"\\ud800": 1}', surrogates="allow")
    assert accepts({}, '{"a": "\\ud800"}', surrogates="allow")
    assert accepts({}, '["\\ud800", "\\udc00x"]', surrogates="allow")


HALVES = {"enum": ["\ud800", "\udc00", "a"]}
LETTERS = ["\\ud800", "\\uDC00", "a", "\\ud800a", "\\u0061", "\U0010f7ff", "\\udbfd\\udfff"]
COMPARED = [
    {"uniqueItems": True},
    {"uniqueItems": True, "items": {"type": "string"}},
    {"uniqueItems": True, "items": HALVES},
    {"uniqueItems": True, "items": HALVES, "minItems": 2},
    {"uniqueItems": True, "items": {"type": "string", "pattern": "^[^a]$"}},
    {"uniqueItems": True, "contains": {"const": "\ud800"}},
    {"uniqueItems": True, "contains": HALVES, "minContains": 2},
    {"not": {"uniqueItems": True}, "items": {"maxLength": 1}},
]


@pytest.mark.parametrize("schema", COMPARED)
@given(letters=st.lists(st.sampled_from(LETTERS), max_size=3))
def test_items_that_are_unpaired_surrogates_are_told_apart(
    schema: dict[str, Any], letters: list[str]
) -> None:
    """However they are written, and in completions as well."""
    constraint = sg.compile(
        JsonSchema({"type": "array", **schema}, surrogates="allow", escapes="any"), VOCABULARY
    )
    text = "[" + ", ".join(f'"{letter}"' for letter in letters) + "]"
    state = constraint.advance_bytes(constraint.start, text.encode())
    accepted = state != sg.DEAD and constraint.is_accepting(state)
    assert accepted == Draft202012Validator(schema).is_valid(json.loads(text))
    begun = constraint.advance_bytes(constraint.start, text[:-1].encode())
    if begun != sg.DEAD:
        value = json.loads(text[:-1] + constraint.shortest_completion(begun).decode())
        assert Draft202012Validator(schema).is_valid(value)


def test_items_that_are_compared_have_no_characters_that_stand_in() -> None:
    """These would be taken for surrogates."""
    for letter in ("\U0010f800", "\U0010fc00", "\U0010ffff"):
        for schema in ({"uniqueItems": True}, {"uniqueItems": True, "items": HALVES}):
            assert not accepts(schema, f'["{letter}"]', surrogates="allow")
            assert not accepts(schema, f'["{letter}", "{letter}"]', surrogates="allow")
        assert accepts({"uniqueItems": True}, f'["{letter}"]')


OBJECT = {"type": "object"}
ALONE = "\ud800"


@pytest.mark.parametrize("order", ["any", "declared"])
def test_names_that_cannot_be_written_are_never_there(order: Any) -> None:
    """Where one must be there nothing fits, and where one may be there the others do."""
    must = {**OBJECT, "required": [ALONE]}
    counted = {**OBJECT, "properties": {ALONE: {}}, "minProperties": 1}
    for never in (
        must,
        {**counted, "additionalProperties": False},
        {"contains": must, "type": "array"},
    ):
        with pytest.raises(UnsatisfiableSchemaError):
            sg.compile(JsonSchema(never, property_order=order), VOCABULARY)
    depends = {**OBJECT, "dependentRequired": {"a": [ALONE]}}
    for schema in (counted, depends, {"not": {"required": [ALONE]}, **OBJECT}):
        assert accepts(schema, '{"b": 1}', property_order=order)
    assert not accepts(depends, '{"a": 1}', property_order=order)


def test_the_choice_is_kept_with_the_spec() -> None:
    """A saved spec has it, one that was saved without it refuses, and others are errors."""
    spec = JsonSchema({"type": "string"}, surrogates="allow")
    assert JsonSchema.from_json(spec.to_json()) == spec
    old = spec.to_json()
    del old["surrogates"]
    assert JsonSchema.from_json(old).surrogates == "refuse"
    with pytest.raises(SpecError, match="surrogates"):
        JsonSchema({}, surrogates="keep")
