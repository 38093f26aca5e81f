"""Tables of derivatives: loops around assertions are read as `re` reads them, alone and joined."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import StructgenError
from structgen.regular.charset import CharSet, union_all
from structgen.regular.lazy_dfa.automaton import _built
from structgen.regular.lazy_dfa.character_classes import TooLargeError, sets_of
from structgen.regular.lazy_dfa.counters import CounterAutomaton
from structgen.regular.lazy_dfa.product import ProductAutomaton
from structgen.regular.lazy_dfa.states import TableAutomaton
from structgen.regular.lazy_dfa.sub_automaton_table import DerivedTable
from structgen.regular.regex import (
    ANY_CHAR,
    Regex,
    alt,
    complement,
    concat,
    intersect,
    literal,
    repeat,
)
from structgen.regular.syntax.ecma import parse
from tests.helpers.laws import mask_is_advance, walk
from tests.regular.lazy_dfa.test_automaton import VOCABULARY, accepts
from tests.regular.lazy_dfa.test_sub_automata import is_never_stuck

TEXTS = ["".join(t) for n in range(4) for t in itertools.product("ab1é", repeat=n)]
LOOKS = st.sampled_from(
    ["(?=a)", "(?!b)", "(?!1b)", "(?<=a)", "(?<!1)", "(?<!ab)", r"\b", r"(?=\w)"]
)
ATOMS = st.sampled_from(["a", "b", "1", "[ab]", "[^a]", r"\w", "é", "ab?", "b*"])
TURNS = st.lists(st.one_of(LOOKS, ATOMS), min_size=2, max_size=4).map("".join)
LOOPS = st.tuples(TURNS, TURNS, st.sampled_from(["*", "+", "{2}", "{0,3}", "{2,}"]))
PATTERNS = st.tuples(ATOMS, LOOPS, ATOMS).map(
    lambda parts: f"^{parts[0]}?(?:{parts[1][0]}|{parts[1][1]}){parts[1][2]}{parts[2]}"
)
LABELS = r"^(?:[a-z](?:[a-z]|-(?!-))*(?<!-)\.)*[a-z]+$"  # whose hyphens stand alone within


def joined(loop: Regex) -> dict[str, tuple[Regex, Callable[[str, bool], bool]]]:
    """A language with others, and which texts these have by whether it has them."""
    some = parse("^[ab1]*$")
    return {
        "alone": (loop, lambda _, fits: fits),
        "long": (
            intersect(loop, repeat(ANY_CHAR, 2, 3)),
            lambda t, fits: fits and len(t) in {2, 3},
        ),
        "short": (intersect(loop, repeat(ANY_CHAR, 0, 2)), lambda t, fits: fits and len(t) <= 2),
        "and": (intersect(loop, some), lambda t, fits: fits and "é" not in t),
        "less": (intersect(some, complement(loop)), lambda t, fits: not fits and "é" not in t),
        "or": (alt(loop, literal("1b")), lambda t, fits: fits or t == "1b"),
    }


@settings(max_examples=40, deadline=None)
@given(pattern=PATTERNS)
def test_loops_around_assertions_are_read_as_re_reads_them(pattern: str) -> None:
    """Alone, within a length, beside a pattern, without it, and in a union."""
    try:
        loop = parse(pattern)
        languages = [(x, fits) for x, fits in joined(loop).values() if not x.is_empty()]
    except StructgenError:
        return  # a loop that takes too long
    oracle = re.compile(pattern, re.ASCII)
    expected = {text: oracle.search(text) is not None for text in TEXTS}
    for language, fits in languages:
        if language.longest == 0:
            continue
        automaton = _built(language)
        for text in TEXTS:
            assert accepts(automaton, text) == fits(text, expected[text]), (pattern, text)
            assert is_never_stuck(automaton, text)


@settings(max_examples=40, deadline=None)
@given(pattern=PATTERNS)
def test_classes_are_as_fine_as_what_derivatives_read(pattern: str) -> None:
    """Each set that a state reads is made of whole classes."""
    loop = concat(parse(pattern), parse("[0-9]{2}", anchored=True))
    automaton = DerivedTable(loop)
    with contextlib.suppress(TooLargeError, StructgenError):
        automaton.explore_all(30)
    classes = sets_of(automaton.classes)
    for number in range(len(automaton.numbered)):
        for chars, _ in automaton.numbered.at(number).moves():
            whole = [of for of in classes if of & chars]
            assert union_all(whole) == chars


@pytest.mark.parametrize(
    ("language", "kind"),
    [
        (parse(LABELS), DerivedTable),
        (intersect(parse(LABELS), repeat(ANY_CHAR, 1, 9)), CounterAutomaton),
        (intersect(parse(LABELS), repeat(ANY_CHAR, 0, 5000)), CounterAutomaton),
        (intersect(parse(LABELS), parse("-")), ProductAutomaton),
        (complement(parse(LABELS)), ProductAutomaton),
    ],
)
def test_loops_are_tables_that_others_join(language: Regex, kind: type[TableAutomaton]) -> None:
    """So kernels read them beside lengths and other patterns."""
    assert isinstance(_built(language), kind)


@pytest.mark.parametrize("limits", [{}, {"maxLength": 7}, {"minLength": 3, "maxLength": 40}])
def test_masks_hold_exactly_the_tokens_that_may_come(limits: dict[str, int]) -> None:
    """Over some vocabulary, wherever random texts lead."""
    schema = {"type": "string", "pattern": LABELS.replace("[a-z]", r"[ab1\u00e9]"), **limits}
    constraint = sg.compile(sg.JsonSchema(schema, whitespace="compact"), VOCABULARY)
    random = Random(5)
    for _ in range(5):
        for _, state in walk(constraint, random, 7):
            mask_is_advance(constraint, state)


def test_what_a_text_needs_at_least_is_known() -> None:
    """Of a table of derivatives, and of one beside another pattern: as of the greater."""
    loop = concat(literal("xyz"), parse("^(?:a(?!b)|b)*$"))
    beside = intersect(loop, parse("b{5}"))
    for language, least in ((loop, 3), (beside, 5), (alt(loop, beside), 3)):
        automaton = _built(language)
        assert isinstance(automaton, TableAutomaton)
        assert automaton.ahead(0, 1).least[0] == least


def test_letters_of_words_are_told_apart() -> None:
    """Each letter of a listed word has a class of its own."""
    automaton = DerivedTable(concat(parse("(?:a(?!b)|b)*c$|xyz"), parse("q")))
    sets = sets_of(automaton.classes)
    assert {CharSet.chars(letter) for letter in "abcq"} <= {*sets}
