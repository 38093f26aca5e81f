"""Complements of formats are read by the formats' own automata."""

from __future__ import annotations

import random
from typing import Any

import pytest

from structgen.regular.expressions.required_characters import unread
from structgen.regular.lazy_dfa.automaton import automaton_of
from structgen.regular.lazy_dfa.pairs.beside import BesideAutomaton
from structgen.regular.lazy_dfa.pairs.complements import ComplementAutomaton
from structgen.regular.regex import (
    ANY_CHAR,
    Regex,
    alt,
    complement,
    intersect,
    literal,
    matches,
    readable,
    repeat,
)
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.helpers.automata import accepts
from tests.regular.lazy_dfa.test_beside import masks_are_exact

LETTERS = {
    "regex": "ab(|)[]{}1,?*\\^",
    "hostname": "aab.-xn ",
    "idn-email": 'aé@@.-"[1] ',
}


def texts(name: str) -> list[str]:
    """Texts some of which fit the format."""
    rnd = random.Random(5)
    found = ["", "xn--mnchen-3ya.de", "xn--a", "a@b", "é.a@é.b", "(a)", "[a-b]{1,2}"]
    return found + ["".join(rnd.choices(LETTERS[name], k=rnd.randrange(1, 7))) for _ in range(300)]


@pytest.mark.parametrize("name", LETTERS)
@pytest.mark.parametrize("other", [None, parse("^a+$", anchored=True)])
def test_texts_are_those_that_do_not_fit(name: str, other: Regex | None) -> None:
    """Any text is begun, and ends where it does not fit the format, nor the other language."""
    whole = format_built(name) if other is None else alt(format_built(name), other)
    automaton = automaton_of(complement(whole))
    assert isinstance(automaton, ComplementAutomaton)
    found = {True: 0, False: 0}
    for text in texts(name):
        state = 0
        for letter in text:
            assert automaton.reads(state, letter)
            state = automaton.after(state, letter)
        fits = matches(whole, text)
        assert bool(automaton.ends[state]) != fits, text
        assert automaton.reach(state) == (fits, fits)
        rest = automaton.ending(state)
        assert len(rest) == fits
        assert not rest or automaton.ends[automaton.after(state, rest)]
        found[fits] += 1
    assert min(found.values()) > 1


def test_what_no_format_reads_at_its_end_is_known() -> None:
    """As are the characters that a language beside it cannot have."""
    regex, host = format_built("regex"), format_built("hostname")
    assert ")" in unread(complement(regex))
    assert not unread(complement(alt(regex, host)))
    assert not unread(complement(alt(regex, literal("a)"))))
    assert unread(complement(alt(host, literal("a)"))))
    assert not unread(complement(literal("a")))
    assert not unread(regex)


@pytest.mark.parametrize(
    "more", [repeat(ANY_CHAR, 0, 5), repeat(ANY_CHAR, 3), parse(r"^[a(]*[b|)]?$")]
)
def test_further_demands_are_met(more: Regex) -> None:
    """A length, or a pattern in which only some texts do not fit."""
    whole = format_built("regex")
    language = intersect(complement(whole), more)
    automaton = automaton_of(language)
    assert isinstance(automaton, BesideAutomaton)
    good = 0
    for text in texts("regex"):
        ends = accepts(automaton, text)
        assert ends == (matches(more, text) and not matches(whole, text)), text
        good += ends
    assert good


def test_only_what_estimates_leave_out_is_left_out() -> None:
    """Beside nothing else, what is wrong by an A-label alone is no host name."""
    language = readable(complement(format_built("hostname")))
    assert matches(language, "xn--a")
    assert not matches(language, "xn--mnchen-3ya.de")


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"format": "regex"}},
        {"not": {"format": "regex"}, "maxLength": 20},
        {"not": {"format": "regex"}, "minLength": 2, "maxLength": 5},
        {"not": {"format": "regex"}, "pattern": "^[a-z(|)]*$"},
        {"not": {"anyOf": [{"format": "regex"}, {"enum": ["(a", "b"]}]}},
        {"not": {"format": "hostname"}},
        {"not": {"format": "idn-email"}, "minLength": 3},
    ],
)
def test_masks_hold_exactly_the_tokens_that_may_come(schema: dict[str, Any]) -> None:
    """Each token alone, read by the automaton, says the same as its bit."""
    masks_are_exact({"type": "string", **schema}, "aab-.xn@(|)")
