"""The lexer: byte DFAs of several terminals run side by side, with the ends of their lexemes.

A lexer state is the set of DFA states of all terminals that are being read. In Lark's order a
terminal that has matched for good shuts out those behind it, and one that still may match leaves a
lookahead condition ("that one does not match") on every end of those behind it; so does each
terminal's own longer match. *Spurious* terminals, which the LALR parser's state allows but the
grammar does not, are read as well: their states are copies that lead to no end (see
`lalr_guided`).

A literal that a pattern matches (a keyword that is a name) is not read by itself: it is *within*
that pattern, and the lexeme of the pattern is *renamed* where its text is the literal.

A terminal that *commits* ends at its first match, and there all that is read beside it ends, too,
without a match.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inner, lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.records import (
    LEXER_ENDINGS,
    LOOKAHEADS_VIOLATED,
    REC_ROW,
    REC_SIZE,
    REC_START,
)
from structgen.kernels.grammar.tables import (
    AT_ENDINGS,
    AT_LOOKAHEADS,
    AT_NEXT_LEXER,
    AT_NEXT_LOOKAHEADS,
    AT_UNION_LOOKAHEADS,
    BEFORE,
    ENDINGS,
    FAR,
    GRAMMAR,
    INT,
    L_VIOLATED,
    LEX,
    LEXER,
    LOOKAHEAD,
    LOOKAHEADS,
    NEED_SPACE,
    ORDERED,
    RENAME,
    RENAME_START,
    ROWS,
    S_DISTANCE,
    S_ENDS,
    S_NO_LONGER,
    S_NO_MATCH,
    S_TERMINAL,
    T_IGNORED,
    TERMINALS,
    WITHIN,
    WITHIN_START,
    call_intern,
    fixed,
    needs_space,
    region,
    reserve,
    sort,
)
from structgen.kernels.tables import DEAD

SATISFIED, VIOLATED = 0, 1  # lookahead states that nothing leads away from
# In S_ENDS: a lexeme may end in the state; it is a spurious terminal's; it is one's that commits.
ENDS, SPURIOUS, COMMITS = 1, 2, 3


@inner(INT(GRAMMAR, INT))
def row_of(t, record):  # type: ignore[no-untyped-def]
    """The row in `rows` of a record, made now if need be; or NEED_SPACE."""
    row = numba.int64(t.rec[record, REC_ROW])
    if row < 0:
        row = t.info[ROWS]
        if row >= t.rows.shape[0]:
            return needs_space(t, ROWS)
        t.info[ROWS] += 1
        t.rec[record, REC_ROW] = row
    return row


@inner(INT(GRAMMAR, INT, INT))
def is_within(t, lexer, state):  # type: ignore[no-untyped-def]
    """The index + 1 in a lexer state of a pattern that reads the literal of `state`, else 0.

    -1 where there are only patterns that match nothing: they keep the literal from being read.
    """
    terminal = fixed(t, S_TERMINAL, state)
    first, last = fixed(t, WITHIN_START, terminal), fixed(t, WITHIN_START, terminal + 1)
    found = numba.int64(0)
    if first == last:
        return found
    start = numba.int64(t.rec[lexer, REC_START])
    for i in range(start, start + t.rec[lexer, REC_SIZE]):
        other = t.heap[i]
        if other >= 0:
            pattern = fixed(t, S_TERMINAL, other)
            for j in range(first, last):
                if fixed(t, WITHIN, j) == pattern:
                    if fixed(t, S_NO_MATCH, other) != SATISFIED:
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


@inner(INT(GRAMMAR, INT))
def committed(t, count):  # type: ignore[no-untyped-def]
    """Keep in region LEX only terminals that commit here, if there are any: the number left."""
    base = region(t, LEX)
    kept = numba.int64(0)
    for i in range(count):
        if fixed(t, S_ENDS, t.work[base + i]) == COMMITS:
            t.work[base + kept] = t.work[base + i]
            kept += 1
    return kept if kept > 0 else numba.int64(count)


@inner(INT(GRAMMAR, INT, INT))
def next_lexer(t, lexer, byte_class):  # type: ignore[no-untyped-def]
    """The lexer state after a byte of a class, DEAD, or NEED_SPACE.

    DEAD where nothing can end any more, though spurious terminals may go on.
    """
    row = row_of(t, lexer)
    if row < 0:
        return row
    known = numba.int64(t.rows[row, byte_class])
    if known >= DEAD:
        return known
    base = region(t, LEX)
    start = numba.int64(t.rec[lexer, REC_START])
    size = numba.int64(t.rec[lexer, REC_SIZE])
    ordered = t.info[ORDERED] == 1
    count = numba.int64(0)
    alive = False  # something that is not the literal of a pattern can end
    words = False  # literals of patterns go on
    shut = False  # a terminal before the next ones has matched for good
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
        after = t.next[state, byte_class]
        if after >= 0:
            t.work[base + count] = after
            count += 1
            if fixed(t, S_DISTANCE, after) < FAR and not (literal or matched):
                alive = True
            if literal:
                words = True
            if ordered and not literal and fixed(t, S_NO_MATCH, after) == VIOLATED:
                matched = True
        if ordered and not literal and t.watch[fixed(t, S_NO_MATCH, state), byte_class] == VIOLATED:
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
        count = committed(t, count)
        sort(t.work, base, count)
        found = call_intern(t, LEXER, base, count)
        if found == NEED_SPACE:
            return found
    t.rows[row, byte_class] = found
    return found


call_next_lexer = called(next_lexer, AT_NEXT_LEXER)


@inner(INT(GRAMMAR, INT, INT))
def renamed(t, lexer, pattern):  # type: ignore[no-untyped-def]
    """The literal that a match of a pattern is, where the literal ends here too; else the pattern.

    pattern: its state. -1 for a spurious terminal, and for a literal that is ignored: Lark gives it
    to the parser where a pattern has read it.
    """
    terminal = fixed(t, S_TERMINAL, pattern)
    for j in range(fixed(t, RENAME_START, terminal), fixed(t, RENAME_START, terminal + 1)):
        literal = fixed(t, RENAME, j)
        start = numba.int64(t.rec[lexer, REC_START])
        for i in range(start, start + t.rec[lexer, REC_SIZE]):
            state = t.heap[i]
            if state >= 0 and fixed(t, S_TERMINAL, state) == literal:
                if fixed(t, S_ENDS, state) > 0:
                    fails = fixed(t, S_ENDS, state) == SPURIOUS or fixed(t, T_IGNORED, literal) > 0
                    return numba.int64(-1) if fails else literal
    return terminal if fixed(t, S_ENDS, pattern) == ENDS else numba.int64(-1)


@inner(INT(GRAMMAR, INT, INT))
def lookaheads_of(t, base, count):  # type: ignore[no-untyped-def]
    """The LOOKAHEADS record of the states work[base:base + count] (sorted here), 0 for none."""
    if count == 0:
        return numba.int64(0)
    sort(t.work, base, count)
    kept = numba.int64(0)
    fails = numba.int64(0)
    for i in range(count):
        lookahead = t.work[base + i]
        if kept == 0 or t.work[base + kept - 1] != lookahead:
            t.work[base + kept] = lookahead
            kept += 1
            if fixed(t, L_VIOLATED, lookahead) == 1:
                fails = numba.int64(1)
    lookaheads = call_intern(t, LOOKAHEADS, base, kept)
    if lookaheads >= 0:
        t.rec[lookaheads, LOOKAHEADS_VIOLATED] = fails
    return lookaheads


call_lookaheads_of = called(lookaheads_of, AT_LOOKAHEADS)


@inner(INT(GRAMMAR, INT, INT))
def grouped_endings(t, lexer, count):  # type: ignore[no-untyped-def]
    """Write the (terminal, lookaheads) pairs of region ENDINGS to the heap, by lookaheads."""
    found, base, out = region(t, ENDINGS), region(t, LOOKAHEAD), region(t, BEFORE)
    groups = numba.int64(0)
    for i in range(count):
        lookaheads = t.work[found + 2 * i + 1]
        if lookaheads < 0:
            continue
        size = numba.int64(0)
        for j in range(i, count):
            if t.work[found + 2 * j + 1] == lookaheads:
                t.work[base + size] = t.work[found + 2 * j]
                size += 1
                if j > i:
                    t.work[found + 2 * j + 1] = -1
        sort(t.work, base, size)
        terminals = call_intern(t, TERMINALS, base, size)
        if terminals < 0:
            return terminals
        t.work[out + 2 * groups] = terminals
        t.work[out + 2 * groups + 1] = lookaheads
        groups += 1
    place = reserve(t, 1 + 2 * groups, 0)
    if place < 0:
        return place
    t.heap[place] = groups
    for i in range(2 * groups):
        t.heap[place + 1 + i] = t.work[out + i]
    t.rec[lexer, LEXER_ENDINGS] = place
    return place


@lean(INT(GRAMMAR, INT))
def endings(t, lexer):  # type: ignore[no-untyped-def]
    """The ends of lexemes in a lexer state: a place in the heap, or NEED_SPACE.

    There: their number, then for each of them the TERMINALS it may be and the lookaheads on it.
    """
    if t.rec[lexer, LEXER_ENDINGS] >= 0:
        return numba.int64(t.rec[lexer, LEXER_ENDINGS])
    base, found, before = region(t, LOOKAHEAD), region(t, ENDINGS), region(t, BEFORE)
    start = numba.int64(t.rec[lexer, REC_START])
    ordered = t.info[ORDERED] == 1
    count = numba.int64(0)
    pending = numba.int64(0)
    for i in range(start, start + t.rec[lexer, REC_SIZE]):
        state = t.heap[i]
        if state < 0 or (ordered and is_within(t, lexer, state) != 0):
            continue
        terminal = numba.int64(-1)
        if fixed(t, S_ENDS, state) > 0:
            terminal = renamed(t, lexer, state) if ordered else fixed(t, S_TERMINAL, state)
        if terminal >= 0:
            for j in range(pending):
                t.work[base + j] = t.work[before + j]
            no_longer = fixed(t, S_NO_LONGER, state)
            t.work[base + pending] = no_longer
            lookaheads = call_lookaheads_of(t, base, pending + (1 if no_longer != SATISFIED else 0))
            if lookaheads < 0:
                return lookaheads
            t.work[found + 2 * count] = terminal
            t.work[found + 2 * count + 1] = lookaheads
            count += 1
        if ordered:
            no_match = fixed(t, S_NO_MATCH, state)
            if no_match == VIOLATED:  # it matches for good: nothing behind it in the order does
                break
            if no_match != SATISFIED:
                t.work[before + pending] = no_match
                pending += 1
    return grouped_endings(t, lexer, count)


call_endings = called(endings, AT_ENDINGS)


@lean(INT(GRAMMAR, INT, INT))
def next_lookaheads(t, lookaheads, byte_class):  # type: ignore[no-untyped-def]
    """The lookaheads after a byte: 0 when all are satisfied, DEAD when one is violated."""
    if lookaheads == 0:
        return numba.int64(0)
    row = row_of(t, lookaheads)
    if row < 0:
        return row
    known = numba.int64(t.rows[row, byte_class])
    if known >= DEAD:
        return known
    base = region(t, LOOKAHEAD)
    start = numba.int64(t.rec[lookaheads, REC_START])
    count = numba.int64(0)
    found = numba.int64(0)
    for i in range(start, start + t.rec[lookaheads, REC_SIZE]):
        after = t.watch[t.heap[i], byte_class]
        if after == VIOLATED:
            found = numba.int64(DEAD)
            break
        if after != SATISFIED:
            t.work[base + count] = after
            count += 1
    if found == 0:
        found = call_lookaheads_of(t, base, count)
        if found < 0:
            return found
    t.rows[row, byte_class] = found
    return found


call_next_lookaheads = called(next_lookaheads, AT_NEXT_LOOKAHEADS)


@inner(INT(GRAMMAR, INT, INT))
def union_lookaheads(t, one, other):  # type: ignore[no-untyped-def]
    """All lookaheads of two sets."""
    if one == 0 or other == 0 or one == other:
        return max(one, other)
    base = region(t, LOOKAHEAD)
    count = numba.int64(0)
    for lookaheads in (one, other):
        start = numba.int64(t.rec[lookaheads, REC_START])
        for i in range(start, start + t.rec[lookaheads, REC_SIZE]):
            t.work[base + count] = t.heap[i]
            count += 1
    return call_lookaheads_of(t, base, count)


call_union_lookaheads = called(union_lookaheads, AT_UNION_LOOKAHEADS)
