"""Explore an expression whose parts are automata: its states are sets of states of these.

An expression with parts such as a product or a bounded repeat is an automaton of sub-automata: a
node is a state of one of them, and where it may end, those that may follow begin as well. A state
of the whole is a set of nodes (the subset construction).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.regular.glushkov import (
    BITS,
    KNOWN,
    MADE,
    SEARCH,
    U64,
    behind,
    dropped,
    goes_on,
    put_off,
    queue_from,
    queued,
    stays,
)
from structgen.kernels.tables import GRID, I32, U8, U16

TOO_NARROW = -2


class Nodes(NamedTuple):
    """The states of all sub-automata, by one number each; their first states come first.

    moves: int32[n, C], what each of the classes of the whole leads to, -1 for nothing; known:
    uint8[n], whether that is known; ends: uint8[n], whether its text may end there, and 2 where
    any text may follow; block: int32[n], which sub-automaton it is of.
    """

    moves: npt.NDArray[np.int32]
    known: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.uint8]
    block: npt.NDArray[np.int32]


PLACES = types.NamedTuple([GRID, U8, U8, I32], Nodes)


@lean(types.void(PLACES, SEARCH, U16, I32, I32, *[types.int64] * 3))
def take_over(nodes, search, ends, numbers, classes, total, new, begin):  # type: ignore[no-untyped-def]
    """Write down of the states of a sub-automaton what has been found of them.

    search: theirs. ends: uint16[made], whether its text may end in each. numbers:
    int32[made], the nodes that they are. classes: int32[C], which of its classes each of
    the whole is in, -1 for none; total: whether each character is in one of its classes. new:
    the first state that is; begin: the place in `search.order` from which on moves are.
    """
    for s in range(new, search.sizes[MADE]):
        nodes.ends[numbers[s]] = ends[s] != 0
    for i in range(begin, search.sizes[KNOWN]):
        s = search.order[i]
        node = numbers[s]
        nodes.known[node] = 1
        if total and ends[s] != 0 and stays(search, s):
            nodes.ends[node] |= 2
        for k in range(classes.shape[0]):
            target = numba.int64(-1) if classes[k] < 0 else numba.int64(search.moves[s, classes[k]])
            nodes.moves[node, k] = -1 if target < 0 else numbers[target]


@inlined
def joined(row, node):  # type: ignore[no-untyped-def]
    """Put a node into a sorted row of numbers of nodes, plus 1; False if there is no room."""
    new = numba.uint64(node + 1)
    i = 0
    while i < row.shape[0] and row[i] != 0 and row[i] < new:
        i += 1
    if i < row.shape[0] and row[i] == new:
        return True
    while i < row.shape[0] and new != 0:
        last = row[i]
        row[i] = new
        new = last
        i += 1
    return new == 0


@inlined
def unknown(known, row):  # type: ignore[no-untyped-def]
    """The first node of a row whose moves are not known, or -1."""
    found = numba.int64(-1)
    for w in range(row.shape[0]):
        if found < 0 and row[w] != 0 and known[numba.int64(row[w]) - 1] == 0:
            found = numba.int64(row[w]) - 1
    return found


@lean(types.int64(PLACES, GRID, BITS, SEARCH, U64, *[types.int64] * 3))
def explore_sub_automata(nodes, after, states, search, row, start, near, end):  # type: ignore[no-untyped-def]
    """Find the moves of state `start` and of others behind it, until those of `end` are known.

    First come those of the next `near` numbers: many states are met with others like them.

    after: int32[B, k], the nodes at which those begin that may follow each, -1 for no more.
    states: uint64[S, W], the nodes of each state, plus 1, ascending, then 0. There must be room for
    2 * C states more; others are found as far as it lasts. row: uint64[W], scratch. Returns -1, or
    a node whose moves must be known first, or TOO_NARROW when a state has more than W nodes. States
    with nodes whose moves are not known are left for later, but for `start`.
    """
    need = unknown(nodes.known, states[start])
    if need >= 0:
        return need
    sizes = search.sizes
    tail = queue_from(states, search, start)
    for s in range(start + 1, min(start + near, search.sizes[MADE])):
        if search.queue[s] == 0:
            search.queue[s] = 2
            search.order[tail] = s
            tail += 1
    while need == -1 and goes_on(search, end, tail):
        s = search.order[sizes[KNOWN]]
        if unknown(nodes.known, states[s]) >= 0:
            tail = put_off(search, s, tail)
            continue
        for k in range(nodes.moves.shape[1]):
            row[:] = 0
            fits = True
            for w in range(states.shape[1]):
                node = numba.int64(states[s, w]) - 1
                target = numba.int64(-1) if node < 0 else numba.int64(nodes.moves[node, k])
                if target < 0:
                    continue
                fits = fits and joined(row, target)
                # It may end here: what follows it begins beside it.
                if nodes.ends[target] != 0:
                    for j in range(after.shape[1]):
                        begun = numba.int64(after[nodes.block[target], j])
                        fits = fits and (begun < 0 or joined(row, begun))
            if not fits:
                need = TOO_NARROW
                break
            search.moves[s, k] = behind(states, search, row, s, k) if row[0] != 0 else -1
        if need == -1:
            tail = queued(search, s, tail)
    dropped(search, tail)
    return need
