r"""Generation writes JSON as `json.dumps` does; other spellings come only where they are asked for.

The oracle is the standard library: `json.dumps(value, ensure_ascii=False)` has each character as
itself, or as the one escape that it needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import SpecError, ValidationError
from structgen.schema.json_schema import JsonSchema

VOCABULARY = sg.Vocabulary([b"<end>", *(bytes((byte,)) for byte in range(256))], eos_ids=[0])
SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
LETTERS = 'ab/"\\\n\t\b\x00\x1b\x1f\x7fé\u2028\ufffd😀'


def spellings(letter: str) -> list[str]:
    """Some ways to write a letter inside a JSON string, others than the canonical one as well."""
    units = [f"{unit:04x}" for unit in _units(letter)]
    found = ["".join(f"\\u{unit}" for unit in units), "".join(f"\\u{u.upper()}" for u in units)]
    found += ["\\" + SHORT[letter]] if letter in SHORT else []
    return [json.dumps(letter, ensure_ascii=False)[1:-1], *found]


def _units(letter: str) -> list[int]:
    data = letter.encode("utf-16-be")
    return [data[i] << 8 | data[i + 1] for i in range(0, len(data), 2)]


SPELLED = st.lists(
    st.sampled_from(LETTERS).flatmap(lambda x: st.sampled_from(spellings(x))), max_size=4
).map("".join)


def accepts(schema: Any, text: str, **options: Any) -> bool:
    """Does a text fit?"""
    constraint = sg.compile(JsonSchema(schema, **options), VOCABULARY)
    state = constraint.advance_bytes(constraint.start, text.encode())
    return state != sg.DEAD and constraint.is_accepting(state)


def is_canonical(text: str) -> bool:
    """Whether a JSON string is written as the standard library does."""
    return json.dumps(json.loads(text), ensure_ascii=False) == text


# Each takes a word and gives a schema, and a text in which a spelling of the word is to be put.
PLACES: list[tuple[Callable[[str], Any], str]] = [
    (lambda _: {"type": "string"}, "{}"),
    (lambda _: {"type": "string", "maxLength": 9, "minLength": 0}, "{}"),
    (lambda _: {"type": "string", "pattern": "^[^x]*$"}, "{}"),
    (lambda word: {"enum": [word, word + "b", "b" + word, ""]}, "{}"),
    (lambda word: {"const": [word]}, "[{}]"),
    (lambda _: {"type": "object"}, "{{{}:1}}"),
    (lambda word: {"properties": {word: True, word + "b": True}}, "{{{}:1}}"),
    (lambda word: {"properties": {word: True}, "additionalProperties": False}, "{{{}:1}}"),
    (lambda _: {"patternProperties": {"^[^x]*$": True}, "maxProperties": 2}, "{{{}:1}}"),
    (lambda _: {"type": "array", "uniqueItems": True}, "[0,{}]"),
    (lambda word: {"items": {"enum": [word, "c"]}, "uniqueItems": True, "minItems": 1}, "[{}]"),
    (lambda _: True, "[[{}]]"),
]


@pytest.mark.parametrize("place", range(len(PLACES)))
@pytest.mark.parametrize("order", ["declared", "any"])
@given(spelled=SPELLED)
def test_strings_and_keys_have_the_escapes_they_need(place: int, order: str, spelled: str) -> None:
    """Accepted exactly where `json.dumps` writes the same; any spelling with `escapes="any"`."""
    make, around = PLACES[place]
    text = f'"{spelled}"'
    schema, whole = make(json.loads(text)), around.format(text)
    assert accepts(schema, whole, property_order=order) == is_canonical(text), whole
    assert accepts(schema, whole, property_order=order, escapes="any"), whole


@given(spelled=SPELLED)
def test_the_exact_mode_keeps_every_spelling(spelled: str) -> None:
    """With any order and any white space escapes are any, unless the caller says otherwise."""
    text = f'"{spelled}"'
    free = {"property_order": "any", "whitespace": "any"}
    assert accepts(True, text, **free)
    assert accepts(True, text, **free, escapes="needed") == is_canonical(text)


@given(
    numbers=st.lists(
        st.one_of(st.integers(-99, 99), st.integers(10**20, 10**23), st.floats(-1e30, 1e30)),
        min_size=1,
        max_size=4,
    ),
    data=st.data(),
)
def test_listed_numbers_are_written_as_the_schema_has_them(
    numbers: list[float], data: st.DataObject
) -> None:
    """`enum` has the text that `json.dumps` gives, in any place; exact mode has all others."""
    number = data.draw(st.sampled_from(numbers))
    same = next(x for x in numbers if x == number)  # of equal numbers the first is written
    text, other = json.dumps(same), json.dumps(number) + ("" if isinstance(number, int) else "0")
    for schema in ({"enum": numbers}, {"enum": numbers, "type": "number", "minimum": -1e40}):
        assert accepts(schema, text)
        assert not accepts(schema, text + ("e0" if "e" not in text else "0"))
        assert accepts(schema, text, property_order="any", whitespace="any")
    assert not accepts({"not": {"enum": numbers}}, text)
    if "e" not in other:
        assert not accepts({"not": {"enum": numbers}}, other)


def test_a_listed_number_stays_where_other_keywords_agree() -> None:
    """Its value is what the others see, whatever spellings they leave."""
    assert accepts({"enum": [1.0, 2.5], "type": "integer"}, "1.0")
    assert not accepts({"enum": [1.0, 2.5], "type": "integer"}, "2.5")
    draft4 = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}
    assert accepts({"enum": [1.0], **draft4}, "1")
    assert not accepts({"enum": [1.0], **draft4}, "1.0")
    both = {"anyOf": [{"const": 1.50}, {"type": "integer", "minimum": 5}], "maximum": 6}
    assert [accepts(both, text) for text in ("1.5", "5", "7", "1.50")] == [True, True, False, False]


def test_white_space_is_at_most_a_blank_between_lexemes() -> None:
    """As `json.dumps` writes by default, or without any; nothing before or after."""
    value = {"a": [1, {"b": None}], "c": {}}
    for separators in ((", ", ": "), (",", ":"), (",", ": ")):
        assert accepts(True, json.dumps(value, separators=separators))
    assert accepts(True, "[ 1, 2 ]")
    wide = (" 1", "1 ", "\n1", "[1,  2]", "[\n1]", "[1 ,2]", '{"a" :1}', "[\n 1\n]")
    for text in wide:
        assert not accepts(True, text), text
        assert accepts(True, text, property_order="any", whitespace="any")
    assert accepts(True, json.dumps(value, indent=2), whitespace="indented")


def test_checking_is_lenient_unless_told_otherwise() -> None:
    """Order, white space and escapes of others' texts may be any."""
    schema = {"properties": {"a": {"enum": ["é"]}, "b": {"enum": [1.0]}}}
    text = '{ "b":1e0,\n"\\u0061" : "\\u00E9" }'
    sg.check(schema, text)
    sg.check(JsonSchema(schema), text)
    with pytest.raises(ValidationError, match="escapes='needed'"):
        sg.check(JsonSchema(schema, escapes="needed"), text)
    with pytest.raises(ValidationError):
        sg.check(schema, text, exact_layout=True)
    sg.check(JsonSchema({"const": "é"}, whitespace="compact"), '"\\u00e9"')


