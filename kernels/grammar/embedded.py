"""Where the texts of embedded specs may begin, and how the grammar goes on behind them.

An embedded spec has a terminal without any text, and an automaton of its own, read in Python. These
kernels say where a grammar wants such a terminal, and take up threads behind it.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.grammar.indentation import call_scan_any
from structgen.kernels.grammar.lexer import call_endings, call_union_lookaheads
from structgen.kernels.grammar.records import (
    REC_SIZE,
    REC_START,
    STACKS_LEXER,
    STACKS_TERMINALS,
    TERMINALS_EMBEDDED,
)
from structgen.kernels.grammar.step import call_step, position_of, reach, unpack
from structgen.kernels.grammar.tables import (
    AT_WANTS,
    GRAMMAR,
    INT,
    READ,
    T_EMBEDDED,
    fixed,
    region,
)
from structgen.kernels.masks.byte_walk import ENDS_FULL, walk_tree
from structgen.kernels.tables import DEAD, I32, I64
from structgen.kernels.trie.nodes import NODES


@inner(INT(GRAMMAR, INT))
def wants(t, stacks):  # type: ignore[no-untyped-def]
    """1 if the terminal of an embedded spec may come next at closed stacks, else 0."""
    terminals = t.rec[stacks, STACKS_TERMINALS]
    if t.rec[terminals, TERMINALS_EMBEDDED] < 0:
        found = 0
        start = numba.int64(t.rec[terminals, REC_START])
        for i in range(start, start + t.rec[terminals, REC_SIZE]):
            if fixed(t, T_EMBEDDED, t.heap[i]) == 1:
                found = 1
        t.rec[terminals, TERMINALS_EMBEDDED] = found
    return numba.int64(t.rec[terminals, TERMINALS_EMBEDDED])


call_wants = called(wants, AT_WANTS)


@lean(INT(GRAMMAR, INT, I64))
def entrances(t, at, out):  # type: ignore[no-untyped-def]
    """Where texts of embedded specs may begin at a position: their number, or a code.

    out: int64[2 k], set to (stacks, lookaheads) of each place; of length 0 if only whether there is
    one is wanted. ENDS_FULL where it is too short.
    """
    threads = unpack(t, at)
    base = region(t, READ)
    count = numba.int64(0)
    for i in range(threads):
        lexer = numba.int64(t.work[base + 3 * i])
        stacks = numba.int64(t.work[base + 3 * i + 1])
        lookaheads = numba.int64(t.work[base + 3 * i + 2])
        ends = call_endings(t, lexer)
        if ends < 0:
            return ends
        for j in range(-1, t.heap[ends]):
            beyond, both = stacks, lookaheads
            if j >= 0:
                beyond = call_scan_any(t, stacks, numba.int64(t.heap[ends + 1 + 2 * j]))
                both = call_union_lookaheads(t, lookaheads, numba.int64(t.heap[ends + 2 + 2 * j]))
                if both < 0:
                    return both
                if beyond < DEAD:
                    return beyond
            elif lexer != t.rec[stacks, STACKS_LEXER]:
                continue
            if beyond == DEAD or call_wants(t, beyond) == 0:
                continue
            if out.shape[0] == 0:
                return numba.int64(1)
            if 2 * count + 2 > out.shape[0]:
                return numba.int64(ENDS_FULL)
            out[2 * count] = beyond
            out[2 * count + 1] = both
            count += 1
    return count


@lean(INT(GRAMMAR, INT, I64))
def with_threads(t, at, more):  # type: ignore[no-untyped-def]
    """The position (or DEAD) of the threads of `at` (if it is not DEAD) and others; or a code.

    more: int64[3 k], lexer state, stacks and lookaheads of each other thread.
    """
    count = numba.int64(0)
    if at >= 0:
        base = region(t, READ)
        for i in range(unpack(t, at)):
            stacks = numba.int64(t.work[base + 3 * i + 1])
            lookaheads = numba.int64(t.work[base + 3 * i + 2])
            count = reach(t, count, numba.int64(t.work[base + 3 * i]), (stacks << 31) | lookaheads)
            if count < 0:
                return count
    for i in range(0, more.shape[0], 3):
        count = reach(t, count, more[i], (more[i + 1] << 31) | more[i + 2])
        if count < 0:
            return count
    return position_of(t, count)


@inlined
def begins(t, at):  # type: ignore[no-untyped-def]
    """1 if a text of an embedded spec may begin at a position, 0 if none may, or a code."""
    return entrances(t, at, t.info[:0])


@lean(INT(GRAMMAR, NODES, types.int64, I32, I32, I64))
def walk_entrances(t, nodes, top, row, ends, stack):  # type: ignore[no-untyped-def]
    """`masks.byte_walk.walk_below`, where `ends` are the nodes behind which specs may begin."""
    return walk_tree(t, nodes, top, row, ends, stack, call_step, begins)
