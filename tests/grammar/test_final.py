"""The end of the text stands for a final terminal where it is missing."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import SpecError, UnsupportedSchemaError
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.ir import Grammar, Indentation
from structgen.spec.registry import spec_of
from tests.grammar.laws import check_completions, check_masks, reads
from tests.grammar.test_automaton import PATTERNS, automaton_of, grammar

OUTER = ("r C", "r C outer", "r C outer C", "r | C C")
TEXTS = ["".join(t) for n in range(6) for t in itertools.product("abc", repeat=n)]
SHORT = [text for text in TEXTS if len(text) < 5]
TOKENS = [text.encode() for text in TEXTS if 0 < len(text) < 4]


@st.composite
def with_final(draw: st.DrawFn) -> Grammar:
    """A grammar of texts over a and b, with a `c` behind each of some pieces."""
    patterns = draw(st.permutations([p for p in PATTERNS if "c" not in p]))
    terminals = {f"T{i}": pattern for i, pattern in enumerate(patterns[:3])}
    symbols = st.sampled_from(["r", *terminals, *terminals])
    inner = draw(st.lists(st.lists(symbols, max_size=3).map(" ".join), min_size=1, max_size=3))
    outer = draw(st.permutations(OUTER))[:2]
    rules = {"outer": "|".join(outer), "r": "|".join(inner)}
    lexing = draw(st.sampled_from(["free", "viable"]))
    return grammar(rules, {**terminals, "C": "c"}, lexing=lexing)


@settings(max_examples=60, deadline=None)
@given(with_final(), st.integers(0, 1 << 30))
def test_the_text_may_end_where_it_might_behind_the_terminal(of: Grammar, seed: int) -> None:
    """And nowhere else; masks are those of brute force, and completions shortest."""
    plain, automaton = automaton_of(of), automaton_of(replace(of, final="C"))
    assert (plain is None) == (automaton is None)
    if plain is None or automaton is None:
        return

    def fits(text: str) -> bool:
        return reads(plain, text) or reads(plain, f"{text}c")

    for text in SHORT:
        assert reads(automaton, text) == fits(text)
    check_masks(automaton, TOKENS, seed)
    check_completions(automaton, fits, SHORT, seed)


def test_blocks_end_with_the_text() -> None:
    """Where a line break would close them; open brackets and missing blocks do not."""
    of = grammar(
        {"s": "line s |", "line": "X NL | X C NL IN line s OUT | L X R NL"},
        {"X": "x", "C": ":", "NL": "(\n *)+", "L": r"\(", "R": r"\)", "IN": "i", "OUT": "o"},
        lexing="viable",
        layout=Indentation("NL", "IN", "OUT", opens=("L",), closes=("R",)),
    )
    automaton = GrammarAutomaton(replace(of, final="NL"))
    good = ["", "x", "x\n", "x:\n x", "x:\n x\n", "x:\n  x\n  x:\n     x", "(\nx\n)"]
    bad = ["x:", "x:\n", "x:\n  ", "(x", "(\n x\n", " x", "x:\nx"]
    assert [text for text in good if not reads(automaton, text)] == []
    assert [text for text in bad if reads(automaton, text)] == []
    assert automaton.completions().shortest(automaton.run(automaton.start, b"x:\n x")[0]) == b""


def test_a_spec_keeps_its_final_terminal() -> None:
    """In its description, and what is no terminal is refused by name."""
    spec = sg.Lark('start: ("a" NL)+\nNL: ";"', final="NL")
    sg.check(spec, "a;a")
    again = spec_of({"kind": "lark", **spec.to_json()})
    assert again == spec
    with pytest.raises(SpecError, match="'END'"):
        sg.Lark('start: ("a" NL)+\nNL: ";"', final="END").automaton()


def test_it_does_not_stand_beside_terminals_that_look_behind() -> None:
    """That would be several terminals, by what they look at."""
    with pytest.raises(UnsupportedSchemaError, match="final terminal"):
        sg.Lark('start: (A NL)+\nA: /\\ba/\nNL: ";"', final="NL").automaton()
