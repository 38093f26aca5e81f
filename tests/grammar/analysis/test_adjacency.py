"""What can follow what: found soon where first texts do, else with all that is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.grammar.analysis import adjacency as module
from structgen.grammar.analysis.adjacency import MOST_SAMPLES, Adjacency
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.kernels.build.loader import kernels

NAMES = r"""
start: (word | NUMBER | "=" | "==" | "=>")*
word: KEY | NAME
KEY: /if\b|in\b/
NAME: /(?!(if|in)\b)[a-z]\w*/
NUMBER: /[0-9]+(\.[0-9]+)?(?![\w.])/
%ignore /[ \n]+/
%ignore /#[^\n]*/
"""
LETTERS = 'start: (A | B | C | "ab" | D)+\nA: "a"\nB: "aa"\nC: /b+c/\nD: /[a-c]d?/\n'
SIGNS = 'start: x+\nx: "+" | "++" | "+++" | "-" x | /[a-z]+/ | /"[^"]*"/\n%ignore " "\n'
JSON = 'start: (%json {"type": "integer"} | NAME | ",")+\nNAME: /[a-z]+/\n%ignore " "\n'


def adjacency_of(text: str, monkeypatch: pytest.MonkeyPatch) -> Adjacency:
    """The analysis that the automaton of a grammar makes."""
    found: list[Adjacency] = []
    made = GrammarAutomaton._is_surely_safe

    def kept(self: Any, grammar: Any, terminals: Any, adjacency: Adjacency) -> bool:
        found.append(adjacency)
        return made(self, grammar, terminals, adjacency)

    monkeypatch.setattr(GrammarAutomaton, "_is_surely_safe", kept)
    sg.Lark(text, lexing="viable").automaton()
    return found[0]


@pytest.mark.parametrize("text", [NAMES, LETTERS, SIGNS, JSON])
def test_terminals_are_looked_at_one_by_one_or_all_at_once(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where many are in doubt, all of their texts are tried in one go, with the same outcome."""
    adjacency = adjacency_of(text, monkeypatch)
    one_by_one = adjacency.can_follow(), adjacency.is_safe()
    monkeypatch.setattr(module, "MANY_DOUBTS", 0)
    assert (adjacency.can_follow() == one_by_one[0]).all()
    assert adjacency.is_safe() == one_by_one[1]


@pytest.mark.parametrize("text", [NAMES, LETTERS, SIGNS, JSON])
def test_looking_at_little_finds_what_looking_at_all_does(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row is the same, however it is found; so is each first text's row."""
    adjacency = adjacency_of(text, monkeypatch)
    can, count = adjacency.can_follow(), adjacency._count
    fully = can.copy()
    fully[:-1] = False
    adjacency._try_more([*range(count)], fully)
    assert (fully == can).all()
    _, texts = adjacency._near
    owners, rows = texts._first
    for i in range(count):
        alone = {row.astype(np.uint8).tobytes() for row in texts._rows(i, 1)}
        assert {row.tobytes() for row in rows[owners == i]} == alone


def test_texts_of_all_terminals_are_those_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are listed at once."""
    monkeypatch.setattr(module, "TERMINALS", 2)
    adjacency = adjacency_of(NAMES, monkeypatch)
    for i in range(adjacency._count):
        mine, texts = adjacency._of(i), np.empty((MOST_SAMPLES, 4), np.int32)
        seen = np.zeros(mine.stop - mine.start, np.int32)
        count = kernels("grammar.terminals").short_texts(
            adjacency._tables.next, adjacency._ends, mine.start, texts, seen
        )
        assert (adjacency._samples(i) == texts[:count]).all()


def test_hundreds_of_terminals_that_may_be_longer_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each may be followed by any other one, of which the first text would make it longer."""
    words = [f"{a}{b}{c}" for a in "abcdef" for b in "ghijk" for c in "lmnop"]
    lines = [f"T{i}: /{word}[0-9]+[a-z]*/" for i, word in enumerate(words)]
    listed = " | ".join(f"T{i}" for i in range(len(words)))
    monkeypatch.delattr(module._Texts, "one_suits")
    automaton = sg.Lark("\n".join([f"start: ({listed})+", *lines])).automaton()
    at, _ = automaton.run(automaton.start, b"agl0")
    assert automaton.next_bytes(at) == [*b"0123456789abcdefghijklmnopqrstuvwxyz"]
