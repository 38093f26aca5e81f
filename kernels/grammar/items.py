"""In: tables, sets of rests of rules. Out: the sets after a terminal, and the calls it begins.

A set of rests is what an LR(0) automaton calls a state, here of one level of the stack: all rests
in it have the same stack below. Sets are closed: they hold what their members also are without
reading anything. They depend on the grammar alone, and are made when first met.
"""

from __future__ import annotations

import numba

from structgen.kernels.build.decorators import called, folded, inlined, inner
from structgen.kernels.grammar.tables import (
    AFTER,
    AT_BOTH_ITEMS,
    AT_CLOSURE,
    AT_ITEMS,
    BOTH,
    BOTH_ITEMS,
    CALL_REST,
    CALL_START,
    CALL_TERMINAL,
    COST,
    ENTER,
    FIRST,
    GOTO,
    GOTO_OUT,
    GRAMMAR,
    IN,
    INT,
    ITEMS,
    OUT,
    REGION,
    SETS,
    SKIP,
    SKIP_START,
    STACK,
    STAMP,
    TERMINAL_COUNT,
    TERMINALS,
    call_intern,
    fixed,
    key_of,
    lacks,
    recall,
    region,
    remember,
    reserve,
    sort,
)
from structgen.kernels.tables import UNKNOWN

END_REST = 1


@inner(INT(GRAMMAR, INT))
def first_terminals(t, items):  # type: ignore[no-untyped-def]
    """The TERMINALS record of the terminals that rests can start with."""
    t.info[STAMP] += 1
    stamp = t.info[STAMP]
    shift = t.mark.shape[0] - t.info[TERMINAL_COUNT]
    start = numba.int64(t.rec[items, 0])
    count = numba.int64(0)
    base = region(t, SETS)
    names = t.info[TERMINAL_COUNT]
    for i in range(start, start + t.rec[items, 1]):
        symbol = fixed(t, FIRST, t.heap[i])
        if symbol < 0:
            continue
        low, high = symbol, symbol + 1
        if symbol >= names:
            low = fixed(t, CALL_START, symbol - names)
            high = fixed(t, CALL_START, symbol - names + 1)
        for j in range(low, high):
            terminal = fixed(t, CALL_TERMINAL, j) if symbol >= names else symbol
            if t.mark[shift + terminal] != stamp:
                t.mark[shift + terminal] = stamp
                t.work[base + count] = terminal
                count += 1
    sort(t.work, base, count)
    return call_intern(t, TERMINALS, base, count)


@inner(INT(GRAMMAR, INT, INT))
def items_of(t, base, count):  # type: ignore[no-untyped-def]
    """The ITEMS record of the sorted rests work[base:base + count], with its fields."""
    items = call_intern(t, ITEMS, base, count)
    if items < 0 or t.rec[items, 6] >= 0:
        return items
    empty = count > 0 and t.work[base] == 0
    cost = numba.int64(1) << 28
    for i in range(base, base + count):
        cost = min(cost, fixed(t, COST, t.work[i]))
    bare = items
    if empty:
        bare = numba.int64(-1)
        if count > 1:
            bare = call_intern(t, ITEMS, base + 1, count - 1)
            if bare < 0:
                return bare
    terminals = first_terminals(t, items)
    if terminals < 0:
        return terminals
    if bare >= 0 and bare != items:
        t.rec[bare, 3] = 0
        t.rec[bare, 4] = bare
        t.rec[bare, 5] = terminals
        bare_cost = numba.int64(1) << 28
        for i in range(base + 1, base + count):
            bare_cost = min(bare_cost, fixed(t, COST, t.work[i]))
        t.rec[bare, 6] = bare_cost
    t.rec[items, 3] = 1 if empty else 0
    t.rec[items, 4] = bare
    t.rec[items, 5] = terminals
    t.rec[items, 6] = cost
    return items


call_items_of = called(items_of, AT_ITEMS)


@inner(INT(GRAMMAR, INT))
def closure(t, count):  # type: ignore[no-untyped-def]
    """The closed set of the rests in region IN: an ITEMS record, or NEED_SPACE."""
    t.info[STAMP] += 1
    stamp = t.info[STAMP]
    base, stack, out = region(t, IN), region(t, STACK), region(t, OUT)
    height = numba.int64(0)
    found = numba.int64(0)
    for i in range(count):
        rest = t.work[base + i]
        if t.mark[rest] != stamp:
            t.mark[rest] = stamp
            t.work[stack + height] = rest
            height += 1
    while height > 0:
        height -= 1
        rest = t.work[stack + height]
        if rest <= END_REST or fixed(t, FIRST, rest) >= 0:
            t.work[out + found] = rest
            found += 1
        for j in range(fixed(t, SKIP_START, rest), fixed(t, SKIP_START, rest + 1)):
            other = fixed(t, SKIP, j)
            if t.mark[other] != stamp:
                t.mark[other] = stamp
                t.work[stack + height] = other
                height += 1
    sort(t.work, out, found)
    return call_items_of(t, out, found)


