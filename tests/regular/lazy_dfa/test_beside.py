"""Formats that are read state by state beside a length or a pattern, against both by themselves."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import structgen as sg
from structgen.regular import byte_groups
from structgen.regular.charset import CharSet
from structgen.regular.expressions.base import INFINITE
from structgen.regular.expressions.nodes import SubAutomaton
from structgen.regular.lazy_dfa.automaton import automaton_of
from structgen.regular.lazy_dfa.pairs.beside import BesideAutomaton
from structgen.regular.regex import (
    ANY_CHAR,
    Regex,
    intersect,
    matches,
    readable,
    repeat,
    sub_automaton,
)
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.helpers.automata import state_after

LETTERS = {
    "regex": "ab1-./[](){}?:<>=^$\\|*u,",
    "hostname": "aab-.xn0",
    "uri-reference": "ab1:/[]?#%.@",
    "ipv4": "1250..",
    "duration": "PPT12HMWDYS",
    "date-time": "2024-02-29T10:30:59.999Z+",
}
LENGTHS = [
    *[("regex", least, most) for least, most in ((0, 3), (1, 6), (4, 9), (2, 40), (3, None))],
    *[("hostname", least, most) for least, most in ((5, 70), (20, None), (250, 253))],
]
PATTERNS = [
    ("regex", "^/.+/$"),
    ("regex", r"^\^[^)]*\$$"),
    ("regex", "^[a-z(]*[)]?$"),
]


def beside(language: Regex) -> BesideAutomaton:
    """The automaton of a format with further demands."""
    found = automaton_of(language)
    assert isinstance(found, BesideAutomaton)
    return found


def with_length(name: str, least: int, most: int | None) -> BesideAutomaton:
    """The automaton of a format with a length."""
    return beside(intersect(format_built(name), repeat(ANY_CHAR, least, most)))


def texts(name: str, rnd: random.Random, most: int) -> list[str]:
    """Random texts, half of which begin like those of the format."""
    found = []
    for _ in range(60):
        size = rnd.choice([1, max(most - 1, 0), most, most + 1, rnd.randrange(most + 3)])
        text = "".join(rnd.choices(LETTERS[name], k=min(size, 320)))
        found.append("xn--" + text[4:] if name == "hostname" and rnd.random() < 0.3 else text)
    return found


def nearest(automaton: BesideAutomaton, state: int) -> tuple[str, int]:
    """A character that leads nearer to an end, and where it leads."""
    _, far = automaton.reach(state)
    spans = automaton.spans_from(state).tolist()
    low, _, after = min(spans, key=lambda span: automaton.reach(span[2])[1])
    assert automaton.reach(after)[1] < far
    return chr(low), after


@pytest.mark.parametrize(("name", "least", "most"), LENGTHS)
def test_texts_with_a_length_are_those_of_the_format_that_have_it(
    name: str, least: int, most: int | None
) -> None:
    """Character by character, and no text that is too long is begun."""
    automaton, whole = with_length(name, least, most), format_built(name)
    rnd = random.Random(most or 1)
    for text in texts(name, rnd, most or 8):
        state = state_after(automaton, text)
        ends = state >= 0 and bool(automaton.ends[state])
        fits = least <= len(text) <= (most or INFINITE)
        assert ends == (fits and matches(whole, text)), text
        assert ends or state < 0 or len(text) < (most or INFINITE)


@pytest.mark.parametrize(("name", "pattern"), PATTERNS)
def test_texts_with_a_pattern_are_those_that_fit_both(name: str, pattern: str) -> None:
    """As Python's `re` matches the pattern."""
    whole = format_built(name)
    automaton = beside(intersect(whole, parse(pattern)))
    rnd, good = random.Random(5), 0
    for _ in range(80):
        state, text = 0, ""
        while rnd.random() < 0.9 and (
            letters := [c for c in LETTERS[name] if automaton.reads(state, c)]
        ):
            text += rnd.choice(letters)
            state = automaton.after(state, text[-1])
        while not automaton.ends[state]:
            letter, state = nearest(automaton, state)
            text += letter
        for tried in (text, text + rnd.choice(LETTERS[name]), text[:-1]):
            state = state_after(automaton, tried)
            ends = state >= 0 and bool(automaton.ends[state])
            fits = matches(whole, tried) and re.search(pattern, tried) is not None
            assert ends == fits, tried
            good += fits
    assert good > 20


