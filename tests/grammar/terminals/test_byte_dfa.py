"""The byte DFA of languages is the same by positions as by derivatives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import BudgetError
from structgen.grammar.terminals import byte_dfa
from structgen.grammar.terminals.byte_dfa import FEW_POSITIONS, explored, explored_together
from structgen.regular.charset import CharSet
from structgen.regular.regex import (
    EMPTY,
    Regex,
    alt,
    chars,
    complement,
    concat,
    intersect,
    literal,
    repeat,
    words,
)

LETTERS = "abc\u00e9\u0431\u20ac\U0001f600"
SETS = [CharSet.chars("ab"), CharSet.of([(0x61, 0x10FFFF)]), CharSet.of([(0x80, 0x20AC)])]

plain: st.SearchStrategy[Regex] = st.recursive(
    st.text(LETTERS, min_size=1, max_size=3).map(literal) | st.sampled_from(SETS).map(chars),
    lambda parts: (
        st.lists(parts, min_size=2, max_size=3).map(lambda found: concat(*found))
        | st.lists(parts, min_size=2, max_size=3).map(lambda found: alt(*found))
        | st.tuples(parts, st.integers(0, 2), st.sampled_from([2, 3, None])).map(
            lambda found: repeat(*found)
        )
    ),
    max_leaves=6,
)
combined = plain | st.tuples(plain, plain).map(lambda two: intersect(two[0], complement(two[1])))


def accepted(found: Any, text: str, state: int = 0) -> tuple[bool, ...]:
    """Which languages a DFA says that a text is in."""
    table: Any = found[0]
    ends: list[list[bool]] = found[1].reshape(len(table), -1).tolist()
    for byte in text.encode():
        state = int(table[state, byte])
        if state < 0:
            return (False,) * len(ends[0])
    return (*ends[state],)


def is_in(language: Regex, text: str) -> bool:
    """Whether a text is in a language, by derivatives."""
    for letter in text:
        language = next((to for of, to in language.steps() if letter in of), EMPTY)
    return language.nullable


@given(st.lists(combined, min_size=1, max_size=2), st.lists(st.text(LETTERS, max_size=5)))
def test_texts_are_accepted_by_the_languages_that_have_them(
    languages: list[Regex], texts: list[str]
) -> None:
    """Read side by side, as the derivatives of each one say."""
    found = explored(tuple(languages), 20_000)
    for text in texts:
        assert accepted(found, text) == tuple(is_in(one, text) for one in languages)


@given(
    st.lists(combined, min_size=1, max_size=4, unique=True),
    st.lists(st.text(LETTERS, max_size=5)),
    st.booleans(),
)
def test_languages_are_the_same_as_one_dfa(
    languages: list[Regex], texts: list[str], by_derivatives: bool
) -> None:
    """Each from its own start, also where they share their states."""
    with pytest.MonkeyPatch.context() as patch:
        if by_derivatives:
            patch.setattr(byte_dfa, "_by_positions", lambda *_: None)
        table, ends, starts = explored_together(languages, 20_000)
    for text in texts:
        for one in languages:
            assert accepted((table, ends), text, starts[one]) == (is_in(one, text),)


def test_states_that_languages_share_are_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endings of one word, each of which is in the next."""
    monkeypatch.setattr(byte_dfa, "_by_positions", lambda *_: None)
    endings = [literal("a" * i + "b" * 30) for i in range(20)]
    table, _, starts = explored_together(endings, 20_000)
    assert len({*starts.values()}) == len(endings)
    assert len(table) == len("b" * 30) + len(endings)


@pytest.mark.parametrize("size", [3, FEW_POSITIONS + 10])
def test_words_end_where_they_end(size: int) -> None:
    """Whether their positions are few or many."""
    listed = [f"{i:03}" for i in range(size)]
    found = explored((words(listed),), 20_000)
    assert all(accepted(found, word) == (True,) for word in listed)
    assert accepted(found, f"{size:03}") == accepted(found, "00") == (False,)


def test_states_past_the_limit_are_an_error() -> None:
    """Of sets of positions as of derivatives."""
    either = CharSet.chars("ab")
    late = concat(repeat(chars(either), 0), literal("a"), repeat(chars(either), 9, 9))
    with pytest.raises(BudgetError):
        explored((late,), 200)
    with pytest.raises(BudgetError):
        explored((intersect(late, complement(literal("b"))),), 200)
