"""Whether a pattern prefers whole all that it can match whole, against Python's `re`."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.grammar.terminals import any_order
from structgen.grammar.terminals.any_order import matches_all_it_can
from structgen.grammar.terminals.python_regex import parse

TEXTS = ["".join(letters) for size in range(6) for letters in product("ab", repeat=size)]


def prefers_all(pattern: str) -> bool:
    """Whether `re` matches all of each text that it can match whole."""
    whole, begins = re.compile(f"(?:{pattern})\\Z"), re.compile(pattern)
    matched = (text for text in TEXTS if whole.match(text))
    return all(begins.match(text).end() == len(text) for text in matched)  # type: ignore[union-attr]


def combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Parts in a row, as alternatives, and repeated."""
    counts = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{1,2}", "{2,}"])
    return st.one_of(
        st.tuples(parts, parts).map("".join),
        st.tuples(parts, parts).map(lambda both: "(?:{}|{})".format(*both)),
        st.tuples(parts, counts).map(lambda both: "(?:{}){}".format(*both)),
    )


@given(st.recursive(st.sampled_from(["a", "b", "ab", "[ab]"]), combined, max_leaves=6))
def test_what_is_said_to_prefer_all_does(pattern: str) -> None:
    """Of random patterns."""
    if matches_all_it_can(parse(pattern)):
        assert prefers_all(pattern)


@pytest.mark.parametrize("pattern", ["b?(?:a+ba*|a+)", "(?:ab?|b)+", "(?:a|b){1,2}", "a*?b"])
def test_an_order_that_rules_nothing_out_is_found(pattern: str) -> None:
    """As that of signed numbers with and without a fraction."""
    assert prefers_all(pattern)
    assert matches_all_it_can(parse(pattern))


@pytest.mark.parametrize(
    "pattern", ["a|ab", "a*?", "(?:a|ab)c?", "(?:b(?:a|ab))*", "(?:a|b)*?b|bb"]
)
def test_an_order_that_takes_texts_away_is_found(pattern: str) -> None:
    """Where a shorter way goes first."""
    assert not prefers_all(pattern)
    assert not matches_all_it_can(parse(pattern))


def says_so_two_by_two(pattern: str) -> bool:
    """`rules_nothing_out`; False for patterns of another kind."""
    try:
        return any_order._Positions(parse(pattern)).rules_nothing_out()
    except any_order._OtherError:
        return False


@given(st.recursive(st.sampled_from(["a", "b", "ab", "[ab]"]), combined, max_leaves=8))
def test_what_two_ways_say_of_each_other_is_right(pattern: str) -> None:
    """Of random patterns, also where all ways could be looked at."""
    if says_so_two_by_two(pattern):
        assert prefers_all(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "[ab]*a[ab]{15}c?",
        "(a|b)*a(a|b){20}",
        "[a-z]*e[a-z]{10}s?",
        "(a|b|c)*b(a|b|c){9,14}d{0,3}",
        "([ab]*a[ab]{18};)+",
    ],
)
def test_letters_counted_from_the_end_take_nothing_away(pattern: str) -> None:
    """Though sets of positions are many, ways need only be compared two by two."""
    assert any_order._Positions(parse(pattern)).all_ends_are_tried() is None
    assert matches_all_it_can(parse(pattern))


@pytest.mark.parametrize("pattern", ["[ab]*?a[ab]{15}", "(a|b)*a(a|b){20}c??", "[ab]*a[ab]{9,15}?"])
def test_a_shorter_way_that_goes_first_is_found_two_by_two(pattern: str) -> None:
    """Lazy loops, where all ways are too many."""
    assert not matches_all_it_can(parse(pattern))


@pytest.mark.thorough
@given(st.recursive(st.sampled_from(["a", "b", "ab", "[ab]"]), combined, max_leaves=20))
def test_longer_patterns_that_are_said_to_prefer_all_do(pattern: str) -> None:
    """Of random patterns with positions enough for more than a word of bits."""
    if matches_all_it_can(parse(pattern)):
        assert prefers_all(pattern)
