"""The positions for which masks are made ahead stand behind every terminal."""

from typing import Literal

import pytest

import structgen as sg
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.automaton.warm_up import positions


def lexemes(automaton: GrammarAutomaton, at: int) -> set[str]:
    """The terminals that can end at a position."""
    return {
        automaton.shown(terminal)
        for lexer, _, _ in automaton.threads(at)
        for terminals, _ in automaton.endings(lexer)
        for terminal in automaton.record(terminals)
    }


@pytest.mark.parametrize("lexing", ["free", "longest", "viable"])
def test_every_terminal_has_been_read_somewhere(
    lexing: Literal["free", "longest", "viable"],
) -> None:
    """Whatever the texts are that come before it."""
    spec = sg.Lark(
        'start: item ("," item)*\nitem: NAME ["=" (NUMBER | "[" start "]")]\nNAME: /[a-z]{3,}/\n'
        'NUMBER: /-?[0-9]+/\n%ignore " "',
        lexing=lexing,
    )
    automaton = spec.automaton()
    assert isinstance(automaton, GrammarAutomaton)
    found = [lexemes(automaton, at) for at in positions(automaton)]
    assert set().union(*found) == {'","', '"="', '"["', '"]"', "NAME", "NUMBER"}


def test_positions_are_those_of_texts() -> None:
    """Each can be finished, and stands in front of something else to come."""
    automaton = sg.shipped("json").automaton()
    assert isinstance(automaton, GrammarAutomaton)
    found = list(positions(automaton))
    assert len(found) == len(set(found)) > 10
    for at in found:
        end, _ = automaton.run(at, automaton.completions().shortest(at))
        assert automaton.is_accepting(end)
