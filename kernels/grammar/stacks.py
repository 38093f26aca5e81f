"""In: tables, sets of stacks, terminals. Out: the set of stacks after a terminal.

A set of stacks is a record of pairs (items, stacks below): on top of any of the stacks below lies
any of the rests in `items`. This is a graph-structured stack (M. Tomita, 1985) whose nodes are
shared by content, so that equal futures get equal numbers and loops come back to where they were.
A *closed* set, where a parser can be between two terminals, shows all that may come next on top.
"""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.build.decorators import called, folded, inner, lean
from structgen.kernels.grammar.items import call_both_items, goto
from structgen.kernels.grammar.tables import (
    AT_CLOSED,
    AT_EITHER,
    AT_SCAN,
    BEHIND,
    BOTH_STACKS,
    END_ITEMS,
    GRAMMAR,
    GROUPS,
    INT,
    LEXER,
    MANY_GROUPS,
    PAIRS,
    REGION,
    SCAN,
    SETS,
    STACKS,
    STAMP,
    T_IGNORED,
    T_START,
    TERMINAL_COUNT,
    TERMINALS,
    VISITED,
    call_intern,
    fixed,
    key_of,
    lacks,
    recall,
    region,
    remember,
    sort,
)
from structgen.kernels.tables import I32, UNKNOWN


@folded(types.void(I32, INT, INT))
def sort_pairs(work, base, count):  # type: ignore[no-untyped-def]
    """Sort pairs at `base` by what comes second, then first, as `grammar_tables.sort` does."""
    gap = numba.int64(1)
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            one, two = work[base + 2 * i], work[base + 2 * i + 1]
            j = i - gap
            while j >= 0 and (
                work[base + 2 * j + 1] > two
                or (work[base + 2 * j + 1] == two and work[base + 2 * j] > one)
            ):
                work[base + 2 * (j + gap)] = work[base + 2 * j]
                work[base + 2 * (j + gap) + 1] = work[base + 2 * j + 1]
                j -= gap
            work[base + 2 * (j + gap)] = one
            work[base + 2 * (j + gap) + 1] = two
        gap //= 3


@folded(INT(GRAMMAR, INT, INT))
def joined(t, base, count):  # type: ignore[no-untyped-def]
    """Sort pairs at `base` by (stacks, items) and join those with the same stacks: their number."""
    sort_pairs(t.work, base, count)
    kept = numba.int64(0)
    for i in range(count):
        items, below = t.work[base + 2 * i], t.work[base + 2 * i + 1]
        if kept > 0 and t.work[base + 2 * kept - 1] == below:
            both = call_both_items(t, t.work[base + 2 * kept - 2], items)
            if both < 0:
                return both
            t.work[base + 2 * kept - 2] = both
        else:
            t.work[base + 2 * kept] = items
            t.work[base + 2 * kept + 1] = below
            kept += 1
    return kept


@folded(INT(GRAMMAR, INT, INT))
def stacks_of(t, base, count):  # type: ignore[no-untyped-def]
    """The STACKS record of pairs that are joined, with its cost."""
    stacks = call_intern(t, STACKS, base, 2 * count)
    if stacks >= 0 and t.rec[stacks, 7] < 0:
        cost = numba.int64(1) << 28
        for i in range(count):
            items, below = t.work[base + 2 * i], t.work[base + 2 * i + 1]
            beneath = numba.int64(0) if below == 0 else numba.int64(t.rec[below, 7])
            cost = min(cost, t.rec[items, 6] + beneath)
        t.rec[stacks, 7] = cost
    return stacks


@inner(INT(GRAMMAR, INT, INT))
def both_stacks(t, one, other):  # type: ignore[no-untyped-def]
    """The union of two sets of stacks."""
    if one == other:
        return one
    key = key_of(BOTH_STACKS, min(one, other), max(one, other))
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    base = region(t, BEHIND)
    count = numba.int64(0)
    for stacks in (one, other):
        start = numba.int64(t.rec[stacks, 0])
        size = numba.int64(t.rec[stacks, 1])
        if count + size > t.info[REGION]:
            return lacks(t, REGION)
        for i in range(size):
            t.work[base + count + i] = t.heap[start + i]
        count += size
    pairs = joined(t, base, count >> 1)
    if pairs < 0:
        return pairs
    stacks = stacks_of(t, base, pairs)
    if stacks < 0:
        return stacks
    return remember(t, key, stacks)


