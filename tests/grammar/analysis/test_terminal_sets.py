"""Which terminals are looked for at once is found by looking at a bounded number of stacks."""

from __future__ import annotations

from structgen.grammar.analysis.terminal_sets import MOST_LOOKED_AT
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.shipped import shipped
from structgen.kernels.build.loader import kernels


def test_no_stacks_are_made_that_are_not_looked_at() -> None:
    """Of a grammar with more of them than that: records are few, and so few have to be made."""
    automaton = shipped("javascript").automaton()
    assert isinstance(automaton, GrammarAutomaton)
    records = int(automaton.tables.info[kernels("grammar.tables").RECORDS])
    assert MOST_LOOKED_AT < records < 3 * MOST_LOOKED_AT
