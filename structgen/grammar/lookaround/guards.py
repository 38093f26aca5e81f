"""Guards: DFAs that the whole text has to satisfy, read beside a grammar as lookahead DFAs.

A lookahead DFA (see `terminals.automata`) is a regular condition on the bytes to come. One that
begins with the text makes of a grammar's automaton the product with that DFA (Y. Bar-Hillel,
M. Perles and E. Shamir, "On formal properties of simple phrase structure grammars", 1961); whether
a text can still be finished is decided as for all lookaheads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.grammar.terminals.automata import (
    SATISFIED,
    VIOLATED,
    Automata,
    automata_of,
    distances,
    distinct_columns,
    minimised,
)
from structgen.regular.regex import ANY, EMPTY

Ints = npt.NDArray[np.int32]


class Guard(NamedTuple):
    """A DFA over bytes without dead ends, which starts in state 0.

    next: int32[n, 256], -1 where it reads no more; accepts: bool[n].
    """

    next: Ints
    accepts: npt.NDArray[np.bool_]


def guard_automata(guard: Guard) -> Automata:
    """The automata of no terminal at all, with a guard, minimised, as their lookahead DFA.

    The condition is satisfied, and no longer tracked, where all characters may follow without end.
    """
    lookahead, violated_at_end, _ = as_lookaheads(guard.next, guard.accepts)
    none = np.zeros(0, np.int32)
    return Automata(
        next=np.zeros((0, 256), np.int32),
        accepts=none.astype(np.bool_),
        no_longer=none,
        no_match=none,
        lookahead=lookahead,
        violated_at_end=violated_at_end,
        distance=none,
        classes=distinct_columns(lookahead)[1],
    )


def as_lookaheads(table: Ints, accepts: npt.NDArray[np.bool_]) -> tuple[Ints, Any, Ints]:
    """The lookahead DFA whose condition is that a byte DFA accepts at the end of the text.

    table: int32[n, 256], -1 dead; accepts: bool[n]. Returns `lookahead`, `violated_at_end` (see
    `Automata`) and the lookahead state of each state; that of the first one is the first behind
    SATISFIED and VIOLATED, unless it is one of these.
    """
    free = automata_of(ANY, EMPTY, ordered=False)
    last = len(table)
    hopeless = np.append(distances(table, accepts) < 0, False)  # the last entry is for -1
    after = np.where(hopeless[table], -1, table)
    both = np.concatenate([after, np.where(free.next < 0, -1, free.next + last)])
    columns, classes = distinct_columns(both)
    labels = np.concatenate([accepts, free.accepts]).astype(np.int64)
    least, number, _ = minimised(both.take(columns, axis=1), labels)
    least = least[:, classes]
    count = int(number[:last].max()) + 1  # the automaton's own states come first
    open_ = np.zeros(len(least) + 1, np.bool_)
    open_[number[last:]] = True
    beyond = least[:count]
    lookahead = np.where(beyond < 0, VIOLATED, np.where(open_[beyond], SATISFIED, beyond + 2))
    sinks = np.repeat(np.array([[SATISFIED], [VIOLATED]]), 256, axis=1)
    violated_at_end = np.ones(count, np.bool_)
    violated_at_end[number[:last]] = ~accepts
    no_longer = np.where(
        hopeless[:last], VIOLATED, np.where(open_[number[:last]], SATISFIED, number[:last] + 2)
    )
    return (
        np.concatenate([sinks, lookahead]).astype(np.int32),
        np.concatenate([[False, True], violated_at_end]),
        no_longer.astype(np.int32),
    )
