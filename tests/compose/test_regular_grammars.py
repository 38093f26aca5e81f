"""Grammars without recursion combine as patterns do."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

import structgen as sg
from structgen.compose import filters
from structgen.errors import SpecError, UnsupportedSchemaError
from structgen.spec.base import Spec

SAME = sg.Gbnf('root ::= "a" root "b" | ""')  # as many b as a
ARRAY = sg.JsonSchema({"type": "array", "items": {"enum": [1, 2]}}, whitespace="compact")


def is_same(text: str) -> bool:
    """Whether `SAME` has a text."""
    return text == "a" * (len(text) // 2) + "b" * (len(text) - len(text) // 2) and not (
        len(text) % 2
    )


COMBINED: dict[str, tuple[Spec, str, Any]] = {
    "EBNF": (
        sg.all_of(SAME, sg.Ebnf('a = 3 * b, {"b"} ; b = ["a"] ;')),
        "ab",
        lambda text: is_same(text) and len(text) <= 6,
    ),
    "calls": (
        sg.all_of(SAME, sg.Grammar(sg.seq(sg.many("a", 1, 2), sg.many("b")))),
        "ab",
        lambda text: is_same(text) and 2 <= len(text) <= 4,
    ),
    "JSON": (
        sg.all_of(sg.Gbnf('root ::= "[" x "]"\nx ::= [12] ("," [1-3])*'), ARRAY),
        "[]12,",
        lambda text: re.fullmatch(r"\[[12](,[12])*\]", text) is not None,
    ),
    "both": (
        sg.all_of(sg.Gbnf('root ::= x x\nx ::= "a" | "b"'), sg.Ebnf('a = {"a"}, ["b"] ;')),
        "ab",
        lambda text: text in ("aa", "ab"),
    ),
    "none of it": (
        filters.without(sg.Gbnf('root ::= x*\nx ::= "ab"')),
        "ab",
        lambda text: re.fullmatch("(ab)*", text) is None,
    ),
}


@pytest.mark.parametrize("name", COMBINED)
def test_all_short_texts(name: str) -> None:
    """A combination has the texts that each part has."""
    spec, letters, fits = COMBINED[name]
    automaton = spec.automaton()
    for length in range(8 if len(letters) == 2 else 6):
        for chosen in itertools.product(letters, repeat=length):
            text = "".join(chosen)
            at, _ = automaton.run(automaton.start, text.encode())
            assert (at >= 0 and automaton.is_accepting(at)) == fits(text), text


def test_values_are_those_of_the_schema() -> None:
    """Wherever it stands."""
    assert COMBINED["JSON"][0].parse("[1,2]") == [1, 2]


def test_recursive_grammars_are_no_rules() -> None:
    """Two of them, one to be negated, and what only looks finite."""
    with pytest.raises(UnsupportedSchemaError, match="not regular"):
        sg.all_of(SAME, SAME).automaton()
    with pytest.raises(SpecError, match="without recursion"):
        filters.without(SAME)
    assert SAME.regular_language() is None
    assert sg.Lark('start: "a"').regular_language() is None
    nested = sg.Grammar(sg.seq("a", sg.json_schema({"type": "array"})))
    assert nested.regular_language() is None
