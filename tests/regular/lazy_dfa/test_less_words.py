"""Languages without some listed texts, as keys and items have them that must not come twice."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.regular.lazy_dfa.automaton import automaton_of, product_has_member
from structgen.regular.lazy_dfa.pairs.less_words import LessWordsAutomaton
from structgen.regular.regex import ANY_CHAR, Regex, complement, intersect, matches, repeat, words
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.helpers.automata import accepts, state_after
from tests.regular.lazy_dfa.test_beside import masks_are_exact

AB = intersect(parse("^[ab]{1,2}$"), parse("^a"))  # a, aa, ab
SHORT = repeat(ANY_CHAR, 0, 3)
CASES: dict[str, tuple[Regex, list[str]]] = {
    "all but one": (AB, ["a", "aa"]),
    "a long and a short one": (AB, ["aa", "a"]),
    "others as well": (AB, ["ab", "b", "", "abba"]),
    "pointers": (intersect(format_built("json-pointer"), SHORT), ["", "/", "//", "/a"]),
    "hosts": (intersect(format_built("hostname"), SHORT), ["a", "ab", "a.b", "b"]),
    "patterns": (intersect(format_built("regex"), SHORT), ["", "a", "(a)", "a|"]),
    "not": (intersect(complement(format_built("date")), parse("^[^b]*$")), ["a", "aa", "/"]),
}


@pytest.mark.parametrize("name", CASES)
def test_texts_are_those_of_the_language_that_are_not_listed(name: str) -> None:
    """Character by character; what has begun can be finished."""
    whole, listed = CASES[name]
    language = intersect(whole, complement(words(listed)))
    automaton = automaton_of(language)
    assert isinstance(automaton, LessWordsAutomaton)
    assert product_has_member(language)
    letters, found = "ab/.(|)", set[str]()
    for size in range(4):
        for text in map("".join, product(letters, repeat=size)):
            state, ends = state_after(automaton, text), accepts(automaton, text)
            assert ends == (matches(whole, text) and text not in listed), text
            found |= {text} if ends else set()
            dead = state >= 0 and not ends and not len(automaton.spans_from(state))
            assert not dead, text
    assert found


def test_a_language_all_of_whose_texts_are_listed_is_empty() -> None:
    """Which is found out before anything is read."""
    language = intersect(AB, complement(words(["a", "aa", "ab"])))
    assert not isinstance(automaton_of(language), LessWordsAutomaton)
    assert language.is_empty()


@pytest.mark.parametrize(
    "schema",
    [
        {"format": "time", "not": {"enum": ["10:30:00Z", "10:30:00z"]}},
        {"format": "json-pointer", "maxLength": 3, "not": {"enum": ["", "/", "/ab"]}},
        {"allOf": [{"pattern": "^[ab]{1,2}$"}, {"pattern": "^a"}], "not": {"enum": ["a", "ab"]}},
        {"format": "hostname", "maxLength": 20, "not": {"enum": ["ab.x", "a-b", "xn"]}},
        {"anyOf": [{"format": "regex"}, {"format": "hostname"}], "not": {"enum": ["ab.x", "(a"]}},
        {"not": {"anyOf": [{"enum": ["a", "ab", "-"]}, {"format": "regex"}]}, "maxLength": 30},
    ],
)
def test_masks_hold_exactly_the_tokens_that_may_come(schema: dict[str, Any]) -> None:
    """Where listed texts begin, where they end, and where nothing else is left."""
    masks_are_exact({"type": "string", **schema}, "aab-.xn0:/()Z")


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        ({"format": "time", "maxLength": 9}, ["10:30:59Z", "10:30:59z", "23:59:60Z"]),
        ({"format": "hostname", "maxLength": 9}, ["a.b", "a", "a.bc", "xn"]),
        ({"format": "idn-email", "maxLength": 9}, ["a@b", "ä@b", "a@bc", "a@b.c"]),
        ({"format": "regex", "maxLength": 9}, ["(a)", "(a", "a|b"]),
    ],
)
def test_keys_that_came_do_not_come_again(names: dict[str, Any], keys: list[str]) -> None:
    """Each key once, and others that begin as it does."""
    tokens = [b"", *(bytes((byte,)) for byte in range(256))]
    schema = {"type": "object", "propertyNames": names, "additionalProperties": {"const": 1}}
    spec = sg.JsonSchema(schema, whitespace="compact")
    constraint = sg.compile(spec, sg.Vocabulary(tokens, eos_ids=[0]))
    state, text = constraint.start, "{"
    for key in keys:
        again = constraint.advance_bytes(state, f'{text}"{keys[0]}":'.encode())
        assert (again == sg.DEAD) == (text != "{"), key
        state = constraint.advance_bytes(state, f'{text}"{key}":1'.encode())
        if key == "(a":
            assert state == sg.DEAD
            break
        row = np.zeros(constraint.vocabulary.words, np.int32)
        constraint.fill_mask(state, row)
        assert state != sg.DEAD
        assert row.any()
        text = ","
