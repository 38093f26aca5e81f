"""Unions with formats that have no tables decide as their alternatives do."""

from __future__ import annotations

import random
from typing import Any

import pytest

from structgen.regular.charset import CharSet, union_all
from structgen.regular.expressions.nodes import Alt
from structgen.regular.lazy_dfa.automaton import _built, automaton_of, side_by_side
from structgen.regular.lazy_dfa.pairs.side_by_side import SideBySideAutomaton
from structgen.regular.lazy_dfa.stepped import DerivedAutomaton
from structgen.regular.regex import ANY_CHAR, Regex, alt, intersect, matches, repeat
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.regular.lazy_dfa.test_automaton import accepts, after, loops_are_safe
from tests.regular.lazy_dfa.test_beside import masks_are_exact

TEXTS = [
    "localhost", "a.example.org", "-a", "256.256.256.256", "1.2.3.4", "::1", "2001:db8::1", "fe80",
    "2001:db8", "xn--bcher-kva.example", "xn--a", "a" * 64, ".".join(["ab"] * 84), "(a|b)*",
    "a{2,1}", "[0-9", "abc@example.org", "abc@", "2024-02-29", "2023-02-29", "", "x y", "\u00e9",
]  # fmt: skip
UNIONS = [
    ("hostname", "ipv4", "ipv6"), ("hostname", "ipv6"), ("regex", "date"), ("regex", "hostname"),
    ("hostname", "regex", "email"),
]  # fmt: skip


def union(names: tuple[str, ...]) -> Regex:
    """Any of some formats, or a word in capitals."""
    return alt(*map(format_built, names), parse("[A-Z]{2,3}", anchored=True))


@pytest.mark.parametrize("names", UNIONS)
def test_a_union_reads_what_one_of_its_parts_reads(names: tuple[str, ...]) -> None:
    """Each text is in it that is in a part, and each that begins one can be read so far."""
    language = union(names)
    automaton = _built(language)
    assert isinstance(automaton, SideBySideAutomaton)
    assert isinstance(language, Alt)
    for text in (*TEXTS, "AB", "ABCD"):
        assert accepts(automaton, text) == any(matches(p, text) for p in language.parts), text


def test_a_union_of_many_is_read_by_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    """As pairs of pairs it would be as deep as it has alternatives."""
    monkeypatch.setattr("structgen.regular.lazy_dfa.automaton.MOST_BESIDE", 1)
    language = union(UNIONS[0])
    automaton = _built(language)
    assert isinstance(automaton, DerivedAutomaton)
    for text in TEXTS:
        assert accepts(automaton, text) == matches(language, text)


@pytest.mark.parametrize("names", UNIONS)
def test_a_union_leads_on_as_its_derivatives_do(names: tuple[str, ...]) -> None:
    """What leads on, where texts may end, and what any characters may follow."""
    language, rnd = union(names), random.Random(3)
    automaton, derived = _built(language), DerivedAutomaton(language)
    for _ in range(40):
        state, node, size = 0, 0, rnd.randrange(8)
        for _ in range(size):
            ahead = {}
            for found, at in ((automaton, state), (derived, node)):
                found.explore(at)
                place = found.place(at)
                ranges = found.spans[found.first[place] : found.first[place + 1]].tolist()
                ahead[found] = {x for low, high, _ in ranges for x in (low, high) if x < 0x3000}
                assert all(after(found, at, chr(x)) is not None for x in ahead[found])
            assert all(after(derived, node, chr(x)) is not None for x in ahead[automaton])
            assert all(after(automaton, state, chr(x)) is not None for x in ahead[derived])
            letter = chr(rnd.choice(sorted(ahead[automaton])))
            state, node = after(automaton, state, letter) or 0, after(derived, node, letter) or 0
            assert automaton.ends[state] == derived.ends[node]
    loops_are_safe(automaton, rnd)


@pytest.mark.parametrize("names", UNIONS)
def test_a_state_stands_for_states_of_the_parts(names: tuple[str, ...]) -> None:
    """Each part is found by its place, and together they read what the state reads."""
    language, rnd = union(names), random.Random(4)
    automaton: Any = automaton_of(language)
    parts = [*map(automaton_of, side_by_side(language))]
    for _ in range(20):
        state = 0
        for _ in range(rnd.randrange(6)):
            spans = automaton.spans_from(state)
            state = int(spans[rnd.randrange(len(spans)), 2]) if len(spans) else state
        found = automaton.halves(state)
        assert found.fits == "any"
        assert all(parts[place] is part for place, part, _ in found.states)
        read = [CharSet.of(part.spans_from(at)[:, :2].tolist()) for _, part, at in found.states]
        assert union_all(read) == CharSet.of(automaton.spans_from(state)[:, :2].tolist())
        assert automaton.ends[state] == any(part.ends[at] for _, part, at in found.states)


@pytest.mark.parametrize(
    ("names", "more"),
    [
        (("hostname", "ipv4", "ipv6"), {}),
        (("uri-reference", "iri"), {}),
        (("uri-reference", "iri"), {"minLength": 4, "maxLength": 25}),
        (("email", "uri-reference"), {"maxLength": 30}),
    ],
)
def test_masks_of_a_union_hold_exactly_the_tokens_that_may_come(
    names: tuple[str, ...], more: dict[str, int]
) -> None:
    """They are joined from those of the parts."""
    formats = [{"format": name} for name in names]
    masks_are_exact({"type": "string", "anyOf": formats, **more}, "a-.:10x/@é")


def test_alternatives_too_large_to_be_one_are_read_side_by_side() -> None:
    """Each with the bound on the length of all."""
    language = alt(format_built("uri-reference"), format_built("iri"))
    for bounded in (language, intersect(language, repeat(ANY_CHAR, 0, 50))):
        automaton = _built(bounded)
        assert isinstance(automaton, SideBySideAutomaton)
        for text in (
            *TEXTS,
            "//a/b?c",
            "a:b",
            "http://\u00e9.org/",
            "a:" + "b" * 49,
            "/\u00e9",
            "/",
        ):
            assert accepts(automaton, text) == matches(bounded, text), text


def test_alternatives_of_which_none_is_explored_ahead_are_one_expression() -> None:
    """To read each of them state by state takes longer than to read their union so."""
    piece = r'(?:[^"\\]|\\["n])'
    language = parse(rf'^(?:",|"\]|{piece}{{1,2000}}",|\\{piece}{{1,2000}}"\])$')
    assert language.plain
    automaton = _built(language)
    assert isinstance(automaton, DerivedAutomaton)
    for text in ('",', 'a",', '\\n",', '\\n"]', '\\a"]', "a" * 2000 + '",', "a" * 2001 + '",', ""):
        assert accepts(automaton, text) == matches(language, text), text
