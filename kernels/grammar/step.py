"""In: tables, a position, bytes. Out: the position after them, whether the text may end there.

A position is a set of threads. A thread is a lexer state within a lexeme, the stacks before that
lexeme, and watches on the lexemes before it that must not turn out otherwise. A lexeme that may end
is not ended until the next byte, so that one thread is the usual case: it is packed into the
position as `lexer state << 31 | stacks`; other positions are records, marked by bit 62.
"""

from __future__ import annotations

import numba

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.grammar.indentation import (
    COUNTS,
    LATER,
    NO_WIDTH,
    call_scan_any,
    call_scan_laid,
    counted,
)
from structgen.kernels.grammar.lexer import (
    call_both_watches,
    call_endings,
    call_next_lexer,
    call_next_watches,
)
from structgen.kernels.grammar.stacks import call_either
from structgen.kernels.grammar.tables import (
    AT_IS_ACCEPTING,
    AT_STEP,
    C_COLUMNS,
    CHECKED,
    CLASS,
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
    lacks,
    region,
)
from structgen.kernels.grammar.viability import ALWAYS, NEVER, finishable
from structgen.kernels.tables import BYTES, DEAD, I32, I64, find

SEVERAL = 1 << 62
LOW = (1 << 31) - 1
FAR = 1 << 28


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
    start = numba.int64(t.rec[record, 0])
    size = numba.int64(t.rec[record, 1])
    for i in range(size):
        t.work[base + i] = t.heap[start + i]
    return size // 3


@inner(INT(GRAMMAR, INT, INT, INT))
def reach(t, count, lexer, stacks_watches):  # type: ignore[no-untyped-def]
    """Add a thread to region REACHED, or join it to one there: the number of threads now.

    stacks_watches: stacks << 31 | watches.
    """
    stacks, watches = stacks_watches >> 31, stacks_watches & LOW
    base = region(t, REACHED)
    for i in range(count):
        if t.work[base + 3 * i] == lexer and t.work[base + 3 * i + 2] == watches:
            if t.work[base + 3 * i + 1] == stacks:
                return count
            if t.info[ORDERED] == 0:  # in Lark's order the stacks decide what the lexer looks for
                both = call_either(t, numba.int64(t.work[base + 3 * i + 1]), stacks)
                if both < 0:
                    return both
                t.work[base + 3 * i + 1] = both
                return count
    if 3 * count + 3 > t.info[REGION]:
        return lacks(t, REGION)
    if count >= t.info[MANY_GROUPS]:
        return lacks(t, MANY_GROUPS)
    t.work[base + 3 * count] = lexer
    t.work[base + 3 * count + 1] = stacks
    t.work[base + 3 * count + 2] = watches
    return count + 1


@inner(INT(GRAMMAR, INT, INT, INT))
def follow(t, thread, kind, count):  # type: ignore[no-untyped-def]
    """Read a byte in a thread of region READ: the number of threads reached until now."""
    place = region(t, READ) + 3 * thread
    lexer = numba.int64(t.work[place])
    stacks = numba.int64(t.work[place + 1])
    watches = call_next_watches(t, numba.int64(t.work[place + 2]), kind)
    if watches < 0:
        return count if watches == DEAD else watches
    after = call_next_lexer(t, lexer, kind)
    if after >= 0:
        wider = counted(t, stacks, after, kind)
        if wider < 0:
            return wider
        count = reach(t, count, after, (wider << 31) | watches)
        if count < 0:
            return count
    elif after != DEAD:
        return after
    ends = call_endings(t, lexer)
    if ends < 0:
        return ends
    for i in range(t.heap[ends]):
        own = call_next_watches(t, numba.int64(t.heap[ends + 2 + 2 * i]), kind)
        if own == DEAD:
            continue
        if own < 0:
            return own
        beyond = call_scan_any(t, stacks, numba.int64(t.heap[ends + 1 + 2 * i]))
        if beyond == DEAD:
            continue
        if beyond < 0:
            return beyond
        first = call_next_lexer(t, numba.int64(t.rec[beyond, 6]), kind)
        if first == DEAD:
            continue
        if first < 0:
            return first
        beyond = counted(t, beyond, first, kind)
        if beyond < 0:
            return beyond
        both = call_both_watches(t, watches, own)
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
def known_after(t, record, kind):  # type: ignore[no-untyped-def]
    """The lexer state or watches after a byte, DEAD, or -2 when that is not known yet."""
    row = t.rec[record, 3]
    after = numba.int64(-2)
    if row >= 0:
        after = numba.int64(t.rows[row, kind])
    return after


@inlined
def known_beyond(t, stacks, terminals):  # type: ignore[no-untyped-def]
    """The stacks after terminals, DEAD, or UNKNOWN."""
    start = t.rec[terminals, 0]
    key = key_of(SCANS, stacks, terminals)
    if t.rec[terminals, 1] == 1 and fixed(t, T_IGNORED, t.heap[start]) == 0:
        key = key_of(SCAN, stacks, t.heap[start])
    return find(t.memo, key)


