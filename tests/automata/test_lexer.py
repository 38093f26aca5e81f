"""JSON strings are read byte by byte as other parsers read them."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg

BYTES = sg.Vocabulary([bytes((i,)) for i in range(256)])
ANY_STRING = sg.compile(
    sg.JsonSchema({"type": "string"}, property_order="any", whitespace="any"), BYTES
)
ANY_TEXT = sg.compile(sg.Regex(r"[\s\S]*"), BYTES)
PIECES = [
    b"a", b"\\", b'\\"', b"\\/", b"\\b", b"\\f", b"\\n", b"\\r", b"\\t", b"\\u", b"\\u0041",
    b"\\u00e9", b"\\u00E9", b"\\ud83d\\ude00", b"\\uD83D\\uDE00", b"\\ud83d", b"\\ude00", b"\\u004",
    b"\\x", b"\x1f", b"\x7f", b"\xc3\xa9", b"\xc3", b"\xa9", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80",
    b"\xed\xa0\x80", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xff", b'"', b"0",
]  # fmt: skip

CHARS = [*'A/"', "\\", "\n", "\0", *"é€\ud7ff\ue000😀\U00010000\U0010ffff"]
NEAR_UTF8 = st.binary(max_size=6) | st.lists(st.sampled_from(PIECES), max_size=3).map(b"".join)


def accepts(c: sg.Constraint, data: bytes) -> bool:
    """Whether the bytes are a whole text."""
    return c.is_accepting(c.advance_bytes(c.start, data))


def string_of(data: bytes) -> str | None:
    """The string that a JSON text stands for, None where it stands for none."""
    try:
        value = json.loads(data.decode())
        value.encode()
    except (ValueError, AttributeError):
        return None
    return str(value)


@given(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join))
def test_strings_are_accepted_iff_json_reads_them(inner: bytes) -> None:
    """Escapes, surrogate pairs, raw UTF-8 and everything that just misses them."""
    data = b'"' + inner + b'"'
    assert accepts(ANY_STRING, data) == (string_of(data) is not None)


@given(
    st.binary(max_size=6) | st.text(max_size=3).map(lambda t: t.encode("utf-8", "surrogatepass"))
)
def test_text_is_accepted_iff_it_is_utf8(data: bytes) -> None:
    """Overlong forms, surrogates and cut characters are not text."""
    try:
        data.decode()
        valid = True
    except UnicodeDecodeError:
        valid = False
    assert accepts(ANY_TEXT, data) == valid


@given(st.lists(st.sampled_from(PIECES), max_size=5).map(b"".join), st.integers(0, 9))
def test_a_start_of_a_string_can_always_be_finished(inner: bytes, seed: int) -> None:
    """Whatever is read so far, cut anywhere, the completion makes it a string."""
    data = b'"' + inner
    data = data[: Random(seed).randint(0, len(data))]
    state = ANY_STRING.advance_bytes(ANY_STRING.start, data)
    if state != sg.DEAD:
        assert string_of(data + ANY_STRING.shortest_completion(state)) is not None


@pytest.mark.parametrize("char", CHARS)
def test_a_constant_is_accepted_in_each_of_its_spellings(char: str) -> None:
    """Raw, short escape, four hexadecimal digits in either case; no other character gets in."""
    spec = sg.JsonSchema({"const": char}, property_order="any", whitespace="any")
    constraint = sg.compile(spec, BYTES)
    units = char.encode("utf-16-be").hex()
    escaped = "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
    upper = escaped.upper().replace("\\U", "\\u")
    for text in {
        json.dumps(char),
        json.dumps(char, ensure_ascii=False),
        f'"{escaped}"',
        f'"{upper}"',
    }:
        assert accepts(constraint, text.encode())
    for other in {"B", "é ", "\uffff", "\U00010001", "\ud7fe"} - {char}:
        assert not accepts(constraint, json.dumps(other).encode())


@given(st.text('aé😀"\\', max_size=4), st.integers(0, 3), st.integers(0, 3))
def test_lengths_count_code_points_in_any_spelling(text: str, low: int, high: int) -> None:
    """A surrogate pair or an escape is one character."""
    schema = {"type": "string", "minLength": min(low, high), "maxLength": max(low, high)}
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any", whitespace="any"), BYTES)
    fits = min(low, high) <= len(text) <= max(low, high)
    for ascii_only in (True, False):
        assert accepts(constraint, json.dumps(text, ensure_ascii=ascii_only).encode()) == fits
