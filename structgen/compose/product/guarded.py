"""A grammar together with finite automata, in one grammar automaton."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structgen.compose.product.viability import Side
from structgen.grammar.lookaround.guards import Guard, guard_automata

if TYPE_CHECKING:
    from structgen.automata.interface import Automaton, Stored
    from structgen.grammar.automaton.automaton import GrammarAutomaton
    from structgen.grammar.specs import GrammarSpec

MAX_STATES = 2_000  # of a guard, in bytes


def guarded(grammar: GrammarSpec, rules: Automaton) -> GrammarAutomaton | None:
    """The automaton of the texts of a grammar that `rules` accepts, too.

    None where the grammar has other specs inside, or the rules more than MAX_STATES positions or
    special tokens. Raises UnsatisfiableSchemaError where no text fits both.
    """
    from structgen.grammar.automaton.automaton import GrammarAutomaton
    from structgen.grammar.embedded.specs import has_embedded_specs
    from structgen.grammar.lookaround.without_lookbehinds import without_lookbehinds

    used = without_lookbehinds(grammar.rules())
    if has_embedded_specs(used):
        return None
    guard = _guard_of(rules)
    return None if guard is None else GrammarAutomaton(used, guard=guard_automata(guard))


def restored(saved: Stored) -> GrammarAutomaton | None:
    """The automaton that `guarded` made and a file has; None where the file has another one.

    Raises ArtifactError.
    """
    from structgen.grammar.automaton.automaton import GrammarAutomaton

    return GrammarAutomaton.restored(saved) if saved.header.get("guard") else None


def _guard_of(rules: Automaton) -> Guard | None:
    """All positions of an automaton, if they are few and there are no special tokens."""
    side = Side(rules)
    numbers = {side.representative(side.start): 0}
    listed = list(numbers)
    table: list[list[int]] = []
    for at in listed:
        if rules.specials(at) or len(listed) > MAX_STATES:
            return None
        steps = side.table(at)
        for after in dict.fromkeys(steps):
            if after >= 0 and after not in numbers:
                numbers[after] = len(listed)
                listed.append(after)
        table.append([numbers.get(after, -1) for after in steps])
    accepts = np.array([side.ends(at) for at in listed])
    return Guard(np.array(table, np.int32), accepts)
