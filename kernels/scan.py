"""In: the table of a byte automaton, a trie. Out: the tokens it can read, the state at each node.

For automata that are small and known beforehand: no row is ever missing, so one pass does it.
"""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.flags import kernel
from structgen.kernels.tables import I32
from structgen.kernels.walk import NODES, allow


@kernel(types.void(types.int32[:, ::1], NODES, types.int64, types.int64, I32, I32, I32))
def walk_scan(table, nodes, top, start, row, reach, stack):  # type: ignore[no-untyped-def]
    """Set bits of tokens below node `top` (-1: the root) that can be read from state `start`.

    table: int32[S, 256], the next state or -1. row: int32[words]. reach: int32[nodes below `top`],
    -1 everywhere at first; gets the state after each node that is reached. stack: int32[depth + 1].
    """
    base = 0
    i = numba.int64(0)
    last = numba.int64(nodes.byte.shape[0])
    if top >= 0:
        base = nodes.depth[top]
        i = top + 1
        last = numba.int64(nodes.end[top])
    stack[0] = start
    while i < last:
        depth = nodes.depth[i] - base
        state = table[stack[depth - 1], nodes.byte[i]]
        if state < 0:
            i = numba.int64(nodes.end[i])
            continue
        stack[depth] = state
        reach[i - top - 1] = state
        allow(nodes, row, i)
        i += 1
