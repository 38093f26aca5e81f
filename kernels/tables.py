"""In: flat arrays. Out: the tables of one constraint, their numba type, and hash tables over int64.

The tables are the whole run-time form of a constraint. Python fills them on demand, kernels read
them, and (for records and states only) insert into them.

A *pair* is a position in the text: `(q, ctx)` packed as `q << 32 | ctx`, where `q` is a lexer state
(a byte automaton) and `ctx` names what is open around it. Codes below zero are not pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.flags import inlined, kernel

DEAD = -1  #: the byte or token is not allowed
NEED_ROW = -2  #: `need[0]` is a lexer state whose row has not been filled yet
NEED_EVENT = -3  #: `(need[0], need[1])` is a (context, label) pair nobody has evaluated yet
NEED_SPACE = -4  #: a hash table is half full
UNKNOWN = -5  #: the hash table does not have that key

END_LABEL = 0  #: the label that ends the whole text


class Tables(NamedTuple):
    """The arrays that kernels read.

    rows: int32[Q, 256], next lexer state; -1 dead; -(label) - 2 when the byte ends the lexeme.
    filled: uint8[Q], whether the row is there.
    accept: int32[Q], label of a lexeme that may end *before* the next byte, or -1.
    recorded: uint8[Q], whether bytes read in this state are remembered in the context.
    needs_text: uint8[L], whether the event of a label depends on the remembered bytes.
    ctx_base: int32[C], the context in which the remembered bytes began (itself if none).
    ctx_origin: int64[C], for contexts that remember bytes: parent << 8 | last byte, otherwise -1.
    ctx_next: int64[H, 2], hash table: ctx << 8 | byte -> context that also remembers byte.
    events: int64[H, 2], hash table: ctx << 32 | label -> pair after the event, or DEAD.
    sizes: int64[4], contexts in use, entries of ctx_next, entries of events, (spare).
    need: int64[8], what a kernel that stopped is waiting for, and where it stopped.
    """

    rows: npt.NDArray[np.int32]
    filled: npt.NDArray[np.uint8]
    accept: npt.NDArray[np.int32]
    recorded: npt.NDArray[np.uint8]
    needs_text: npt.NDArray[np.uint8]
    ctx_base: npt.NDArray[np.int32]
    ctx_origin: npt.NDArray[np.int64]
    ctx_next: npt.NDArray[np.int64]
    events: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    need: npt.NDArray[np.int64]


I32 = types.int32[::1]
U8 = types.uint8[::1]
I64 = types.int64[::1]
HASH = types.int64[:, ::1]
BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTS = types.Array(types.int32, 1, "C", readonly=True)
TABLES = types.NamedTuple(
    [types.int32[:, ::1], U8, I32, U8, U8, I32, I64, HASH, HASH, I64, I64],
    Tables,
)


@inlined
def slot_of(table, key):  # type: ignore[no-untyped-def]
    """Index of the slot that holds `key`, or of the empty slot where it belongs."""
    last = table.shape[0] - 1
    h = (key & 0xFFFFFFFF) * 40503 + (key >> 32) * 60493  # both below 2**48: nothing overflows
    i = (h ^ (h >> 15)) & last
    while table[i, 0] != key and table[i, 0] != -1:
        i = (i + 1) & last
    return i


@inlined
def find(table, key):  # type: ignore[no-untyped-def]
    """Value of `key`, or UNKNOWN."""
    i = slot_of(table, key)
    if table[i, 0] == key:
        return table[i, 1]
    return numba.int64(UNKNOWN)


@kernel(types.int64(HASH, types.int64))
def lookup(table, key):  # type: ignore[no-untyped-def]
    """Value of `key` in a hash table int64[H, 2] (H a power of two, empty slots -1), or UNKNOWN."""
    return find(table, key)


@kernel(types.void(HASH, types.int64, types.int64))
def insert(table, key, value):  # type: ignore[no-untyped-def]
    """Set `key` to `value`; the caller keeps the table at most half full."""
    i = slot_of(table, key)
    table[i, 0] = key
    table[i, 1] = value


@kernel(types.void(HASH, HASH))
def rehash(old, new):  # type: ignore[no-untyped-def]
    """Insert every entry of `old` into the larger, empty table `new`."""
    for k in range(old.shape[0]):
        if old[k, 0] != -1:
            i = slot_of(new, old[k, 0])
            new[i, 0] = old[k, 0]
            new[i, 1] = old[k, 1]
