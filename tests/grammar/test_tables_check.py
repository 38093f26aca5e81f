"""Saved grammars with changed numbers are refused, or do no harm."""

from __future__ import annotations

import contextlib
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen import Vocabulary
from structgen.automata.interface import Stored
from structgen.errors import ArtifactError, BudgetError
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.ir import Indentation
from structgen.masks.registry import masks_of
from tests.grammar.test_automaton import TOKENS, grammar

TEXTS = (b"a", b"ab", b"(a b)", b"((a)b)b", b"a\n b\n", b"", b"1..2")
LINES = {"newline": "NL", "indent": "IN", "dedent": "OUT", "opens": ("L",), "closes": ("R",)}


@cache
def saved(name: str) -> Stored:
    """What is kept of a grammar of some kind, with most of its tables in use."""
    if name == "layout":
        of = grammar(
            {"s": "line s |", "line": "A NL | A C NL IN line s OUT | L A R NL"},
            {"A": "a|b", "C": ":", "NL": r"(\n *)+", "L": r"\(", "R": r"\)", "IN": "i", "OUT": "o"},
            lexing="viable",
            layout=Indentation(**LINES),  # type: ignore[arg-type]
        )
    elif name == "guided":  # by an LALR parser
        text = 'start: "(" two "b" ")" | "a" two two\ntwo: TWO\nTWO: /[a-z]{2}/\n%ignore " "'
        of = sg.Lark(text, lexing="longest").rules()
    elif name == "doubtful":  # positions are searched one by one
        of = grammar({"s": "A s | B A | C"}, {"A": "a+", "B": "[ab]", "C": "ab?"}, lexing="viable")
    else:
        of = grammar(
            {"s": "s B | L s R | A | s s |", "t": "A"},
            {"A": "a+", "B": "b|ab", "L": r"\(", "R": r"\)", "W": " +"},
            ("W",),
            lexing=name,
        )
    automaton = GrammarAutomaton(of)
    use(automaton)
    return automaton.stored()


def use(automaton: GrammarAutomaton) -> None:
    """Ask for all that can be asked for."""
    vocabulary = Vocabulary([*TOKENS, b"(", b" b)"])
    masks, completions = masks_of(automaton, vocabulary), automaton.completions()
    for text in TEXTS:
        for end in range(len(text) + 1):
            at, _ = automaton.run(automaton.start, text[:end])
            if at >= 0:
                masks.row(at)
                automaton.is_accepting(at)
                automaton.expected(at)
        if at >= 0:
            completions.shortest(at)


@pytest.mark.parametrize("name", ["free", "viable", "doubtful", "layout", "guided"])
def test_what_was_saved_is_taken_back(name: str) -> None:
    """Tables as they were pass the check, and give the same."""
    use(GrammarAutomaton.restored(saved(name)))


@pytest.mark.thorough
@settings(max_examples=400, deadline=None)
@given(st.sampled_from(["free", "viable", "doubtful", "layout", "guided"]), st.data())
def test_changed_numbers_do_no_harm(name: str, data: st.DataObject) -> None:
    """Whatever number is put in some place: an error of ours, or a grammar that can be used."""
    kept = saved(name)
    arrays = {array: values.copy() for array, values in kept.arrays.items()}
    of = data.draw(st.sampled_from(sorted(array for array in arrays if arrays[array].size)))
    values = arrays[of].reshape(-1)
    place = data.draw(st.integers(0, len(values) - 1))
    old = int(values[place])
    limits = np.iinfo(values.dtype)
    near = st.integers(max(old - 3, limits.min), min(old + 3, limits.max))
    values[place] = data.draw(st.integers(max(-3, limits.min), 300 % (limits.max + 1)) | near
                              | st.sampled_from([limits.min, limits.max]))  # fmt: skip
    with contextlib.suppress(ArtifactError, BudgetError):
        use(GrammarAutomaton.restored(Stored(kept.header, arrays)))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_arrays_of_other_sizes_are_refused(data: st.DataObject) -> None:
    """An array that is too short or too long, or of another type, is none of a grammar."""
    kept = saved("free")
    arrays = dict(kept.arrays)
    of = data.draw(st.sampled_from(sorted(set(arrays) - {"names", "memo"})))
    values = arrays[of]
    change = data.draw(st.sampled_from(["short", "long", "type", "gone"]))
    if change == "gone":
        del arrays[of]
    elif change == "type":
        arrays[of] = values.astype(np.float64)
    else:
        arrays[of] = values[:-1] if change == "short" else np.concatenate((values, values[:1]))
    with pytest.raises(ArtifactError):
        GrammarAutomaton.restored(Stored(kept.header, arrays))
