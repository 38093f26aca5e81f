"""`check` says where a text is wrong and what was expected, for JSON and other texts."""

from __future__ import annotations

import pytest

import structgen as sg

SCHEMA = {
    "type": "object",
    "properties": {"a/b": {"type": "array", "items": {"type": "integer"}}, "c": {"const": "é"}},
    "required": ["a/b"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("text", "offset", "path"),
    [
        ('{"a/b": [1, "x"]}', 12, "/a~1b/1"),
        ('{"a/b": [1, 2', 13, "/a~1b/1"),
        ('{"a/b": [], "c": "e"}', 18, "/c"),
        ('{"z": 1}', 2, ""),
        ("", 0, ""),
    ],
)
def test_a_misfit_is_located_by_byte_and_by_pointer(text: str, offset: int, path: str) -> None:
    """The first byte that cannot be right, and the value that was being read there."""
    with pytest.raises(sg.errors.ValidationError) as caught:
        sg.check(sg.JsonSchema(SCHEMA), text)
    assert (caught.value.offset, caught.value.path) == (offset, path)
    assert caught.value.expected


def test_a_text_that_fits_raises_nothing() -> None:
    """Bytes and text are both taken."""
    sg.check(SCHEMA, '{"a/b": [1], "c": "é"}')
    sg.check(SCHEMA, b'{"a/b":[]}')


def test_brackets_in_texts_that_are_no_json_have_no_pointer() -> None:
    """A pattern may hold brackets that never opened."""
    with pytest.raises(sg.errors.ValidationError) as caught:
        sg.check(sg.Regex(r"a\}b"), "a}c")
    assert (caught.value.offset, caught.value.path) == (2, "")
