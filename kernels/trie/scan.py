"""Walk the trie with a plain byte automaton: tokens that fit, and the state at each node.

For automata without a parser. Their rows may be made while the walk goes on.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.tables import I32, U8
from structgen.kernels.trie.loops import allow
from structgen.kernels.trie.nodes import NODE_BYTE, NODE_DEPTH, NODE_END, NODES


@lean(types.int64(types.int32[:, ::1], U8, NODES, types.int64, I32, I32, I32))
def walk_scan(rows, filled, nodes, top, row, reach, stack):  # type: ignore[no-untyped-def]
    """Set bits of tokens below node `top` (-1: the root) that can be read from state `stack[0]`.

    rows: int32[S, 256], the next state or -1; filled: uint8[S], whether the row is there. row:
    int32[words], written. reach: int32[nodes below `top`], -1 everywhere at first; gets the state
    after each node that is reached. stack: int32[depth + 2], one state per depth; the last entry is
    how many nodes have been done. Returns a state whose row is missing (then call again), or -1.
    """
    base = 0
    last = numba.int64(nodes.at.shape[0])
    if top >= 0:
        base = nodes.at[top, NODE_DEPTH]
        last = numba.int64(nodes.at[top, NODE_END])
    place = stack.shape[0] - 1
    i = top + 1 + stack[place]
    missing = numba.int64(-1)
    while i < last:
        depth = nodes.at[i, NODE_DEPTH] - base
        before = stack[depth - 1]
        if filled[before] == 0:
            missing = numba.int64(before)
            break
        state = rows[before, nodes.at[i, NODE_BYTE]]
        # Refused: skip the subtree.
        if state < 0:
            i = numba.int64(nodes.at[i, NODE_END])
            continue
        stack[depth] = state
        reach[i - top - 1] = state
        allow(nodes, row, i)
        i += 1
    stack[place] = i - top - 1
    return missing
