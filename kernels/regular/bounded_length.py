"""Bound the length of the texts of an automaton, a part of which is known.

A state is one of that automaton with the number of characters that have been read (a bounded
counter). It leads on as long as a text can end soon enough; how soon is known for most states from
what is near them.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.regular.glushkov import (
    EXPLORED,
    KNOWN,
    LISTED,
    MADE,
    SEARCH,
    dropped,
    goes_on,
    met,
    queued,
)
from structgen.kernels.tables import GRID, I32, I64, U8, U16

UPPER, FACTS = 0, 1  # columns of what is said of the states of the automaton
MOVES, EXACT = 1, 2  # bits in the second: its moves are known, nothing shorter can end there


@lean(types.void(GRID, U16, GRID))
def nearest_ends(moves, ends, said):  # type: ignore[no-untyped-def]
    """Find how many characters suffice for a text to end from each state, as far as is known.

    moves: int32[B, C]; ends: uint16[B]; said: int32[S, 2] for the first S states, whose column
    UPPER is `glushkov.FAR` at first, or what was found before (Bellman and Ford's relaxation).
    """
    changed = True
    while changed:
        changed = False
        for back in range(said.shape[0]):
            s = said.shape[0] - 1 - back
            best = numba.int64(0) if ends[s] != 0 else numba.int64(said[s, UPPER])
            if said[s, FACTS] & MOVES != 0:
                for k in range(moves.shape[1]):
                    if moves[s, k] >= 0:
                        best = min(best, numba.int64(said[moves[s, k], UPPER]) + 1)
            if best < said[s, UPPER]:
                said[s, UPPER] = best
                changed = True


@lean(types.void(GRID, I32, EXPLORED, types.int64, I64, U8))
def bound_loops(states, order, base, free, loops, often):  # type: ignore[no-untyped-def]
    """Write down what the states in `order` read again and again: `loops`, and how `often`.

    As without a bound, while at most `free` characters have been read. states: int32[S, 2], a state
    of the automaton `base` and the characters read.
    """
    for i in range(order.shape[0]):
        state, size = states[order[i], 0], numba.int64(states[order[i], 1])
        left = min(max(free - size, 0), 254)
        loops[order[i]] = base.loops[state]
        often[order[i]] = min(numba.int64(base.often[state]), left)


@inlined
def placed(states, table, state, size):  # type: ignore[no-untyped-def]
    """The slot that holds a state with so many characters, or the empty one for it."""
    last = table.shape[0] - 1
    i = (numba.int64(state) * 40503 + numba.int64(size) * 60493) & last
    while table[i] >= 0 and (states[table[i], 0] != state or states[table[i], 1] != size):
        i = (i + 1) & last
    return i


@lean(types.int64(GRID, GRID, GRID, SEARCH, *[types.int64] * 3))
def explore_bounded(base, said, states, search, most, start, end):  # type: ignore[no-untyped-def]
    """Find the moves of state `start` and of others behind it, until those of `end` are known.

    base: int32[B, C], the moves of the automaton; said: int32[B, 2], see UPPER. states: int32[S,
    2], one of its states and the characters read, `most` of which there may be. Returns -1, or a
    state of the automaton of which more must be known first: its moves, or else whether a text can
    end sooner than is said. States whose moves are not known there are left for later, but for
    `start`.
    """
    sizes, table = search.sizes, search.table
    # States that were made without the hash table being there.
    for s in range(sizes[LISTED], sizes[MADE]):
        table[placed(states, table, states[s, 0], states[s, 1])] = s
    need = numba.int64(-1)
    if said[states[start, 0], FACTS] & MOVES == 0:
        return numba.int64(states[start, 0])
    tail = sizes[KNOWN] + 1
    search.order[sizes[KNOWN]] = start
    while need < 0 and goes_on(search, end, tail):
        s = search.order[sizes[KNOWN]]
        at, left = states[s, 0], most - states[s, 1] - 1
        if said[at, FACTS] & MOVES == 0:
            tail -= 1
            search.queue[s] = 0
            search.order[sizes[KNOWN]] = search.order[tail]
            continue
        for k in range(base.shape[1]):
            after = numba.int64(base[at, k])
            found = numba.int64(-1)
            # A text can end in time: the state is one.
            if after >= 0 and said[after, UPPER] <= left:
                i = placed(states, table, after, most - left)
                found = numba.int64(table[i])
                if found < 0:
                    found = met(search, s, k, i)
                    states[found, 0] = after
                    states[found, 1] = most - left
            # Perhaps it can: UPPER is a bound from above only, until EXACT.
            elif after >= 0 and left >= 0 and said[after, FACTS] & EXACT == 0:
                need = after
                break
            search.moves[s, k] = found
        if need < 0:
            tail = queued(search, s, tail)
    dropped(search, tail)
    return need