@pytest.mark.parametrize("text", ['"\\ud800"', '"a\\udfffé"', '"\\ud83d\\n"'])
def test_unpaired_surrogates_have_small_digits(text: str) -> None:
    """No character can be written without an escape there."""
    assert accepts({"type": "string"}, text, surrogates="allow")
    assert not accepts({"type": "string"}, text.upper().replace("\\U", "\\u"), surrogates="allow")


@pytest.mark.parametrize("text", ['"\\ud83d\\ude00"', '"\\ud800\\u0061"', '"\\u0061"', '"\\/"'])
def test_surrogates_open_no_other_escape(text: str) -> None:
    """Two halves are a character, which is written as itself."""
    assert not accepts({"type": "string"}, text, surrogates="allow")
    assert accepts({"type": "string"}, text, surrogates="allow", escapes="any")


def test_the_choice_of_escapes_is_kept_with_the_spec() -> None:
    """A saved spec has it, and others are errors."""
    spec = JsonSchema({"type": "string"}, escapes="needed")
    assert JsonSchema.from_json(spec.to_json()) == spec
    with pytest.raises(SpecError, match="escapes"):
        JsonSchema({}, escapes="some")


@pytest.mark.parametrize("first", ["needed", "any"])
def test_masks_do_not_depend_on_the_mode_that_came_first(first: str) -> None:
    """Bounds on length count characters, of either mode, and specs share the counts."""
    tokens = [b"<end>", *(bytes((byte,)) for byte in range(256)), b"\\u00e9ab", b"\\nab", b'ab"']
    tokens += [b'\\u00e9"', b"\\u001bab", b"\\u001Bab", first.encode()]  # a vocabulary of its own
    vocabulary = sg.Vocabulary(tokens, eos_ids=[0])
    for escapes in dict.fromkeys((first, "needed", "any")):
        spec = JsonSchema({"type": "string", "maxLength": 2}, escapes=escapes)
        constraint = sg.compile(spec, vocabulary)
        state = constraint.advance_bytes(constraint.start, b'"')
        row = np.zeros(vocabulary.words, np.int32)
        constraint.fill_mask(state, row)
        for token, text in enumerate(tokens[1:], 1):
            wanted = constraint.advance_bytes(state, text) != sg.DEAD
            assert bool(row[token // 32] >> token % 32 & 1) == wanted, (escapes, text)
