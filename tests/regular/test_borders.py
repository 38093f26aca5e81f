"""Conditions on the first and last characters are put into plain expressions.

Laws: the last moves of an expression make up its non-empty texts, splitting by the end is a
partition by the state that each text leads to, and restricting the beginning is an intersection.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.regular.charset import CharSet
from structgen.regular.expressions.borders import (
    UndecidedError,
    last_moves,
    restrict_begin,
    split_by_end,
)
from structgen.regular.regex import (
    ANY,
    EMPTY,
    EPSILON,
    Regex,
    alt,
    chars,
    complement,
    concat,
    intersect,
    literal,
    matches,
    repeat,
    words,
)
from structgen.regular.syntax.ecma import parse

LETTERS = "ab-"
TEXTS = ["".join(t) for n in range(6) for t in itertools.product(LETTERS, repeat=n)]
ATOMS = st.one_of(
    st.sampled_from([chars(CharSet.chars(s)) for s in ("a", "b", "-", "ab", "b-", "ab-")]),
    st.sampled_from([literal("ab"), literal("b-a"), EPSILON, words(["a", "ab", "b-", ""])]),
)
PLAIN = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: concat(*parts)),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: alt(*parts)),
        st.tuples(inner, st.sampled_from([(0, None), (1, 3), (2, 2), (0, 1)])).map(
            lambda pair: repeat(pair[0], *pair[1])
        ),
    ),
    max_leaves=8,
)
#: whether the last character was a hyphen, and whether the last two were
HYPHENS = [(CharSet.chars("-"), {0: 1, 1: 2, 2: 2}), (~CharSet.chars("-"), {0: 0, 1: 0, 2: 0})]


def members(language: Regex) -> set[str]:
    """The texts of up to five letters in a language."""
    return {text for text in TEXTS if matches(language, text)}


def hyphens(text: str, state: int) -> int:
    """The state of HYPHENS after a text."""
    for letter in text:
        state = min(state + 1, 2) if letter == "-" else 0
    return state


@given(PLAIN)
def test_the_last_moves_make_up_all_texts(language: Regex) -> None:
    """Each non-empty text is one of `before` and a last character, and no other text is."""
    found = alt(*(concat(before, chars(of)) for before, of in last_moves(language)))
    assert members(found) == members(language) - {""}
    assert found.plain


@given(PLAIN, st.sampled_from([0, 1, 2]))
def test_texts_are_split_by_the_state_that_they_lead_to(language: Regex, begin: int) -> None:
    """Of an automaton that looks at two characters, from each of its states."""
    found = split_by_end(language, begin, HYPHENS)
    for state in (0, 1, 2):
        wanted = {text for text in members(language) if text and hyphens(text, begin) == state}
        assert members(found.get(state, EMPTY)) == wanted


def test_a_state_that_the_end_does_not_decide_is_not_guessed() -> None:
    """Whether there was an `a` anywhere depends on all of the text."""
    steps = [(CharSet.chars("a"), {0: 1, 1: 1}), (CharSet.chars("b"), {0: 0, 1: 1})]
    with pytest.raises(UndecidedError):
        split_by_end(parse("^[ab]*$"), 0, steps)
    assert set(split_by_end(parse("^[ab]{3}$"), 0, steps)) == {0, 1}


@given(PLAIN, st.sampled_from(["a", "-", "ab", "[ab]-", "a|b-", "a$|b"]), st.booleans())
def test_the_beginning_is_restricted_as_by_an_intersection(
    language: Regex, pattern: str, negative: bool
) -> None:
    """By a pattern at the beginning, or by its absence; the result stays plain."""
    condition = parse("^(?:" + pattern + ")")
    condition = complement(condition) if negative else condition
    found = restrict_begin(condition, language)
    assert members(found) == members(intersect(condition, language))
    assert found.plain


@given(PLAIN, PLAIN)
def test_what_follows_makes_no_difference_or_is_undecided(language: Regex, more: Regex) -> None:
    """With `followed` the restricted language may be continued by any other."""
    condition = parse("^a[ab]")
    try:
        found = restrict_begin(condition, language, followed=True)
    except UndecidedError:
        return
    whole = members(intersect(condition, concat(language, more)))
    assert members(concat(found, more)) == whole


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-z-]{1,63}(?<!-)$",
        r"^(?:(?!-)[a-z-]{1,63}(?<!-)\.)+[a-z]{2,}$",
        r"^[a-z.]{1,200}\.[a-z()]{2,8}\b[-a-z/]*$",
        r"\bfrom\b.*\bto\b",
        r"^(?!\[\[).*(?<!\]\])$",
        r"(?<!\d)\d{4}(?!\d)",
        r"^(?=[A-Z])\w+(?:-\b\w+){0,3}$",
        r"^(?!xml|-)[\w.-]+$",
    ],
)
def test_short_assertions_leave_no_intersection(pattern: str) -> None:
    """So there is nothing to search for dead ends, and no character is read in Python."""
    assert parse(pattern).plain


@pytest.mark.parametrize("pattern", ["(?!.*--)[a-z-]+", r"^(?:\ba|-)+$"])
def test_assertions_that_look_far_stay_exact(pattern: str) -> None:
    """Those are intersections, or loops that are read turn by turn."""
    language = parse(pattern)
    assert not language.plain
    assert language is not ANY
