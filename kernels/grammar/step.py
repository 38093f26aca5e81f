"""Positions of a grammar: reads bytes, says whether the text may end.

A position is a set of threads. A thread is a lexer state within a lexeme, the stacks before that
lexeme, and the lookaheads on the lexemes before it. A lexeme that may end is not ended until the
next byte, so that one thread is the usual case: without lookaheads it is packed into the position
as `lexer state << 31 | stacks`; other positions are THREADS records, marked by bit 62.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.indentation import (
    COUNTS,
    LATER,
    NO_WIDTH,
    call_scan_any,
    call_scan_laid,
    counted,
)
from structgen.kernels.grammar.lexer import (
    call_endings,
    call_next_lexer,
    call_next_lookaheads,
    call_union_lookaheads,
    row_of,
)
from structgen.kernels.grammar.records import (
    LEXER_ENDINGS,
    LEXER_WIDTH,
    LOOKAHEADS_VIOLATED,
    REC_ROW,
    REC_SIZE,
    REC_START,
    STACKS_ACCEPTING,
    STACKS_COST,
    STACKS_LEXER,
)
from structgen.kernels.grammar.stacks import call_union_closed
from structgen.kernels.grammar.tables import (
    AT_IS_ACCEPTING,
    AT_STEP,
    C_COLUMNS,
    CHECKED,
    CLASS,
    FAR,
    FINAL,
    GRAMMAR,
    I64_2,
    INT,
    MANY_GROUPS,
    NEWLINE,
    ORDERED,
    REACHED,
    READ,
    REGION,
    S_DISTANCE,
    S_TERMINAL,
    SCAN,
    SCANS,
    T_IGNORED,
    T_START,
    THREADS,
    call_intern,
    fixed,
    key_of,
    needs_space,
    region,
)
from structgen.kernels.grammar.viability import ALWAYS, NEVER, finishable
from structgen.kernels.tables import BYTES, DEAD, I32, I64, find

SEVERAL = 1 << 62  # marks positions that are records, and what `quick` cannot tell
LOW = (1 << 31) - 1  # the bits of a position that hold the stacks, or the record


@inlined
def unpack(t, at):  # type: ignore[no-untyped-def]
    """Write the threads of a position to region READ; returns their number."""
    base = region(t, READ)
    if at < SEVERAL:
        t.work[base] = at >> 31
        t.work[base + 1] = at & LOW
        t.work[base + 2] = 0
        return numba.int64(1)
    record = at & LOW
    start = numba.int64(t.rec[record, REC_START])
    size = numba.int64(t.rec[record, REC_SIZE])
    for i in range(size):
        t.work[base + i] = t.heap[start + i]
    return size // 3


@inner(INT(GRAMMAR, INT, INT, INT))
def reach(t, count, lexer, stacks_lookaheads):  # type: ignore[no-untyped-def]
    """Add a thread to region REACHED, or join it to one there: the number of threads now.

    stacks_lookaheads: stacks << 31 | lookaheads.
    """
    stacks, lookaheads = stacks_lookaheads >> 31, stacks_lookaheads & LOW
    base = region(t, REACHED)
    for i in range(count):
        if t.work[base + 3 * i] == lexer and t.work[base + 3 * i + 2] == lookaheads:
            if t.work[base + 3 * i + 1] == stacks:
                return count
            if t.info[ORDERED] == 0:  # in Lark's order the stacks decide what the lexer looks for
                both = call_union_closed(t, numba.int64(t.work[base + 3 * i + 1]), stacks)
                if both < 0:
                    return both
                t.work[base + 3 * i + 1] = both
                return count
    if 3 * count + 3 > t.info[REGION]:
        return needs_space(t, REGION)
    if count >= t.info[MANY_GROUPS]:
        return needs_space(t, MANY_GROUPS)
    t.work[base + 3 * count] = lexer
    t.work[base + 3 * count + 1] = stacks
    t.work[base + 3 * count + 2] = lookaheads
    return count + 1


@inner(INT(GRAMMAR, INT, INT, INT))
def follow(t, thread, byte_class, count):  # type: ignore[no-untyped-def]
    """Read a byte in a thread of region READ: the number of threads reached until now.

    Its lexeme may go on, or may have ended before the byte in each of several ways.
    """
    place = region(t, READ) + 3 * thread
    lexer = numba.int64(t.work[place])
    stacks = numba.int64(t.work[place + 1])
    lookaheads = call_next_lookaheads(t, numba.int64(t.work[place + 2]), byte_class)
    if lookaheads < 0:
        return count if lookaheads == DEAD else lookaheads
    # The lexeme goes on with the byte ...
    after = call_next_lexer(t, lexer, byte_class)
    if after >= 0:
        wider = counted(t, stacks, after, byte_class)
        if wider < 0:
            return wider
        count = reach(t, count, after, (wider << 31) | lookaheads)
        if count < 0:
            return count
    elif after != DEAD:
        return after
    # ... or has ended before it, and the byte begins the next one.
    ends = call_endings(t, lexer)
    if ends < 0:
        return ends
    for i in range(t.heap[ends]):
        own = call_next_lookaheads(t, numba.int64(t.heap[ends + 2 + 2 * i]), byte_class)
        if own == DEAD:
            continue
        if own < 0:
            return own
        beyond = call_scan_any(t, stacks, numba.int64(t.heap[ends + 1 + 2 * i]))
        if beyond == DEAD:
            continue
        if beyond < 0:
            return beyond
        first = call_next_lexer(t, numba.int64(t.rec[beyond, STACKS_LEXER]), byte_class)
        if first == DEAD:
            continue
        if first < 0:
            return first
        beyond = counted(t, beyond, first, byte_class)
        if beyond < 0:
            return beyond
        both = call_union_lookaheads(t, lookaheads, own)
        if both < 0:
            return both
        count = reach(t, count, first, (beyond << 31) | both)
        if count < 0:
            return count
    return count


@inner(INT(GRAMMAR, INT))
def packed(t, count):  # type: ignore[no-untyped-def]
    """The position of the threads in region REACHED, DEAD if there are none."""
    base = region(t, REACHED)
    for i in range(1, count):  # few of them: sorted by insertion
        a, b, c = t.work[base + 3 * i], t.work[base + 3 * i + 1], t.work[base + 3 * i + 2]
        j = i - 1
        while j >= 0 and (
            t.work[base + 3 * j] > a
            or (t.work[base + 3 * j] == a and t.work[base + 3 * j + 1] > b)
            or (
                t.work[base + 3 * j] == a
                and t.work[base + 3 * j + 1] == b
                and t.work[base + 3 * j + 2] > c
            )
        ):
            for k in range(3):
                t.work[base + 3 * j + 3 + k] = t.work[base + 3 * j + k]
            j -= 1
        t.work[base + 3 * j + 3] = a
        t.work[base + 3 * j + 4] = b
        t.work[base + 3 * j + 5] = c
    if count == 0:
        return numba.int64(DEAD)
    if count == 1 and t.work[base + 2] == 0:
        return (numba.int64(t.work[base]) << 31) | numba.int64(t.work[base + 1])
    record = call_intern(t, THREADS, base, 3 * count)
    return record if record < 0 else record | SEVERAL


@inlined
def known_after(t, record, byte_class):  # type: ignore[no-untyped-def]
    """The record (of the same kind) after a byte, DEAD, or -2 if that is not in `rows` yet."""
    row = t.rec[record, REC_ROW]
    after = numba.int64(-2)
    if row >= 0:
        after = numba.int64(t.rows[row, byte_class])
    return after


@inlined
def known_beyond(t, stacks, terminals):  # type: ignore[no-untyped-def]
    """The stacks after terminals, DEAD, or UNKNOWN if that is not memoised yet."""
    start = t.rec[terminals, REC_START]
    key = key_of(SCANS, stacks, terminals)
    if t.rec[terminals, REC_SIZE] == 1 and fixed(t, T_IGNORED, t.heap[start]) == 0:
        key = key_of(SCAN, stacks, t.heap[start])
    return find(t.memo, key)


@inlined
def quick(t, at, byte_class):  # type: ignore[no-untyped-def]
    """`step` where everything is known, from one thread to at most one; else SEVERAL.

    This is the inner loop of walks: no other kernel is called.
    """
    if at >= SEVERAL or t.info[CHECKED] == ALWAYS:
        return numba.int64(SEVERAL)
    lexer, stacks = at >> 31, at & LOW
    found = known_after(t, lexer, byte_class)
    ends = numba.int64(t.rec[lexer, LEXER_ENDINGS])
    if found < DEAD or ends < 0:
        return numba.int64(SEVERAL)
    if found >= 0:
        if t.info[NEWLINE] >= 0 and t.rec[found, LEXER_WIDTH] != NO_WIDTH:
            stays = t.rec[found, LEXER_WIDTH] == LATER and t.rec[lexer, LEXER_WIDTH] == LATER
            if not stays and (
                t.rec[found, LEXER_WIDTH] != COUNTS or fixed(t, C_COLUMNS, byte_class) != 0
            ):
                return numba.int64(SEVERAL)
        found = (found << 31) | stacks
    for i in range(t.heap[ends]):
        lookaheads = numba.int64(t.heap[ends + 2 + 2 * i])
        own = numba.int64(0)
        if lookaheads != 0:
            own = known_after(t, lookaheads, byte_class)
        if own == DEAD:
            continue
        beyond = known_beyond(t, stacks, numba.int64(t.heap[ends + 1 + 2 * i]))
        if beyond == DEAD and own == 0:
            continue
        if own != 0 or beyond < 0:
            return numba.int64(SEVERAL)
        first = known_after(t, t.rec[beyond, STACKS_LEXER], byte_class)
        if first == DEAD:
            continue
        if (
            first < 0
            or found != DEAD
            or (t.info[NEWLINE] >= 0 and t.rec[first, LEXER_WIDTH] != NO_WIDTH)
        ):
            return numba.int64(SEVERAL)
        found = (first << 31) | beyond
    return found


@inner(INT(GRAMMAR, INT))
def position_of(t, count):  # type: ignore[no-untyped-def]
    """The position of the threads in region REACHED, dead ends left out where that is checked."""
    if t.info[CHECKED] != NEVER:
        count = finishable(t, count)
        if count < 0:
            return count
    return packed(t, count)


@lean(INT(GRAMMAR, INT, INT))
def step(t, at, byte):  # type: ignore[no-untyped-def]
    """Read one byte. Returns a position, DEAD, or a NEED_* code; then call again."""
    byte_class = fixed(t, CLASS, byte)
    threads = unpack(t, at)
    count = numba.int64(0)
    for i in range(threads):
        count = follow(t, i, byte_class, count)
        if count < 0:
            return count
    return position_of(t, count)


call_step = called(step, AT_STEP)


@inlined
def record_of(t, at):  # type: ignore[no-untyped-def]
    """The THREADS record of a position, or NEED_SPACE."""
    if at >= SEVERAL:
        return at & LOW
    base = region(t, REACHED)
    t.work[base] = at >> 31
    t.work[base + 1] = at & LOW
    t.work[base + 2] = 0
    return call_intern(t, THREADS, base, 3)


@inlined
def position_at(t, record):  # type: ignore[no-untyped-def]
    """The position of a THREADS record."""
    start = t.rec[record, REC_START]
    if t.rec[record, REC_SIZE] > 3 or t.heap[start + 2] != 0:
        return numba.int64(record) | SEVERAL
    return (numba.int64(t.heap[start]) << 31) | numba.int64(t.heap[start + 1])


@inlined
def quick_in_walk(t, at, byte_class):  # type: ignore[no-untyped-def]
    """`quick`, and for several threads what `step_in_walk` has noted; else SEVERAL."""
    if at < SEVERAL:
        return quick(t, at, byte_class)
    after = known_after(t, at & LOW, byte_class)
    if after >= 0:
        return position_at(t, after)
    return after if after == DEAD else numba.int64(SEVERAL)


@inner(INT(GRAMMAR, INT, INT))
def step_in_walk(t, at, byte):  # type: ignore[no-untyped-def]
    """`step`, noted in the row of a THREADS record, which even one thread gets here.

    A walk over a trie comes to the same set of threads on many branches: sets are merged after each
    byte, so there are few of them however many ways there are to read a text.
    """
    record = record_of(t, at)
    row = record if record < 0 else row_of(t, record)
    if row < 0:
        return row
    byte_class = fixed(t, CLASS, byte)
    after = numba.int64(t.rows[row, byte_class])
    if after >= DEAD:
        return after if after == DEAD else position_at(t, after)
    found = call_step(t, at, byte)
    if found < DEAD:
        return found
    after = found if found == DEAD else record_of(t, found)
    if after < DEAD:
        return after
    t.rows[row, byte_class] = after
    return found


@inner(INT(GRAMMAR, INT, BYTES, I64))
def read(t, at, data, place):  # type: ignore[no-untyped-def]
    """Read data[place[0]:]. Returns a position, DEAD, or a NEED_* code.

    place: int64[2], set to the number of bytes read and the position behind them.
    """
    while place[0] < data.shape[0]:
        byte = numba.int64(data[place[0]])
        after = quick(t, at, fixed(t, CLASS, byte))
        if after == SEVERAL:
            after = call_step(t, at, byte)
        if after < 0:
            place[1] = at
            return after
        at = after
        place[0] += 1
    place[1] = at
    return at


@inner(INT(GRAMMAR, INT))
def may_end(t, stacks):  # type: ignore[no-untyped-def]
    """1 if the text may end at stacks, or could behind a final terminal, else 0; NEED_SPACE."""
    if t.rec[stacks, STACKS_ACCEPTING] == 1 or t.info[FINAL] < 0:
        return numba.int64(t.rec[stacks, STACKS_ACCEPTING])
    beyond = call_scan_laid(t, stacks, t.info[FINAL])
    if beyond < 0:
        return numba.int64(0) if beyond == DEAD else beyond
    return numba.int64(t.rec[beyond, STACKS_ACCEPTING])


@lean(INT(GRAMMAR, INT))
def is_accepting(t, at):  # type: ignore[no-untyped-def]
    """1 if the text may end at a position, 0 if not, or NEED_SPACE."""
    threads = unpack(t, at)
    base = region(t, READ)
    for i in range(threads):
        lexer = numba.int64(t.work[base + 3 * i])
        stacks = numba.int64(t.work[base + 3 * i + 1])
        lookaheads = t.work[base + 3 * i + 2]
        if lookaheads != 0 and t.rec[lookaheads, LOOKAHEADS_VIOLATED] == 1:
            continue
        if lexer == t.rec[stacks, STACKS_LEXER]:
            found = may_end(t, stacks)
            if found != 0:
                return found
        ends = call_endings(t, lexer)
        if ends < 0:
            return ends
        for j in range(t.heap[ends]):
            own = t.heap[ends + 2 + 2 * j]
            if own != 0 and t.rec[own, LOOKAHEADS_VIOLATED] == 1:
                continue
            beyond = call_scan_any(t, stacks, numba.int64(t.heap[ends + 1 + 2 * j]))
            found = beyond if beyond < 0 else may_end(t, beyond)
            if found < DEAD or found == 1:
                return found
    return numba.int64(0)


call_is_accepting = called(is_accepting, AT_IS_ACCEPTING)


@lean(INT(GRAMMAR, INT))
def bound(t, at):  # type: ignore[no-untyped-def]
    """A lower bound on the bytes from a position to the end of a text, or NEED_SPACE."""
    threads = unpack(t, at)
    base = region(t, READ)
    least = numba.int64(FAR)
    for i in range(threads):
        lexer = numba.int64(t.work[base + 3 * i])
        stacks = numba.int64(t.work[base + 3 * i + 1])
        if lexer == t.rec[stacks, STACKS_LEXER]:
            least = min(least, numba.int64(t.rec[stacks, STACKS_COST]))
        start = numba.int64(t.rec[lexer, REC_START])
        for j in range(start, start + t.rec[lexer, REC_SIZE]):
            state = t.heap[j]
            if state < 0 or fixed(t, S_DISTANCE, state) >= least:
                continue
            terminal = fixed(t, S_TERMINAL, state)
            beyond = call_scan_laid(t, stacks, terminal)
            if beyond < DEAD:
                return beyond
            cost = numba.int64(FAR) if beyond < 0 else numba.int64(t.rec[beyond, STACKS_COST])
            if fixed(t, T_IGNORED, terminal) == 1:
                cost = min(cost, numba.int64(t.rec[stacks, STACKS_COST]))
            least = min(least, fixed(t, S_DISTANCE, state) + cost)
    if t.info[FINAL] >= 0 and least < FAR:
        last = fixed(t, S_DISTANCE, fixed(t, T_START, t.info[FINAL]))
        least = max(numba.int64(0), least - last)
    return least


@lean(INT(GRAMMAR, INT, I32, I64_2))
def expand(t, at, data, out):  # type: ignore[no-untyped-def]
    """`step` with each byte of `data`, and `bound` of where it leads: out[i] = (position, bound).

    Returns 0, or a NEED_* code.
    """
    for i in range(data.shape[0]):
        after = call_step(t, at, numba.int64(data[i]))
        if after < DEAD:
            return after
        out[i, 0] = after
        if after >= 0:
            out[i, 1] = bound(t, after)
            if out[i, 1] < 0:
                return out[i, 1]
    return numba.int64(0)
