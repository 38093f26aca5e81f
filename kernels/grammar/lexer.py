"""In: tables, a set of automata's states, a byte. Out: the next set, the ends of lexemes, watches.

A lexer state reads all terminals side by side that a place allows. In Lark's order a terminal
that has matched for good shuts out those behind it, and one that still may match leaves a watch on
every end of those behind it. Terminals that the parser does not go on with may be looked for in
vain: their states are copies that lead to no end (see `grammar_guided`).
"""

from __future__ import annotations

import numba

from structgen.kernels.build.decorators import called, inner, lean
from structgen.kernels.grammar.tables import (
    AT_BOTH_WATCHES,
    AT_ENDINGS,
    AT_NEXT_LEXER,
    AT_NEXT_WATCHES,
    AT_WATCHES,
    BEFORE,
    ENDINGS,
    GRAMMAR,
    INT,
    LEX,
    LEXER,
    NEED_SPACE,
    ORDERED,
    RENAME,
    RENAME_START,
    ROWS,
    S_DISTANCE,
    S_ENDS,
    S_MATCH,
    S_OWN,
    S_TERMINAL,
    T_IGNORED,
    TERMINALS,
    W_FAILS,
    WATCH,
    WATCHES,
    WITHIN,
    WITHIN_START,
    call_intern,
    fixed,
    lacks,
    region,
    reserve,
    sort,
)
from structgen.kernels.tables import DEAD

FAR = 1 << 28
ENDS, IN_VAIN = 1, 2  # what a terminal does that ends at a state: go on in the grammar, or fail


@inner(INT(GRAMMAR, INT))
def row_of(t, record):  # type: ignore[no-untyped-def]
    """The row of a lexer state or of watches, or NEED_SPACE."""
    row = numba.int64(t.rec[record, 3])
    if row < 0:
        row = t.info[ROWS]
        if row >= t.rows.shape[0]:
            return lacks(t, ROWS)
        t.info[ROWS] += 1
        t.rec[record, 3] = row
    return row


@inner(INT(GRAMMAR, INT, INT))
def is_within(t, lexer, state):  # type: ignore[no-untyped-def]
    """The place + 1 in a lexer state of a pattern that reads the literal of `state`, else 0.

    -1 where there are only patterns that match nothing: they keep the literal from being read.
    """
    terminal = fixed(t, S_TERMINAL, state)
    first, last = fixed(t, WITHIN_START, terminal), fixed(t, WITHIN_START, terminal + 1)
    found = numba.int64(0)
    if first == last:
        return found
    start = numba.int64(t.rec[lexer, 0])
    for i in range(start, start + t.rec[lexer, 1]):
        other = t.heap[i]
        if other >= 0:
            pattern = fixed(t, S_TERMINAL, other)
            for j in range(first, last):
                if fixed(t, WITHIN, j) == pattern:
                    if fixed(t, S_MATCH, other) != 0:
                        return i - start + 1
                    found = numba.int64(-1)
    return found


@inner(INT(GRAMMAR, INT, INT, INT))
def without_orphans(t, lexer, count, by):  # type: ignore[no-untyped-def]
    """Drop from region LEX the literals whose patterns have been shut out: the number left.

    by: the terminal that shuts out. A literal that is looked for by itself as well, behind its
    patterns, stays if it goes before that.
    """
    base = region(t, LEX)
    kept = numba.int64(0)
    for i in range(count):
        state = t.work[base + i]
        terminal = fixed(t, S_TERMINAL, state)
        first, last = fixed(t, WITHIN_START, terminal), fixed(t, WITHIN_START, terminal + 1)
        stays = is_within(t, lexer, state) == 0
        if not stays:
            stays = terminal < by and fixed(t, WITHIN, last - 1) < terminal
        for j in range(first, last):
            for k in range(count):
                if fixed(t, S_TERMINAL, t.work[base + k]) == fixed(t, WITHIN, j):
                    stays = True
        if stays:
            t.work[base + kept] = state
            kept += 1
    return kept


