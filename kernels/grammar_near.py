"""In: a position's mask row, a position that differs from it little. Out: that one's row.

Where a name could still become a keyword, the lexer is in a state of its own, which differs from
that within any other name by a few continuations only: all else is read from there as from here.
"""

from __future__ import annotations

import numba
import numpy as np

from structgen.kernels.flags import inner, lean
from structgen.kernels.grammar_lexer import call_endings, call_next_lexer
from structgen.kernels.grammar_loops import goes
from structgen.kernels.grammar_step import LOW, SEVERAL
from structgen.kernels.grammar_tables import CLASS, GRAMMAR, INT, fixed
from structgen.kernels.grammar_tries import PARTS_T, set_bit
from structgen.kernels.tables import DEAD, I32

PROBES = np.frombuffer(b"zqxJ_", np.uint8)  # what few keywords go on with


@inner(INT(GRAMMAR, INT, INT))
def ends_alike(t, one, other):  # type: ignore[no-untyped-def]
    """1 if lexemes can end in neither of two lexer states or in both, 0 if not, or a code."""
    ends = call_endings(t, one)
    if ends < 0:
        return ends
    others = call_endings(t, other)
    if others < 0:
        return others
    return numba.int64((t.heap[ends] == 0) == (t.heap[others] == 0))


@lean(INT(GRAMMAR, INT))
def neighbour(t, at):  # type: ignore[no-untyped-def]
    """The position with the lexer state that most letters lead to, or `at` itself; or a code."""
    if at >= SEVERAL:
        return at
    votes = numba.int64(0)
    near = numba.int64(DEAD)
    for probe in PROBES:
        kind = fixed(t, CLASS, probe)
        after = call_next_lexer(t, at >> 31, kind)
        if after < DEAD:
            return after
        if votes == 0:
            near = after
        votes += 1 if near == after else -1
    if votes == 0 or near == DEAD or near == at >> 31:
        return at
    for probe in PROBES:
        after = call_next_lexer(t, near, fixed(t, CLASS, probe))
        if after < DEAD:
            return after
        if after != near:
            return at
    alike = ends_alike(t, at >> 31, near)
    if alike < 0:
        return alike
    return (near << 31) | (at & LOW) if alike == 1 else at


@inner(INT(PARTS_T, INT, INT, I32))
def clear(p, node, end, row):  # type: ignore[no-untyped-def]
    """Clear the bits of the tokens of a subtree."""
    for j in range(p.before[node], p.before[end]):
        token = p.order[j]
        row[token >> 5] &= ~numba.int32(numba.uint32(1) << numba.uint32(token & 31))
    return numba.int64(0)


@lean(INT(GRAMMAR, PARTS_T, INT, INT, INT, I32))
def amend(t, p, base, at, most, row):  # type: ignore[no-untyped-def]
    """Make the row of a position `base` that of `at`: 1, 0 if they differ at too many nodes.

    Or a code; then call again. most: nodes that may be looked at. After 0 the row means nothing.
    """
    half = p.stack.shape[0] // 2
    p.stack[0], p.stack[half] = at, base
    count = numba.int64(0)
    i = numba.int64(0)
    while i < p.byte.shape[0]:
        depth, byte, end = p.depth[i], numba.int64(p.byte[i]), numba.int64(p.end[i])
        after = goes(t, p, p.stack[depth - 1], byte)
        other = numba.int64(DEAD)
        if p.stack[half + depth - 1] >= 0:
            other = goes(t, p, p.stack[half + depth - 1], byte)
        if after < DEAD or other < DEAD:
            return min(after, other)
        if after == other:
            i = end
            continue
        count += 1
        if count > most:
            return numba.int64(0)
        if after == DEAD:
            clear(p, i, end, row)
            i = end
            continue
        if p.token[i] >= 0:
            set_bit(row, p.token[i])
        p.stack[depth], p.stack[half + depth] = after, other
        i += 1
    return numba.int64(1)
