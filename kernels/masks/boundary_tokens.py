"""Add the tokens that cross the end of a lexeme (boundary tokens), sorted by their next byte.

Many tokens leave a lexeme, and few of them go on with a byte that the parser then accepts. So what
lies behind the ends of a lexer state's lexemes is sorted by that byte, once; for each position only
the subtrees that begin with a byte which may follow are walked. The lexeme mask with these sorted
tokens is what xgrammar calls an adaptive token mask: accepted, rejected and uncertain tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.build.language import numba, reference, types
from structgen.kernels.lexer.rows import call_fill_row
from structgen.kernels.masks.lexeme_walk import LEXEME_ENDS, REMAINDERS, walk_behind
from structgen.kernels.masks.row_edits import ROW_EDITS, admit
from structgen.kernels.parser.seen_keys import call_seen_remainders
from structgen.kernels.parser.step import advance, call_step
from structgen.kernels.tables import (
    AT_BOUNDARY_TOKENS,
    DEAD,
    END_TERMINAL,
    I32,
    I64,
    NEED_EXACT,
    SEEN_TEXTS,
    TABLES,
    TEXT_CAPTURED,
    TEXT_COMPARED,
    TEXT_READ,
)
from structgen.kernels.trie.nodes import NODE_BYTE, NODE_DEPTH, NODE_END, NODE_TOKEN, NODES

ONE_BY_ONE = 1  #: how a lexeme ends matters: its ends must be looked at one by one


class BoundaryTokens(NamedTuple):
    """What tokens read behind the end of a lexeme, by how it ended and by the byte read first.

    label: int32[g], the terminals with which it ends. first: int32[256 * g + 1]: with byte b behind
    an end of the kind g begin the entries first[256 * g + b] up to the next of `first`. node:
    int32[n], the node of such a byte; end: int32[n], one past its subtree; token: int32[n], the id
    of the token that ends there, or -1. ended: int32[k], tokens that end with the lexeme itself,
    those of kind g from ends[g] up to ends[g + 1]; ends: int32[g + 1].
    """

    label: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    token: npt.NDArray[np.int32]
    ended: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]


BOUNDARY_TOKENS = reference(types.NamedUniTuple(I32, 7, BoundaryTokens))


@inlined
def add_up(counts):  # type: ignore[no-untyped-def]
    """Replace counts by their running sums."""
    for i in range(1, counts.shape[0]):
        counts[i] += counts[i - 1]


@inlined
def move_up(counts):  # type: ignore[no-untyped-def]
    """Move all entries one place on; the first is 0 then."""
    for i in range(counts.shape[0] - 1, 0, -1):
        counts[i] = counts[i - 1]
    counts[0] = 0


@lean(types.void(NODES, LEXEME_ENDS, BOUNDARY_TOKENS))
def sort_by_next_byte(nodes, lexeme_ends, out):  # type: ignore[no-untyped-def]
    """Sort what lies behind lexeme ends by terminal and next byte (a counting sort).

    out: zeros, with room for all, but for the labels. What was used of `out` is what `first` and
    `ends` say.
    """
    for turn in range(2):  # count, then write
        for k in range(lexeme_ends.node.shape[0]):
            group = 0
            while out.label[group] != lexeme_ends.label[k]:
                group += 1
            top = lexeme_ends.node[k]
            # Where a lexeme ends before the byte of its node, that byte lies behind it, else the
            # bytes of the node's children; a token may also end with the lexeme.
            i = top
            if lexeme_ends.before[k] == 0:
                i = top + 1
                if nodes.at[top, NODE_TOKEN] >= 0:
                    if turn == 0:
                        out.ends[group + 1] += 1
                    else:
                        out.ended[out.ends[group]] = nodes.at[top, NODE_TOKEN]
                        out.ends[group] += 1
            while i < nodes.at[top, NODE_END]:
                spot = 256 * group + numba.int64(nodes.at[i, NODE_BYTE])
                if turn == 0:
                    out.first[spot + 1] += 1
                else:
                    at = out.first[spot]
                    out.first[spot] += 1
                    out.node[at] = i
                    out.end[at] = nodes.at[i, NODE_END]
                    out.token[at] = nodes.at[i, NODE_TOKEN]
                i = nodes.at[i, NODE_END]
        # Now `first` says where each byte's entries begin; writing moves it to where they end, ...
        if turn == 0:
            add_up(out.first)
            add_up(out.ends)
    # ... which is where the next ones begin.
    move_up(out.first)
    move_up(out.ends)


@inlined
def walk_from(t, nodes, boundary, group, position, deeper, edits, stack):  # type: ignore[no-untyped-def]
    """Set bits of the tokens that go on behind an end that led to a position: 0 or a NEED_*."""
    place = stack.shape[0] - 2
    q = position >> 32
    if t.filled[q] == 0:
        code = call_fill_row(t, q)
        if code < 0:
            return code
    for byte in range(stack[place], 256):
        # Only bytes that the lexer state reads, or that may follow if the lexeme ends at once.
        k = boundary.first[256 * group + byte]
        last = boundary.first[256 * group + byte + 1]
        if k == last or (t.rows[q, byte] == DEAD and t.accept[q] <= END_TERMINAL):
            continue
        stack[place] = byte
        after = call_step(t, position, numba.int64(byte))
        if after < DEAD:
            return after
        # Tokens that end with this byte fit; those that go on are walked byte by byte.
        while after >= 0 and k < last:
            i = boundary.node[k]
            if deeper == 0 or i != nodes.root_child[byte]:
                admit(edits, boundary.token[k])
                if i + 1 < boundary.end[k]:
                    stack[nodes.at[i, NODE_DEPTH]] = after
                    code = walk_behind(t, nodes, edits, stack, i + 1, boundary.end[k])
                    if code < 0:
                        return code
            k += 1
    return numba.int64(0)


@inner(
    types.int64(
        TABLES, NODES, BOUNDARY_TOKENS, REMAINDERS, types.int64, types.int64, ROW_EDITS, I64
    )
)
def walk_boundary_tokens(t, nodes, boundary, remainders, stack_node, deeper, edits, stack):  # type: ignore[no-untyped-def]
    """Set bits of tokens that end the lexeme in a stack node and go on beyond it.

    As `walk_lexeme_ends`, for ends of which nothing but the terminal matters, so that each kind of
    end leads to one position. deeper: 1 to leave out the tokens that end the lexeme before their
    first byte. remainders: scratch. stack: int64[depth + 4], one position per depth; the last three
    entries but one are the kind of end and the byte to go on from (0 at first). Returns 0 when
    done, ONE_BY_ONE if `walk_lexeme_ends` must be asked instead, or a NEED_* code; call again with
    the same arguments.
    """
    place = stack.shape[0] - 3
    for group in range(stack[place], boundary.label.shape[0]):
        terminal = numba.int64(boundary.label[group])
        compared = t.needs_text[terminal] == TEXT_COMPARED
        # A text that is read, or that may be one seen before, makes each end another case.
        if t.needs_text[terminal] == TEXT_READ:
            return numba.int64(ONE_BY_ONE)
        if compared and t.stack_nodes[stack_node, SEEN_TEXTS] >= 0:
            if call_seen_remainders(t, stack_node, remainders.text, remainders.start) != 0:
                return numba.int64(ONE_BY_ONE)
        position = advance(
            t, stack_node, terminal, compared or t.needs_text[terminal] == TEXT_CAPTURED
        )
        code = position
        if position >= 0:
            for k in range(boundary.ends[group], boundary.ends[group + 1]):
                admit(edits, boundary.ended[k])
            code = walk_from(t, nodes, boundary, group, position, deeper, edits, stack)
        if code < DEAD:
            return numba.int64(ONE_BY_ONE) if code == NEED_EXACT else code
        stack[place] = group + 1
        stack[place + 1] = 0
    return numba.int64(0)


call_boundary_tokens = called(walk_boundary_tokens, AT_BOUNDARY_TOKENS)
