"""In: addresses of tuples of arrays. Out: what kernels make of them, without the tuples' arrays.

When Python calls a kernel, each array that it hands over is looked at, which takes longer than most
kernels do. So a tuple is written down once, as kernels have it, and handed over by its address.
Whoever does so keeps the tuple while the address is in use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.build.decorators import WORDS, inner, lean, loader, stored
from structgen.kernels.build.pointers import reference
from structgen.kernels.lexer.rows import call_provide
from structgen.kernels.masks.boundary_tokens import BEYOND, EACH, call_beyond
from structgen.kernels.masks.byte_walk import call_along, call_listed
from structgen.kernels.masks.lexeme_walk import (
    CROSSINGS,
    Crossings,
    Rests,
    admit_all,
    call_crossing,
)
from structgen.kernels.masks.row_edits import Changes, collect
from structgen.kernels.parser.stack_nodes import context_of
from structgen.kernels.parser.step import (
    call_ending,
    call_fire,
    call_run,
    call_step,
    next_bytes,
    only_byte,
)
from structgen.kernels.tables import ALONE, BYTES, I32, I64, INTS, OF, POSITIONS, TABLES, U8
from structgen.kernels.trie.nodes import NODES, SUBTREES, Nodes

tables_at, nodes_at = loader(TABLES), loader(NODES)
crossings_at, beyond_at = loader(CROSSINGS), loader(BEYOND)
CROSSING, LISTED, NARROW, ENTRY = 1, 2, 4, 8  # parts of `make`
SORTED, FRESH = 16, 32  # how they are made, and that none is yet
ENDS, ALONE_HERE, LOOKED, SHIFT = 1, 2, 4, 3  # bits of what `make` returns, and how many
EACH_LEFT = 2  #: in `need[3]`, that crossings are looked at one by one
SCRATCH_AT, BEYOND_AT = 8 * WORDS * len(Nodes._fields), 8 * WORDS * len(Crossings._fields)


class Scratch(NamedTuple):
    """Room to work. rest: uint8[n] and rests: int64[k], as in `walk.Rests`.

    bits: int32[words], zeros; touched: int32[m], which begins with 0: see `changes.Changes`.
    changed: int32[2 * words], what came out: see `changes.collect`. stack: int64[2 * (depth + 3)].
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


@lean(types.void(CROSSINGS.kind, types.int64))
def keep_crossings(crossings, address):  # type: ignore[no-untyped-def]
    """Write crossings down."""
    stored(address, crossings)


@lean(types.void(BEYOND.kind, types.int64))
def keep_beyond(beyond, address):  # type: ignore[no-untyped-def]
    """Write down, behind the crossings at an address, what lies beyond them."""
    stored(address + BEYOND_AT, beyond)


@lean(types.int64(types.int64, types.int64, BYTES, types.int64))
def run(tables, pair, data, first):  # type: ignore[no-untyped-def]
    """See `step.run`. first: the offset of the byte to go on from."""
    t = tables_at(tables)
    t.asked[OF] = -1
    t.need[4] = first
    return call_run(t, pair, data)


@lean(types.int64(*[types.int64] * 4))
def run_word(tables, pair, word, first):  # type: ignore[no-untyped-def]
    """The same for the bytes of `word` from the lowest on; the highest says how many there are."""
    t = tables_at(tables)
    t.asked[OF] = -1
    for i in range(first, word >> 56):
        after = call_step(t, pair, (word >> (8 * i)) & 0xFF)
        if after < 0:
            t.need[4] = i
            t.need[5] = pair
            return after
        pair = after
    return pair


@lean(types.int64(types.int64, types.int64))
def ending(tables, pair):  # type: ignore[no-untyped-def]
    """See `step.ending`."""
    return call_ending(tables_at(tables), pair)


@lean(types.int64(types.int64, types.int64))
def provided(tables, q):  # type: ignore[no-untyped-def]
    """See `provide.provide`."""
    return call_provide(tables_at(tables), q)


