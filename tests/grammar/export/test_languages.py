"""Patterns and choices in GBNF: the texts that `re.fullmatch` takes, and no others."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import UnsatisfiableSchemaError, UnsupportedSchemaError
from tests.grammar.export.compare import check_export, llama_grammar, needs_llama_grammar

PATTERNS = [
    r"[a-z]+@[a-z]{2,5}\.com",
    r"\bfoo\b.*",
    r"(?=.*\d)[a-z0-9]+",
    r"(?!.*--)[a-z-]{1,8}",
    r"(?!abc)[a-z]{1,5}",
    r"(ab|c{0,3}){3,2500}",
    r"(a*b*){2,3}",
    r"(a*)*b",
    r"(x+x+)+y",
    r"[^\]^a-]{2}\"\n\\",
    "é|\u200b|😀|\x00",
    "",
    r"[^a]?.[\s\S]",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_has_the_same_texts_as_its_grammar(pattern: str) -> None:
    """Walks through both automata find no difference."""
    check_export(sg.Regex(pattern))


def texts_of(pattern: str) -> re.Pattern[str]:
    """What Python makes of a pattern."""
    return re.compile(pattern, re.ASCII)


simple = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", "ab", "c"])
patterns = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
        inner.map(lambda one: f"(?={one}).*"),
        inner.map(lambda one: f"(?!{one})[ab]*"),
    ),
    max_leaves=8,
)


@given(patterns, st.lists(st.text("abcd\n", max_size=6), min_size=1, max_size=12))
@settings(deadline=None)
def test_what_re_matches_fits_the_exported_grammar(pattern: str, texts: list[str]) -> None:
    """Python's `re` judges, with lookaheads and their complements."""
    try:
        text = sg.export_gbnf(sg.Regex(pattern))
    except UnsatisfiableSchemaError:
        assert not any(texts_of(pattern).fullmatch(one) for one in texts)
        return
    automaton, engine = sg.Gbnf(text).automaton(), llama_grammar(text)
    for one in texts:
        at = automaton.run(automaton.start, one.encode())[0]
        wanted = texts_of(pattern).fullmatch(one) is not None
        assert (at >= 0 and automaton.is_accepting(at)) == wanted
        assert engine is None or engine.fits(one) == wanted


@given(st.sets(st.text(max_size=5), min_size=1, max_size=40))
@settings(deadline=None)
def test_a_choice_has_exactly_its_texts(texts: set[str]) -> None:
    """Neither more nor fewer."""
    automaton = sg.Gbnf(sg.export_gbnf(sg.Choice(sorted(texts)))).automaton()
    for one in texts | {text + "a" for text in texts} | {text[:-1] for text in texts}:
        at = automaton.run(automaton.start, one.encode())[0]
        assert (at >= 0 and automaton.is_accepting(at)) == (one in texts)


def test_many_choices_are_joined_where_they_begin_alike() -> None:
    """As in a trie, so that a host need not try each."""
    text = sg.export_gbnf(sg.Choice([f"word{i}" for i in range(100)]))
    assert text.count("word") == 1


@needs_llama_grammar()
@pytest.mark.parametrize(("low", "high"), [(0, 2999), (1001, 1001), (2500, 5300), (999, None)])
def test_llama_takes_counts_that_it_would_refuse_as_one(low: int, high: int | None) -> None:
    """More than 2,000 repetitions are counted by several rules."""
    text = sg.export_gbnf(sg.Regex(f"(ab|c){{{low},{'' if high is None else high}}}"))
    engine = llama_grammar(text)
    assert engine is not None
    for count in {low - 1, low, low + 1, 2000, 4000, high or 9000, (high or 9000) + 1} - {-1}:
        wanted = low <= count <= (high or 10_000)
        assert engine.fits("ab" * count) == wanted, count


def test_an_automaton_of_too_many_states_is_refused_with_the_pattern() -> None:
    """The set of the last places of an `a` doubles with each letter."""
    pattern = r"(?=[ab]*a[ab]{14}$)[ab]*"
    with pytest.raises(UnsupportedSchemaError) as error:
        sg.export_gbnf(sg.Regex(pattern))
    assert error.value.location == pattern


def test_a_pattern_without_texts_is_an_error() -> None:
    """As when it is compiled."""
    with pytest.raises(UnsatisfiableSchemaError):
        sg.export_gbnf(sg.Regex("a(?!b)b"))
