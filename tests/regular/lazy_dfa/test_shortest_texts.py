"""Shortest texts by tables of states are those that derivatives find, where these take long too."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.regular.charset import CharSet
from structgen.regular.expressions import search
from structgen.regular.lazy_dfa.shortest_texts import Letter, shortest_text
from structgen.regular.regex import ANY_CHAR, complement, intersect, matches, repeat, shortest
from structgen.regular.syntax.ecma import parse

PATTERNS = [
    "^a+b", "b[ab]c$", "^[^a]*$", "a.c|cb", "^(ab|c)*$", "^(?:aa|b)+c?$", "c{2}", "^.*b.{2}$",
]  # fmt: skip


@given(
    st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=3),
    st.sampled_from(PATTERNS),
    st.integers(0, 6),
    st.one_of(st.none(), st.integers(0, 4)),
)
def test_it_is_the_first_of_all_short_texts(
    patterns: list[str], barred: str, least: int, more: int | None
) -> None:
    """By length and letters, among all texts of up to six letters of four."""
    length = repeat(ANY_CHAR, least, None if more is None else least + more)
    language = intersect(*map(parse, patterns), complement(parse(barred)), length)
    most = 6 if more is None else min(6, least + more)
    texts = (
        "".join(text)
        for n in range(least, most + 1)
        for text in itertools.product(" abc", repeat=n)
    )
    fits = (
        text
        for text in texts
        if all(re.search(pattern, text) for pattern in patterns) and not re.search(barred, text)
    )
    expected = next(fits, None)
    found = shortest_text(language)
    if expected is not None:
        assert found == expected
    assert found is None or matches(language, found)


SIZES = {" ": 4, "a": 3, "b": 1, "c": 2}


def least(chars: CharSet) -> Letter:
    """The smallest of the letters that have a size, or another one of size 5."""
    return min(
        (Letter(ord(letter), size) for letter, size in SIZES.items() if letter in chars),
        key=lambda letter: letter.size,
        default=Letter(chars.sample, 5),
    )


@given(
    st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=3),
    st.sampled_from(PATTERNS),
    st.integers(0, 6),
    st.one_of(st.none(), st.integers(0, 4)),
)
def test_it_is_the_smallest_where_letters_have_sizes(
    patterns: list[str], barred: str, shortest: int, more: int | None
) -> None:
    """No text of up to six letters is smaller, also none that is longer than the shortest."""
    length = repeat(ANY_CHAR, shortest, None if more is None else shortest + more)
    language = intersect(*map(parse, patterns), complement(parse(barred)), length)
    most = 6 if more is None else min(6, shortest + more)
    texts = (text for n in range(shortest, most + 1) for text in itertools.product(SIZES, repeat=n))
    sizes = [
        sum(map(SIZES.__getitem__, text))
        for text in texts
        if all(re.search(pattern, "".join(text)) for pattern in patterns)
        and not re.search(barred, "".join(text))
    ]
    found = shortest_text(language, least)
    assert found is not None or not sizes
    if found is not None:
        assert matches(language, found)
        assert sum(SIZES.get(letter, 5) for letter in found) <= min(sizes, default=len(found) * 5)


@pytest.mark.parametrize(
    ("schema", "size"),
    [
        ({"type": "string", "pattern": '^"([^"\\\\]|\\\\.)*"$', "minLength": 255}, 259),
        ({"propertyNames": {"pattern": "\\n$", "minLength": 255}, "minProperties": 2}, 523),
        (
            {
                "propertyNames": {
                    "minLength": 255,
                    "not": {"pattern": "^[^:]*:[^:]*:[^:]*"},
                    "pattern": "(trace|debug|info|stats|notice|warning|error|fatal)",
                },
                "minProperties": 1,
            },
            261,
        ),
    ],
)
def test_long_strings_and_keys_have_completions(schema: dict[str, Any], size: int) -> None:
    """They took most of the work that a completion may take, or more."""
    vocabulary = sg.Vocabulary([b"<end>", *(bytes([byte]) for byte in range(256))], eos_ids=[0])
    schema = {"type": "object" if "minProperties" in schema else "string", **schema}
    constraint = sg.compile(schema, vocabulary)
    found = constraint.shortest_completion(constraint.start)
    assert constraint.is_accepting(constraint.advance_bytes(constraint.start, found))
    assert len(found) == size


@pytest.mark.parametrize(
    "pattern", ["github", '^"([^"\\\\]|\\\\.)*"$', "^.*/accounts$", "[0-9a-f]{64}"]
)
def test_a_text_with_a_great_length_is_found(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as without the table, which takes many times longer."""
    language = intersect(parse(pattern), repeat(ANY_CHAR, 90))
    found = shortest_text(language)
    monkeypatch.setattr(search, "table_search", None)
    assert found == shortest(language)


def test_strings_of_patterns_and_a_length_have_completions() -> None:
    """It used up the work that a completion may take."""
    schema = {
        "type": "string",
        "maxLength": 1000,
        "allOf": [
            {"pattern": r"^plaintext|static|longterm|ephemeral|timewindowed$"},
            {"pattern": r"^(CVE-\d{4}-(0\d{3}|[1-9]\d{3,}))|(CAPEC-\d+)$"},
        ],
    }
    vocabulary = sg.Vocabulary([b"<end>", *(bytes([byte]) for byte in range(256))], eos_ids=[0])
    constraint = sg.compile(schema, vocabulary)
    assert constraint.shortest_completion(constraint.start) == b'"staticCAPEC-0"'