@inlined
def quick(t, at, kind):  # type: ignore[no-untyped-def]
    """`step` where everything is known, from one thread to at most one; else SEVERAL.

    This is the inner loop of walks: no other kernel is called.
    """
    if at >= SEVERAL or t.info[CHECKED] == ALWAYS:
        return numba.int64(SEVERAL)
    lexer, stacks = at >> 31, at & LOW
    found = known_after(t, lexer, kind)
    ends = numba.int64(t.rec[lexer, 4])
    if found < DEAD or ends < 0:
        return numba.int64(SEVERAL)
    if found >= 0:
        if t.info[NEWLINE] >= 0 and t.rec[found, 6] != NO_WIDTH:
            stays = t.rec[found, 6] == LATER and t.rec[lexer, 6] == LATER
            if not stays and (t.rec[found, 6] != COUNTS or fixed(t, C_COLUMNS, kind) != 0):
                return numba.int64(SEVERAL)
        found = (found << 31) | stacks
    for i in range(t.heap[ends]):
        watches = numba.int64(t.heap[ends + 2 + 2 * i])
        own = numba.int64(0)
        if watches != 0:
            own = known_after(t, watches, kind)
        if own == DEAD:
            continue
        beyond = known_beyond(t, stacks, numba.int64(t.heap[ends + 1 + 2 * i]))
        if beyond == DEAD and own == 0:
            continue
        if own != 0 or beyond < 0:
            return numba.int64(SEVERAL)
        first = known_after(t, t.rec[beyond, 6], kind)
        if first == DEAD:
            continue
        if first < 0 or found != DEAD or (t.info[NEWLINE] >= 0 and t.rec[first, 6] != NO_WIDTH):
            return numba.int64(SEVERAL)
        found = (first << 31) | beyond
    return found


@inner(INT(GRAMMAR, INT))
def position_of(t, count):  # type: ignore[no-untyped-def]
    """The position of the threads written so far, dead ends left out where that is checked."""
    if t.info[CHECKED] != NEVER:
        count = finishable(t, count)
        if count < 0:
            return count
    return packed(t, count)


@lean(INT(GRAMMAR, INT, INT))
def step(t, at, byte):  # type: ignore[no-untyped-def]
    """Read one byte. Returns a position, DEAD, or a NEED_* code; then call again."""
    kind = fixed(t, CLASS, byte)
    threads = unpack(t, at)
    count = numba.int64(0)
    for i in range(threads):
        count = follow(t, i, kind, count)
        if count < 0:
            return count
    return position_of(t, count)


call_step = called(step, AT_STEP)


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
    """1 if the text may end at stacks, or could behind a last terminal, else 0; NEED_SPACE."""
    if t.rec[stacks, 4] == 1 or t.info[FINAL] < 0:
        return numba.int64(t.rec[stacks, 4])
    beyond = call_scan_laid(t, stacks, t.info[FINAL])
    if beyond < 0:
        return numba.int64(0) if beyond == DEAD else beyond
    return numba.int64(t.rec[beyond, 4])


@lean(INT(GRAMMAR, INT))
def is_accepting(t, at):  # type: ignore[no-untyped-def]
    """1 if the text may end at a position, 0 if not, or NEED_SPACE."""
    threads = unpack(t, at)
    base = region(t, READ)
    for i in range(threads):
        lexer = numba.int64(t.work[base + 3 * i])
        stacks = numba.int64(t.work[base + 3 * i + 1])
        watches = t.work[base + 3 * i + 2]
        if watches != 0 and t.rec[watches, 4] == 1:
            continue
        if lexer == t.rec[stacks, 6]:
            found = may_end(t, stacks)
            if found != 0:
                return found
        ends = call_endings(t, lexer)
        if ends < 0:
            return ends
        for j in range(t.heap[ends]):
            own = t.heap[ends + 2 + 2 * j]
            if own != 0 and t.rec[own, 4] == 1:
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
        if lexer == t.rec[stacks, 6]:
            least = min(least, numba.int64(t.rec[stacks, 7]))
        start = numba.int64(t.rec[lexer, 0])
        for j in range(start, start + t.rec[lexer, 1]):
            state = t.heap[j]
            if state < 0 or fixed(t, S_DISTANCE, state) >= least:
                continue
            terminal = fixed(t, S_TERMINAL, state)
            beyond = call_scan_laid(t, stacks, terminal)
            if beyond < DEAD:
                return beyond
            cost = numba.int64(FAR) if beyond < 0 else numba.int64(t.rec[beyond, 7])
            if fixed(t, T_IGNORED, terminal) == 1:
                cost = min(cost, numba.int64(t.rec[stacks, 7]))
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
