r"""The automata that read a terminal, also where its match depends on what follows.

`\d+(?!\.)` matches the 1 of "12." and all of "12": at each end of the text there is a language of
what may follow (`MatchState.allowed_after`), which becomes a lookahead DFA. Whether the pattern
matches at all, so that those behind it in Lark's order do not count, is a language, too: that of
the texts which begin with a match, in whatever order the ways to match are tried.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from structgen.automata.lexer.lexer import Vector
from structgen.errors import BudgetError
from structgen.grammar.ir import Terminal
from structgen.grammar.lookaround.guards import as_lookaheads
from structgen.grammar.terminals.automata import (
    FAR,
    SATISFIED,
    Automata,
    Ints,
    assembled,
    distances,
    distinct_columns,
    of_languages,
)
from structgen.grammar.terminals.byte_dfa import explored, explored_together
from structgen.grammar.terminals.leftmost_first import BeginsWithMatch, MatchState, PossibleMatch
from structgen.grammar.terminals.python_language import language_of
from structgen.grammar.terminals.python_regex import Loop, OneChar, Sequence
from structgen.regular.charset import ALL
from structgen.regular.expressions.nodes import SubAutomaton
from structgen.regular.regex import EMPTY, INFINITE, Regex, complement, sub_automaton

MAX_STATES = 30_000  # byte states of a pattern, and of what may follow its ends


def of_terminal(terminal: Terminal, ordered: bool) -> Automata:
    """The automata of a terminal. ordered: whether terminals have an order (not free lexing)."""
    if terminal.lookahead is None:
        return of_languages(terminal.language, terminal.longer, ordered)
    some = terminal.origin != ""
    return lookahead_automata(terminal.lookahead, terminal.language, ordered, some=some)


@lru_cache(maxsize=4096)
def lookahead_automata(
    start: MatchState, language: Regex, ordered: bool, *, some: bool = False
) -> Automata:
    """The automata of a pattern from the start of matching. ordered: is `no_match` needed?

    language: of the texts that are the match where the right ones follow, those that count for this
    terminal. some: whether these may not be all that the pattern matches, or it looks at the text
    before. Raises BudgetError past MAX_STATES states.
    """
    matched = EMPTY
    if ordered and some:
        matched = sub_automaton(BeginsWithMatch.at(start, language, EMPTY))
    elif ordered:
        matched = language_of(
            Sequence((start.program.root, Loop(OneChar(ALL), 0, INFINITE, lazy=False)))
        )
    asked = dict.fromkeys(
        (sub_automaton(PossibleMatch(start)), language, *((matched,) if ordered else ()))
    )
    table, ends, vectors = explored(tuple(asked), MAX_STATES)
    place = list(asked).index(language)
    ending = ends[:, place].tolist()
    rests = [_rest_of(v) if held else None for v, held in zip(vectors, ending, strict=True)]
    accepts = np.array([rest is not None for rest in rests])
    wanted = dict.fromkeys([complement(matched), *(rest for rest in rests if rest is not None)])
    lookahead, violated_at_end, first = _lookaheads(list(wanted))
    no_longer = np.array([SATISFIED if rest is None else first[rest] for rest in rests], np.int32)
    no_match = np.zeros(len(table), np.int32)
    if ordered:
        no_match[0] = first[complement(matched)]
        for state, row in enumerate(table):  # each state is found before what it leads to
            no_match[row[row >= 0]] = lookahead[no_match[state], np.flatnonzero(row >= 0)]
    columns, classes = distinct_columns(np.concatenate([table, lookahead]))
    table, lookahead = table.take(columns, axis=1), lookahead.take(columns, axis=1)
    reach = distances(table, accepts)
    distance = np.where(reach < 0, FAR, reach)
    of = np.array([accepts, no_longer, no_match, distance], np.int32)
    return assembled(table, of, lookahead, violated_at_end, classes)


def _rest_of(vector: Vector | None) -> Regex | None:
    """The texts that may follow for a match to end here, None where there are none."""
    language = None if vector is None else vector[0]
    ending = language.state if isinstance(language, SubAutomaton) else None
    rest = ending.state.allowed_after() if isinstance(ending, PossibleMatch) else EMPTY
    return None if rest.is_empty() else rest


def _lookaheads(languages: list[Regex]) -> tuple[Ints, Any, dict[Regex, int]]:
    """One lookahead DFA for some languages, and the state in which each of them begins."""
    try:
        table, accepts, starts = explored_together(languages, MAX_STATES)
    except BudgetError as error:
        error.hint = "let the rules say what follows, not a lookahead"
        raise
    lookahead, violated_at_end, number = as_lookaheads(table, accepts)
    return lookahead, violated_at_end, {of: int(number[at]) for of, at in starts.items()}
