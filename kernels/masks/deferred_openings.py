"""In: a byte behind which nobody has looked yet. Out: the tokens that go on behind it.

Tokens that end a key may go on with the brace of its value, or with an empty text and the comma
behind it, and a byte or two more. What can be read there is mostly plain before anybody has looked
there, which takes long: white space, or the quote of a key. So an object is opened, and the end of
a member found, when a text has come to it, not in a mask before.
"""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.build.decorators import called, inlined, inner
from structgen.kernels.lexer.rows import call_provide
from structgen.kernels.lexer.words import QUOTE
from structgen.kernels.masks.row_edits import CHANGES, admit
from structgen.kernels.tables import (
    AT_FORETELL,
    CHECKLIST,
    DEAD,
    END_LABEL,
    ENDLESS,
    HIGH,
    I64,
    NEED_MOVE,
    NEED_OPENING,
    SKIP_LABEL,
    TABLES,
    UNKNOWN,
    UNUSED,
    find,
)
from structgen.kernels.trie.nodes import NODE_BYTE, NODE_DEPTH, NODE_END, NODE_TOKEN, NODES

BRACE, END_BRACE = 0x7B, 0x7D


@inlined
def is_shallow(nodes, i):  # type: ignore[no-untyped-def]
    """Whether behind node `i` no token closes an object, or has the text of a key."""
    for j in range(i + 1, nodes.at[i, NODE_END]):
        byte = nodes.at[j, NODE_BYTE]
        if byte == END_BRACE or (byte == QUOTE and nodes.at[j, NODE_END] > j + 1):
            return False
    return True


@inlined
def ends_member(t, frame, label, q):  # type: ignore[no-untyped-def]
    """Whether the quote behind lexer state `q` ends the value of a member with a label.

    Of an object in which other members can always follow, and whatever has come is ticked off.
    """
    checklist = t.frames[frame, CHECKLIST]
    return (
        t.rows[q, QUOTE] == -2 - label
        and t.needs_text[label] == UNUSED  # no key without a name
        and checklist >= 0
        and t.checklists[checklist, ENDLESS] != 0
        and t.frames[frame, HIGH] == 0  # no name may come
    )


@inner(types.int64(TABLES, NODES, types.int64, CHANGES, I64))
def foretell(t, nodes, i, changes, stack):  # type: ignore[no-untyped-def]
    """Set bits of the tokens at node `i` and below that can be read, without the move that lacks.

    For a byte that needs a move nobody has computed: the one in `t.need`. stack: the pair before
    it, and scratch from the depth of the node on. Returns 0, or a NEED_* code.
    """
    depth, byte, slot = nodes.at[i, NODE_DEPTH], nodes.at[i, NODE_BYTE], numba.int64(SKIP_LABEL)
    if byte == QUOTE and ends_member(t, t.need[0], t.need[1], stack[depth - 1] >> 32):
        slot = numba.int64(END_LABEL)
    elif byte != BRACE:
        return numba.int64(NEED_MOVE)
    if not is_shallow(nodes, i):
        return numba.int64(NEED_MOVE)
    known = find(t.moves, (t.need[0] << 32) | slot)
    if known == UNKNOWN:
        return numba.int64(NEED_OPENING)
    if known & 0xFFFFFFF != t.need[1]:  # a number, say, that ends before the brace
        return numba.int64(NEED_MOVE)
    admit(changes, nodes.at[i, NODE_TOKEN])
    stack[depth] = known >> 28
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
