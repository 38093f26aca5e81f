"""Sets of parser stacks, and the set after a terminal (a graph-structured stack).

A set of stacks is a record of pairs (item set, stacks below): on top of any of the stacks below
lies any of the items. This is a graph-structured stack (M. Tomita, 1985) whose nodes are shared by
content, so that equal futures get equal numbers and loops come back to where they were. A *closed*
set, where a parser can be between two terminals, shows all that may come next on top.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, folded, inner, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.grammar.items import call_union_items, goto
from structgen.kernels.grammar.records import (
    ITEMS_COST,
    ITEMS_NON_EMPTY,
    ITEMS_NULLABLE,
    ITEMS_TERMINALS,
    REC_SIZE,
    REC_START,
    STACKS_ACCEPTING,
    STACKS_CLOSED,
    STACKS_COST,
    STACKS_LEXER,
    STACKS_TERMINALS,
    TERMINALS_LEXER,
)
from structgen.kernels.grammar.tables import (
    AT_CLOSED,
    AT_SCAN,
    AT_UNION_CLOSED,
    BEHIND,
    END_ITEM_SET,
    GRAMMAR,
    GROUPS,
    INT,
    LEXER,
    MANY_GROUPS,
    MISSING,
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
    UNION_STACKS,
    VISITED,
    call_intern,
    fixed,
    key_of,
    needs_space,
    recall,
    region,
    remember,
    sort,
)
from structgen.kernels.tables import I32, UNKNOWN

UNKNOWN_UNION = -23  #: two sets of stacks have not been joined yet (see `merged`)


@folded(types.void(I32, INT, INT))
def sort_pairs(work, base, count):  # type: ignore[no-untyped-def]
    """Sort pairs at `base` by their second, then their first number, as `tables.sort` does."""
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


@folded(INT(GRAMMAR, INT, INT, INT))
def joined(t, base, count, on_top):  # type: ignore[no-untyped-def]
    """Sort pairs at `base` by (stacks, items); join those with the same stacks: their number.

    on_top: 0 to join equal ones only.
    """
    sort_pairs(t.work, base, count)
    kept = numba.int64(0)
    for i in range(count):
        item_set, below = t.work[base + 2 * i], t.work[base + 2 * i + 1]
        same = kept > 0 and t.work[base + 2 * kept - 1] == below
        if same and t.work[base + 2 * kept - 2] == item_set:
            continue
        if same and on_top == 1:
            both = call_union_items(t, t.work[base + 2 * kept - 2], item_set)
            if both < 0:
                return both
            t.work[base + 2 * kept - 2] = both
        else:
            t.work[base + 2 * kept] = item_set
            t.work[base + 2 * kept + 1] = below
            kept += 1
    return kept


@folded(INT(GRAMMAR, INT, INT))
def stacks_of(t, base, count):  # type: ignore[no-untyped-def]
    """The STACKS record of joined pairs, with its cost."""
    stacks = call_intern(t, STACKS, base, 2 * count)
    if stacks >= 0 and t.rec[stacks, STACKS_COST] < 0:
        cost = numba.int64(1) << 28
        for i in range(count):
            item_set, below = t.work[base + 2 * i], t.work[base + 2 * i + 1]
            beneath = numba.int64(0) if below == 0 else numba.int64(t.rec[below, STACKS_COST])
            cost = min(cost, t.rec[item_set, ITEMS_COST] + beneath)
        t.rec[stacks, STACKS_COST] = cost
    return stacks


@folded(INT(GRAMMAR, INT, INT, INT))
def merged(t, base, count, on_top):  # type: ignore[no-untyped-def]
    """Join pairs until no two have the same item set, nor on top the same stacks: their number.

    Below the top equal stacks are not joined: so the union of sets is the same record however it
    was made. As far as the unions of stacks are known: where one is not, these two are written to
    region MISSING, with the number of pairs, and the code UNKNOWN_UNION is returned.
    """
    while True:
        count = joined(t, base, count, on_top)
        if count < 0:
            return count
        changed = False
        i = numba.int64(0)
        while i < count:
            j = i + 1
            while j < count:
                if t.work[base + 2 * i] != t.work[base + 2 * j]:
                    j += 1
                    continue
                one, other = t.work[base + 2 * i + 1], t.work[base + 2 * j + 1]
                both = numba.int64(one)
                if one != other:
                    both = recall(t, key_of(UNION_STACKS, min(one, other), max(one, other)))
                if both == UNKNOWN:
                    missing = region(t, MISSING)
                    t.work[missing], t.work[missing + 1], t.work[missing + 2] = one, other, count
                    return numba.int64(UNKNOWN_UNION)
                t.work[base + 2 * i + 1] = both
                count -= 1
                t.work[base + 2 * j] = t.work[base + 2 * count]
                t.work[base + 2 * j + 1] = t.work[base + 2 * count + 1]
                changed = True
            i += 1
        if not changed:
            return count


@inner(INT(GRAMMAR, INT, INT))
def union_stacks(t, one, other):  # type: ignore[no-untyped-def]
    """The union of two sets of stacks, not closed.

    Those below the same item set are joined in turn, the lowest first.
    """
    base, todo, height = region(t, BEHIND), region(t, VISITED), numba.int64(1)
    t.work[todo], t.work[todo + 1] = one, other
    found = numba.int64(0)
    while height > 0:
        place = todo + 2 * height - 2
        one, other = numba.int64(t.work[place]), numba.int64(t.work[place + 1])
        key = key_of(UNION_STACKS, min(one, other), max(one, other))
        found = recall(t, key)
        if found != UNKNOWN:
            height -= 1
            continue
        count = numba.int64(0)
        for stacks in (one, other):
            start = numba.int64(t.rec[stacks, REC_START])
            size = numba.int64(t.rec[stacks, REC_SIZE])
            if count + size > t.info[REGION]:
                return needs_space(t, REGION)
            for i in range(size):
                t.work[base + count + i] = t.heap[start + i]
            count += size
        pairs = merged(t, base, count >> 1, numba.int64(0))
        if pairs == UNKNOWN_UNION:
            if 2 * height + 2 > t.info[REGION]:
                return needs_space(t, REGION)
            t.work[place + 2] = t.work[region(t, MISSING)]
            t.work[place + 3] = t.work[region(t, MISSING) + 1]
            height += 1
            continue
        found = pairs if pairs < 0 else stacks_of(t, base, pairs)
        if found >= 0:
            found = remember(t, key, found)
        if found < 0:
            return found
        height -= 1
    return found


@folded(INT(GRAMMAR, INT, INT, INT))
def with_one_stack_each(t, base, count, on_top):  # type: ignore[no-untyped-def]
    """`merged`, with all unions of stacks that it takes."""
    while True:
        pairs = merged(t, base, count, on_top)
        if pairs != UNKNOWN_UNION:
            return pairs
        missing = region(t, MISSING)
        count = numba.int64(t.work[missing + 2])
        both = union_stacks(t, numba.int64(t.work[missing]), numba.int64(t.work[missing + 1]))
        if both < 0:
            return both


@folded(INT(GRAMMAR, INT))
def opened(t, count):  # type: ignore[no-untyped-def]
    """Where item sets in region GROUPS are nullable, add what lies below: the number of pairs."""
    base, visited = region(t, GROUPS), region(t, VISITED)
    seen = numba.int64(0)
    i = numba.int64(0)
    while i < count:
        item_set, below = t.work[base + 2 * i], t.work[base + 2 * i + 1]
        # Pairs that are added are looked at in turn, so what lies several levels below comes up.
        if t.rec[item_set, ITEMS_NULLABLE] == 1 and below != 0:
            known = False
            for j in range(seen):
                if t.work[visited + j] == below:
                    known = True
                    break
            if not known:
                t.work[visited + seen] = below
                seen += 1
                start = numba.int64(t.rec[below, REC_START])
                size = numba.int64(t.rec[below, REC_SIZE])
                if 2 * count + size > t.info[REGION] or 2 * seen > t.info[REGION]:
                    return needs_space(t, REGION)
                for j in range(size):
                    t.work[base + 2 * count + j] = t.heap[start + j]
                count += size >> 1
        i += 1
    kept = numba.int64(0)
    for k in range(count):
        bare = t.rec[t.work[base + 2 * k], ITEMS_NON_EMPTY]
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
    start = numba.int64(t.rec[stacks, REC_START])
    for i in range(start, start + t.rec[stacks, REC_SIZE], 2):
        terminals = t.rec[t.heap[i], ITEMS_TERMINALS]
        first = numba.int64(t.rec[terminals, REC_START])
        for j in range(first, first + t.rec[terminals, REC_SIZE]):
            terminal = t.heap[j]
            if t.mark[shift + terminal] != stamp:
                t.mark[shift + terminal] = stamp
                t.work[base + count] = terminal
                count += 1
    sort(t.work, base, count)
    return call_intern(t, TERMINALS, base, count)


@folded(INT(GRAMMAR, INT))
def lexer_start(t, terminals):  # type: ignore[no-untyped-def]
    """The LEXER record before any of the terminals: the start states of their DFAs behind a -1."""
    if t.rec[terminals, TERMINALS_LEXER] >= 0:
        return numba.int64(t.rec[terminals, TERMINALS_LEXER])
    base = region(t, SETS)
    start = numba.int64(t.rec[terminals, REC_START])
    count = numba.int64(t.rec[terminals, REC_SIZE])
    t.work[base] = -1
    for i in range(count):
        t.work[base + 1 + i] = fixed(t, T_START, t.heap[start + i])
    lexer = call_intern(t, LEXER, base, count + 1)
    if lexer >= 0:
        t.rec[terminals, TERMINALS_LEXER] = lexer
    return lexer


@folded(INT(GRAMMAR, INT, INT, INT, INT))
def described(t, stacks, ends, terminals, lexer):  # type: ignore[no-untyped-def]
    """Fill in the fields of a record of stacks: accepting, terminals, lexer state. Returns it.

    NEED_SPACE if `lexer` is that code.
    """
    if lexer < 0:
        return lexer
    t.rec[stacks, STACKS_ACCEPTING] = ends
    t.rec[stacks, STACKS_TERMINALS] = terminals
    t.rec[stacks, STACKS_LEXER] = lexer
    return stacks


@inner(INT(GRAMMAR, INT))
def closed(t, count):  # type: ignore[no-untyped-def]
    """The closed STACKS record of `count` pairs in region GROUPS, with its fields; -1 if none."""
    base = region(t, GROUPS)
    count = opened(t, count)
    if count < 0:
        return count
    count = with_one_stack_each(t, base, count, numba.int64(1))
    if count < 0:
        return count
    if count == 0:
        return numba.int64(-1)
    if count > t.info[MANY_GROUPS]:
        return needs_space(t, MANY_GROUPS)
    stacks = stacks_of(t, base, count)
    if stacks < 0 or t.rec[stacks, STACKS_LEXER] >= 0:
        return stacks
    ends = numba.int64(0)
    for i in range(count):
        if t.work[base + 2 * i] == t.info[END_ITEM_SET]:
            ends = numba.int64(1)
    terminals = expected(t, stacks)
    if terminals < 0:
        return terminals
    t.rec[stacks, STACKS_CLOSED] = stacks
    return described(t, stacks, ends, terminals, lexer_start(t, terminals))


call_closed = called(closed, AT_CLOSED)


@inner(INT(GRAMMAR, INT, INT))
def returned_to(t, back, below):  # type: ignore[no-untyped-def]
    """The stacks on which a call leaves `back` to return to, above those below; or NEED_SPACE.

    Where nothing need be read of `back`, what lies below comes up here once and for all, and not
    each time that the call ends. So below the top no item set is nullable, and however deep such
    calls are nested, a set of stacks has few pairs.
    """
    base, count = region(t, PAIRS), numba.int64(1)
    t.work[base] = t.rec[back, ITEMS_NON_EMPTY]
    t.work[base + 1] = below
    if t.rec[back, ITEMS_NULLABLE] == 0:
        return stacks_of(t, base, count)
    start, size = numba.int64(t.rec[below, REC_START]), numba.int64(t.rec[below, REC_SIZE])
    if size + 2 > t.info[REGION]:
        return needs_space(t, REGION)
    for i in range(size):
        t.work[base + 2 + i] = t.heap[start + i]
    count = with_one_stack_each(t, base, 1 + (size >> 1), numba.int64(0))
    stacks = count if count < 0 else stacks_of(t, base, count)
    if stacks <= 0 or stacks == below:
        return stacks
    # What is below is among it, so joined with it later it stays as it is.
    return remember(t, key_of(UNION_STACKS, min(stacks, below), max(stacks, below)), stacks)


@inner(INT(GRAMMAR, INT, INT))
def scan(t, stacks, terminal):  # type: ignore[no-untyped-def]
    """The closed stacks after a terminal of a closed set, -1 when it does not fit."""
    key = key_of(SCAN, stacks, terminal)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    base, count = region(t, GROUPS), numba.int64(0)
    start = numba.int64(t.rec[stacks, REC_START])
    for i in range(start, start + t.rec[stacks, REC_SIZE], 2):
        below = t.heap[i + 1]
        place = goto(t, t.heap[i], terminal)
        if place < 0:
            return place
        if place == 0:
            continue
        calls = numba.int64(t.heap[place + 1])
        if 2 * (count + calls) + 2 > t.info[REGION]:
            return needs_space(t, REGION)
        if t.heap[place] >= 0:
            t.work[base + 2 * count] = t.heap[place]
            t.work[base + 2 * count + 1] = below
            count += 1
        for k in range(calls):
            back = t.heap[place + 3 + 2 * k]
            under = numba.int64(below)
            if t.rec[back, ITEMS_NON_EMPTY] >= 0:  # else nothing is left to do there
                under = returned_to(t, back, under)
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
def union_closed(t, one, other):  # type: ignore[no-untyped-def]
    """The union of two closed sets of stacks, closed; each may be -1 for none."""
    if one < 0 or other < 0:
        return max(one, other) if min(one, other) >= -1 else min(one, other)
    if one == other:
        return one
    base = region(t, GROUPS)
    count = numba.int64(0)
    for stacks in (one, other):
        start = numba.int64(t.rec[stacks, REC_START])
        size = numba.int64(t.rec[stacks, REC_SIZE])
        if 2 * count + size > t.info[REGION]:
            return needs_space(t, REGION)
        for i in range(size):
            t.work[base + 2 * count + i] = t.heap[start + i]
        count += size >> 1
    return call_closed(t, count)


call_union_closed = called(union_closed, AT_UNION_CLOSED)
