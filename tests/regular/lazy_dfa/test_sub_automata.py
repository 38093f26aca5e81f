"""Automata of expressions with sub-automata decide as `re` and `Fraction` do."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.regular.expressions.estimates import estimate
from structgen.regular.lazy_dfa.automaton import _built
from structgen.regular.lazy_dfa.numbers import NumberAutomaton
from structgen.regular.lazy_dfa.states import RegexAutomaton, TableAutomaton
from structgen.regular.lazy_dfa.stepped import DerivedAutomaton
from structgen.regular.lazy_dfa.sub_automata import ComposedAutomaton
from structgen.regular.lazy_dfa.sub_automaton_table import SubAutomatonTable
from structgen.regular.numbers.language import number_language
from structgen.regular.regex import (
    Regex,
    alt,
    complement,
    concat,
    intersect,
    matches,
    repeat,
)
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.regular.lazy_dfa.test_automaton import PATTERNS, TEXTS, accepts, after, as_re

SOME_TEXTS = TEXTS[:90]
NUMBERS = [
    sign + whole + part + exponent
    for sign in ("", "-")
    for whole in ("0", "00", "1", "7", "12", "120", "999", "65536", "")
    for part in ("", ".", ".0", ".5", ".250", ".75")
    for exponent in ("", "e", "e0", "E1", "e-2", "e+01", "e2")
    if whole != "65536" or not exponent  # with an exponent, bounds leave out longer digits
]


def is_never_stuck(automaton: RegexAutomaton, text: str) -> bool:
    """Whether the state after `text` ends or leads on, if there is one."""
    state = after(automaton, 0, text)
    if state is None or automaton.ends[state]:
        return True
    automaton.explore(state)
    place = automaton.order[: automaton.known].tolist().index(state)
    return bool(automaton.first[place + 1] > automaton.first[place])


@settings(max_examples=60, deadline=None)
@given(patterns=st.lists(PATTERNS, min_size=4, max_size=4), signs=st.integers(0, 15))
def test_intersections_and_complements_are_met_in_tables(patterns: list[str], signs: int) -> None:
    """Unions, sequences of them, and what must not be, are decided as `re.fullmatch` does."""
    parts = [parse(p, anchored=True) for p in patterns]
    oracles = [as_re(p) for p in patterns]
    signed = [complement(x) if signs >> i & 1 else x for i, x in enumerate(parts)]

    def has(i: int, text: str) -> bool:
        return bool(oracles[i].fullmatch(text)) != bool(signs >> i & 1)

    one, other = intersect(*signed[:2]), intersect(*signed[2:])
    cases: list[tuple[Regex, Callable[[str], bool]]] = [
        (one, lambda t: has(0, t) and has(1, t)),
        (alt(one, other), lambda t: (has(0, t) and has(1, t)) or (has(2, t) and has(3, t))),
        (
            concat(one, other),
            lambda t: any(
                has(0, t[:i]) and has(1, t[:i]) and has(2, t[i:]) and has(3, t[i:])
                for i in range(len(t) + 1)
            ),
        ),
    ]
    for regex, rule in cases:
        if regex.longest == 0 or regex.is_empty():
            continue
        automaton = _built(regex)
        for text in SOME_TEXTS:
            assert accepts(automaton, text) == rule(text), (patterns, signs, text)
            assert is_never_stuck(automaton, text)


@settings(max_examples=25, deadline=None)
@given(pattern=PATTERNS, other=PATTERNS, low=st.integers(0, 2), more=st.integers(0, 2))
def test_what_repeats_may_be_any_sub_automaton(
    pattern: str, other: str, low: int, more: int
) -> None:
    """Repetitions of an intersection, before and after something else."""
    body = intersect(parse(pattern, anchored=True), complement(parse(other, anchored=True)))
    regex = concat(
        parse("a?", anchored=True), repeat(body, low, low + more), parse("b", anchored=True)
    )
    if regex.is_empty() or body.nullable:
        return
    inside, barred = as_re(pattern), as_re(other)

    def is_body(text: str) -> bool:
        return bool(inside.fullmatch(text)) and not barred.fullmatch(text)

    def repeats(text: str, count: int) -> bool:
        if count == 0:
            return text == ""
        return any(
            is_body(text[:i]) and repeats(text[i:], count - 1) for i in range(1, len(text) + 1)
        )

    def wanted(text: str) -> bool:
        if not text.endswith("b"):
            return False
        rests = {text[:-1], text[1:-1]} if text.startswith("a") and len(text) > 1 else {text[:-1]}
        return any(repeats(r, n) for r in rests for n in range(low, low + more + 1))

    automaton = _built(regex)
    for text in SOME_TEXTS:
        assert accepts(automaton, text) == wanted(text), (pattern, other, low, more, text)


def value_of(text: str) -> Fraction | None:
    """The value of a JSON number, or None."""
    if not re.fullmatch(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", text):
        return None
    return Fraction(text)


@pytest.mark.parametrize(
    ("low", "high", "multiple"),
    [(None, None, 1), (0, None, 1), (0, 65535, 1), (-2032, 2031, 16), (Fraction(1, 4), 12, None),
     (None, -1, Fraction(1, 4)), (0, 1, None), (3, 3, 1)],
)  # fmt: skip
def test_numbers_are_read_by_tables(
    low: Fraction | None, high: Fraction | None, multiple: Fraction | None
) -> None:
    """A number is accepted where its exact value fits."""
    regex = number_language(
        minimum=low, maximum=high, multiple_of=[] if multiple is None else [multiple]
    )
    automaton = _built(regex)
    assert isinstance(automaton, NumberAutomaton)
    for text in NUMBERS:
        value = value_of(text)
        fits = (
            value is not None
            and (low is None or value >= low)
            and (high is None or value <= high)
            and (multiple is None or (value / multiple).denominator == 1)
        )
        assert accepts(automaton, text) == fits, text
        assert is_never_stuck(automaton, text)


def test_languages_of_numbers_share_what_lies_behind_their_bounds() -> None:
    """Numbers from 512 on go on in more ways behind 5 than behind 6: hardly any is found twice."""
    numbers = number_language(minimum=Fraction(512), spelling="decimal")
    one, other = (SubAutomatonTable(cast(Any, numbers.after(ord(digit)))) for digit in "56")
    one.explore_all(1000)
    known = len(one.numbered)
    other.explore_all(1000)
    assert other.numbered is one.numbered
    assert len(one.numbered) == known  # nothing lies behind 6 alone
    assert accepts(other, "00")
    assert not accepts(one, "11")


def test_what_has_no_table_is_derived() -> None:
    """A part that would take too many positions is found by derivatives, and right."""
    regex = intersect(parse("(.{1,63}x){1,127}", anchored=True), parse("[^z]*"))
    automaton = _built(intersect(regex, complement(parse("aa"))))
    assert isinstance(automaton, DerivedAutomaton)
    assert accepts(automaton, "abxx")
    assert not accepts(automaton, "aabx")
    assert not accepts(automaton, "x")


def test_many_states_of_a_sub_automaton_at_once() -> None:
    """A part that may begin again and again is in as many states as there are beginnings."""
    body = intersect(parse("a[ab]{9}", anchored=True), complement(parse("a{10}", anchored=True)))
    automaton = _built(concat(parse("[ab]*", anchored=True), body))
    assert isinstance(automaton, ComposedAutomaton)
    oracle = re.compile("[ab]*(?!a{10})a[ab]{9}")
    for text in map("".join, itertools.islice(itertools.product("ab", repeat=12), 0, 4096, 37)):
        assert accepts(automaton, text) == bool(oracle.fullmatch(text)), text
    automaton.explore_all(5000)  # once each, however often there was too little room
    assert sorted(automaton.order[: automaton.known].tolist()) == list(range(automaton.made))


@pytest.mark.parametrize("name", ["date-time", "email", "idn-email"])
def test_formats_have_tables(name: str) -> None:
    """Formats that join several kinds of parts read their texts, and are never stuck."""
    automaton = _built(estimate(format_built(name), wide=False))
    assert isinstance(automaton, ComposedAutomaton)
    texts = ["2016-12-31T23:59:60Z", "2016-12-31t18:29:60.5-05:30", "2017-01-01T05:29:60+05:30",
             "2016-12-31T23:59:60+05:30", "2016-12-31T23:58:60Z", "2015-02-29T00:00:00Z",
             "a@b.example", '"a@b"@[127.0.0.1]', "a" * 64 + "@b", "a" * 65 + "@b", "a@" + "b" * 64,
             "@b", "a@b@c", "2016-12-31T23:59", "\u00e9" * 32 + "@\u00f1.es",
             "\u00e9" * 33 + "@\u00f1.es"]  # fmt: skip
    fitting = {"date-time": {0, 1, 2}, "email": {6, 7, 8}, "idn-email": {6, 7, 8, 14}}[name]
    for place, text in enumerate(texts):
        assert accepts(automaton, text) == (place in fitting), text
        assert is_never_stuck(automaton, text[:-1])


@pytest.mark.thorough
def test_octets_of_international_addresses_are_counted() -> None:
    """As by derivatives, for texts of letters of all sizes near the bound of the local part."""
    regex = format_built("idn-email")
    automaton, draw, fitting = _built(regex), random.Random(3), 0
    for _ in range(60):
        local, size = "", draw.randrange(58, 68)
        while len(local.encode()) < size:
            local += draw.choice("ab\u00e9\u4e00\U0001f600")
        text = local + "@" + "".join(draw.choice("aaa\u00f1\u4e00-.") for _ in range(4))
        assert accepts(automaton, text) == matches(regex, text), text
        fitting += matches(regex, text)
    assert 10 < fitting < 50


def test_what_any_text_may_follow_is_told_apart_no_more() -> None:
    """Of many words anywhere in a text, a state does not say which ones have been there."""
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
    automaton = _built(parse("|".join(words)))
    assert isinstance(automaton, TableAutomaton)
    automaton.explore_all(200)
    oracle = re.compile("|".join(words))
    for text in ("", "alph", "xalphax", "thet", "theta", "zzeta", "kappkappa", "alpbeta", "iot a"):
        assert accepts(automaton, text) == bool(oracle.search(text)), text
