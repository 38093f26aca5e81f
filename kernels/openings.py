"""In: the brace of an object that nobody has looked into. Out: the tokens that go on behind it.

Tokens that end a key may go on with the brace of its value, and with a byte or two behind that.
What can be read there is mostly plain before the object is opened, which takes long: white space,
or the quote of a key. So an object is opened when a text has come to it, not in a mask before.
"""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.changes import CHANGES, admit
from structgen.kernels.flags import called, inlined, inner
from structgen.kernels.names import QUOTE
from structgen.kernels.nodes import NODE_BYTE, NODE_DEPTH, NODE_END, NODE_TOKEN, NODES
from structgen.kernels.provide import call_provide
from structgen.kernels.tables import (
    AT_FORETELL,
    DEAD,
    I64,
    NEED_MOVE,
    NEED_OPENING,
    SKIP_LABEL,
    TABLES,
    UNKNOWN,
    find,
)

BRACE, END_BRACE = 0x7B, 0x7D


@inlined
def is_shallow(nodes, i):  # type: ignore[no-untyped-def]
    """Whether node `i` is a brace behind which no token closes it, or has the text of a key."""
    if nodes.at[i, NODE_BYTE] != BRACE:
        return False
    for j in range(i + 1, nodes.at[i, NODE_END]):
        byte = nodes.at[j, NODE_BYTE]
        if byte == END_BRACE or (byte == QUOTE and nodes.at[j, NODE_END] > j + 1):
            return False
    return True


@inner(types.int64(TABLES, NODES, types.int64, CHANGES, I64))
def foretell(t, nodes, i, changes, stack):  # type: ignore[no-untyped-def]
    """Set bits of the tokens at node `i` and below that can be read, without the move that lacks.

    For a byte that needs a move nobody has computed: the one in `t.need`. stack: scratch, from the
    depth of the node on. Returns 0, or a NEED_* code.
    """
    if not is_shallow(nodes, i):
        return numba.int64(NEED_MOVE)
    known = find(t.moves, (t.need[0] << 32) | SKIP_LABEL)
    if known == UNKNOWN:
        return numba.int64(NEED_OPENING)
    if known & 0xFFFFFFF != t.need[1]:  # a number, say, that ends before the brace
        return numba.int64(NEED_MOVE)
    admit(changes, nodes.at[i, NODE_TOKEN])
    stack[nodes.at[i, NODE_DEPTH]] = known >> 28
    j = numba.int64(i + 1)
    while j < nodes.at[i, NODE_END]:
        depth, byte = nodes.at[j, NODE_DEPTH], nodes.at[j, NODE_BYTE]
        q = stack[depth - 1]
        if t.filled[q] == 0:
            code = call_provide(t, q)
            if code < 0:
                return code
        stack[depth] = t.rows[q, byte]  # of a quote nothing is below
        if stack[depth] >= 0 or (
            stack[depth] == DEAD and t.accept[q] == SKIP_LABEL and byte == QUOTE
        ):
            admit(changes, nodes.at[j, NODE_TOKEN])
            j += 1
        else:
            j = numba.int64(nodes.at[j, NODE_END])
    return numba.int64(0)


call_foretell = called(foretell, AT_FORETELL)


@inlined
def lacking(t, nodes, i, code, changes, stack):  # type: ignore[no-untyped-def]
    """What is needed to read the byte of node `i`; 0 if all tokens there could be told without.

    code: the NEED_* code with which reading it ended. For the rest see `foretell`.
    """
    return call_foretell(t, nodes, i, changes, stack) if code == NEED_MOVE else code
