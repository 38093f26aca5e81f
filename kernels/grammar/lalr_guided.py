"""Stacks beside an LALR parser whose state says which terminals the lexer looks for.

Lark's contextual lexer looks for all terminals that are in the row of its parser's state. Some are
there because the state stands for several places of the grammar, and the parser fails on them when
it has reduced rules. They still decide how a text is cut. So with such a grammar the state of the
parser (a stack of LALR states, shared as a linked list) stands beside the stacks, which say what
fits.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inner
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.records import (
    REC_KIND,
    REC_SIZE,
    REC_START,
    STACKS_ACCEPTING,
    STACKS_COST,
    STACKS_LEXER,
    STACKS_TERMINALS,
)
from structgen.kernels.grammar.stacks import call_scan, described
from structgen.kernels.grammar.tables import (
    AT_LEXER_BESIDE,
    AT_SCAN_GUIDED,
    BESIDE,
    CHOICE,
    COMPETING,
    COMPETING_START,
    GRAMMAR,
    GUIDED,
    INT,
    LALR,
    LAST_STATE,
    LEXER,
    LR_NAME,
    LR_SIZE,
    LR_START,
    LR_STEP,
    LR_SYMBOL,
    PAIRS,
    SCAN,
    SETS,
    T_IGNORED,
    T_SHADOW,
    T_START,
    TERMINAL_COUNT,
    TERMINALS,
    call_intern,
    fixed,
    key_of,
    recall,
    region,
    remember,
    sort,
)
from structgen.kernels.tables import DEAD, UNKNOWN

NOTHING = -(1 << 30)  # the action on a terminal that the parser does not read in a state
READS_ALL, CHOOSES, ERRS = 0, 1, 2  # parsers: without conflicts, with harmless ones, with others
SKIPPED = 2  # in T_IGNORED: what is ignored, but stands in rules, since the text before counts
MOST_REDUCED = 1 << 24  # rules in a row; more only where a file is broken


@inner(INT(GRAMMAR, INT, INT))
def step_of(t, state, symbol):  # type: ignore[no-untyped-def]
    """The action on a symbol: the state it leads to, -1 - the rule to reduce first, or NOTHING."""
    low, high = fixed(t, LR_START, state), fixed(t, LR_START, state + 1)
    last = high
    while low < high:
        middle = (low + high) >> 1
        if fixed(t, LR_SYMBOL, middle) < symbol:
            low = middle + 1
        else:
            high = middle
    if low < last and fixed(t, LR_SYMBOL, low) == symbol:
        return fixed(t, LR_STEP, low)
    return numba.int64(NOTHING)


@inner(INT(GRAMMAR, INT, INT))
def pushed(t, state, below):  # type: ignore[no-untyped-def]
    """The LALR record of a state on top of others, or NEED_SPACE."""
    base = region(t, PAIRS)
    t.work[base] = state
    t.work[base + 1] = below
    return call_intern(t, LALR, base, 2)


@inner(INT(GRAMMAR, INT, INT))
def parsed(t, lalr, symbol):  # type: ignore[no-untyped-def]
    """The LALR record after a terminal, or any where the text ends well; DEAD, or NEED_SPACE.

    symbol: a terminal; the number of terminals for the end of the text.
    """
    terminals = t.info[TERMINAL_COUNT]
    if symbol < terminals and fixed(t, T_IGNORED, symbol) == 1:
        return numba.int64(DEAD)  # the lexer keeps it to itself
    for _ in range(MOST_REDUCED):
        step = step_of(t, numba.int64(t.heap[t.rec[lalr, REC_START]]), symbol)
        if step >= 0:
            if symbol < terminals and fixed(t, T_IGNORED, symbol) == SKIPPED:
                lalr = numba.int64(
                    t.heap[t.rec[lalr, REC_START] + 1]
                )  # another state in place of this one
            return pushed(t, step, lalr) if symbol < terminals else numba.int64(DEAD)
        if step == NOTHING:
            break
        rule = -1 - step
        for _ in range(fixed(t, LR_SIZE, rule)):
            lalr = numba.int64(t.heap[t.rec[lalr, REC_START] + 1])
            if lalr == 0:
                return numba.int64(DEAD)
        step = step_of(t, numba.int64(t.heap[t.rec[lalr, REC_START]]), fixed(t, LR_NAME, rule))
        if step < 0:
            break
        lalr = pushed(t, step, lalr)
        if lalr < 0 or (symbol == terminals and step == t.info[LAST_STATE]):
            return lalr
    return numba.int64(DEAD)


@inner(INT(GRAMMAR, INT, INT))
def competes(t, terminal, terminals):  # type: ignore[no-untyped-def]
    """Whether a terminal competes with any in a record of terminals; -1 if it is one of them."""
    start = numba.int64(t.rec[terminals, REC_START])
    found = numba.int64(0)
    for i in range(start, start + t.rec[terminals, REC_SIZE]):
        if t.heap[i] == terminal:
            return numba.int64(-1)
        for j in range(
            fixed(t, COMPETING_START, terminal), fixed(t, COMPETING_START, terminal + 1)
        ):
            if fixed(t, COMPETING, j) == t.heap[i]:
                found = numba.int64(1)
    return found


@inner(INT(GRAMMAR, INT, INT))
def lexer_beside(t, terminals, lalr):  # type: ignore[no-untyped-def]
    """The LEXER record before the terminals and the shadows of spurious ones; or NEED_SPACE.

    Spurious are those in the row of the parser's state that the lexer may mix up with them.
    """
    state = numba.int64(t.heap[t.rec[lalr, REC_START]])
    key = key_of(BESIDE, terminals, state)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    base = region(t, SETS)
    start = numba.int64(t.rec[terminals, REC_START])
    count = numba.int64(t.rec[terminals, REC_SIZE])
    for i in range(count):
        t.work[base + i] = fixed(t, T_START, t.heap[start + i])
    for i in range(fixed(t, LR_START, state), fixed(t, LR_START, state + 1)):
        terminal = fixed(t, LR_SYMBOL, i)
        if terminal >= t.info[TERMINAL_COUNT]:
            break
        shadow = fixed(t, T_SHADOW, terminal)
        if shadow >= 0 and competes(t, terminal, terminals) == 1:
            t.work[base + count] = shadow
            count += 1
    sort(t.work, base, count)
    for i in range(count, 0, -1):
        t.work[base + i] = t.work[base + i - 1]
    t.work[base] = -1
    lexer = call_intern(t, LEXER, base, count + 1)
    return lexer if lexer < 0 else remember(t, key, lexer)


call_lexer_beside = called(lexer_beside, AT_LEXER_BESIDE)


@inner(INT(GRAMMAR, INT, INT))
def readable(t, terminals, lalr):  # type: ignore[no-untyped-def]
    """The TERMINALS, of some, that the parser can read, and ignored ones. Or NEED_SPACE."""
    count = numba.int64(0)
    base = region(t, SETS)
    start = numba.int64(t.rec[terminals, REC_START])
    for i in range(start, start + t.rec[terminals, REC_SIZE]):
        terminal = numba.int64(t.heap[i])
        read = numba.int64(0)
        if fixed(t, T_IGNORED, terminal) == 0:
            read = parsed(t, lalr, terminal)
        if read < DEAD:
            return read
        if read >= 0:
            t.work[base + count] = terminal
            count += 1
    return call_intern(t, TERMINALS, base, count)


@inner(INT(GRAMMAR, INT, INT))
def guided(t, stacks, lalr):  # type: ignore[no-untyped-def]
    """The GUIDED record of stacks with an LALR stack beside them, or NEED_SPACE."""
    base = region(t, PAIRS)
    t.work[base] = stacks
    t.work[base + 1] = lalr
    found = call_intern(t, GUIDED, base, 2)
    if found < 0 or t.rec[found, STACKS_LEXER] >= 0:
        return found
    ends, terminals = (
        numba.int64(t.rec[stacks, STACKS_ACCEPTING]),
        numba.int64(t.rec[stacks, STACKS_TERMINALS]),
    )
    if t.info[CHOICE] != READS_ALL:
        if ends == 1:
            end = parsed(t, lalr, t.info[TERMINAL_COUNT])
            if end < DEAD:
                return end
            ends = numba.int64(end >= 0)
        terminals = readable(t, terminals, lalr)
        if terminals < 0:
            return terminals
    t.rec[found, STACKS_COST] = t.rec[stacks, STACKS_COST]
    return described(t, found, ends, terminals, call_lexer_beside(t, terminals, lalr))


@inner(INT(GRAMMAR, INT, INT))
def scan_guided(t, stacks, terminal):  # type: ignore[no-untyped-def]
    """`scan` for stacks with or without an LALR stack beside them."""
    if t.rec[stacks, REC_KIND] != GUIDED:
        return call_scan(t, stacks, terminal)
    key = key_of(SCAN, stacks, terminal)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    start = numba.int64(t.rec[stacks, REC_START])
    after = call_scan(t, numba.int64(t.heap[start]), terminal)
    if after >= 0:
        beyond = parsed(t, numba.int64(t.heap[start + 1]), terminal)
        after = beyond if beyond < 0 else guided(t, after, beyond)
    return after if after < DEAD else remember(t, key, after)


call_scan_guided = called(scan_guided, AT_SCAN_GUIDED)
