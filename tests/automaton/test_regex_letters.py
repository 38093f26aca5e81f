"""What characters members may and must have: true of all members, and proof that there are none."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.automaton.regex import alt, complement, intersect, matches
from structgen.automaton.regex_letters import lacks, letters, needed
from structgen.automaton.regex_search import live
from structgen.automaton.regex_syntax import parse
from structgen.spec.json_formats import format_built
from tests.automaton.test_regex_automaton import PATTERNS, TEXTS, as_re


@settings(max_examples=60, deadline=None)
@given(pattern=PATTERNS)
def test_members_have_what_they_may_and_must(pattern: str) -> None:
    """Each member has no other characters, and one of each set that is needed."""
    regex, oracle = parse(pattern, anchored=True), as_re(pattern)
    for text in filter(oracle.fullmatch, TEXTS):
        assert all(letter in letters(regex) for letter in text)
        assert all(any(letter in wanted for letter in text) for wanted in needed(regex))


@settings(max_examples=100, deadline=None)
@given(one=PATTERNS, other=PATTERNS, third=PATTERNS, negated=st.booleans())
def test_what_lacks_a_character_is_empty(one: str, other: str, third: str, negated: bool) -> None:
    """No member is in an intersection of which that is said."""
    parts = [parse(pattern, anchored=True) for pattern in (one, other, third)]
    last = complement(parts[2]) if negated else alt(parts[1], parts[2])
    for node in (intersect(*parts), intersect(parts[0], last)):
        if lacks(node):
            assert node.is_empty()
            assert not any(matches(node, text) for text in TEXTS)


def test_a_date_and_time_in_a_pattern_is_searched_shortly() -> None:
    """That nothing fits is seen where the letter between date and time is not the pattern's."""
    pattern = r"\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    node = intersect(format_built("date-time"), parse(pattern))
    dead = node
    for letter in "2016-01-05t":
        dead = dead.after(ord(letter))
    assert not live(dead, budget=1000)
    for text in ("2016-01-05T16:51:00Z", "2016-12-31T23:59:60Z", "2016-01-05T16:51:00.5Z"):
        assert matches(node, text) == bool(re.search(pattern, text))