@pytest.mark.parametrize(
    "automaton",
    [lambda: with_length("regex", 1, 9), lambda: with_length("hostname", 9, 70)]
    + [lambda p=p: beside(intersect(format_built(p[0]), parse(p[1]))) for p in PATTERNS],
)
def test_every_state_leads_on_to_an_end(automaton: Any) -> None:
    """From each, some character leads nearer to one."""
    found, rnd = automaton(), random.Random(2)
    for _ in range(60):
        state = 0
        for _ in range(rnd.randrange(12)):
            spans = found.spans_from(state)
            if not len(spans):
                break
            state = int(spans[rnd.randrange(len(spans)), 2])
        while not found.ends[state]:
            _, state = nearest(found, state)


@pytest.mark.parametrize(("name", "most"), [("regex", 9), ("regex", 30)])
def test_what_may_follow_in_any_order_stays_within_bounds(name: str, most: int) -> None:
    """So many characters as are promised may follow."""
    automaton, rnd, promised = with_length(name, 0, most), random.Random(3), 0
    for _ in range(80):
        state = 0
        for _ in range(rnd.randrange(most)):
            letters = [c for c in LETTERS[name] if automaton.reads(state, c)]
            if not letters:
                break
            state = automaton.after(state, rnd.choice(letters))
        automaton.explore(state)
        loops = int(automaton.loops[state])
        again = [c for c in LETTERS[name] if loops >> int(byte_groups.groups()[ord(c)]) & 1]
        for _ in range(int(automaton.often[state]) if again else 0):
            letter = rnd.choice(again)
            assert automaton.reads(state, letter)
            state = automaton.after(state, letter)
            promised += 1
    assert promised


def test_formats_without_a_common_text_found_soon_are_derived() -> None:
    """A mail address that is a pattern: the search begins at the start and gives up."""
    both = intersect(format_built("idn-email"), format_built("regex"))
    automaton = automaton_of(both)
    assert automaton is not None
    assert state_after(automaton, "a@b") >= 0


def read_by(automaton: Any, state: int) -> list[tuple[int, int]]:
    """The ranges of characters that a state reads."""
    spans = automaton.spans_from(state).tolist()
    return [*CharSet.of([(low, high) for low, high, _ in spans]).ranges]


@pytest.mark.parametrize("pattern", ["", pytest.param("^/.+/$", marks=pytest.mark.thorough)])
def test_a_far_length_makes_no_difference(pattern: str) -> None:
    """So many characters may follow as without it; texts end alike once they are long enough."""
    language = intersect(format_built("regex"), parse(pattern), repeat(ANY_CHAR, 5, 60))
    automaton, rnd, said = beside(language), random.Random(4), 0
    for _ in range(60):
        state, text = 0, ""
        for _ in range(rnd.randrange(30)):
            letters = [c for c in LETTERS["regex"] if automaton.reads(state, c)]
            text += rnd.choice(letters)
            state = automaton.after(state, text[-1])
        found = automaton.unbounded(state)
        if found is None:
            continue
        assert found.least == max(5 - len(text), 0)
        base, at, least = found.automaton, found.state, found.least
        for _ in range(min(found.free, 10)):
            left, right = read_by(automaton, state), read_by(base, at)
            assert left == right, text
            assert automaton.ends[state] == (base.ends[at] and least <= 0)
            letter = chr(rnd.choice(left[rnd.randrange(len(left))]))
            state, at = automaton.after(state, letter), base.after(at, letter)
            least, said = least - 1, said + 1
    assert said > 100


@dataclass(frozen=True)
class _Rare:
    """A sub-automaton of any letters, that after "b" reads one character alone."""

    alone: str
    begun: bool = False
    live: ClassVar[bool] = True
    filler: ClassVar[CharSet] = CharSet.chars("ac")
    closing: ClassVar[CharSet] = CharSet.chars("a")
    nullable: ClassVar[bool] = True
    ending: ClassVar[str] = ""

    def moves(self) -> list[tuple[CharSet, _Rare]]:
        """Any character, or the one."""
        if self.begun:
            return [(CharSet.chars(self.alone), _Rare(self.alone))]
        b = CharSet.chars("b")
        return [(b, _Rare(self.alone, begun=True)), (~b, self)]


@pytest.mark.parametrize(("alone", "joined"), [("x", True), ("\n", False), ("\u2028", False)])
def test_masks_are_joined_only_where_beginnings_of_characters_are_shared(
    alone: str, joined: bool
) -> None:
    """A pattern without line breaks beside a format that now and then reads only one of them."""
    automaton = beside(intersect(sub_automaton(_Rare(alone)), parse(r"^a.*c$")))
    state = state_after(automaton, "aa")
    assert automaton.halves(0) is None  # only "a" may begin
    found = automaton.halves(state)
    assert found is not None
    assert found.fits == "all"
    for _, part, at in found.states:
        part.after(at, "b")
        part.explore(part.after(at, "b"))
    assert (automaton.halves(state) is not None) == joined


