"""In: tables, a trie, a position. Out: the tokens that can be read from there, byte by byte.

Where texts of one automaton are followed by texts of another, a token can cross from the one to the
other at any node: this walk says which tokens stay, and at which nodes the other may take over.
"""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.flags import inlined, lean
from structgen.kernels.step import ending, read
from structgen.kernels.tables import DEAD, I32, I64, NEED_ROW, TABLES
from structgen.kernels.walk import NODES, allow

ENDS_FULL = -9  #: the array of ends is full


@inlined
def walk_tree(t, nodes, top, row, ends, stack, read_byte, may_end):  # type: ignore[no-untyped-def]
    """`walk_below` for tables of any kind: `read_byte` and `may_end` are their kernels."""
    place = stack.shape[0] - 3
    i = stack[place]
    count = stack[place + 1]
    base = numba.int64(0)
    last = numba.int64(nodes.byte.shape[0])
    if top >= 0:
        base = numba.int64(nodes.depth[top])
        last = numba.int64(nodes.end[top])
    status = numba.int64(0)
    while i < last:
        depth = nodes.depth[i] - base
        if stack[place + 2] == 0:
            after = read_byte(t, stack[depth - 1], numba.int64(nodes.byte[i]))
            if after == DEAD:
                i = numba.int64(nodes.end[i])
                continue
            if after < 0:
                status = after
                break
            stack[depth] = after
            allow(nodes, row, i)
        if ends.shape[0] > 0:
            stack[place + 2] = 1
            ended = may_end(t, stack[depth])
            if ended < 0:
                status = ended
                break
            if ended == 1:
                if count >= ends.shape[0]:
                    status = numba.int64(ENDS_FULL)
                    break
                ends[count] = i
                count += 1
            stack[place + 2] = 0
        i += 1
    stack[place] = i
    stack[place + 1] = count
    return status


@lean(types.int64(TABLES, NODES, types.int64, I32, I32, I64))
def walk_below(t, nodes, top, row, ends, stack):  # type: ignore[no-untyped-def]
    """Set bits of tokens below node `top` (-1: the root) that can be read from pair `stack[0]`.

    row: int32[words]. ends: int32[k], the nodes after which the text may end; of length 0 when that
    is not asked. stack: int64[depth + 4], one pair per depth below `top`; its last three entries
    are the node to go on from (at first top + 1), the number of ends, and 1 when only the end at
    that node is still to be tested. Returns 0 when done, ENDS_FULL, or a NEED_*; then call again.
    """
    return walk_tree(t, nodes, top, row, ends, stack, read, ending)


@lean(types.int64(TABLES, NODES, types.int64, types.int32[::1], I64))
def walk_along(t, nodes, own, row, stack):  # type: ignore[no-untyped-def]
    """Set bits of all tokens that can be read from the pair `stack[0]`, byte by byte.

    For positions from which few bytes lead on. own: 1 to take only tokens whose first byte stays in
    the lexer state's own lexeme. row: int32[words]. stack: int64[depth + 4], its last but two entry
    is the node to go on from. Returns 0 when done or a NEED_* code; call again with the same
    arguments.
    """
    place = stack.shape[0] - 3
    q = stack[0] >> 32
    if t.filled[q] == 0:
        t.need[0] = q
        return numba.int64(NEED_ROW)
    early = t.accept[q] > 0 and own == 0
    i = stack[place]
    while i < nodes.byte.shape[0]:
        depth = nodes.depth[i]
        byte = numba.int64(nodes.byte[i])
        if depth == 1 and t.rows[q, byte] == DEAD and not early:
            i = nodes.end[i]
            continue
        pair = read(t, stack[depth - 1], byte)
        if pair >= 0:
            stack[depth] = pair
            allow(nodes, row, i)
            i += 1
        elif pair == DEAD:
            i = nodes.end[i]
        else:
            stack[place] = i
            return pair
    return numba.int64(0)
