"""Length bounds are split off, redundant repeat bounds are dropped, and counters are exact."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.regular.expressions.nodes import Repeat
from structgen.regular.lazy_dfa.automaton import _built, automaton_of
from structgen.regular.lazy_dfa.counters import (
    CounterAutomaton,
    NearestEnds,
    split_length_bound,
    without_redundant_bounds,
)
from structgen.regular.lazy_dfa.states import TableAutomaton
from structgen.regular.regex import ANY_CHAR, INFINITE, Regex, intersect, matches, repeat
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.helpers.automata import accepts
from tests.regular.test_regex import LONGEST, PAIRS, TEXTS, Pair, same

NAMES = r"(([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)\.){1,127}[a-z]{2,63}"


def counts(regex: Regex) -> list[int]:
    """The upper bounds of all repetitions in a sequence of them."""
    found = [regex.high] if isinstance(regex, Repeat) else []
    parts = [getattr(regex, name) for name in ("head", "tail", "body") if hasattr(regex, name)]
    return found + [n for part in (*parts, *getattr(regex, "parts", ())) for n in counts(part)]


@given(PAIRS, st.integers(0, LONGEST))
def test_texts_that_are_short_enough_stay(pair: Pair, most: int) -> None:
    """As set arithmetic has them; longer ones may come and go."""
    found = without_redundant_bounds(pair.regex, most)
    short = {text for text in TEXTS if len(text) <= most}
    assert {text for text in short if matches(found, text)} == pair.members & short


@given(st.lists(PAIRS, min_size=2, max_size=3), st.integers(0, LONGEST))
def test_an_intersection_is_the_same(pairs: list[Pair], most: int) -> None:
    """Whichever part has the bound, and where several have one."""
    parts = [pair.regex for pair in pairs]
    for regex in (intersect(*parts), intersect(*parts, repeat(ANY_CHAR, 0, most))):
        assert same(without_redundant_bounds(regex), regex)


@given(PAIRS, st.sampled_from([r"[\s\S]", "[ab]", "[^a]"]), st.integers(0, 3), st.integers(0, 4))
def test_a_length_bound_is_split_off(pair: Pair, kind: str, low: int, more: int) -> None:
    """Both together say what the whole says, of which kind the characters counted may be."""
    counted = repeat(parse(f"^{kind}$", anchored=True), low, low + more)
    node = intersect(pair.regex, counted)
    found = split_length_bound(node)
    if found is not None:
        both = {text for text in TEXTS if all(matches(part, text) for part in found)}
        assert both == {text for text in TEXTS if matches(node, text)}


def test_a_password_is_split_from_its_length() -> None:
    """All but how long it is has few states, however many characters are not in a line."""
    node = parse(r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{8,64}$", anchored=True)
    automaton = automaton_of(node)
    assert isinstance(automaton, CounterAutomaton)
    state, least = 0, []
    for letter in "aB3aB3aB3":
        found = automaton.unbounded(state)
        assert found is not None
        least.append(found.least)  # characters until the text may end
        state = automaton.after(state, letter)
    assert least == [8, 7, 6, 5, 4, 3, 2, 1, 0]


def test_repeat_bounds_implied_by_the_length_are_dropped() -> None:
    """More than 127 of them take more than 253 characters; not so where 300 may come."""
    short, long = (parse(rf"^(?=.{{1,{most}}}$){NAMES}$") for most in (253, 300))
    assert 127 in counts(short)
    assert 127 not in counts(without_redundant_bounds(short))
    assert {61, 63, 253, INFINITE} <= {*counts(without_redundant_bounds(short))}
    assert 127 in counts(without_redundant_bounds(long))


def test_a_pattern_of_names_has_tables() -> None:
    """Which it would have not with each label of 127 written out."""
    regex = parse(rf"^(?=.{{1,253}}$){NAMES}$")
    automaton = automaton_of(regex)
    assert isinstance(automaton, TableAutomaton)
    label = "a" * 63
    for text, fits in {
        "www.example.org": True,
        "www.example-.org": False,
        ".".join([label] * 3 + ["a" * 57, "org"]): True,  # 253 characters
        ".".join([label] * 3 + ["a" * 58, "org"]): False,
        "a." * 125 + "org": True,
        "a." * 126 + "org": False,
    }.items():
        state = 0
        for letter in text:
            spans = automaton.spans_from(state)
            inside = (spans[:, 0] <= ord(letter)) & (spans[:, 1] >= ord(letter))
            state = int(spans[inside, 2][0]) if inside.any() else -1
            if state < 0:
                break
        assert (state >= 0 and bool(automaton.ends[state])) == fits, text
        assert matches(regex, text) == fits, text


@pytest.mark.parametrize("how", ["find", "explore"])
def test_what_was_found_is_written_down_when_it_is_asked_for(how: str) -> None:
    """In whatever order states are looked at, and however much is found at once."""
    patterns = [r"(?=.{3,9}$)[ab]*a[ab]{3}c?", r"(?!ab)[a-c]+x", rf"(?=.{{1,253}}$){NAMES}"]
    for pattern in patterns:
        known, other = (_fresh(pattern) for _ in range(2))
        rnd = random.Random(3)
        for _ in range(40):
            state = rnd.randrange(known.size)
            known.find(state, 5) if how == "find" else known.explore(state)
        known.write_spans()
        assert known.known == known.found
        waiting = {(0, 0)}
        met = set(waiting)
        while waiting and len(met) < 200:  # the same from each state, but for the numbers
            a, b = waiting.pop()
            left, right = known.spans_from(a), other.spans_from(b)
            assert np.array_equal(left[:, :2], right[:, :2])
            assert known.ends[a] == other.ends[b]
            new = {(int(x), int(y)) for x, y in zip(left[:, 2], right[:, 2], strict=True)} - met
            met |= new
            waiting |= new


def _fresh(pattern: str) -> TableAutomaton:
    """An automaton of which nothing is known yet."""
    found = _built(parse(f"^{pattern}$"))
    assert isinstance(found, TableAutomaton)
    return found


def test_far_bounds_are_explored_as_far_as_texts_go() -> None:
    """Near ones, and those of small patterns, once for all lengths."""
    large = format_built("uri")
    small = parse(r"^(a|bc)+$", anchored=True)
    cases = [(large, 100), (large, 1000), (small, 1000)]
    found = [automaton_of(intersect(regex, repeat(ANY_CHAR, 0, most))) for regex, most in cases]
    assert all(isinstance(automaton, CounterAutomaton) for automaton in found)
    asked: list[Any] = found
    assert [isinstance(x._known, NearestEnds) for x in asked] == [False, True, False]


@pytest.mark.parametrize(("name", "more", "most"), [("time", "", 20), ("date-time", "^20", 35)])
def test_each_state_is_explored_once(name: str, more: str, most: int) -> None:
    """Also where exploring stops to find out how near an end is, and goes on."""
    short = repeat(ANY_CHAR, 0, most)
    automaton: Any = _built(intersect(format_built(name), parse(more), short))
    assert isinstance(automaton._known, NearestEnds)
    state = 0
    for letter in {"time": "", "date-time": "2024-02-29T"}[name] + "23:59:59.9999+00:":
        state = automaton.after(state, letter)
    explored = automaton.order[: automaton.known].tolist()
    assert len(explored) == len({*explored})


def test_both_bounds_may_be_far_apart() -> None:
    """One counter is enough, however long texts may be."""
    most = 3000
    barred = "password|secret|token|january|february|august|december|monday|tuesday|wednesday"
    pattern = parse(rf"^(?!.*\b({barred})\b)[\w ]*$")
    automaton: Any = automaton_of(intersect(pattern, repeat(ANY_CHAR, 2, most)))
    assert isinstance(automaton, CounterAutomaton)
    assert automaton.unbounded(0) is not None
    for text, fits in {
        "": False,
        "a": False,
        "a token": False,
        "tokens": True,
        "b" * most: True,
        "b " * (most // 2) + "b": False,
        "b " * (most // 2 - 3) + "secret": False,
        "b " * (most // 2 - 3) + "secre": True,
    }.items():
        assert accepts(automaton, text) == fits, text[:5]
