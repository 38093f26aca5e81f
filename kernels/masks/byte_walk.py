"""Walk the trie byte by byte from a position, through whatever the parser does.

For positions from which few bytes lead on, for listed words, and for automata that stand inside
others: where texts of one are followed by texts of another, a token can cross from the one to the
other at any node, so this walk also says at which nodes the other may take over.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.lexer.rows import call_fill_row
from structgen.kernels.masks.deferred_openings import go_on
from structgen.kernels.masks.row_edits import ROW_EDITS, refuse
from structgen.kernels.parser.step import allows_key, call_advance, call_step, ending, read
from structgen.kernels.tables import (
    AT_LISTED_WORDS,
    AT_NARROW,
    DEAD,
    END_TERMINAL,
    FALLBACK,
    I32,
    I64,
    TABLES,
)
from structgen.kernels.trie.loops import allow
from structgen.kernels.trie.nodes import NODE_BYTE, NODE_DEPTH, NODE_END, NODE_TOKEN, NODES

ENDS_FULL = -9  #: the array of ends is full


@inlined
def walk_tree(t, nodes, top, row, ends, stack, read_byte, may_end):  # type: ignore[no-untyped-def]
    """`walk_below` for tables of any kind: `read_byte` and `may_end` are their kernels."""
    place = stack.shape[0] - 3
    i = stack[place]
    count = stack[place + 1]
    base = numba.int64(0)
    last = numba.int64(nodes.at.shape[0])
    if top >= 0:
        base = numba.int64(nodes.at[top, NODE_DEPTH])
        last = numba.int64(nodes.at[top, NODE_END])
    status = numba.int64(0)
    while i < last:
        depth = nodes.at[i, NODE_DEPTH] - base
        # 0: the node has not been read; 1: only its end is still to be tested.
        if stack[place + 2] == 0:
            after = read_byte(t, stack[depth - 1], numba.int64(nodes.at[i, NODE_BYTE]))
            if after == DEAD:
                i = numba.int64(nodes.at[i, NODE_END])
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
    """Set bits of tokens below node `top` (-1: the root) that can be read from position `stack[0]`.

    row: int32[words]. ends: int32[k], the nodes after which the text may end; of length 0 when that
    is not asked. stack: int64[depth + 4], one position per depth below `top`; its last three
    entries are the node to go on from (at first top + 1), the number of ends, and 1 when only the
    end at that node is still to be tested. Returns 0 when done, ENDS_FULL, or a NEED_*; then call
    again.
    """
    return walk_tree(t, nodes, top, row, ends, stack, read, ending)


@inlined
def next_listed(t, nodes, q, fallback, first):  # type: ignore[no-untyped-def]
    """The next node of depth 1, from byte `first` on, where state `q` differs from its fallback.

    One past the last node if there is none.
    """
    for byte in range(first, 256):
        other = t.rows[fallback, byte] if fallback >= 0 else DEAD
        if t.rows[q, byte] != other and nodes.root_child[byte] >= 0:
            return numba.int64(nodes.root_child[byte])
    return numba.int64(nodes.at.shape[0])


@inner(types.int64(TABLES, NODES, ROW_EDITS, I64))
def walk_listed(t, nodes, edits, stack):  # type: ignore[no-untyped-def]
    """Set and clear bits of the tokens that begin within listed words, read from `stack[0]`.

    edits: of a row with the tokens of any other text that may be read in the place of the words.
    stack: int64[2 * (depth + 3)]: a position per depth; from half of it on, 1 per depth where that
    position is still within the words; the last entry is the node to go on from. The state that
    `stack[0]` has must be within listed words. Returns 0 when done or a NEED_* code; call again
    with the same arguments.
    """
    place = stack.shape[0] - 1
    half = stack.shape[0] // 2 - 2
    i = stack[place]
    code = numba.int64(0)
    while i < nodes.at.shape[0]:
        depth = nodes.at[i, NODE_DEPTH]
        position = stack[depth - 1]
        stack[half + depth] = 0
        # Behind the words: read on as anywhere.
        if stack[half + depth - 1] == 0:
            position = call_step(t, position, numba.int64(nodes.at[i, NODE_BYTE]))
        else:
            q = position >> 32
            code = call_fill_row(t, q) if t.filled[q] == 0 else numba.int64(0)
            fallback = numba.int64(t.state_info[q, FALLBACK])
            if code >= 0 and fallback >= 0 and t.filled[fallback] == 0:
                code = call_fill_row(t, fallback)
            if code < 0:
                break
            if depth == 1:
                i = next_listed(t, nodes, q, fallback, numba.int64(nodes.at[i, NODE_BYTE]))
                if i >= nodes.at.shape[0]:
                    break
            byte = numba.int64(nodes.at[i, NODE_BYTE])
            target = numba.int64(t.rows[q, byte])
            # As the fallback does: the base row is right for the whole subtree.
            if target == (t.rows[fallback, byte] if fallback >= 0 else DEAD):
                i = nodes.at[i, NODE_END]
                continue
            # The word ends where other texts would go on: the base row's tokens do not fit here.
            if target < 0:
                for j in range(i, nodes.at[i, NODE_END]):
                    refuse(edits, nodes.at[j, NODE_TOKEN])
                position = call_advance(t, position & 0xFFFFFFFF, -target - 2)
            elif allows_key(t, position & 0xFFFFFFFF, target):
                stack[half + depth] = 1
                position = (target << 32) | (position & 0xFFFFFFFF)
            else:
                position = numba.int64(DEAD)
        following = go_on(t, nodes, i, position, edits, stack)
        if following < 0:
            code = following
            break
        i = following
    stack[place] = i
    return code


call_listed = called(walk_listed, AT_LISTED_WORDS)


@inlined
def next_read(t, nodes, q, behind, first):  # type: ignore[no-untyped-def]
    """The next node of depth 1, from byte `first` on, that states `q` or `behind` may read.

    One past the last node if there is none. behind: -1 if there is no such state, DEAD - 1 if any
    byte may be read there.
    """
    for byte in range(first, 256):
        if nodes.root_child[byte] >= 0 and (
            t.rows[q, byte] != DEAD
            or behind < DEAD
            or (behind >= 0 and t.rows[behind, byte] != DEAD)
        ):
            return numba.int64(nodes.root_child[byte])
    return numba.int64(nodes.at.shape[0])


@inner(types.int64(TABLES, NODES, ROW_EDITS, I64))
def walk_narrow(t, nodes, edits, stack):  # type: ignore[no-untyped-def]
    """Set bits of all tokens that can be read from the position `stack[0]`, byte by byte.

    For positions from which few bytes lead on. stack: int64[depth + 4], its last but two entry is
    the node to go on from. Returns 0 when done or a NEED_* code; call again as before.
    """
    place = stack.shape[0] - 3
    q = stack[0] >> 32
    if t.filled[q] == 0:
        code = call_fill_row(t, q)
        if code < 0:
            return code
    behind = numba.int64(DEAD)  # the state where the lexeme ends before the first byte
    if t.accept[q] > END_TERMINAL:
        after = call_advance(t, stack[0] & 0xFFFFFFFF, numba.int64(t.accept[q]))
        if after < DEAD:
            return after
        if after >= 0:
            behind = after >> 32
            if t.filled[behind] == 0:
                code = call_fill_row(t, behind)
                if code < 0:
                    return code
            if t.accept[behind] > END_TERMINAL:
                behind = numba.int64(DEAD - 1)
    i = stack[place]
    while i < nodes.at.shape[0]:
        depth = nodes.at[i, NODE_DEPTH]
        if depth == 1:
            i = next_read(t, nodes, q, behind, numba.int64(nodes.at[i, NODE_BYTE]))
            if i >= nodes.at.shape[0]:
                break
        position = read(t, stack[depth - 1], numba.int64(nodes.at[i, NODE_BYTE]))
        following = go_on(t, nodes, i, position, edits, stack)
        if following < 0:
            stack[place] = i
            return following
        i = following
    return numba.int64(0)


call_narrow = called(walk_narrow, AT_NARROW)