@pytest.mark.thorough
def test_patterns_end_by_the_shortest_text_that_ends_them() -> None:
    """From states inside escapes, classes, counts and groups."""
    found: Any = format_built("regex")
    assert isinstance(found, SubAutomaton)
    rnd, lengths = random.Random(6), set()
    for _ in range(120):
        state: Any = found.state
        for _ in range(rnd.randrange(9)):
            chars, after = rnd.choice(state.moves())
            state = next(
                (to for c in LETTERS["regex"] for s, to in state.moves() if c in s and c in chars),
                after,
            )
        here, ending = state, "" if state.nullable else state.ending
        lengths.add(len(ending))
        for letter in ending:
            assert letter in state.closing
            here = next(to for chars, to in here.moves() if letter in chars)
        assert here.nullable
        level = [state]
        for _ in range(min(len(ending), 1 + (len(lengths) < 4))):
            assert not any(at.nullable for at in level)
            level = [to for at in level for _, to in at.moves()]
    assert lengths > {0, 1, 2}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("regex", {"minLength": 1, "maxLength": 30}),
        ("regex", {"maxLength": 90, "minLength": 4}),
        ("regex", {"maxLength": 6}),
        ("regex", {"minLength": 2, "maxLength": 16}),
        ("regex", {"minLength": 9, "maxLength": 9}),
        ("uri-reference", {"minLength": 3, "maxLength": 22}),
        ("uri-reference", {"minLength": 20, "maxLength": 200}),
        ("ipv4", {"minLength": 12}),
        ("duration", {"minLength": 7}),
        ("duration", {"minLength": 7, "maxLength": 300}),
        ("date-time", {"pattern": "^20", "maxLength": 30}),
        ("regex", {"pattern": "^/"}),
        ("regex", {"pattern": "^/.+/$"}),
        ("regex", {"pattern": r"^\^[^)]*\$$"}),
        pytest.param("regex", {"pattern": "^/.*/$", "maxLength": 60}, marks=pytest.mark.thorough),
        ("hostname", {"minLength": 5, "maxLength": 80}),
        ("hostname", {"minLength": 250}),
    ],
)
def test_masks_hold_exactly_the_tokens_that_may_come(name: str, more: dict[str, Any]) -> None:
    """Each token alone, read by the automaton, says the same as its bit."""
    masks_are_exact({"type": "string", "format": name, **more}, LETTERS[name])


def masks_are_exact(schema: dict[str, Any], letters: str) -> None:
    """Check masks on some ways, with tokens of some letters and others."""
    rnd = random.Random(8)
    words = {"".join(rnd.choices(letters, k=rnd.randrange(1, 6))) for _ in range(150)}
    words |= {"ab.x" * 9, "-" * 5, "éü" * 4, "a\\n", "\u2028"}
    words |= {"\\u2", "\\u202", "/\\u2029", "\\u000"}
    words |= {"a" * 20, "(" * 14, "[" + "-" * 25, "\\", '"', '/"', "\\\\", "é"}
    words |= {chr(point) for point in range(0x20, 0x7F)}  # else endings are looked for
    tokens = [b"", *sorted(word.encode() for word in words)]
    tokens += [bytes((byte,)) for byte in (*range(0x20), *range(0x7F, 0x100))]
    vocab = sg.Vocabulary(tokens, eos_ids=[0])
    spec = sg.JsonSchema(schema, whitespace="compact")
    constraint = sg.compile(spec, vocab)
    for _ in range(6):
        state = constraint.advance_bytes(constraint.start, b'"')
        for _ in range(8):
            row = np.zeros(vocab.words, np.int32)
            constraint.fill_mask(state, row)
            allowed = [t for t in range(1, len(tokens)) if row[t >> 5] >> (t & 31) & 1]
            steps = [constraint.advance_bytes(state, tokens[t]) for t in range(1, len(tokens))]
            assert allowed == [t for t, step in enumerate(steps, 1) if step != sg.DEAD]
            if not allowed:
                break
            state = constraint.advance(state, rnd.choice(allowed))


def test_a_common_text_is_looked_for_where_an_end_may_be_near() -> None:
    """Also of a language that is too large to know how far its ends are."""
    both = readable(intersect(format_built("idn-email"), format_built("regex")))
    automaton = beside(both)
    for text, fits in {"a@b.c": True, "(a)@b": False, "a+@b": True, "+a@b": False}.items():
        state = state_after(automaton, text)
        assert (state >= 0 and bool(automaton.ends[state])) == fits, text
