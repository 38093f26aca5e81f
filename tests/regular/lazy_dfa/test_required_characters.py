"""Possible and required characters are true of all members, and prove intersections empty."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.regular.expressions.nodes import And
from structgen.regular.expressions.required_characters import (
    lacks_required_character,
    possible_characters,
    required_characters,
    without_impossible_alternatives,
)
from structgen.regular.expressions.search import is_nonempty
from structgen.regular.regex import alt, complement, concat, intersect, literal, matches
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.regular.lazy_dfa.test_automaton import PATTERNS, TEXTS, as_re


@settings(max_examples=60, deadline=None)
@given(pattern=PATTERNS)
def test_members_have_what_they_may_and_must(pattern: str) -> None:
    """Each member has no other characters, and one of each set that is needed."""
    regex, oracle = parse(pattern, anchored=True), as_re(pattern)
    for text in filter(oracle.fullmatch, TEXTS):
        assert all(letter in possible_characters(regex) for letter in text)
        assert all(
            any(letter in wanted for letter in text) for wanted in required_characters(regex)
        )


@settings(max_examples=100, deadline=None)
@given(one=PATTERNS, other=PATTERNS, third=PATTERNS, negated=st.booleans())
def test_what_lacks_a_character_is_empty(one: str, other: str, third: str, negated: bool) -> None:
    """No member is in an intersection of which that is said."""
    parts = [parse(pattern, anchored=True) for pattern in (one, other, third)]
    last = complement(parts[2]) if negated else alt(parts[1], parts[2])
    for node in (intersect(*parts), intersect(parts[0], last)):
        if lacks_required_character(node):
            assert node.is_empty()
            assert not any(matches(node, text) for text in TEXTS)


@settings(max_examples=100, deadline=None)
@given(one=PATTERNS, other=PATTERNS, third=PATTERNS)
def test_no_member_is_lost_with_what_lacks_a_character(one: str, other: str, third: str) -> None:
    """Of intersections with unions, with what follows a text, and of what is none."""
    parts = [parse(pattern, anchored=True) for pattern in (one, other, third)]
    union = alt(parts[1], concat(literal("a"), parts[2]))
    for node in (*parts, intersect(parts[0], union), intersect(concat(parts[2], union), *parts)):
        fewer = without_impossible_alternatives(node)
        assert [matches(fewer, text) for text in TEXTS] == [matches(node, text) for text in TEXTS]


def test_long_patterns_are_looked_at_without_recursion() -> None:
    """As many characters in a row as there are, and unions behind them."""
    chain = parse(f"^{'[ab][ac]' * 1500}(?:x|y)$", anchored=True)
    fewer = without_impossible_alternatives(intersect(chain, complement(parse("b$"))))
    assert matches(fewer, "a" * 3000 + "x")
    assert not matches(
        without_impossible_alternatives(intersect(chain, parse("x$"))), "a" * 3000 + "y"
    )


def test_times_in_utc_have_no_other_offsets() -> None:
    """Nothing but plain expressions is left where a pattern asks for Z, and the same texts."""
    node = intersect(format_built("date-time"), parse(r"\d\dZ$"))
    assert isinstance(node, And)
    assert not all(part.plain for part in node.parts)
    fewer = without_impossible_alternatives(node)
    assert isinstance(fewer, And)
    assert all(part.plain for part in fewer.parts)
    for end in ("30Z", "60Z", "30.5Z", "30+01:00", "60+01:00", "30z"):
        for minute in (58, 59):
            text = f"2016-12-31T23:{minute}:{end}"
            assert matches(fewer, text) == matches(node, text)


def test_a_date_and_time_in_a_pattern_is_searched_shortly() -> None:
    """That nothing fits is seen where the letter between date and time is not the pattern's."""
    pattern = r"\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    node = intersect(format_built("date-time"), parse(pattern))
    dead = node
    for letter in "2016-01-05t":
        dead = dead.after(ord(letter))
    assert not is_nonempty(dead, budget=1000)
    for text in ("2016-01-05T16:51:00Z", "2016-12-31T23:59:60Z", "2016-01-05T16:51:00.5Z"):
        assert matches(node, text) == bool(re.search(pattern, text))
