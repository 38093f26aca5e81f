"""In: a vocabulary's trie. Out: which characters, how many, which tokens are below each node."""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.flags import inlined, lean
from structgen.kernels.loops import SUBTREES
from structgen.kernels.tables import BYTES, I64, U8
from structgen.kernels.walk import NODES


@inlined
def is_continued(byte, before, left):  # type: ignore[no-untyped-def]
    """Whether `byte`, of which `left` are wanted behind byte `before`, goes on in a character."""
    low = 0x80
    high = 0xBF
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
    """Write `subtrees`. group: uint8[256], the group of each byte, 0 for those that begin nothing.

    left: uint8[n], written: how many bytes of the character are wanted behind each node; 255 where
    the node's own byte is out of place. stack: int64[depth + 4], scratch.
    """
    count = 0
    stack[0] = 0
    for i in range(nodes.byte.shape[0]):
        subtrees.first[i] = count
        if nodes.token[i] >= 0:
            subtrees.order[count] = nodes.token[i]
            count += 1
        depth = nodes.depth[i]
        byte = numba.int64(nodes.byte[i])
        wanted = stack[depth - 1] & 0xFF
        after = 255
        if wanted == 255:
            pass
        elif wanted > 0:
            if is_continued(byte, stack[depth - 1] >> 8, wanted):
                after = wanted - 1
        elif byte < 0x80 or group[byte] != 0:
            after = 0 if byte < 0x80 else 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
        left[i] = after
        stack[depth] = byte << 8 | after
    subtrees.first[nodes.byte.shape[0]] = count
    one = numba.int64(1)
    for back in range(nodes.byte.shape[0]):
        i = nodes.byte.shape[0] - 1 - back
        found = numba.int64(0)
        height = 0
        j = i + 1
        while j < nodes.end[i]:
            begins = 1 if left[i] == 0 else 0
            height = max(height, min(numba.int64(subtrees.height[j]) + begins, 255))
            if left[j] == 255:
                found |= one
            elif left[i] == 0:
                found |= one << numba.int64(group[nodes.byte[j]])
            found |= subtrees.groups[j]
            j = nodes.end[j]
        subtrees.groups[i] = found
        subtrees.height[i] = height
    for i in range(nodes.byte.shape[0]):
        if left[i] != 0:
            subtrees.groups[i] |= one
