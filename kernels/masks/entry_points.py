"""Kernels that Python calls, with tuples of arrays handed over by address.

When Python calls a kernel, each array that it hands over is looked at, which takes longer than most
kernels do. So a tuple is written down once, as kernels have it, and handed over by its address.
Whoever does so keeps the tuple while the address is in use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import WORDS, inner, lean, loader, stored
from structgen.kernels.build.language import reference, types
from structgen.kernels.lexer.rows import call_fill_row
from structgen.kernels.masks.boundary_tokens import (
    BOUNDARY_TOKENS,
    ONE_BY_ONE,
    call_boundary_tokens,
)
from structgen.kernels.masks.byte_walk import call_listed, call_narrow
from structgen.kernels.masks.lexeme_walk import (
    LEXEME_ENDS,
    LexemeEnds,
    Remainders,
    admit_duplicates,
    call_lexeme_ends,
)
from structgen.kernels.masks.row_edits import RowEdits, collect
from structgen.kernels.parser.stack_nodes import stack_node_of
from structgen.kernels.parser.step import (
    call_advance,
    call_ending,
    call_run,
    call_step,
    next_bytes,
    only_byte,
)
from structgen.kernels.tables import (
    BYTES,
    EDIT_PART,
    EDIT_STAGE,
    I32,
    I64,
    INTS,
    LOOKUP_KEYS,
    LOOKUP_NODE,
    LOOKUP_UNIQUE,
    READ_OFFSET,
    READ_POSITION,
    TABLES,
    U8,
)
from structgen.kernels.trie.nodes import NODES, SUBTREES, Nodes

tables_at, nodes_at = loader(TABLES), loader(NODES)
lexeme_ends_at, boundary_tokens_at = loader(LEXEME_ENDS), loader(BOUNDARY_TOKENS)
# Parts that `build_edits` adds to a base row, in this order.
BOUNDARY = 1  #: tokens that cross the end of the lexeme
LISTED = 2  #: tokens within listed words, where the lexer state is within them
NARROW = 4  #: all tokens that can be read, byte by byte, where few bytes lead on
ENTRY = 8  #: tokens that begin in the white space before the lexeme, and go on beyond it
SORTED = 16  #: BOUNDARY by the boundary tokens that are sorted by their next byte
FROM_START = 32  #: no part has been added yet
# Bits of what `build_edits` returns, and how many they are.
ENDS = 1  #: the text may end at the position
UNSHAREABLE = 2  #: the row holds for no other position
USED_LOOKUPS = 4  #: keys were looked up, which the row depends on
SHIFT = 3
UNSORTED_LEFT = 2  #: in EDIT_STAGE: lexeme ends are looked at one by one
SCRATCH_AT, BOUNDARY_TOKENS_AT = 8 * WORDS * len(Nodes._fields), 8 * WORDS * len(LexemeEnds._fields)


class Scratch(NamedTuple):
    """Room to work.

    rest: uint8[n] and rests: int64[k], as in `lexeme_walk.Remainders`.

    bits: int32[words], zeros; touched: int32[m], which begins with 0: see `row_edits.RowEdits`.
    changed: int32[2 * words], what came out: see `row_edits.collect`.
    stack: int64[2 * (depth + 3)].
    """

    rest: npt.NDArray[np.uint8]
    rests: npt.NDArray[np.int64]
    bits: npt.NDArray[np.int32]
    touched: npt.NDArray[np.int32]
    changed: npt.NDArray[np.int32]
    stack: npt.NDArray[np.int64]


SCRATCH = reference(types.NamedTuple([U8, I64, I32, I32, I32, I64], Scratch))
scratch_at = loader(SCRATCH)


@lean(types.void(TABLES.kind, types.int64))
def keep_tables(t, address):  # type: ignore[no-untyped-def]
    """Write tables down."""
    stored(address, t)


@lean(types.void(NODES.kind, SCRATCH.kind, types.int64))
def keep_nodes(nodes, scratch, address):  # type: ignore[no-untyped-def]
    """Write a trie down, and room to work behind it."""
    stored(address, nodes)
    stored(address + SCRATCH_AT, scratch)


@lean(types.void(SUBTREES.kind, types.int64))
def keep_subtrees(subtrees, address):  # type: ignore[no-untyped-def]
    """Write down what is at and below the nodes of a trie."""
    stored(address, subtrees)


@lean(types.void(LEXEME_ENDS.kind, types.int64))
def store_lexeme_ends(lexeme_ends, address):  # type: ignore[no-untyped-def]
    """Write the lexeme ends of a state down."""
    stored(address, lexeme_ends)


@lean(types.void(BOUNDARY_TOKENS.kind, types.int64))
def store_boundary_tokens(boundary, address):  # type: ignore[no-untyped-def]
    """Write boundary tokens down, behind the lexeme ends at an address."""
    stored(address + BOUNDARY_TOKENS_AT, boundary)


@lean(types.int64(types.int64, types.int64, BYTES, types.int64))
def run(tables, position, data, first):  # type: ignore[no-untyped-def]
    """See `parser.step.run`. first: the byte to go on from."""
    t = tables_at(tables)
    t.lookups[LOOKUP_NODE] = -1
    t.need[READ_OFFSET] = first
    return call_run(t, position, data)


@lean(types.int64(*[types.int64] * 4))
def run_word(tables, position, word, first):  # type: ignore[no-untyped-def]
    """The same for the bytes of `word` from the lowest on; the highest says how many there are."""
    t = tables_at(tables)
    t.lookups[LOOKUP_NODE] = -1
    for i in range(first, word >> 56):
        after = call_step(t, position, (word >> (8 * i)) & 0xFF)
        if after < 0:
            t.need[READ_OFFSET] = i
            t.need[READ_POSITION] = position
            return after
        position = after
    return position


@lean(types.int64(types.int64, types.int64))
def ending(tables, position):  # type: ignore[no-untyped-def]
    """See `parser.step.ending`."""
    return call_ending(tables_at(tables), position)


@lean(types.int64(types.int64, types.int64))
def fill_row(tables, q):  # type: ignore[no-untyped-def]
    """See `lexer.rows.fill_row`."""
    return call_fill_row(tables_at(tables), q)


@lean(types.int64(*[types.int64] * 6))
def stack_node(tables, frame, parent, seen_texts, seen, captured):  # type: ignore[no-untyped-def]
    """See `parser.stack_nodes.stack_node_of`."""
    return stack_node_of(tables_at(tables), frame, parent, seen_texts, seen, captured)


@lean(types.int64(*[types.int64] * 3))
def advance(tables, stack_node, terminal):  # type: ignore[no-untyped-def]
    """See `parser.step.advance_terminal`."""
    return call_advance(tables_at(tables), stack_node, terminal)


@lean(types.int64(types.int64, types.int64))
def only(tables, position):  # type: ignore[no-untyped-def]
    """See `parser.step.only_byte`."""
    return only_byte(tables_at(tables), position)


@lean(types.int64(types.int64, types.int64, types.uint8[::1]))
def following(tables, position, out):  # type: ignore[no-untyped-def]
    """See `parser.step.next_bytes`."""
    return next_bytes(tables_at(tables), position, out)


@inner(types.int64(*[types.int64] * 7, INTS))
def build_edits(tables, nodes, lexeme_at, space_at, position, inner, parts, base):  # type: ignore[no-untyped-def]
    """Find how the row of all tokens that may follow a position differs from a base row.

    base: int32[words], the lexeme mask: tokens that stay in the lexeme of position `inner`, and in
    the white space before it. parts: what is added to it (BOUNDARY, ...). lexeme_at: the address of
    the lexeme ends, and of the boundary tokens behind them; space_at: the same of the white space.
    FROM_START: at first; EDIT_PART and EDIT_STAGE of `t.need` then say how far it has come.

    Returns a NEED_* code (then call again, without FROM_START), or the number of words that differ,
    which are then in the scratch's `changed`, times 2**SHIFT; and the bits ENDS, UNSHAREABLE and
    USED_LOOKUPS.
    """
    t, trie, scratch = tables_at(tables), nodes_at(nodes), scratch_at(nodes + SCRATCH_AT)
    room, stack = Remainders(scratch.rest, scratch.rests), scratch.stack
    edits = RowEdits(base, scratch.bits, scratch.touched)
    half, last, stack_node = stack.shape[0] // 2 - 2, stack.shape[0] - 1, inner & 0xFFFFFFFF
    if parts & FROM_START != 0:
        t.need[EDIT_PART] = t.need[EDIT_STAGE] = 0
        collect(edits, scratch.changed)  # what is left of a walk that was broken off
    # One part after the other. EDIT_STAGE is 0 before a part begins, so that its walk starts at the
    # root; when a NEED_* code stops it, the walk's own place is in the stack.
    while t.need[EDIT_PART] < 4:
        part = 1 << t.need[EDIT_PART]
        if parts & part != 0:
            if t.need[EDIT_STAGE] == 0:
                stack[last] = stack[last - 2] = 0
                stack[0] = inner
                if part == LISTED:
                    stack[half] = 1
                t.need[EDIT_STAGE] = 1 if part != BOUNDARY or parts & SORTED != 0 else UNSORTED_LEFT
                stack[last - 1] = -1 if t.need[EDIT_STAGE] == UNSORTED_LEFT else 0
            # Sorted by the next byte, as long as all ends of a kind lead to the same position.
            if part == BOUNDARY and t.need[EDIT_STAGE] == 1:
                boundary = boundary_tokens_at(lexeme_at + BOUNDARY_TOKENS_AT)
                code = call_boundary_tokens(t, trie, boundary, room, stack_node, 0, edits, stack)
                # They do not: begin again, without sorting. What has been added so far is added
                # again.
                if code == ONE_BY_ONE:
                    t.need[EDIT_STAGE] = UNSORTED_LEFT
                    stack[last - 2], stack[last - 1] = 0, -1
                    continue
            elif part == BOUNDARY:
                code = call_lexeme_ends(
                    t, trie, lexeme_ends_at(lexeme_at), room, stack_node, edits, stack
                )
            elif part == LISTED:
                code = call_listed(t, trie, edits, stack)
            elif part == NARROW:
                code = call_narrow(t, trie, edits, stack)
            else:
                boundary = boundary_tokens_at(space_at + BOUNDARY_TOKENS_AT)
                code = call_boundary_tokens(
                    t, trie, boundary, room, position & 0xFFFFFFFF, 1, edits, stack
                )
            if code < 0:
                return code
        t.need[EDIT_PART] += 1
        t.need[EDIT_STAGE] = 0
    # All parts are there: what else the row's owner must know.
    found = call_ending(t, position)
    if found < 0:
        return found
    for k in range(LOOKUP_KEYS, t.lookups.shape[0]):
        if t.lookups[k] != 0:
            found |= USED_LOOKUPS
    if t.lookups[LOOKUP_UNIQUE] != 0:
        found |= UNSHAREABLE
    t.lookups[LOOKUP_NODE] = -1
    admit_duplicates(trie, edits)
    return found | collect(edits, scratch.changed) << SHIFT
