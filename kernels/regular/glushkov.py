"""Run a position automaton (Glushkov) lazily: states are sets of positions of an expression.

A state is the set of positions that may be read next, a row of bits; bit 0 says that the text may
end. Characters that no position tells apart form a class, so a move is a union of a few rows
(McNaughton and Yamada 1960; sets of next positions, as Champarnaud and Ziadi 2002 merge them). The
subset construction finds states breadth-first, as many as are asked for.

`Search` and its helpers are those of every automaton that is explored like this: numbers, bounded
lengths, products, unions of sub-automata.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.regular.subsumption import absorb, keep_one_per_run
from structgen.kernels.tables import (
    CHILD,
    DEPTH,
    DIGITS_LEFT,
    DONE,
    FALLBACK,
    FIRST,
    FLAGS,
    FROM_BYTE,
    FROM_STATE,
    GRID,
    HIGH_SURROGATE,
    I32,
    I64,
    INFO_COLUMNS,
    KIND,
    LAST,
    NEXT_ALIKE,
    OWNER,
    SIZE_SPANS,
    SIZE_STATES,
    SPAN_FIRST,
    SPAN_LAST,
    SPAN_STATE,
    SPANS_TEXT,
    SPANS_UNKNOWN,
    TABLES,
    U8,
    U16,
)
from structgen.kernels.trie.loops import LOOPS

# Places of `sizes`: states that have a number, states whose moves are known, states in the table.
MADE, KNOWN, LISTED = 0, 1, 2
FAR = 1 << 30  # characters; stands for a length that no text has
U64 = types.uint64[::1]
BITS = types.uint64[:, ::1]


class Search(NamedTuple):
    """What has been found of an automaton, with room for S states over C classes of characters.

    moves: int32[S, C], the state behind each class, -1 if none. came: int32[S, 2], the state and
    the class by which each was first met. table: int32[H], a hash table over the states, -1 empty;
    H is a power of two and at least twice S. order: int32[S], the states in the order in which
    their moves were found, and then the queue of those that wait; queue: uint8[S], 1 where moves
    are known, 2 where the state waits. sizes: int64[3] (MADE, KNOWN, LISTED).
    """

    moves: npt.NDArray[np.int32]
    came: npt.NDArray[np.int32]
    table: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]
    queue: npt.NDArray[np.uint8]
    sizes: npt.NDArray[np.int64]


class Explored(NamedTuple):
    """What is known of an automaton: see `regular.lazy_dfa.states.RegexAutomaton`."""

    order: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    spans: npt.NDArray[np.int32]
    ends: npt.NDArray[np.uint16]
    loops: npt.NDArray[np.int64]
    often: npt.NDArray[np.uint8]
    came: npt.NDArray[np.int32]
    endless: npt.NDArray[np.uint8]


SEARCH = types.NamedTuple([GRID, GRID, I32, I32, U8, I64], Search)
GIVEN = types.UniTuple(types.int64, 5)
EXPLORED = types.NamedTuple([I32, I32, GRID, U16, I64, U8, GRID, U8], Explored)


@inlined
def slot_of(states, table, row):  # type: ignore[no-untyped-def]
    """The slot that holds the state with the bits `row`, or the empty one for it."""
    h, half, lowest = numba.int64(0), numba.uint64(32), numba.uint64(0xFFFFFFFF)
    for w in range(row.shape[0]):
        low = numba.int64(row[w] & lowest)
        high = numba.int64(row[w] >> half)
        h = (h & 0xFFFFFFFF) * 40503 + (h >> 32) + low * 60493 + high * 32749  # below 2**50
        h ^= h >> 19
    last = table.shape[0] - 1
    i = h & last
    while table[i] >= 0:
        same = True
        for w in range(row.shape[0]):
            same = same and states[table[i], w] == row[w]
        if same:
            return i
        i = (i + 1) & last
    return i


@inlined
def met(search, s, k, slot):  # type: ignore[no-untyped-def]
    """Number a state that was met from state s by class k; its number."""
    made = search.sizes[MADE]
    search.table[slot] = made
    search.came[made, 0] = s
    search.came[made, 1] = k
    search.queue[made] = 0
    search.sizes[MADE] += 1
    return made


@inlined
def queue_from(states, search, start):  # type: ignore[no-untyped-def]
    """Enter all states in the hash table and queue state `start`; the end of the queue."""
    for s in range(search.sizes[LISTED], search.sizes[MADE]):
        search.table[slot_of(states, search.table, states[s])] = s
    search.order[search.sizes[KNOWN]] = start
    return search.sizes[KNOWN] + 1


@inlined
def behind(states, search, row, s, k):  # type: ignore[no-untyped-def]
    """The number of the state `row`, to which class k leads from state s; a new one if need be."""
    i = slot_of(states, search.table, row)
    found = numba.int64(search.table[i])
    if found < 0:
        found = met(search, s, k, i)
        for w in range(row.shape[0]):
            states[found, w] = row[w]
    return found


@inlined
def goes_on(search, end, tail):  # type: ignore[no-untyped-def]
    """Whether a state waits whose moves are not known, and there is room for all behind it."""
    known, made = search.sizes[KNOWN], search.sizes[MADE]
    return known < min(end, tail) and made + search.moves.shape[1] <= search.moves.shape[0]


@inlined
def queued(search, s, tail):  # type: ignore[no-untyped-def]
    """Write down that the moves of state s are known; the new end of the queue."""
    search.queue[s] = 1
    for k in range(search.moves.shape[1]):
        target = search.moves[s, k]
        if target >= 0 and search.queue[target] == 0:
            search.queue[target] = 2
            search.order[tail] = target
            tail += 1
    search.sizes[KNOWN] += 1
    return tail


@inlined
def put_off(search, s, tail):  # type: ignore[no-untyped-def]
    """Leave state s, the next of the queue, for later; the new end of the queue."""
    search.queue[s] = 0
    search.order[search.sizes[KNOWN]] = search.order[tail - 1]
    return tail - 1


@inlined
def dropped(search, tail):  # type: ignore[no-untyped-def]
    """Forget the states of the queue whose moves have not been found."""
    for i in range(search.sizes[KNOWN], tail):
        search.queue[search.order[i]] = 0
    search.sizes[LISTED] = search.sizes[MADE]


@inlined
def stays(search, s):  # type: ignore[no-untyped-def]
    """Whether all characters of some class lead from state s, whose moves are known, to itself."""
    same = True
    for k in range(search.moves.shape[1]):
        same = same and search.moves[s, k] == s
    return same


@lean(types.void(BITS, U64, BITS, BITS, BITS, SEARCH, BITS, *[types.int64] * 2))
def explore(follow, classes, universal, runs, states, search, rows, start, count):  # type: ignore[no-untyped-def]
    """Find the moves of state `start` and of others behind it, at most the nearest `count`.

    follow: uint64[n + 1, W], for each position the bits of those that may come next. classes:
    uint64[n + 1], the bits of the classes that each position reads. universal, runs: see
    `kernels.regular.subsumption`. states: uint64[S, W], what each state is. There must be room for
    C more; others are found as far as it lasts. rows: uint64[C, W], scratch.
    """
    width = states.shape[1]
    one = numba.uint64(1)
    end = search.sizes[KNOWN] + count
    tail = queue_from(states, search, start)
    while goes_on(search, end, tail):
        s = search.order[search.sizes[KNOWN]]
        rows[:] = 0
        # For each position in the set: what follows it, in the rows of all classes that it reads.
        for part in range(width):
            bits = states[s, part]
            p = part << 6
            while bits != 0:
                if bits & one and p > 0:
                    read = classes[p]
                    for k in range(rows.shape[0]):
                        if (read >> numba.uint64(k)) & one:
                            for w in range(width):
                                rows[k, w] |= follow[p, w]
                bits >>= one
                p += 1
        for k in range(rows.shape[0]):
            # Positions that others make superfluous go, and with them most differences between
            # sets.
            absorb(rows[k], universal)
            keep_one_per_run(rows[k], runs)
            some = False
            for w in range(width):
                some = some or rows[k, w] != 0
            search.moves[s, k] = behind(states, search, rows[k], s, k) if some else -1
        tail = queued(search, s, tail)
    dropped(search, tail)


@lean(types.void(GRID, U16, GRID))
def lengths(moves, ends, longer):  # type: ignore[no-untyped-def]
    """Find how long the texts from each state on are.

    moves: int32[S, C]; ends: uint16[S]. longer: int32[L, S], written: the least length from l on of
    a text that ends well from each state; FAR if there is none.
    """
    for s in range(longer.shape[1]):
        longer[0, s] = numba.int32(0 if ends[s] != 0 else FAR)
    changed = True
    while changed:
        changed = False
        for back in range(longer.shape[1]):  # late states are mostly nearer to an end
            s = longer.shape[1] - 1 - back
            least = numba.int64(longer[0, s])
            for k in range(moves.shape[1]):
                if moves[s, k] >= 0:
                    least = min(least, numba.int64(longer[0, moves[s, k]]) + 1)
            changed = changed or least < longer[0, s]
            longer[0, s] = least
    # One character, and then a text that is at least so long but for that one.
    for size in range(1, longer.shape[0]):
        for s in range(longer.shape[1]):
            least = numba.int64(FAR)
            for k in range(moves.shape[1]):
                if moves[s, k] >= 0:
                    least = min(least, numba.int64(longer[size - 1, moves[s, k]]) + 1)
            longer[size, s] = least


@lean(types.void(GRID, GRID, I64, GRID, SEARCH, *[types.int64] * 2))
def explore_counted(base, longer, bounds, states, search, start, count):  # type: ignore[no-untyped-def]
    """`explore` for an automaton whose texts have least and most `bounds` characters, -1 for any.

    base: the moves of the automaton. states: int32[S, 2], a state of it and how many characters
    have been read, as far as that matters. longer: as `lengths` has it. Moves that lead to no text
    of such a length are left out.
    """
    least, most = bounds[0], bounds[1]
    sizes, table = search.sizes, search.table
    last = table.shape[0] - 1
    for s in range(sizes[LISTED], sizes[MADE]):
        i = (states[s, 0] * 40503 + states[s, 1] * 60493) & last
        while table[i] >= 0:
            i = (i + 1) & last
        table[i] = s
    end = sizes[KNOWN] + count
    tail = sizes[KNOWN] + 1
    search.order[sizes[KNOWN]] = start
    while goes_on(search, end, tail):
        s = search.order[sizes[KNOWN]]
        size = numba.int64(states[s, 1]) + 1
        # Without an upper bound the counter saturates at the lower one.
        if most < 0:
            size = min(size, least)
        for k in range(base.shape[1]):
            after = numba.int64(base[states[s, 0], k])
            target = numba.int64(-1)
            fits = False
            if after >= 0 and (most < 0 or size <= most):
                wanted = numba.int64(longer[max(least - size, 0), after])
                fits = wanted < FAR and (most < 0 or size + wanted <= most)
            if fits:
                i = (after * 40503 + size * 60493) & last
                while table[i] >= 0 and (
                    states[table[i], 0] != after or states[table[i], 1] != size
                ):
                    i = (i + 1) & last
                target = numba.int64(table[i])
                if target < 0:
                    target = met(search, s, k, i)
                    states[target, 0] = after
                    states[target, 1] = size
            search.moves[s, k] = target
        tail = queued(search, s, tail)
    dropped(search, tail)


@lean(types.int64(TABLES, GRID, U8, I32, *[types.int64] * 4))
def number_states(t, came, endless, numbers, known, made, place, recorded):  # type: ignore[no-untyped-def]
    """Number states `known` to `made` - 1 of an expression as lexer states; there is room for them.

    came: int32[made, 2], for each state by which other and which code point it was met first.
    endless: uint8[made], 1 for those that any text may follow, which get -1 for a number. numbers:
    int32[made], the lexer states. place: that of the expression among those entered. Returns how
    many got none.
    """
    free = 0
    for s in range(known, made):
        if endless[s] != 0:
            numbers[s] = -1
            free += 1
            continue
        q = t.sizes[SIZE_STATES]
        t.sizes[SIZE_STATES] += 1
        numbers[s] = q
        for column in range(INFO_COLUMNS):
            t.state_info[q, column] = 0
        t.state_info[q, KIND] = SPANS_UNKNOWN
        t.state_info[q, OWNER] = numbers[came[s, 0]]
        t.state_info[q, FROM_STATE] = numbers[came[s, 0]]
        t.state_info[q, FROM_BYTE] = came[s, 1]
        t.state_info[q, DEPTH] = s
        t.state_info[q, HIGH_SURROGATE] = place
        t.state_info[q, FALLBACK] = -1
        t.state_info[q, NEXT_ALIKE] = -1
        t.state_info[q, CHILD] = -1
        t.recorded[q] = recorded
    return numba.int64(free)


@lean(types.int64(I32, U16, *[types.int64] * 3))
def first_ending(order, ends, how, begin, end):  # type: ignore[no-untyped-def]
    """The first of the states order[begin] to order[end - 1] in which a text may end so, or -1."""
    for i in range(begin, end):
        if ends[order[i]] == how:
            return numba.int64(order[i])
    return numba.int64(-1)


@lean(types.void(TABLES, EXPLORED, I32, LOOPS, I32, GIVEN, *[types.int64] * 2))
def write_states(t, explored, numbers, loops, labels, given, begin, end):  # type: ignore[no-untyped-def]
    """Write down what leads on from the states order[begin] to order[end - 1] of an expression.

    numbers: int32, the lexer states of all its states, -1 for those that any text may follow.
    labels: int32, with which terminals texts end by what `ends` says, -1 for none. given: the lexer
    state of what any text may follow, which is described elsewhere, or -1; the flags of all states;
    the groups of bytes that may loop; the states, from one number to another, of which more is
    known than was written down. loops: what of it is kept for lexer states. There is room for it
    all.
    """
    free, flags, groups, since, made = given
    for i in range(begin, end):
        s = explored.order[i]
        q = numbers[s]
        if q < 0:
            continue
        at = t.sizes[SIZE_SPANS]
        t.state_info[q, KIND] = SPANS_TEXT
        t.state_info[q, FIRST] = at
        for k in range(explored.first[i], explored.first[i + 1]):
            t.spans[at, SPAN_FIRST] = explored.spans[k, 0]
            t.spans[at, SPAN_LAST] = explored.spans[k, 1]
            target = numbers[explored.spans[k, 2]]
            t.spans[at, SPAN_STATE] = target if target >= 0 else free
            at += 1
        t.sizes[SIZE_SPANS] = at
        t.state_info[q, LAST] = at
        t.state_info[q, FALLBACK] = -1
        t.state_info[q, NEXT_ALIKE] = -1
        t.state_info[q, DIGITS_LEFT] = 0
        t.state_info[q, DONE] = 0
        t.state_info[q, CHILD] = labels[explored.ends[s]]
        t.state_info[q, FLAGS] = flags
        loops.groups[q] = explored.loops[s] & groups
        loops.often[q] = explored.often[s]
    # Loops of states that were written before, of which more has been found since.
    for s in range(since, made):
        q = numbers[s]
        if q >= 0:
            loops.groups[q] = explored.loops[s] & groups
            loops.often[q] = explored.often[s]
