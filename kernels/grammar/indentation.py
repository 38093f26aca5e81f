"""Indentation: stacks with the layout of lines beside them, as Lark's `Indenter` has it.

With a layout, what stands for the stacks in a position is a record of four: the stacks, the widths
of the open blocks (a small stack of integers), how many brackets are open, and how wide the line
is so far whose line break is being read. A line break that ends outside brackets is followed by an
indent, or by as many dedents as it takes to get back to its width, which must be that of an open
block; inside brackets it is left out.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inner, lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.lalr_guided import call_lexer_beside, call_scan_guided
from structgen.kernels.grammar.records import (
    LEXER_WIDTH,
    REC_KIND,
    REC_SIZE,
    REC_START,
    STACKS_ACCEPTING,
    STACKS_COST,
    STACKS_LEXER,
    STACKS_TERMINALS,
)
from structgen.kernels.grammar.stacks import call_union_closed, described, lexer_start
from structgen.kernels.grammar.tables import (
    AT_LAID,
    AT_SCAN_ANY,
    AT_SCAN_LAID,
    C_COLUMNS,
    DEDENT,
    FIRST_STATE,
    GRAMMAR,
    GUIDED,
    INDENT,
    INDENTS,
    INT,
    LAID,
    LAYOUT,
    MANY_GROUPS,
    NEWLINE,
    S_WIDTH,
    SCAN,
    SCANS,
    SETS,
    T_BRACKET,
    T_IGNORED,
    TERMINALS,
    WIDTHS,
    call_intern,
    fixed,
    key_of,
    needs_space,
    recall,
    region,
    remember,
    sort,
)
from structgen.kernels.tables import DEAD, UNKNOWN

# What the width of a line is to a lexer state: nothing; it will count once the line has ended (a
# line break that has not come to its last line yet); each byte of white space adds to it.
NO_WIDTH, LATER, COUNTS = 0, 1, 2


@inner(INT(GRAMMAR, INT))
def with_line_break(t, terminals):  # type: ignore[no-untyped-def]
    """The terminals and the line break, which may stand anywhere inside brackets."""
    base = region(t, SETS)
    start = numba.int64(t.rec[terminals, REC_START])
    count = numba.int64(t.rec[terminals, REC_SIZE])
    for i in range(count):
        t.work[base + i] = t.heap[start + i]
        if t.heap[start + i] == t.info[NEWLINE]:
            return terminals
    t.work[base + count] = t.info[NEWLINE]
    sort(t.work, base, count + 1)
    return call_intern(t, TERMINALS, base, count + 1)


@inner(INT(GRAMMAR, INT, INT))
def ends_here(t, stacks, widths):  # type: ignore[no-untyped-def]
    """1 if the text may end where these blocks are open, 0 if not, or NEED_SPACE.

    Each open block is closed by a dedent.
    """
    for _ in range(t.rec[widths, REC_SIZE] - 1):
        stacks = call_scan_guided(t, stacks, t.info[DEDENT])
        if stacks < 0:
            return numba.int64(0) if stacks == DEAD else stacks
    return numba.int64(t.rec[stacks, STACKS_ACCEPTING])


@inner(INT(GRAMMAR, INT, INT))
def lexer_of(t, stacks, terminals):  # type: ignore[no-untyped-def]
    """The LEXER record before any of the terminals at stacks, or NEED_SPACE."""
    if t.rec[stacks, REC_KIND] != GUIDED:
        return lexer_start(t, terminals)
    return call_lexer_beside(t, terminals, numba.int64(t.heap[t.rec[stacks, REC_START] + 1]))


@inner(INT(GRAMMAR, INT, INT, INT, INT))
def laid(t, stacks, widths, brackets, width):  # type: ignore[no-untyped-def]
    """The LAID record of stacks with their layout, its fields as those of stacks."""
    base = region(t, LAYOUT)
    t.work[base] = stacks
    t.work[base + 1] = widths
    t.work[base + 2] = brackets
    t.work[base + 3] = width
    found = call_intern(t, LAID, base, 4)
    if found < 0 or t.rec[found, STACKS_LEXER] >= 0:
        return found
    ends = numba.int64(0)
    if brackets == 0:
        ends = ends_here(t, stacks, widths)
        if ends < 0:
            return ends
    terminals = numba.int64(t.rec[stacks, STACKS_TERMINALS])
    if brackets > 0:
        terminals = with_line_break(t, terminals)
        if terminals < 0:
            return terminals
    t.rec[found, STACKS_COST] = t.rec[stacks, STACKS_COST]
    return described(t, found, ends, terminals, lexer_of(t, stacks, terminals))


call_laid = called(laid, AT_LAID)


@inner(INT(GRAMMAR, INT, INT, INT))
def after_line_break(t, stacks, widths, width):  # type: ignore[no-untyped-def]
    """The LAID record after a line break that ends outside brackets, DEAD, or NEED_SPACE."""
    stacks = call_scan_guided(t, stacks, t.info[NEWLINE])
    if stacks < 0:
        return stacks
    start = numba.int64(t.rec[widths, REC_START])
    count = numba.int64(t.rec[widths, REC_SIZE])
    kept = count
    while kept > 1 and t.heap[start + kept - 1] > width:
        kept -= 1
        stacks = call_scan_guided(t, stacks, t.info[DEDENT])
        if stacks < 0:
            return stacks
    top = numba.int64(t.heap[start + kept - 1])
    if top < width:
        if kept < count:
            return numba.int64(DEAD)  # between the widths of two open lines
        stacks = call_scan_guided(t, stacks, t.info[INDENT])
        if stacks < 0:
            return stacks
    base = region(t, WIDTHS)
    if kept + 1 >= 1024:
        return needs_space(t, MANY_GROUPS)
    for i in range(kept):
        t.work[base + i] = t.heap[start + i]
    if top < width:
        t.work[base + kept] = width
        kept += 1
    open_lines = call_intern(t, INDENTS, base, kept)
    if open_lines < 0:
        return open_lines
    return call_laid(t, stacks, open_lines, 0, 0)


@lean(INT(GRAMMAR, INT, INT))
def scan_laid(t, stacks, terminal):  # type: ignore[no-untyped-def]
    """`scan` for stacks with or without a layout."""
    if t.rec[stacks, REC_KIND] != LAID:
        return call_scan_guided(t, stacks, terminal)
    key = key_of(SCAN, stacks, terminal)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    start = numba.int64(t.rec[stacks, REC_START])
    inner, widths = numba.int64(t.heap[start]), numba.int64(t.heap[start + 1])
    brackets, width = numba.int64(t.heap[start + 2]), numba.int64(t.heap[start + 3])
    if terminal == t.info[NEWLINE]:
        if brackets > 0:
            after = call_laid(t, inner, widths, brackets, 0)
        else:
            after = after_line_break(t, inner, widths, width)
    else:
        brackets += fixed(t, T_BRACKET, terminal)
        after = call_scan_guided(t, inner, terminal) if brackets >= 0 else numba.int64(DEAD)
        if after >= 0:
            after = call_laid(t, after, widths, brackets, 0)
    if after < DEAD:
        return after
    return remember(t, key, after)


call_scan_laid = called(scan_laid, AT_SCAN_LAID)


@inner(INT(GRAMMAR, INT, INT))
def union_single(t, one, other):  # type: ignore[no-untyped-def]
    """The union of two sets of stacks; with a layout or LALR stack there must be only one."""
    single = t.info[NEWLINE] >= 0 or t.info[FIRST_STATE] >= 0
    if single and one >= 0 and other >= 0 and one != other:
        return needs_space(t, MANY_GROUPS)
    return call_union_closed(t, one, other)


@lean(INT(GRAMMAR, INT, INT))
def scan_any(t, stacks, terminals):  # type: ignore[no-untyped-def]
    """The closed stacks after any of several terminals; ignored ones change nothing."""
    start = numba.int64(t.rec[terminals, REC_START])
    size = numba.int64(t.rec[terminals, REC_SIZE])
    if size == 1 and fixed(t, T_IGNORED, t.heap[start]) == 0:
        return call_scan_laid(t, stacks, numba.int64(t.heap[start]))
    key = key_of(SCANS, stacks, terminals)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    found = numba.int64(-1)
    for i in range(start, start + size):
        terminal = numba.int64(t.heap[i])
        after = call_scan_laid(t, stacks, terminal)
        if after < -1:
            return after
        if fixed(t, T_IGNORED, terminal) == 1:
            after = union_single(t, stacks, after)
        found = union_single(t, found, after)
        if found < -1:
            return found
    return remember(t, key, found)


call_scan_any = called(scan_any, AT_SCAN_ANY)


@inner(INT(GRAMMAR, INT))
def width_in(t, lexer):  # type: ignore[no-untyped-def]
    """What the width of a line is to a lexer state: NO_WIDTH, LATER or COUNTS."""
    if t.rec[lexer, LEXER_WIDTH] < 0:
        found = numba.int64(NO_WIDTH)
        start = numba.int64(t.rec[lexer, REC_START])
        for i in range(start, start + t.rec[lexer, REC_SIZE]):
            if t.heap[i] >= 0:
                found = max(found, fixed(t, S_WIDTH, t.heap[i]))
        t.rec[lexer, LEXER_WIDTH] = found
    return numba.int64(t.rec[lexer, LEXER_WIDTH])


@inner(INT(GRAMMAR, INT, INT, INT))
def counted(t, stacks, lexer, byte_class):  # type: ignore[no-untyped-def]
    """The stacks after one more byte of a lexeme, with the width of the line so far."""
    if t.rec[stacks, REC_KIND] != LAID or width_in(t, lexer) == NO_WIDTH:
        return stacks
    start = numba.int64(t.rec[stacks, REC_START])
    inner, widths = numba.int64(t.heap[start]), numba.int64(t.heap[start + 1])
    brackets, width = numba.int64(t.heap[start + 2]), numba.int64(t.heap[start + 3])
    if brackets > 0:
        return stacks
    columns = fixed(t, C_COLUMNS, byte_class)
    width = numba.int64(0) if columns < 0 or width_in(t, lexer) == LATER else width + columns
    return call_laid(t, inner, widths, brackets, min(width, 1 << 20))