@folded(INT(GRAMMAR, INT, INT))
def with_one_stack_each(t, base, count):  # type: ignore[no-untyped-def]
    """Join pairs until no two have the same stacks or the same items: their number."""
    while True:
        count = joined(t, base, count)
        if count < 0:
            return count
        changed = False
        i = numba.int64(0)
        while i < count:
            j = i + 1
            while j < count:
                if t.work[base + 2 * i] == t.work[base + 2 * j]:
                    both = both_stacks(t, t.work[base + 2 * i + 1], t.work[base + 2 * j + 1])
                    if both < 0:
                        return both
                    t.work[base + 2 * i + 1] = both
                    count -= 1
                    t.work[base + 2 * j] = t.work[base + 2 * count]
                    t.work[base + 2 * j + 1] = t.work[base + 2 * count + 1]
                    changed = True
                else:
                    j += 1
            i += 1
        if not changed:
            return count


@folded(INT(GRAMMAR, INT))
def opened(t, count):  # type: ignore[no-untyped-def]
    """Put on top what lies below pairs in region GROUPS that may end: the number of pairs."""
    base, visited = region(t, GROUPS), region(t, VISITED)
    seen = numba.int64(0)
    i = numba.int64(0)
    while i < count:
        items, below = t.work[base + 2 * i], t.work[base + 2 * i + 1]
        if t.rec[items, 3] == 1 and below != 0:
            known = False
            for j in range(seen):
                if t.work[visited + j] == below:
                    known = True
                    break
            if not known:
                t.work[visited + seen] = below
                seen += 1
                start = numba.int64(t.rec[below, 0])
                size = numba.int64(t.rec[below, 1])
                if 2 * count + size > t.info[REGION] or 2 * seen > t.info[REGION]:
                    return lacks(t, REGION)
                for j in range(size):
                    t.work[base + 2 * count + j] = t.heap[start + j]
                count += size >> 1
        i += 1
    kept = numba.int64(0)
    for k in range(count):
        bare = t.rec[t.work[base + 2 * k], 4]
        if bare >= 0:
            t.work[base + 2 * kept] = bare
            t.work[base + 2 * kept + 1] = t.work[base + 2 * k + 1]
            kept += 1
    return kept


@folded(INT(GRAMMAR, INT))
def expected(t, stacks):  # type: ignore[no-untyped-def]
    """The TERMINALS record of what may come next, ignored ones among them."""
    t.info[STAMP] += 1
    stamp = t.info[STAMP]
    names = t.info[TERMINAL_COUNT]
    shift = t.mark.shape[0] - names
    base = region(t, SETS)
    count = numba.int64(0)
    for terminal in range(names):
        if fixed(t, T_IGNORED, terminal) == 1:
            t.mark[shift + terminal] = stamp
            t.work[base + count] = terminal
            count += 1
    start = numba.int64(t.rec[stacks, 0])
    for i in range(start, start + t.rec[stacks, 1], 2):
        terminals = t.rec[t.heap[i], 5]
        first = numba.int64(t.rec[terminals, 0])
        for j in range(first, first + t.rec[terminals, 1]):
            terminal = t.heap[j]
            if t.mark[shift + terminal] != stamp:
                t.mark[shift + terminal] = stamp
                t.work[base + count] = terminal
                count += 1
    sort(t.work, base, count)
    return call_intern(t, TERMINALS, base, count)


@folded(INT(GRAMMAR, INT))
def lexer_start(t, terminals):  # type: ignore[no-untyped-def]
    """The LEXER record before any of the terminals: the starts of their automata behind a -1."""
    if t.rec[terminals, 3] >= 0:
        return numba.int64(t.rec[terminals, 3])
    base = region(t, SETS)
    start = numba.int64(t.rec[terminals, 0])
    count = numba.int64(t.rec[terminals, 1])
    t.work[base] = -1
    for i in range(count):
        t.work[base + 1 + i] = fixed(t, T_START, t.heap[start + i])
    lexer = call_intern(t, LEXER, base, count + 1)
    if lexer >= 0:
        t.rec[terminals, 3] = lexer
    return lexer


