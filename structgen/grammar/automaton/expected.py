"""What may come next at a position of a grammar, in words: terminals and open rules."""

from __future__ import annotations

from structgen.automata.interface import DEAD
from structgen.grammar.automaton.positions import GrammarPositions
from structgen.grammar.ir import IGNORED
from structgen.kernels.build.loader import kernels

FAR = 1 << 28  # bytes to the end of a terminal that has none
MOST_TERMINALS = 12
MOST_RULES = 4


def expected(automaton: GrammarPositions, at: int) -> str:
    """The terminals that may begin or go on at a position, and the rules they belong to."""
    k = kernels("grammar.tables")
    scan_any = kernels("grammar.indentation").scan_any
    begun: dict[int, None] = {}
    fresh: dict[int, None] = {}
    open_sets: list[int] = []
    for lexer, stacks, _ in automaton.threads(at):
        states = automaton.record(lexer)
        if states[0] < 0:
            fresh |= dict.fromkeys(automaton.allowed_terminals(stacks))
        else:
            begun |= dict.fromkeys(
                automaton.constant(k.S_TERMINAL, state)
                for state in states
                if (automaton.tables.next[state] >= 0).any()
                and automaton.constant(k.S_DISTANCE, state) < FAR
            )
            ends = automaton.endings(lexer)
            for terminals, _lookaheads in ends:
                beyond = automaton.ask(scan_any, stacks, terminals)
                if beyond != DEAD:
                    open_sets.append(beyond)
                    fresh |= dict.fromkeys(automaton.allowed_terminals(beyond))
        open_sets.append(stacks)
    open_sets = [automaton.bare_stacks(stacks) for stacks in open_sets[:1]]
    wanted = [f"more of {_listed(automaton.shown(t) for t in begun)}"] if begun else []
    if fresh:
        wanted.append(_listed(automaton.shown(t) for t in fresh))
    if automaton.is_accepting(at):
        wanted.append("the end")
    return ", or ".join(wanted) + _inside(automaton, open_sets)


def _listed(names: object) -> str:
    """Names for a message, in order, at most MOST_TERMINALS."""
    listed = sorted(set(names))  # type: ignore[call-overload]
    more = ", ..." if len(listed) > MOST_TERMINALS else ""
    return ", ".join(listed[:MOST_TERMINALS]) + more


def _inside(automaton: GrammarPositions, sets: list[int]) -> str:
    """The rules that are open, the innermost first, as the end of a message."""
    rules: dict[str, None] = {}
    seen = set(sets)
    while sets and len(rules) < MOST_RULES:
        below: list[int] = []
        for stacks in sets:
            pairs = automaton.record(stacks)
            for item_set, under in zip(pairs[::2], pairs[1::2], strict=True):
                for item in automaton.record(item_set):
                    named = automaton.rules_of_item(item)
                    rules |= dict.fromkeys(name for name in named if name != IGNORED)
                if under and under not in seen:
                    seen.add(under)
                    below.append(under)
        sets = below
    names = list(rules)[:MOST_RULES]
    return f" (in {', in '.join(names)})" if names else ""
