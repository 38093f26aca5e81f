"""Lay out a trie of sorted texts, node by node in depth-first order."""

from __future__ import annotations

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.tables import I32, I64, U8


@lean(types.int64(U8, I64, I32, U8, I32, I32, I32, I32, I32))
def lay_out(data, begins, ids, byte, depth, end, token, extra_node, path):  # type: ignore[no-untyped-def]
    """Lay out texts in ascending order, none of them empty; returns how many nodes there are.

    data: uint8[bytes], the texts in a row; begins: int64[texts + 1], where each begins, and the
    end; ids: int32[texts]. byte: uint8[bytes], depth, end, token: int32[bytes], set for each node:
    its byte, its depth from 1 on, the node behind its subtree, and the id of the first text that
    ends there or -1. extra_node: int32[texts], set to the node of each text that is the same as the
    one before it, -1 for the others. path: int32[length of the longest text], scratch.
    """
    count, height = numba.int64(0), numba.int64(0)
    for text in range(ids.shape[0]):
        begin, size = begins[text], begins[text + 1] - begins[text]
        common = numba.int64(0)
        while common < min(height, size) and byte[path[common]] == data[begin + common]:
            common += 1
        while height > common:
            height -= 1
            end[path[height]] = count
        extra_node[text] = path[common - 1] if common == size else -1
        for place in range(common, size):
            byte[count], depth[count], token[count] = data[begin + place], place + 1, -1
            path[place] = count
            count += 1
        if common < size:
            token[count - 1] = ids[text]
        height = size
    while height > 0:
        height -= 1
        end[path[height]] = count
    return count
