"""Decide tokens that open an object, or end a member, before the action is known.

Tokens that end a key may go on with the brace of its value, or with an empty text and the comma
behind it, and a byte or two more. What can be read there is mostly plain before Python has computed
the action, which takes long: white space, or the quote of a key. So an object is opened, and the
end of a member found, when a text has come to it, not in a mask before: Python says only the lexer
state behind it (NEED_OPENING), and only tokens that look no further are decided by that.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inlined, inner
from structgen.kernels.build.language import numba, types
from structgen.kernels.lexer.rows import call_fill_row
from structgen.kernels.lexer.words import QUOTE
from structgen.kernels.masks.row_edits import ROW_EDITS, admit
from structgen.kernels.tables import (
    ALWAYS_MORE,
    AT_PREDICT,
    DEAD,
    END_TERMINAL,
    HIGH,
    I64,
    KEY_SET,
    NEED_ACTION,
    NEED_OPENING,
    SKIP_TERMINAL,
    TABLES,
    TEXT_UNUSED,
    UNKNOWN,
    WANTED,
    WANTED_WITH,
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
def ends_member(t, frame, terminal, q):  # type: ignore[no-untyped-def]
    """Whether the quote behind lexer state `q` ends the value of a member with a terminal.

    Of an object in which other members can always follow, whatever keys have been seen.
    """
    key_set = t.frames[frame, KEY_SET]
    return (
        t.rows[q, QUOTE] == -2 - terminal
        and t.needs_text[terminal] == TEXT_UNUSED  # no key without a name
        and key_set >= 0
        and t.key_sets[key_set, ALWAYS_MORE] != 0
        and t.frames[frame, HIGH] == 0  # no name may come
    )


@inner(types.int64(TABLES, NODES, types.int64, ROW_EDITS, I64))
def predict(t, nodes, i, edits, stack):  # type: ignore[no-untyped-def]
    """Set bits of the tokens at node `i` and below that can be read, without the missing action.

    For a byte that needs an action nobody has computed: the one in `t.need`. stack: the position
    before it, and scratch from the depth of the node on. Returns 0, or a NEED_* code.
    """
    depth, byte, slot = nodes.at[i, NODE_DEPTH], nodes.at[i, NODE_BYTE], numba.int64(SKIP_TERMINAL)
    if byte == QUOTE and ends_member(
        t, t.need[WANTED], t.need[WANTED_WITH], stack[depth - 1] >> 32
    ):
        slot = numba.int64(END_TERMINAL)
    elif byte != BRACE:
        return numba.int64(NEED_ACTION)
    if not is_shallow(nodes, i):
        return numba.int64(NEED_ACTION)
    # Stored under terminals that no frame has an action for: see `Tables.actions`.
    known = find(t.actions, (t.need[WANTED] << 32) | slot)
    if known == UNKNOWN:
        return numba.int64(NEED_OPENING)
    if known & 0xFFFFFFF != t.need[WANTED_WITH]:  # a number, say, that ends before the brace
        return numba.int64(NEED_ACTION)
    admit(edits, nodes.at[i, NODE_TOKEN])
    stack[depth] = known >> 28
    # From here on lexer states are all there is: no stack, no action.
    j = numba.int64(i + 1)
    while j < nodes.at[i, NODE_END]:
        depth, byte = nodes.at[j, NODE_DEPTH], nodes.at[j, NODE_BYTE]
        q = stack[depth - 1]
        if t.filled[q] == 0:
            code = call_fill_row(t, q)
            if code < 0:
                return code
        stack[depth] = t.rows[q, byte]  # of a quote nothing is below
        if stack[depth] >= 0 or (
            stack[depth] == DEAD and t.accept[q] == SKIP_TERMINAL and byte == QUOTE
        ):
            admit(edits, nodes.at[j, NODE_TOKEN])
            j += 1
        else:
            j = numba.int64(nodes.at[j, NODE_END])
    return numba.int64(0)


call_predict = called(predict, AT_PREDICT)


@inlined
def predict_or_need(t, nodes, i, code, edits, stack):  # type: ignore[no-untyped-def]
    """What is needed to read the byte of node `i`; 0 if all tokens there could be decided without.

    code: the NEED_* code with which reading it ended. For the rest see `predict`.
    """
    return call_predict(t, nodes, i, edits, stack) if code == NEED_ACTION else code


@inlined
def go_on(t, nodes, i, position, edits, stack):  # type: ignore[no-untyped-def]
    """The node to look at after node `i`, whose byte led to `position`; or a NEED_* code.

    Where the byte can be read the bit of the node's token is set, and the position kept at its
    depth. position: DEAD where it cannot, or the NEED_* code with which reading it ended.
    """
    if position >= 0:
        stack[nodes.at[i, NODE_DEPTH]] = position
        admit(edits, nodes.at[i, NODE_TOKEN])
        return numba.int64(i + 1)
    if position != DEAD:
        code = predict_or_need(t, nodes, i, position, edits, stack)
        if code < 0:
            return code
    return numba.int64(nodes.at[i, NODE_END])