call_closure = called(closure, AT_CLOSURE)


@inner(INT(GRAMMAR, INT, INT))
def both_items(t, one, other):  # type: ignore[no-untyped-def]
    """The union of two sets of rests."""
    if one == other:
        return one
    key = key_of(BOTH_ITEMS, min(one, other), max(one, other))
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    i, j = numba.int64(t.rec[one, 0]), numba.int64(t.rec[other, 0])
    last_i, last_j = i + t.rec[one, 1], j + t.rec[other, 1]
    base = region(t, BOTH)
    count = numba.int64(0)
    while i < last_i or j < last_j:
        if j >= last_j or (i < last_i and t.heap[i] < t.heap[j]):
            x = t.heap[i]
            i += 1
        else:
            x = t.heap[j]
            if i < last_i and t.heap[i] == x:
                i += 1
            j += 1
        t.work[base + count] = x
        count += 1
    items = call_items_of(t, base, count)
    if items < 0:
        return items
    return remember(t, key, items)


call_both_items = called(both_items, AT_BOTH_ITEMS)


@inlined
def entries(t, name, terminal):  # type: ignore[no-untyped-def]
    """The first entry of a called name for a terminal (or a later terminal)."""
    low = fixed(t, CALL_START, name)
    high = fixed(t, CALL_START, name + 1)
    while low < high:
        middle = (low + high) >> 1
        if fixed(t, CALL_TERMINAL, middle) < terminal:
            low = middle + 1
        else:
            high = middle
    return low


@folded(INT(GRAMMAR, INT, INT))
def entered(t, name, terminal):  # type: ignore[no-untyped-def]
    """What is left of a called name after a terminal: ITEMS, -1 when it cannot begin so."""
    key = key_of(ENTER, name, terminal)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    base = region(t, IN)
    count = numba.int64(0)
    i = entries(t, name, terminal)
    last = fixed(t, CALL_START, name + 1)
    while i < last and fixed(t, CALL_TERMINAL, i) == terminal:
        t.work[base + count] = fixed(t, CALL_REST, i)
        count += 1
        i += 1
    items = numba.int64(-1)
    if count > 0:
        items = call_closure(t, count)
        if items < -1:
            return items
    return remember(t, key, items)


@inner(INT(GRAMMAR, INT, INT))
def goto(t, items, terminal):  # type: ignore[no-untyped-def]
    """What a terminal does to a set of rests: a place in the heap, 0 when it does not fit.

    There: the set on the same level or -1, the number of calls, and for each of them the set after
    the terminal and the set to go on with when the call ends.
    """
    key = key_of(GOTO, items, terminal)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    names = t.info[TERMINAL_COUNT]
    base, out = region(t, IN), region(t, GOTO_OUT)
    level = numba.int64(-1)
    calls = numba.int64(0)
    i = numba.int64(t.rec[items, 0])
    last = i + t.rec[items, 1]
    while i < last:
        symbol = fixed(t, FIRST, t.heap[i])
        j = i + 1
        while j < last and fixed(t, FIRST, t.heap[j]) == symbol:
            j += 1
        after = numba.int64(-1)
        if symbol >= names:
            after = entered(t, symbol - names, terminal)
            if after < -1:
                return after
        if symbol == terminal or after >= 0:
            for k in range(i, j):
                t.work[base + k - i] = fixed(t, AFTER, t.heap[k])
            back = call_closure(t, j - i)
            if back < 0:
                return back
            if symbol == terminal:
                level = back
            else:
                if 2 * calls + 2 > t.info[REGION]:
                    return lacks(t, REGION)
                t.work[out + 2 * calls] = after
                t.work[out + 2 * calls + 1] = back
                calls += 1
        i = j
    if level < 0 and calls == 0:
        return remember(t, key, 0)
    place = reserve(t, 2 + 2 * calls, 0)
    if place < 0:
        return place
    t.heap[place] = level
    t.heap[place + 1] = calls
    for k in range(2 * calls):
        t.heap[place + 2 + k] = t.work[out + k]
    return remember(t, key, place)