@folded(INT(GRAMMAR, INT, INT, INT, INT))
def described(t, stacks, ends, terminals, lexer):  # type: ignore[no-untyped-def]
    """A record of stacks, which gets what it allows: an end, terminals, and the lexer for them.

    Or NEED_SPACE, if that is the lexer.
    """
    if lexer < 0:
        return lexer
    t.rec[stacks, 4] = ends
    t.rec[stacks, 5] = terminals
    t.rec[stacks, 6] = lexer
    return stacks


@inner(INT(GRAMMAR, INT))
def closed(t, count):  # type: ignore[no-untyped-def]
    """The closed STACKS record of the pairs in region GROUPS, with its fields; -1 if none."""
    base = region(t, GROUPS)
    count = opened(t, count)
    if count < 0:
        return count
    count = with_one_stack_each(t, base, count)
    if count < 0:
        return count
    if count == 0:
        return numba.int64(-1)
    if count > t.info[MANY_GROUPS]:
        return lacks(t, MANY_GROUPS)
    stacks = stacks_of(t, base, count)
    if stacks < 0 or t.rec[stacks, 6] >= 0:
        return stacks
    ends = numba.int64(0)
    for i in range(count):
        if t.work[base + 2 * i] == t.info[END_ITEMS]:
            ends = numba.int64(1)
    terminals = expected(t, stacks)
    if terminals < 0:
        return terminals
    t.rec[stacks, 3] = stacks
    return described(t, stacks, ends, terminals, lexer_start(t, terminals))


call_closed = called(closed, AT_CLOSED)


@inner(INT(GRAMMAR, INT, INT))
def scan(t, stacks, terminal):  # type: ignore[no-untyped-def]
    """The closed stacks after a terminal of a closed set, -1 when it does not fit."""
    key = key_of(SCAN, stacks, terminal)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    base, pair = region(t, GROUPS), region(t, PAIRS)
    count = numba.int64(0)
    start = numba.int64(t.rec[stacks, 0])
    for i in range(start, start + t.rec[stacks, 1], 2):
        below = t.heap[i + 1]
        place = goto(t, t.heap[i], terminal)
        if place < 0:
            return place
        if place == 0:
            continue
        calls = numba.int64(t.heap[place + 1])
        if 2 * (count + calls) + 2 > t.info[REGION]:
            return lacks(t, REGION)
        if t.heap[place] >= 0:
            t.work[base + 2 * count] = t.heap[place]
            t.work[base + 2 * count + 1] = below
            count += 1
        for k in range(calls):
            back = t.heap[place + 3 + 2 * k]
            under = numba.int64(below)
            if t.rec[back, 4] >= 0:  # else nothing is left to do there: no place to return to
                t.work[pair] = back
                t.work[pair + 1] = below
                under = stacks_of(t, pair, 1)
                if under < 0:
                    return under
            t.work[base + 2 * count] = t.heap[place + 2 + 2 * k]
            t.work[base + 2 * count + 1] = under
            count += 1
    after = call_closed(t, count)
    if after < -1:
        return after
    return remember(t, key, after)


call_scan = called(scan, AT_SCAN)


@lean(INT(GRAMMAR, INT, INT))
def either(t, one, other):  # type: ignore[no-untyped-def]
    """The union of two closed sets of stacks, each may be -1 for none, as a closed one."""
    if one < 0 or other < 0:
        return max(one, other) if min(one, other) >= -1 else min(one, other)
    if one == other:
        return one
    base = region(t, GROUPS)
    count = numba.int64(0)
    for stacks in (one, other):
        start = numba.int64(t.rec[stacks, 0])
        size = numba.int64(t.rec[stacks, 1])
        if 2 * count + size > t.info[REGION]:
            return lacks(t, REGION)
        for i in range(size):
            t.work[base + 2 * count + i] = t.heap[start + i]
        count += size >> 1
    return call_closed(t, count)


call_either = called(either, AT_EITHER)
