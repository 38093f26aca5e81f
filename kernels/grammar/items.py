"""Item sets: what a terminal does to a set of items on one level of the stack (LR(0) goto).

An item set is what an LR(0) automaton calls a state, here of one level of the stack: all items in
it have the same stack below. Sets are closed under epsilon moves. They depend on the grammar alone,
and are made when first met.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, folded, inlined, inner
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.records import (
    ITEMS_COST,
    ITEMS_NON_EMPTY,
    ITEMS_NULLABLE,
    ITEMS_TERMINALS,
    REC_SIZE,
    REC_START,
)
from structgen.kernels.grammar.tables import (
    AFTER,
    AT_CLOSURE,
    AT_ITEMS,
    AT_UNION_ITEMS,
    BOTH,
    CALL_ITEM,
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
    ITEM_SET,
    OUT,
    REGION,
    SETS,
    SKIP,
    SKIP_START,
    STACK,
    STAMP,
    TERMINAL_COUNT,
    TERMINALS,
    UNION_ITEMS,
    call_intern,
    fixed,
    key_of,
    needs_space,
    recall,
    region,
    remember,
    reserve,
    sort,
)
from structgen.kernels.tables import UNKNOWN

END_ITEM = 1


@inner(INT(GRAMMAR, INT))
def first_terminals(t, item_set):  # type: ignore[no-untyped-def]
    """The TERMINALS record of the terminals with which items can begin."""
    t.info[STAMP] += 1
    stamp = t.info[STAMP]
    shift = t.mark.shape[0] - t.info[TERMINAL_COUNT]
    start = numba.int64(t.rec[item_set, REC_START])
    count = numba.int64(0)
    base = region(t, SETS)
    names = t.info[TERMINAL_COUNT]
    for i in range(start, start + t.rec[item_set, REC_SIZE]):
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
    """The ITEM_SET record of the sorted items work[base:base + count], with its fields."""
    item_set = call_intern(t, ITEM_SET, base, count)
    if item_set < 0 or t.rec[item_set, ITEMS_COST] >= 0:
        return item_set
    empty = count > 0 and t.work[base] == 0
    cost = numba.int64(1) << 28
    for i in range(base, base + count):
        cost = min(cost, fixed(t, COST, t.work[i]))
    bare = item_set
    if empty:
        bare = numba.int64(-1)
        if count > 1:
            bare = call_intern(t, ITEM_SET, base + 1, count - 1)
            if bare < 0:
                return bare
    terminals = first_terminals(t, item_set)
    if terminals < 0:
        return terminals
    if bare >= 0 and bare != item_set:
        t.rec[bare, ITEMS_NULLABLE] = 0
        t.rec[bare, ITEMS_NON_EMPTY] = bare
        t.rec[bare, ITEMS_TERMINALS] = terminals
        bare_cost = numba.int64(1) << 28
        for i in range(base + 1, base + count):
            bare_cost = min(bare_cost, fixed(t, COST, t.work[i]))
        t.rec[bare, ITEMS_COST] = bare_cost
    t.rec[item_set, ITEMS_NULLABLE] = 1 if empty else 0
    t.rec[item_set, ITEMS_NON_EMPTY] = bare
    t.rec[item_set, ITEMS_TERMINALS] = terminals
    t.rec[item_set, ITEMS_COST] = cost
    return item_set


call_items_of = called(items_of, AT_ITEMS)


@inner(INT(GRAMMAR, INT))
def closure(t, count):  # type: ignore[no-untyped-def]
    """The closure of the `count` items in region IN: an ITEM_SET record, or NEED_SPACE."""
    t.info[STAMP] += 1
    stamp = t.info[STAMP]
    base, stack, out = region(t, IN), region(t, STACK), region(t, OUT)
    height = numba.int64(0)
    found = numba.int64(0)
    for i in range(count):
        item = t.work[base + i]
        if t.mark[item] != stamp:
            t.mark[item] = stamp
            t.work[stack + height] = item
            height += 1
    while height > 0:
        height -= 1
        item = t.work[stack + height]
        if item <= END_ITEM or fixed(t, FIRST, item) >= 0:
            t.work[out + found] = item
            found += 1
        for j in range(fixed(t, SKIP_START, item), fixed(t, SKIP_START, item + 1)):
            other = fixed(t, SKIP, j)
            if t.mark[other] != stamp:
                t.mark[other] = stamp
                t.work[stack + height] = other
                height += 1
    sort(t.work, out, found)
    return call_items_of(t, out, found)


call_closure = called(closure, AT_CLOSURE)


@inner(INT(GRAMMAR, INT, INT))
def union_items(t, one, other):  # type: ignore[no-untyped-def]
    """The union of two item sets."""
    if one == other:
        return one
    key = key_of(UNION_ITEMS, min(one, other), max(one, other))
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    i, j = numba.int64(t.rec[one, REC_START]), numba.int64(t.rec[other, REC_START])
    last_i, last_j = i + t.rec[one, REC_SIZE], j + t.rec[other, REC_SIZE]
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
    item_set = call_items_of(t, base, count)
    if item_set < 0:
        return item_set
    return remember(t, key, item_set)


call_union_items = called(union_items, AT_UNION_ITEMS)


@inlined
def entries(t, name, terminal):  # type: ignore[no-untyped-def]
    """The first entry of a called name for a terminal or a later one (binary search)."""
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
    """What is left of a called name after a terminal: ITEM_SET, -1 when it cannot begin so."""
    key = key_of(ENTER, name, terminal)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    base = region(t, IN)
    count = numba.int64(0)
    i = entries(t, name, terminal)
    last = fixed(t, CALL_START, name + 1)
    while i < last and fixed(t, CALL_TERMINAL, i) == terminal:
        t.work[base + count] = fixed(t, CALL_ITEM, i)
        count += 1
        i += 1
    item_set = numba.int64(-1)
    if count > 0:
        item_set = call_closure(t, count)
        if item_set < -1:
            return item_set
    return remember(t, key, item_set)


@inner(INT(GRAMMAR, INT, INT))
def goto(t, item_set, terminal):  # type: ignore[no-untyped-def]
    """What a terminal does to an item set: a place in the heap, 0 when it does not fit.

    There: the item set behind it on the same level or -1, the number of calls, and for each call
    the item set behind the terminal and the item set to return to when the call ends.
    """
    key = key_of(GOTO, item_set, terminal)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    names = t.info[TERMINAL_COUNT]
    base, out = region(t, IN), region(t, GOTO_OUT)
    level = numba.int64(-1)
    calls = numba.int64(0)
    i = numba.int64(t.rec[item_set, REC_START])
    last = i + t.rec[item_set, REC_SIZE]
    while i < last:
        # Items are sorted by their first symbol: i to j - 1 are those that begin with `symbol`.
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
            back = call_closure(t, j - i)  # what follows the symbol, to go on with or return to
            if back < 0:
                return back
            if symbol == terminal:
                level = back
            else:
                if 2 * calls + 2 > t.info[REGION]:
                    return needs_space(t, REGION)
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
