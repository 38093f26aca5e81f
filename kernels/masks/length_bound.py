"""Take from a string's mask the tokens that are too long for maxLength.

A lexer state of a bounded string allows what the unbounded one does, but for tokens behind which
the text cannot end in time. Few tokens are that long, so only the paths to these are walked.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.lexer.rows import call_fill_row
from structgen.kernels.tables import (
    DEPTH,
    HIGH_SURROGATE,
    I32,
    I64,
    INTS,
    KIND,
    SPANS_TEXT,
    SPANS_UNKNOWN,
    TABLES,
)
from structgen.kernels.trie.loops import prohibit
from structgen.kernels.trie.nodes import (
    HEIGHT,
    MANY,
    NODE_BYTE,
    NODE_DEPTH,
    NODE_END,
    NODE_TOKEN,
    NODES,
    SUBTREES,
)

UNSURE = -1


@inlined
def least_behind(t, wanted, place, q):  # type: ignore[no-untyped-def]
    """Fewest characters with which a text ends from lexer state `q`, or UNSURE."""
    kind = t.state_info[q, KIND]
    if (kind == SPANS_TEXT or kind == SPANS_UNKNOWN) and t.state_info[q, HIGH_SURROGATE] == place:
        return numba.int64(wanted[t.state_info[q, DEPTH]])
    return numba.int64(UNSURE)


@lean(types.int64(TABLES, NODES, SUBTREES, INTS, INTS, I64, I32, I32, I64))
def refuse_longer(t, nodes, subtrees, started, wanted, given, row, unsure, stack):  # type: ignore[no-untyped-def]
    """Clear the bits of tokens behind which a text cannot end in time.

    started: int32[nodes], the characters that a free string has begun at each. wanted: int32[S],
    from each state of an expression, fewest characters with which a text ends. given: int64[3], the
    place of the expression among those entered; how many characters may follow whatever they are;
    how many at most. row: int32[words], the tokens that fit in lexer state `stack[0]`, where any
    number may. unsure: int32[n], written behind their number: tokens of which that is not known, as
    far as there is room. stack: int64[depth + 4], lexer states; its last but two entry is the node
    to go on from. Returns 0, or NEED_ROW: call again with the same arguments.
    """
    place, free, most = given[0], given[1], given[2]
    at = stack.shape[0] - 3
    i = stack[at]
    while i < nodes.at.shape[0]:
        depth = nodes.at[i, NODE_DEPTH]
        height = numba.int64(subtrees.at[i, HEIGHT])
        # No token of the subtree has more characters than may follow anyway.
        if height < MANY and depth - 1 + height <= free:
            i = numba.int64(nodes.at[i, NODE_END])
            continue
        q = stack[depth - 1]
        if t.filled[q] == 0:
            code = call_fill_row(t, q)
            if code < 0:
                stack[at] = i
                return code
        target = numba.int64(t.rows[q, nodes.at[i, NODE_BYTE]])
        if target < 0:
            i = numba.int64(nodes.at[i, NODE_END])
            continue
        token = nodes.at[i, NODE_TOKEN]
        if token >= 0 and started[i] > free:
            behind = least_behind(t, wanted, place, target)
            if started[i] > most or (behind != UNSURE and started[i] + behind > most):
                prohibit(row, token)
            elif behind == UNSURE and unsure[0] + 1 < unsure.shape[0]:
                unsure[0] += 1
                unsure[unsure[0]] = token
        stack[depth] = target
        i += 1
    return numba.int64(0)
