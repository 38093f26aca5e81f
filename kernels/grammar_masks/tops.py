"""Walks the whole vocabulary by the tops of stacks, where terminals have no order.

A token that closes nothing of what was open before it is allowed whatever lies below the top of the
stacks. So the vocabulary is read with the tops alone: what lies below them is left out after each
byte, and what would return to it goes no further. There are only so many tops, where each token may
lead to stacks of its own. A token that the tops do not read, but of which lexemes could be made, is
read with the stacks, from the last byte on behind which they are known.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import folded, inlined, inner
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.lexer import VIOLATED
from structgen.kernels.grammar.records import REC_SIZE, REC_START
from structgen.kernels.grammar.stacks import call_closed, call_union_closed
from structgen.kernels.grammar.step import (
    SEVERAL,
    call_step,
    packed,
    position_at,
    quick_in_walk,
    record_of,
    step_in_walk,
    unpack,
)
from structgen.kernels.grammar.tables import (
    CHECKED,
    CLASS,
    GRAMMAR,
    GROUPS,
    INT,
    LEX,
    LEXER,
    NEWLINE,
    ORDERED,
    REACHED,
    READ,
    REGION,
    S_ENDS,
    S_NO_LONGER,
    S_TERMINAL,
    T_START,
    TERMINAL_COUNT,
    call_intern,
    fixed,
    needs_space,
    region,
    sort,
)
from structgen.kernels.grammar.viability import ALWAYS, NEVER
from structgen.kernels.grammar_masks.loops import place_loops
from structgen.kernels.grammar_masks.tries import (
    MEMO,
    PARTS_T,
    STOPPED,
    WALKED,
    WALKED_FROM,
    full,
    set_bit,
)
from structgen.kernels.tables import DEAD, I32, UNKNOWN, find, slot_of

LONG_SUBTREE = 16  # nodes; whether a position stays the same is looked at for longer ones
# Tags of keys in the memo: tops after a byte, lexemes after a byte, the top of stacks.
TOPS_AFTER, LEXEMES_AFTER, TOP = 5 << 56, 6 << 56, 7 << 56
BY_TOPS = -1  #: in sizes[WALKED]: the walk that has been stopped is this one


@inlined
def goes_by_tops(t):  # type: ignore[no-untyped-def]
    """Whether what the tops of stacks read, the stacks read, too.

    In Lark's order the lexer looks for what the stacks allow. Only threads with lookaheads, which
    are left out here, may be dead ends.
    """
    return t.info[ORDERED] == 0 and t.info[CHECKED] != ALWAYS and t.info[NEWLINE] < 0


@folded(INT(PARTS_T, INT, INT))
def note(p, key, value):  # type: ignore[no-untyped-def]
    """Keep a value in the memo. Returns it, or NEED_ROOM."""
    if 2 * p.sizes[MEMO] >= p.memo.shape[0]:
        return full(p, MEMO)
    slot = slot_of(p.memo, key)
    p.memo[slot, 0] = key
    p.memo[slot, 1] = value
    p.sizes[MEMO] += 1
    return numba.int64(value)


@inner(INT(GRAMMAR, PARTS_T, INT))
def top_of(t, p, stacks):  # type: ignore[no-untyped-def]
    """The item sets on top of closed stacks, as stacks with nothing below; DEAD, or a code."""
    key = numba.int64(TOP) | stacks
    known = find(p.memo, key)
    if known != UNKNOWN:
        return known
    base, start = region(t, GROUPS), numba.int64(t.rec[stacks, REC_START])
    size = numba.int64(t.rec[stacks, REC_SIZE])
    for i in range(0, size, 2):
        t.work[base + i] = t.heap[start + i]
        t.work[base + i + 1] = 0
    found = call_closed(t, size >> 1)
    return found if found < DEAD else note(p, key, found)


@inner(INT(GRAMMAR, PARTS_T, INT))
def tops_of(t, p, at):  # type: ignore[no-untyped-def]
    """The threads of a position with the tops of their stacks, as a THREADS record.

    Those with lookaheads are left out. DEAD without any; or a code.
    """
    threads, count = unpack(t, at), numba.int64(0)
    read, reached = region(t, READ), region(t, REACHED)
    for i in range(threads):
        lexer, top = t.work[read + 3 * i], numba.int64(DEAD)
        if t.work[read + 3 * i + 2] == 0:
            top = top_of(t, p, numba.int64(t.work[read + 3 * i + 1]))
        place = numba.int64(0)
        while place < count and t.work[reached + 3 * place] != lexer:
            place += 1
        if place < count and top >= 0:
            top = call_union_closed(t, numba.int64(t.work[reached + 3 * place + 1]), top)
        if top < DEAD:
            return top
        if top >= 0:
            t.work[reached + 3 * place] = lexer
            t.work[reached + 3 * place + 1] = top
            t.work[reached + 3 * place + 2] = 0
            count = max(count, place + 1)
    found = packed(t, count)
    return found if found < 0 else record_of(t, found)


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def tops_after(t, p, tops, byte):  # type: ignore[no-untyped-def]
    """The tops after a byte, DEAD, or a code."""
    key = numba.int64(TOPS_AFTER) | (tops << 8) | fixed(t, CLASS, byte)
    known = find(p.memo, key)
    if known != UNKNOWN:
        return known
    checked = t.info[CHECKED]
    t.info[CHECKED] = NEVER  # what would be checked is left out
    at = call_step(t, position_at(t, tops), byte)
    t.info[CHECKED] = checked
    found = at if at < 0 else tops_of(t, p, at)
    return found if found < DEAD else note(p, key, found)


@folded(INT(GRAMMAR, INT))
def lexemes(t, count):  # type: ignore[no-untyped-def]
    """The LEXER record of DFA states in region LEX, DEAD without any; or NEED_SPACE."""
    base, kept = region(t, LEX), numba.int64(0)
    sort(t.work, base, count)
    for i in range(count):
        if kept == 0 or t.work[base + i] != t.work[base + kept - 1]:
            t.work[base + kept] = t.work[base + i]
            kept += 1
    return call_intern(t, LEXER, base, kept) if kept > 0 else numba.int64(DEAD)


@inner(INT(GRAMMAR, INT))
def lexemes_of(t, at):  # type: ignore[no-untyped-def]
    """The lexemes that are being read at a position, in any of its threads; or NEED_SPACE."""
    threads, count = unpack(t, at), numba.int64(0)
    read, base = region(t, READ), region(t, LEX)
    for i in range(threads):
        lexer = t.work[read + 3 * i]
        start, size = numba.int64(t.rec[lexer, REC_START]), numba.int64(t.rec[lexer, REC_SIZE])
        if count + size > t.info[REGION]:
            return needs_space(t, REGION)
        for j in range(start, start + size):
            if t.heap[j] >= 0:
                t.work[base + count] = t.heap[j]
                count += 1
    return lexemes(t, count)


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def lexemes_after(t, p, before, byte_class):  # type: ignore[no-untyped-def]
    """All lexemes that can be being read after a byte, whatever the stacks; DEAD, or a code.

    One goes on with the byte, or has ended and the byte, which can follow it, begins any other one.
    """
    key = numba.int64(LEXEMES_AFTER) | (before << 8) | byte_class
    known = find(p.memo, key)
    if known != UNKNOWN:
        return known
    base, start = region(t, LEX), numba.int64(t.rec[before, REC_START])
    size, names = numba.int64(t.rec[before, REC_SIZE]), t.info[TERMINAL_COUNT]
    if size + names > t.info[REGION]:
        return needs_space(t, REGION)
    count, begins = numba.int64(0), False
    for i in range(start, start + size):
        state = t.heap[i]
        if t.next[state, byte_class] >= 0:
            t.work[base + count] = t.next[state, byte_class]
            count += 1
        if fixed(t, S_ENDS, state) > 0 and p.follow[fixed(t, S_TERMINAL, state), byte_class] == 1:
            if t.watch[fixed(t, S_NO_LONGER, state), byte_class] != VIOLATED:
                begins = True
    for terminal in range(names if begins else 0):
        state = t.next[fixed(t, T_START, terminal), byte_class]
        if state >= 0:
            t.work[base + count] = state
            count += 1
    found = lexemes(t, count)
    return found if found < DEAD else note(p, key, found)


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def read_with_stacks(t, p, depth, path):  # type: ignore[no-untyped-def]
    """The position at a depth of p.stack, read from the last one that is known; DEAD, or a code.

    path: where in p.stack the bytes stand.
    """
    known = depth - 1
    while p.stack[known] == DEAD:
        known -= 1
    while known < depth:
        byte = p.stack[path + known + 1]
        after = quick_in_walk(t, p.stack[known], fixed(t, CLASS, byte))
        if after == SEVERAL:
            after = step_in_walk(t, p.stack[known], byte)
        if after < 0:
            return after
        known += 1
        p.stack[known] = after
    return p.stack[depth]


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def loops_at(t, p, tops, at):  # type: ignore[no-untyped-def]
    """`place_loops` of tops, or where there are none of a position."""
    if tops < 0:
        return place_loops(t, p, at)
    checked = t.info[CHECKED]
    t.info[CHECKED] = NEVER  # see `tops_after`
    found = place_loops(t, p, position_at(t, tops))
    t.info[CHECKED] = checked
    return found


@inner(INT(GRAMMAR, PARTS_T, INT, I32))
def walk_by_tops(t, p, at, row):  # type: ignore[no-untyped-def]
    """Set bits of the tokens of the vocabulary that can be read from a position.

    p.stack has for each depth the position where it is known (else DEAD), in its second quarter the
    tops, then the lexemes, then the byte. Stopped for a code, the walk goes on as `walk_plain`.
    """
    tops = p.stack.shape[0] // 4
    some, path = 2 * tops, 3 * tops
    i = numba.int64(0)
    if p.sizes[WALKED] == BY_TOPS and p.sizes[WALKED_FROM] == at and p.sizes[STOPPED] > 0:
        i = p.sizes[STOPPED]
    else:
        p.stack[0], p.stack[tops], p.stack[some] = at, tops_of(t, p, at), lexemes_of(t, at)
        if min(p.stack[tops], p.stack[some]) < DEAD:
            return min(p.stack[tops], p.stack[some])
    p.sizes[WALKED], p.sizes[WALKED_FROM], p.sizes[STOPPED] = BY_TOPS, at, 0
    while i < p.tries[0, 2]:
        depth, byte, end = p.depth[i], numba.int64(p.byte[i]), numba.int64(p.end[i])
        after = lexemes_after(t, p, p.stack[some + depth - 1], fixed(t, CLASS, byte))
        top, here = numba.int64(DEAD), numba.int64(DEAD)
        if after >= 0 and p.stack[tops + depth - 1] >= 0:
            top = tops_after(t, p, p.stack[tops + depth - 1], byte)
        p.stack[depth], p.stack[path + depth] = DEAD, byte
        if after >= 0 and top == DEAD:
            here = read_with_stacks(t, p, numba.int64(depth), path)
        code = min(after, top, here)
        loops = numba.int64(0)
        same = top == p.stack[tops + depth - 1] if top >= 0 else here == p.stack[depth - 1]
        if code >= DEAD and max(top, here) >= 0 and same and end - i > LONG_SUBTREE:
            loops = loops_at(t, p, top, here)
            code = min(code, loops)
        if code < DEAD:
            p.sizes[STOPPED] = i
            return code
        if max(top, here) < 0:
            i = end
            continue
        if loops > 0 and p.beneath[i] & ~loops == 0:
            for j in range(p.before[i], p.before[end]):
                set_bit(row, p.order[j])
            i = end
            continue
        p.stack[tops + depth], p.stack[some + depth] = top, after
        if p.token[i] >= 0:
            set_bit(row, p.token[i])
        i += 1
    return numba.int64(0)
