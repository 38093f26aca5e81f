"""In: a node of a trie, and what a lexer state reads again and again. Out: bits of tokens.

A subtree all of whose characters a state reads, in any order and often enough, need not be walked.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.flags import inlined
from structgen.kernels.tables import I32, I64, U8


class Loops(NamedTuple):
    """What lexer states read again and again; nothing is known of those beyond the arrays.

    groups: int64[k], the bits of groups of bytes; often: uint8[k], how many characters of these may
    follow in any order, 255 for any number.
    """

    groups: npt.NDArray[np.int64]
    often: npt.NDArray[np.uint8]


class Subtrees(NamedTuple):
    """What is below each node of a trie.

    groups: int64[n], bits of the groups of bytes (`automaton.byte_groups`) that occur below it, and
    of the broken ones where the node is within a character. height: uint8[n], how many characters
    begin below it at most, 255 for more. first: int32[n + 1], the place in `order` of the first
    token at it or below; order: int32[m], the tokens in the order of nodes.
    """

    groups: npt.NDArray[np.int64]
    height: npt.NDArray[np.uint8]
    first: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]


LOOPS = types.NamedTuple([I64, U8], Loops)
SUBTREES = types.NamedTuple([I64, U8, I32, I32], Subtrees)


@inlined
def all_loop(subtrees, loops, target, i):  # type: ignore[no-untyped-def]
    """Whether all that is below node `i` stays within the lexeme from lexer state `target`."""
    return (
        target < loops.often.shape[0]
        and subtrees.groups[i] & ~loops.groups[target] == 0
        and subtrees.height[i] <= loops.often[target]
    )


@inlined
def allow_below(nodes, subtrees, row, i):  # type: ignore[no-untyped-def]
    """Set the bits of all tokens that end at node `i` or below."""
    for k in range(subtrees.first[i], subtrees.first[nodes.end[i]]):
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
    permit(row, nodes.token[i])


@inlined
def allowed_from(nodes, subtrees, loops, row, target, i):  # type: ignore[no-untyped-def]
    """Allow node `i`, at which lexer state `target` is; the node to go on from.

    All tokens below it are allowed too, and skipped, where they stay within the lexeme.
    """
    if all_loop(subtrees, loops, target, i):
        allow_below(nodes, subtrees, row, i)
        return numba.int64(nodes.end[i])
    allow(nodes, row, i)
    return numba.int64(i + 1)


@inlined
def forbid(nodes, row, first, last):  # type: ignore[no-untyped-def]
    """Clear the bits of all tokens that end at nodes `first` to `last` - 1."""
    for j in range(first, last):
        token = nodes.token[j]
        if token >= 0:
            row[token >> 5] &= ~numba.int32(numba.uint32(1) << numba.uint32(token & 31))
