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
from structgen.kernels.references import reference
from structgen.kernels.tables import I32, I64, U8


class Loops(NamedTuple):
    """What lexer states read again and again; nothing is known of those beyond the arrays.

    groups: int64[k], the bits of groups of bytes; often: uint8[k], how many characters of these may
    follow in any order, 255 for any number.
    """

    groups: npt.NDArray[np.int64]
    often: npt.NDArray[np.uint8]


class Subtrees(NamedTuple):
    """What is at and below each node of a trie.

    own: uint8[n], the group of the character that begins at the node (`automaton.byte_groups`),
    IN_CHARACTER within one. whole: int64[n], bits of the groups of all characters that begin at the
    node or below, and of the broken ones where the node is within a character; groups: int64[n],
    the same for those below, with the broken ones also where a character goes on below. height:
    uint8[n], how many characters begin at the node and below at most, MANY for more. first:
    int32[n + 1], the place in `order` of the first token at it or below; order: int32[m], the
    tokens in the order of nodes.
    """

    own: npt.NDArray[np.uint8]
    whole: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]
    height: npt.NDArray[np.uint8]
    first: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]


IN_CHARACTER = 255
MANY = 255  #: characters: of more the same is said
LOOPS = types.NamedTuple([I64, U8], Loops)
SUBTREES = reference(types.NamedTuple([U8, I64, I64, U8, I32, I32], Subtrees))


@inlined
def all_loop(subtrees, loops, q, i):  # type: ignore[no-untyped-def]
    """Whether lexer state `q` reads node `i` and all below it and stays within the lexeme."""
    return (
        q < loops.often.shape[0]
        and subtrees.whole[i] & ~loops.groups[q] == 0
        and subtrees.height[i] <= loops.often[q]
    )


@inlined
def below_loop(subtrees, loops, q, i):  # type: ignore[no-untyped-def]
    """Whether lexer state `q`, behind node `i`, reads all below it and stays within the lexeme."""
    return (
        q < loops.often.shape[0]
        and subtrees.groups[i] & ~loops.groups[q] == 0
        and subtrees.height[i] <= loops.often[q]
    )


@inlined
def is_other(subtrees, letters, i):  # type: ignore[no-untyped-def]
    """Whether a character begins at node `i` that is in none of the groups with bits `letters`."""
    own = numba.int64(subtrees.own[i])
    return own != IN_CHARACTER and (letters >> own) & 1 == 0


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
def forbid(nodes, row, first, last):  # type: ignore[no-untyped-def]
    """Clear the bits of all tokens that end at nodes `first` to `last` - 1."""
    for j in range(first, last):
        token = nodes.token[j]
        if token >= 0:
            row[token >> 5] &= ~numba.int32(numba.uint32(1) << numba.uint32(token & 31))
