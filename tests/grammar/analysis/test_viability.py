"""Dead ends of lexing are found, in bounded time."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import UnsatisfiableSchemaError
from structgen.grammar.analysis.lexeme_ends import LexemeEnds
from structgen.grammar.analysis.terminal_sets import StackTops
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.automaton.completions import Completions
from structgen.grammar.ir import Grammar
from structgen.grammar.specs import Lark
from structgen.kernels.build.loader import kernels
from tests.grammar.test_automaton import automaton_of, grammar, grammars


@pytest.mark.parametrize("lexing", ["free", "viable"])
def test_stacks_without_bound_are_no_trouble(lexing: str) -> None:
    """Where each way on opens one more rule and none can be closed, that is told at once."""
    of = grammar(
        {"s": "r D", "r": "| q r T", "q": "B"},
        {"T": "a+", "B": "b", "D": "d"},
        lexing=lexing,
    )
    automaton = GrammarAutomaton(of)
    at, _ = automaton.run(automaton.start, b"b")
    began = time.process_time()
    assert automaton.next_bytes(automaton.start) == [ord("b"), ord("d")]
    assert automaton.next_bytes(at) == [ord("a")]
    assert automaton.run(at, b"b") == (-1, 0)
    assert automaton.next_bytes(automaton.run(at, b"aa")[0]) == [ord("a"), ord("d")]
    assert time.process_time() - began < 1


def test_many_terminals_that_cannot_stand_together() -> None:
    """An endless terminal behind itself at any depth: no text, and no search for one."""
    rules = {"s": "q s T | B s T T", "q": "B | B q"}
    with pytest.raises(UnsatisfiableSchemaError):
        GrammarAutomaton(grammar(rules | {"s": rules["s"] + "| T T"}, {"T": "a+", "B": "b"}))


def test_several_lexemes_until_it_is_known_that_one_has_ended() -> None:
    """What begins like a longer lexeme is allowed as far as it can turn out otherwise."""
    rules = {"s": "N D D D F | N X"}
    terminals = {"N": r"1(\.\.\.5)?", "D": r"\.", "F": "5", "X": "x"}
    automaton = GrammarAutomaton(grammar(rules, terminals))
    following = {
        "1": b".x",
        "1..": b".",
        "1...5": b".x",
        "1x": b"",
        "1...5x": b"",
        "1...5...": b"5",
    }
    for text, expected in following.items():
        at, _ = automaton.run(automaton.start, text.encode())
        assert automaton.is_accepting(at) == text.endswith("x")
        assert bytes(automaton.next_bytes(at)) == expected


@settings(max_examples=60, deadline=None)
@given(grammars("viable"), st.integers(2, 5))
def test_contexts_hold_all_that_the_lexer_looks_for(of: Grammar, length: int) -> None:
    """Whatever terminals have been read, those allowed then are part of one context."""
    automaton = automaton_of(of)
    if automaton is None:
        return
    terminal_sets = StackTops(automaton.items).all_terminal_sets()
    scan = kernels("grammar.indentation").scan_laid
    first = automaton.threads(automaton.start)[0][1]
    for word in itertools.product(range(len(of.terminals)), repeat=length):
        stacks = first
        for terminal in word:
            allowed = automaton.allowed_terminals(stacks)
            assert any(all(c >> t & 1 for t in allowed) for c in terminal_sets)
            if terminal not in allowed:
                break
            stacks = automaton.ask(scan, stacks, terminal)


def test_where_terminals_are_cut_freely_dead_ends_are_told_without_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A comment takes in all that could follow, but for a line break, which only a value has."""
    monkeypatch.delattr(Completions, "search")
    text = 'start: NAME "=" VALUE ";"\nNAME: /[a-z]+/\nVALUE: /\\n?[0-9]+/\n%ignore /#[^\\n]*/\n'
    automaton = Lark(text).automaton()
    for read, allowed in (("", False), ("a", False), ("a=", True), ("a=#b", True), ("a=1", False)):
        at, _ = automaton.run(automaton.start, read.encode())
        assert (ord("#") in automaton.next_bytes(at)) == allowed
    assert automaton.next_bytes(automaton.run(automaton.start, b"a=1")[0]) == [*b"0123456789;"]


@settings(max_examples=60, deadline=None)
@given(grammars() | grammars("viable"))
def test_the_fewest_ways_in_which_lexemes_end_are_those_of_each_state(of: Grammar) -> None:
    """Found for all states of a lexeme at once, or for each by itself."""
    automaton = automaton_of(of)
    if automaton is None:
        return
    lexemes = LexemeEnds(automaton, automaton.items, None)
    lexer = automaton.first_lexer(automaton.threads(automaton.start)[0][1])
    states = lexemes._run(lexer, 0)[1:]
    each = [frozenset(lexemes.of(state, 0)) for state in states]
    found = lexemes.least_from(lexer)
    assert all(any(one <= ends for one in found) for ends in each)
    least = [one for one in each if not any(other < one for other in each)]
    assert all(any(one <= ends for ends in found) for one in least)


def test_terminals_of_many_states_are_looked_at_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether all lexemes can be finished does not take a search from each of their states."""
    runs: list[int] = []
    monkeypatch.setattr(LexemeEnds, "_run", _counting(LexemeEnds._run, runs))
    vocabulary = sg.Vocabulary([b"<end>", b"e", b"ee", b"ex", b"abcde", b" e"], eos_ids=[0])
    text = 'start: (W " "?)+\nW: /[a-z]*e[a-z]{7}s?/'
    constraint = sg.compile(Lark(text), vocabulary)
    constraint.mask_view(constraint.start)
    assert len(runs) < 20


def _counting(
    method: Callable[[LexemeEnds, int, int], list[int]], calls: list[int]
) -> Callable[[LexemeEnds, int, int], list[int]]:
    def run(self: LexemeEnds, lexer: int, lookaheads: int) -> list[int]:
        calls.append(lexer)
        return method(self, lexer, lookaheads)

    return run
