"""Read texts with the automata of regular languages."""

from __future__ import annotations

from structgen.regular.lazy_dfa.states import RegexAutomaton


def state_after(automaton: RegexAutomaton, text: str) -> int:
    """The state after a text, -1 where it may not come."""
    state = 0
    for letter in text:
        if not automaton.reads(state, letter):
            return -1
        state = automaton.after(state, letter)
    return state


def accepts(automaton: RegexAutomaton, text: str) -> bool:
    """Whether a text leads to an end."""
    state = state_after(automaton, text)
    return state >= 0 and bool(automaton.ends[state])
