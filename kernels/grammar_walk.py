"""In: tables, a trie, a position behind one of its nodes. Out: the tokens that fit; the ends."""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.flags import lean
from structgen.kernels.grammar_step import is_accepting, step
from structgen.kernels.grammar_tables import GRAMMAR, INT
from structgen.kernels.tables import DEAD, I32, I64
from structgen.kernels.walk import NODES, allow

ENDS_FULL = -7  #: the array of ends is full


@lean(INT(GRAMMAR, NODES, types.int64, I32, I32, I64))
def walk_below(t, nodes, top, row, ends, stack):  # type: ignore[no-untyped-def]
    """Set bits of tokens below node `top` (-1: the root) that can be read from position `stack[0]`.

    row: int32[words]. ends: int32[k], the nodes after which the text may end; of length 0 when that
    is not asked. stack: int64[depth + 4], one position per depth below `top`; its last three
    entries are the node to go on from (top + 1 at first), the number of ends, and 1 when only the
    end at that node is still to be tested. Returns 0 when done, ENDS_FULL, or a NEED_* code; then
    call again.
    """
    place = stack.shape[0] - 3
    i = stack[place]
    count = stack[place + 1]
    base = 0
    last = nodes.byte.shape[0]
    if top >= 0:
        base = nodes.depth[top]
        last = nodes.end[top]
    status = numba.int64(0)
    while i < last:
        depth = nodes.depth[i] - base
        if stack[place + 2] == 0:
            after = step(t, stack[depth - 1], numba.int64(nodes.byte[i]))
            if after == DEAD:
                i = nodes.end[i]
                continue
            if after < 0:
                status = after
                break
            stack[depth] = after
            allow(nodes, row, i)
        if ends.shape[0] > 0:
            stack[place + 2] = 1
            ended = is_accepting(t, stack[depth])
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
