"""Describe the subtrees of a vocabulary's trie: their characters, how many, and their tokens."""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.lexer.rows import call_fill_row
from structgen.kernels.tables import BYTES, I32, I64, TABLES, U8
from structgen.kernels.trie.nodes import (
    BELOW,
    HEIGHT,
    IN_CHARACTER,
    MANY,
    NODE_BYTE,
    NODE_DEPTH,
    NODE_END,
    NODE_TOKEN,
    NODES,
    OWN,
    SUBTREES,
    WHOLE,
)


@inlined
def is_continued(byte, before, left):  # type: ignore[no-untyped-def]
    """Whether `byte` goes on in a UTF-8 character that lacks `left` bytes behind byte `before`."""
    low = 0x80
    high = 0xBF
    # The second byte tells longer spellings and surrogates, which are not UTF-8 (RFC 3629).
    if before == 0xE0:
        low = 0xA0
    elif before == 0xED:
        high = 0x9F
    elif before == 0xF0:
        low = 0x90
    elif before == 0xF4:
        high = 0x8F
    return left > 0 and low <= byte <= high


@lean(types.void(NODES, BYTES, SUBTREES, U8, I64))
def describe_subtrees(nodes, group, subtrees, left, stack):  # type: ignore[no-untyped-def]
    """Fill `subtrees` for a trie.

    group: uint8[256], the group of each byte, 0 for those that begin nothing. left: uint8[n],
    written: how many bytes of the character are wanted behind each node; 255 where the node's own
    byte is out of place. stack: int64[depth + 4], scratch.
    """
    count = 0
    stack[0] = 0
    # Downwards, in the order of nodes: which character each byte is part of. The stack has, per
    # depth, byte << 8 | how many bytes of its character are wanted.
    for i in range(nodes.at.shape[0]):
        subtrees.first[i] = count
        if nodes.at[i, NODE_TOKEN] >= 0:
            subtrees.order[count] = nodes.at[i, NODE_TOKEN]
            count += 1
        depth = nodes.at[i, NODE_DEPTH]
        byte = numba.int64(nodes.at[i, NODE_BYTE])
        wanted = stack[depth - 1] & 0xFF
        after = 255
        own = numba.int64(0)
        if wanted == 255:
            pass
        elif wanted > 0:
            if is_continued(byte, stack[depth - 1] >> 8, wanted):
                after = wanted - 1
                own = numba.int64(IN_CHARACTER)
        elif byte < 0x80 or group[byte] != 0:
            after = 0 if byte < 0x80 else 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
            own = numba.int64(group[byte])
        left[i] = after
        subtrees.at[i, OWN] = own
        stack[depth] = byte << 8 | after
    subtrees.first[nodes.at.shape[0]] = count
    # Upwards, children before parents: unions and heights of subtrees.
    one = numba.int64(1)
    for back in range(nodes.at.shape[0]):
        i = nodes.at.shape[0] - 1 - back
        found = numba.int64(0)
        height = 0
        j = i + 1
        while j < nodes.at[i, NODE_END]:
            height = max(height, numba.int64(subtrees.at[j, HEIGHT]))
            found |= subtrees.at[j, WHOLE]
            j = nodes.at[j, NODE_END]
        subtrees.at[i, BELOW] = found if left[i] == 0 else found | one
        own = numba.int64(subtrees.at[i, OWN])
        subtrees.at[i, WHOLE] = found if own == IN_CHARACTER else found | one << own
        begins = 1 if own != IN_CHARACTER and left[i] != 255 else 0
        subtrees.at[i, HEIGHT] = min(height + begins, MANY)
    for i in range(nodes.at.shape[0]):
        if subtrees.at[i, OWN] == IN_CHARACTER:
            subtrees.at[i, WHOLE] |= one


@lean(types.int64(TABLES, NODES, I32, I64))
def count_characters(t, nodes, started, stack):  # type: ignore[no-untyped-def]
    """Count the characters down to each node that a free string `stack[0]` has begun.

    started: int32[n], written for all nodes that the string contains and those where it ends; the
    closing quote counts for nothing. stack: int64[depth + 4] as in `walk_lexeme`, and `stack[-2]`
    the number of the looping state, which is the one between two characters. Returns 0 when done or
    NEED_ROW.
    """
    place = stack.shape[0] - 3
    looping = stack[place + 1]
    i = stack[place]
    while i < nodes.at.shape[0]:
        depth = nodes.at[i, NODE_DEPTH]
        q = stack[depth - 1] & 0xFFFFFFFF
        if t.filled[q] == 0:
            code = call_fill_row(t, q)
            if code < 0:
                stack[place] = i
                return code
        before = stack[depth - 1] >> 32
        target = t.rows[q, nodes.at[i, NODE_BYTE]]
        if target >= 0:
            if q == looping:
                before += 1
            stack[depth] = (before << 32) | target
            started[i] = before
            i += 1
        else:
            started[i] = before
            i = nodes.at[i, NODE_END]
    return numba.int64(0)
