r"""Surrogates in JSON strings, paired and unpaired, are refused or allowed as `surrogates` says.

The oracle is `json.loads`, which keeps an unpaired surrogate, and the pattern on the text with
U+10FFFF in the place of each.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def shown(text: str) -> str:
    """The string that a JSON text stands for, as patterns see it."""
    return re.sub("[\ud800-\udfff]", "\U0010ffff", json.loads(text))


SCHEMAS = [
    ({"type": "string"}, r"[\s\S]*"),
    ({"type": "string", "minLength": 2, "maxLength": 3}, r"[\s\S]{2,3}"),
    ({"type": "string", "pattern": "^[^a]*$"}, "[^a]*"),
    ({"type": "string", "pattern": "^.[a-z\U0001f600]$"}, "[^\n\r\u2028\u2029][a-z\U0001f600]"),
    ({"type": "string", "pattern": "^[a-z]*$"}, "[a-z]*"),
    ({"type": "string", "not": {"pattern": "^[a-z]"}}, r"(?![a-z])[\s\S]*"),
]


@pytest.mark.parametrize("index", range(len(SCHEMAS)))
@pytest.mark.parametrize("mode", ["allow", "refuse"])
@given(units=st.lists(UNIT, max_size=4))
def test_unpaired_surrogates_are_read_as_the_caller_chooses(
    mode: str, index: int, units: list[str]
) -> None:
    """Each is one character; two halves in a row are the character that they spell."""
    schema, pattern = SCHEMAS[index]
    text = '"' + "".join(units) + '"'
    unpaired = any(0xD800 <= ord(letter) <= 0xDFFF for letter in json.loads(text))
    wanted = re.fullmatch(pattern, shown(text)) is not None and (mode == "allow" or not unpaired)
    assert accepts(schema, text, surrogates=mode, escapes="any") == wanted, text


@given(units=st.lists(UNIT, max_size=4))
def test_a_half_in_a_string_leads_to_no_dead_end(units: list[str]) -> None:
    """After every prefix that is accepted some text can be finished."""
    spec = JsonSchema(
        {"type": "string", "maxLength": 2, "pattern": "^[^\\uE000-\\uFFFC]*$"}, surrogates="allow"
    )
    constraint = sg.compile(spec, VOCABULARY)
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


def test_keys_and_compared_values_have_no_unpaired_surrogates() -> None:
    """Keys must be told apart, and so must the items of `uniqueItems`."""
    assert not accepts({}, '{"\\ud800": 1}', surrogates="allow")
    assert not accepts({"uniqueItems": True}, '["\\ud800"]', surrogates="allow")
    assert accepts({}, '{"a": "\\ud800"}', surrogates="allow")
    assert accepts({}, '["\\ud800", "\\udc00x"]', surrogates="allow")


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
