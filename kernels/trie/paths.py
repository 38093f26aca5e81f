"""Nodes of a trie by the bytes on both sides of their ends, and the bytes down to nodes."""

from __future__ import annotations

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import types
from structgen.kernels.tables import I32, I64, U8
from structgen.kernels.trie.nodes import NODE_BYTE, NODE_DEPTH, NODES


@lean(types.void(NODES, U8, U8, I32, U8))
def mark_between(nodes, lasts, firsts, path, marks):  # type: ignore[no-untyped-def]
    """Mark the nodes with a byte of `lasts` that have a child with a byte of `firsts`.

    lasts, firsts: uint8[256], whether each byte is among them. path: int32[longest token + 1],
    scratch. marks: uint8[nodes], set to 1.
    """
    for i in range(nodes.at.shape[0]):
        depth, byte = nodes.at[i, NODE_DEPTH], nodes.at[i, NODE_BYTE]
        path[depth] = i
        if firsts[byte] and depth > 1:
            above = path[depth - 1]
            if lasts[nodes.at[above, NODE_BYTE]]:
                marks[above] = 1


@lean(types.void(NODES, types.int64, I32, I64, U8, U8))
def write_paths(nodes, top, wanted, begins, path, data):  # type: ignore[no-untyped-def]
    """Write the bytes from a node down to some below it.

    top: that node, -1 for the root. wanted: int32[k], ascending. begins: int64[k], where in `data`,
    uint8[all bytes], the bytes of each begin. path: uint8[longest token], scratch.
    """
    base = nodes.at[top, NODE_DEPTH] if top >= 0 else 0
    place, i = 0, top + 1
    while place < wanted.shape[0]:
        size = nodes.at[i, NODE_DEPTH] - base
        path[size - 1] = nodes.at[i, NODE_BYTE]
        if i == wanted[place]:
            for k in range(size):
                data[begins[place] + k] = path[k]
            place += 1
        i += 1
