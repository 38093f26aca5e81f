"""Patterns of Rust's mean in Python what they mean there."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from structgen.grammar.readers.lark.rust_regex import as_python

CATEGORIES = ["L", "Lu", "Ll", "N", "Nd", "P", "Sc", "Zs"]


@given(st.sampled_from(CATEGORIES), st.characters(exclude_categories=["Cs"]))
def test_properties_are_those_of_the_characters(name: str, letter: str) -> None:
    r"""By `unicodedata`: `\p` and `\P`, alone and in classes, with and without `^`."""
    has = unicodedata.category(letter).startswith(name)
    for pattern, expected in (
        (rf"\p{{{name}}}", has),
        (rf"\P{{{name}}}", not has),
        (rf"\p{{^{name}}}", not has),
        (rf"[\p{{{name}}}]", has),
        (rf"[^\p{{{name}}}_]", not has and letter != "_"),
        (rf"[_\P{{{name}}}]", not has or letter == "_"),
    ):
        assert (re.fullmatch(as_python(pattern), letter) is not None) == expected, pattern


@given(st.text("ab([\\]{}?<>^-|*pPux1", max_size=12))
def test_patterns_of_python_stay_as_they_are(pattern: str) -> None:
    """Whatever Python takes is not touched."""
    try:
        re.compile(pattern)
    except re.error:
        return
    assert as_python(pattern) == pattern


def test_names_and_numbers_of_characters() -> None:
    """Named groups, and characters by their number."""
    found = re.fullmatch(as_python(r"(?<a>x)(?P<b>\x{e9}|\u{1F600})(?<=.)(?<!y)[(?<c>]"), "x😀<")
    assert found is not None
    assert found.groupdict() == {"a": "x", "b": "😀"}