@inner(INT(GRAMMAR, INT, INT))
def next_lexer(t, lexer, kind):  # type: ignore[no-untyped-def]
    """The lexer state after a byte of class `kind`, DEAD, or NEED_SPACE."""
    row = row_of(t, lexer)
    if row < 0:
        return row
    known = numba.int64(t.rows[row, kind])
    if known >= DEAD:
        return known
    base = region(t, LEX)
    start = numba.int64(t.rec[lexer, 0])
    size = numba.int64(t.rec[lexer, 1])
    ordered = t.info[ORDERED] == 1
    count = numba.int64(0)
    alive = False  # something that is not the literal of a pattern can end
    words = False
    shut = False
    by = numba.int64(0)  # the terminal that shuts out those behind it
    matched = False  # by this byte; what it shuts out is not alive
    for i in range(size):
        state = t.heap[start + i]
        if state < 0:
            continue
        within = is_within(t, lexer, state) if ordered else numba.int64(0)
        literal = within > 0
        if within < 0 or (shut and not literal):
            continue
        after = t.next[state, kind]
        if after >= 0:
            t.work[base + count] = after
            count += 1
            if fixed(t, S_DISTANCE, after) < FAR and not (literal or matched):
                alive = True
            if literal:
                words = True
            if ordered and not literal and fixed(t, S_MATCH, after) == 1:
                matched = True
        if ordered and not literal and t.watch[fixed(t, S_MATCH, state), kind] == 1:
            if not shut:
                by = fixed(t, S_TERMINAL, state)
            shut = True
    found = numba.int64(DEAD)
    if shut and words:
        count = without_orphans(t, lexer, count, by)
    for i in range(count if words and not alive else 0):
        after = t.work[base + i]
        if fixed(t, S_DISTANCE, after) < FAR and is_within(t, lexer, after) > 0:
            alive = True
    if alive:
        sort(t.work, base, count)
        found = call_intern(t, LEXER, base, count)
        if found == NEED_SPACE:
            return found
    t.rows[row, kind] = found
    return found


call_next_lexer = called(next_lexer, AT_NEXT_LEXER)


@inner(INT(GRAMMAR, INT, INT))
def renamed(t, lexer, pattern):  # type: ignore[no-untyped-def]
    """The literal that a match of a pattern is, when it ends here too; else the pattern.

    pattern: its state. -1 for a terminal that is looked for in vain, and for a literal that is
    ignored: Lark gives it to the parser where a pattern has read it.
    """
    terminal = fixed(t, S_TERMINAL, pattern)
    for j in range(fixed(t, RENAME_START, terminal), fixed(t, RENAME_START, terminal + 1)):
        literal = fixed(t, RENAME, j)
        start = numba.int64(t.rec[lexer, 0])
        for i in range(start, start + t.rec[lexer, 1]):
            state = t.heap[i]
            if state >= 0 and fixed(t, S_TERMINAL, state) == literal:
                if fixed(t, S_ENDS, state) > 0:
                    fails = fixed(t, S_ENDS, state) == IN_VAIN or fixed(t, T_IGNORED, literal) > 0
                    return numba.int64(-1) if fails else literal
    return terminal if fixed(t, S_ENDS, pattern) == ENDS else numba.int64(-1)


@inner(INT(GRAMMAR, INT, INT))
def watches_of(t, base, count):  # type: ignore[no-untyped-def]
    """The WATCHES record of the states work[base:base + count] (sorted here), 0 for none."""
    if count == 0:
        return numba.int64(0)
    sort(t.work, base, count)
    kept = numba.int64(0)
    fails = numba.int64(0)
    for i in range(count):
        watch = t.work[base + i]
        if kept == 0 or t.work[base + kept - 1] != watch:
            t.work[base + kept] = watch
            kept += 1
            if fixed(t, W_FAILS, watch) == 1:
                fails = numba.int64(1)
    watches = call_intern(t, WATCHES, base, kept)
    if watches >= 0:
        t.rec[watches, 4] = fails
    return watches


call_watches_of = called(watches_of, AT_WATCHES)


