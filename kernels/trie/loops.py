"""Skip whole subtrees of the trie, and set and clear the bits of tokens.

A lexer state inside a string loops: it reads a set of characters again and again and stays in the
lexeme. A subtree all of whose characters it reads, in any order and often enough, need not be
walked: all its tokens fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined
from structgen.kernels.build.language import numba, types
from structgen.kernels.tables import I64, U8
from structgen.kernels.trie.nodes import HEIGHT, NODE_END, NODE_TOKEN


class Loops(NamedTuple):
    """What lexer states read again and again; nothing is known of those beyond the arrays.

    groups: int64[k], the bits of groups of bytes; often: uint8[k], how many characters of these may
    follow in any order, 255 for any number.
    """

    groups: npt.NDArray[np.int64]
    often: npt.NDArray[np.uint8]


LOOPS = types.NamedTuple([I64, U8], Loops)


@inlined
def all_loop(subtrees, loops, q, i, part):  # type: ignore[no-untyped-def]
    """Whether lexer state `q` reads a subtree and stays within the lexeme.

    part: WHOLE if it is before node `i` and reads that as well, BELOW if it is behind it.
    """
    return (
        q < loops.often.shape[0]
        and subtrees.at[i, part] & ~loops.groups[q] == 0
        and subtrees.at[i, HEIGHT] <= loops.often[q]
    )


@inlined
def allow_below(nodes, subtrees, row, i):  # type: ignore[no-untyped-def]
    """Set the bits of all tokens that end at node `i` or below."""
    for k in range(subtrees.first[i], subtrees.first[nodes.at[i, NODE_END]]):
        token = subtrees.order[k]
        row[token >> 5] |= numba.int32(numba.uint32(1) << numba.uint32(token & 31))


@inlined
def permit(row, token):  # type: ignore[no-untyped-def]
    """Set the bit of a token, unless it is -1."""
    if token >= 0:
        row[token >> 5] |= numba.int32(numba.uint32(1) << numba.uint32(token & 31))


@inlined
def allow(nodes, row, i):  # type: ignore[no-untyped-def]
    """Set the bits of all tokens that end at node `i`."""
    permit(row, nodes.at[i, NODE_TOKEN])


@inlined
def prohibit(row, token):  # type: ignore[no-untyped-def]
    """Clear the bit of a token, unless it is -1."""
    if token >= 0:
        row[token >> 5] &= ~numba.int32(numba.uint32(1) << numba.uint32(token & 31))


@inlined
def forbid(nodes, row, first, last):  # type: ignore[no-untyped-def]
    """Clear the bits of all tokens that end at nodes `first` to `last` - 1."""
    for j in range(first, last):
        prohibit(row, nodes.at[j, NODE_TOKEN])
