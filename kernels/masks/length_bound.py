"""Take from a string's mask the tokens that are too long for maxLength.

A lexer state of a bounded string allows what the unbounded one does, but for tokens behind which
the text cannot end in time. Few tokens are that long, so only the paths to these are walked. How
soon a text can end is known of states of the unbounded expression, not of states within a
character: such tokens are read byte by byte from the bounded state.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.lexer.rows import call_fill_row
from structgen.kernels.tables import (
    DEPTH,
    GRID,
    HIGH_SURROGATE,
    I32,
    I64,
    INTS,
    KIND,
    SPANS_TEXT,
    SPANS_UNKNOWN,
    TABLES,
)
from structgen.kernels.trie.loops import LOOPS, all_loop, prohibit
from structgen.kernels.trie.nodes import (
    BELOW,
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
LEAST, SURELY = range(2)  # places of `wanted`
TOO_MANY = 1  # returned where too many states would have to be found
# Places of `given`, see `refuse_longer`.
PLACE, FREE, MOST, STRAYING, BOUNDED, FOUND, MOST_FOUND = range(7)


@inlined
def least_behind(t, wanted, place, q):  # type: ignore[no-untyped-def]
    """Fewest characters with which a text ends from lexer state `q`, or UNSURE."""
    kind = t.state_info[q, KIND]
    if (kind == SPANS_TEXT or kind == SPANS_UNKNOWN) and t.state_info[q, HIGH_SURROGATE] == place:
        return numba.int64(wanted[t.state_info[q, DEPTH]])
    return numba.int64(UNSURE)


@inlined
def read_whole(t, stack, depth, q):  # type: ignore[no-untyped-def]
    """The lexer state behind the bytes on the stack, read from `q`; below -1 a NEED_* code."""
    for d in range(1, depth + 1):
        if t.filled[q] == 0:
            code = call_fill_row(t, q)
            if code < 0:
                return numba.int64(code)
        q = numba.int64(t.rows[q, stack[d] >> 32])
        if q < 0:
            return numba.int64(-1)
    return q


@lean(types.int64(TABLES, NODES, SUBTREES, LOOPS, INTS, GRID, I64, I32, I64))
def refuse_longer(t, nodes, subtrees, loops, started, wanted, given, row, stack):  # type: ignore[no-untyped-def]
    """Clear the bits of tokens behind which a text cannot end in time.

    started: int32[nodes], the characters that a free string has begun at each. wanted: int32[2, S],
    from each state of an expression, fewest characters with which a text may end, and a number with
    which one does. given: int64[7]: PLACE, of the expression among those entered; FREE, how many
    characters may follow whatever they are, and MOST, at all; STRAYING, by how many more than one
    the characters that loop lead away from an end; BOUNDED, the lexer state with the bound that all
    this is about; FOUND, counted: how often a row was lacking to read from there, at most
    MOST_FOUND. row: int32[words], the tokens that fit in lexer state `stack[0]`, where any number
    of characters may follow. stack: int64[depth + 4]: per depth byte << 32 | lexer state; its last
    but two entry is the node to go on from. Returns 0, TOO_MANY, or NEED_ROW: call again with the
    same arguments.
    """
    place, free, most = given[PLACE], given[FREE], given[MOST]
    at = stack.shape[0] - 3
    i = stack[at]
    while i < nodes.at.shape[0]:
        depth = nodes.at[i, NODE_DEPTH]
        height = numba.int64(subtrees.at[i, HEIGHT])
        before = min(depth - 1, numba.int64(started[i]))
        # No token of the subtree has more characters than may follow anyway.
        if height < MANY and before + height <= free:
            i = numba.int64(nodes.at[i, NODE_END])
            continue
        q = stack[depth - 1] & 0xFFFFFFFF
        if t.filled[q] == 0:
            code = call_fill_row(t, q)
            if code < 0:
                stack[at] = i
                return code
        target = numba.int64(t.rows[q, nodes.at[i, NODE_BYTE]])
        if target < 0:
            i = numba.int64(nodes.at[i, NODE_END])
            continue
        stack[depth] = (numba.int64(nodes.at[i, NODE_BYTE]) << 32) | target
        token = nodes.at[i, NODE_TOKEN]
        enough = least_behind(t, wanted[SURELY], place, target)
        if token >= 0 and started[i] > free:
            fewest = least_behind(t, wanted[LEAST], place, target)
            if started[i] > most or (fewest != UNSURE and started[i] + fewest > most):
                prohibit(row, token)
            elif enough == UNSURE or started[i] + enough > most:
                after = read_whole(t, stack, depth, given[BOUNDED])
                if after < -1:
                    given[FOUND] += 1
                    stack[at] = i
                    return numba.int64(TOO_MANY) if given[FOUND] > given[MOST_FOUND] else after
                if after < 0:
                    prohibit(row, token)
        # Nor does any token below lead too far away from an end.
        if (
            height < MANY
            and enough != UNSURE
            and started[i] + height + enough + 1 + given[STRAYING] <= most
            and all_loop(subtrees, loops, target, i, BELOW)
        ):
            i = numba.int64(nodes.at[i, NODE_END])
            continue
        i += 1
    return numba.int64(0)
