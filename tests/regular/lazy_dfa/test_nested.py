"""Automata of expressions with complements, intersections and repeats inside each other."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import structgen as sg
from structgen.regular.lazy_dfa.automaton import automaton_of
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
from tests.regular.lazy_dfa.test_automaton import accepts

PLAIN = ["a*", "(ab)*", "a|b", "b?a", "(a|b)*a", "a(ba)*", "[ab]", "ab", "", "b*(aa)*", "a{0,3}"]
COUNTS = [(0, 1), (0, None), (1, 2), (2, 3), (1, None), (2, None)]
TEXTS = ["".join(text) for length in range(5) for text in itertools.product("abx", repeat=length)]


def _around(inner: st.SearchStrategy[Regex]) -> st.SearchStrategy[Regex]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        inner.map(complement),
        st.tuples(inner, st.sampled_from(COUNTS)).map(lambda both: repeat(both[0], *both[1])),
        pairs.map(lambda both: intersect(*both)),
        pairs.map(lambda both: concat(*both)),
        pairs.map(lambda both: alt(*both)),
    )


LANGUAGES = st.recursive(
    st.sampled_from([parse(pattern, anchored=True) for pattern in PLAIN]), _around, max_leaves=8
)


@settings(max_examples=300)
@given(LANGUAGES)
def test_an_automaton_reads_what_derivatives_read(language: Regex) -> None:
    """All texts of up to four letters, one of which occurs in no pattern."""
    automaton = automaton_of(language)
    if automaton is not None:
        wrong = [text for text in TEXTS if accepts(automaton, text) != matches(language, text)]
        assert wrong == []


@pytest.mark.parametrize("pattern", ["^ *(xx *)*$", "^-*$", "^a*(b+a*){2}$"])
def test_a_text_that_may_be_empty_or_fail_a_pattern(pattern: str) -> None:
    """What leads back to where the pattern begins does not end the text, as the start does."""
    vocabulary = sg.Vocabulary([b"<end>", *(bytes([byte]) for byte in range(256))], eos_ids=[0])
    schema = {"type": "string", "oneOf": [{"minLength": 1}, {"pattern": pattern}]}
    constraint, oracle = sg.compile(schema, vocabulary), Draft202012Validator(schema)
    for letters in itertools.chain(*(itertools.product(" x-ab", repeat=n) for n in range(4))):
        text = "".join(letters)
        state = constraint.advance_bytes(constraint.start, f'"{text}"'.encode())
        fits = state != sg.DEAD and constraint.is_accepting(state)
        assert fits == oracle.is_valid(text), text