@lean(types.int64(*[types.int64] * 6))
def context(tables, frame, parent, taken, ticked, kept):  # type: ignore[no-untyped-def]
    """See `step.context_of`."""
    return context_of(tables_at(tables), frame, parent, taken, ticked, kept)


@lean(types.int64(*[types.int64] * 3))
def fired(tables, ctx, label):  # type: ignore[no-untyped-def]
    """See `step.fire`."""
    return call_fire(tables_at(tables), ctx, label)


@lean(types.int64(types.int64, types.int64))
def only(tables, pair):  # type: ignore[no-untyped-def]
    """See `step.only_byte`."""
    return only_byte(tables_at(tables), pair)


@lean(types.int64(types.int64, types.int64, types.uint8[::1]))
def following(tables, pair, out):  # type: ignore[no-untyped-def]
    """See `step.next_bytes`."""
    return next_bytes(tables_at(tables), pair, out)


@inner(types.int64(*[types.int64] * 7, INTS))
def make(tables, nodes, inside, around, pair, inner, parts, base):  # type: ignore[no-untyped-def]
    """Find in what the row of all tokens that may follow `pair` differs from another, part by part.

    base: int32[words], the tokens that stay in the lexeme of pair `inner`, and in the white space
    before it. parts: CROSSING: those that end that lexeme, at the crossings at `inside`, sorted as
    well if SORTED; LISTED: those within listed words, where it is (see `walk_listed`); NARROW: all
    that can be read from there; ENTRY: those that begin within the white space of `pair` and go on
    beyond it, sorted at `around`. FRESH: at first; `t.need[2]` and `t.need[3]` then say how far it
    has come. Returns a NEED_* code (then call again, not FRESH), or the number of words that
    differ, which are then in the scratch's `changed`, times 2**SHIFT; and ENDS if the text may end
    at `pair`, ALONE_HERE if the answers hold for no other, LOOKED if positions were looked up.
    """
    t, trie, scratch = tables_at(tables), nodes_at(nodes), scratch_at(nodes + SCRATCH_AT)
    room, stack = Rests(scratch.rest, scratch.rests), scratch.stack
    changes = Changes(base, scratch.bits, scratch.touched)
    half, last, ctx = stack.shape[0] // 2 - 2, stack.shape[0] - 1, inner & 0xFFFFFFFF
    if parts & FRESH != 0:
        t.need[2] = t.need[3] = 0
        collect(changes, scratch.changed)  # what is left of a walk that was broken off
    while t.need[2] < 4:
        part = 1 << t.need[2]
        if parts & part != 0:
            if t.need[3] == 0:
                stack[last] = stack[last - 2] = 0
                stack[0] = inner
                if part == LISTED:
                    stack[half] = 1
                t.need[3] = 1 if part != CROSSING or parts & SORTED != 0 else EACH_LEFT
                stack[last - 1] = -1 if t.need[3] == EACH_LEFT else 0
            if part == CROSSING and t.need[3] == 1:
                beyond = beyond_at(inside + BEYOND_AT)
                code = call_beyond(t, trie, beyond, room, ctx, 0, changes, stack)
                if code == EACH:
                    t.need[3] = EACH_LEFT
                    stack[last - 2], stack[last - 1] = 0, -1
                    continue
            elif part == CROSSING:
                code = call_crossing(t, trie, crossings_at(inside), room, ctx, changes, stack)
            elif part == LISTED:
                code = call_listed(t, trie, changes, stack)
            elif part == NARROW:
                code = call_along(t, trie, changes, stack)
            else:
                beyond = beyond_at(around + BEYOND_AT)
                code = call_beyond(t, trie, beyond, room, pair & 0xFFFFFFFF, 1, changes, stack)
            if code < 0:
                return code
        t.need[2] += 1
        t.need[3] = 0
    found = call_ending(t, pair)
    if found < 0:
        return found
    for k in range(POSITIONS, t.asked.shape[0]):
        if t.asked[k] != 0:
            found |= LOOKED
    if t.asked[ALONE] != 0:
        found |= ALONE_HERE
    t.asked[OF] = -1
    admit_all(trie, changes)
    return found | collect(changes, scratch.changed) << SHIFT