@inner(INT(GRAMMAR, INT, INT))
def grouped_endings(t, lexer, count):  # type: ignore[no-untyped-def]
    """Write the (terminal, watches) pairs of region ENDINGS to the heap, terminals as sets."""
    found, base, out = region(t, ENDINGS), region(t, WATCH), region(t, BEFORE)
    groups = numba.int64(0)
    for i in range(count):
        watches = t.work[found + 2 * i + 1]
        if watches < 0:
            continue
        size = numba.int64(0)
        for j in range(i, count):
            if t.work[found + 2 * j + 1] == watches:
                t.work[base + size] = t.work[found + 2 * j]
                size += 1
                if j > i:
                    t.work[found + 2 * j + 1] = -1
        sort(t.work, base, size)
        terminals = call_intern(t, TERMINALS, base, size)
        if terminals < 0:
            return terminals
        t.work[out + 2 * groups] = terminals
        t.work[out + 2 * groups + 1] = watches
        groups += 1
    place = reserve(t, 1 + 2 * groups, 0)
    if place < 0:
        return place
    t.heap[place] = groups
    for i in range(2 * groups):
        t.heap[place + 1 + i] = t.work[out + i]
    t.rec[lexer, 4] = place
    return place


@lean(INT(GRAMMAR, INT))
def endings(t, lexer):  # type: ignore[no-untyped-def]
    """The ends of lexemes at a lexer state: a place in the heap, or NEED_SPACE.

    There: their number, then for each of them the TERMINALS it may be and the watches on it.
    """
    if t.rec[lexer, 4] >= 0:
        return numba.int64(t.rec[lexer, 4])
    base, found, before = region(t, WATCH), region(t, ENDINGS), region(t, BEFORE)
    start = numba.int64(t.rec[lexer, 0])
    ordered = t.info[ORDERED] == 1
    count = numba.int64(0)
    pending = numba.int64(0)
    for i in range(start, start + t.rec[lexer, 1]):
        state = t.heap[i]
        if state < 0 or (ordered and is_within(t, lexer, state) != 0):
            continue
        terminal = numba.int64(-1)
        if fixed(t, S_ENDS, state) > 0:
            terminal = renamed(t, lexer, state) if ordered else fixed(t, S_TERMINAL, state)
        if terminal >= 0:
            for j in range(pending):
                t.work[base + j] = t.work[before + j]
            own = fixed(t, S_OWN, state)
            t.work[base + pending] = own
            watches = call_watches_of(t, base, pending + (1 if own != 0 else 0))
            if watches < 0:
                return watches
            t.work[found + 2 * count] = terminal
            t.work[found + 2 * count + 1] = watches
            count += 1
        if ordered:
            match = fixed(t, S_MATCH, state)
            if match == 1:
                break
            if match != 0:
                t.work[before + pending] = match
                pending += 1
    return grouped_endings(t, lexer, count)


call_endings = called(endings, AT_ENDINGS)


@lean(INT(GRAMMAR, INT, INT))
def next_watches(t, watches, kind):  # type: ignore[no-untyped-def]
    """The watches after a byte, 0 when all have ended well, DEAD when one is broken."""
    if watches == 0:
        return numba.int64(0)
    row = row_of(t, watches)
    if row < 0:
        return row
    known = numba.int64(t.rows[row, kind])
    if known >= DEAD:
        return known
    base = region(t, WATCH)
    start = numba.int64(t.rec[watches, 0])
    count = numba.int64(0)
    found = numba.int64(0)
    for i in range(start, start + t.rec[watches, 1]):
        after = t.watch[t.heap[i], kind]
        if after == 1:
            found = numba.int64(DEAD)
            break
        if after != 0:
            t.work[base + count] = after
            count += 1
    if found == 0:
        found = call_watches_of(t, base, count)
        if found < 0:
            return found
    t.rows[row, kind] = found
    return found


call_next_watches = called(next_watches, AT_NEXT_WATCHES)


@inner(INT(GRAMMAR, INT, INT))
def both_watches(t, one, other):  # type: ignore[no-untyped-def]
    """All watches of two sets."""
    if one == 0 or other == 0 or one == other:
        return max(one, other)
    base = region(t, WATCH)
    count = numba.int64(0)
    for watches in (one, other):
        start = numba.int64(t.rec[watches, 0])
        for i in range(start, start + t.rec[watches, 1]):
            t.work[base + count] = t.heap[i]
            count += 1
    return call_watches_of(t, base, count)


call_both_watches = called(both_watches, AT_BOTH_WATCHES)
