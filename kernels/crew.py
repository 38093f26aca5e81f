"""In: rows to copy, and threads that wait for that. Out: the rows copied by all who came in time.

Threads of Python would have to be woken and wait for the GIL, which takes as long as to copy a
hundred rows. These sleep in a read from a pipe and take pieces of the work by a counter, so that
nobody waits for one that comes late: the others have done its part.
"""

from __future__ import annotations

import os
from typing import Any

import numba
from numba import types
from numba.extending import intrinsic

from structgen.kernels.flags import inlined, interpreted, lean
from structgen.kernels.rows import ROWS, TABLE
from structgen.kernels.tables import I64

# Places of what the threads share, int64[SIZE]: addresses of the table, of the places of rows in it
# (int32) and of the rows to be written; words of a row there, and in the table; how many rows; rows
# of a piece; room for what is read from the pipe.
FROM, PLACES, TO, WORDS, WIDTH, COUNT, PIECE, LETTERS = range(8)
# What several of them look at, each in a line of memory of its own: the first row that nobody has
# taken; 1 while there is work; how many are at it; 1 when there will be work soon; 1 when they are
# to end.
NEXT, OPEN, ACTIVE, SOON, STOP, SIZE = 16, 24, 32, 40, 48, 56
WAITS = 2000  # looks at whether there is work before who was woken for it sleeps
SPINS = 20_000  # looks at whether others have ended before who waits for them sleeps
NAP = 20  # microseconds of that sleep

INTERPRETED = interpreted()  #: whether nothing here can be called

# of the C library
_read: Any = types.ExternalFunction("read", types.intp(types.int32, types.uintp, types.uintp))
_write: Any = types.ExternalFunction("write", types.intp(types.int32, types.uintp, types.uintp))
_usleep: Any = types.ExternalFunction("usleep", types.int32(types.uint32))


@intrinsic
def _added(_typing: Any, shared: Any, place: Any, more: Any) -> Any:  # noqa: ARG001

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        return builder.atomic_rmw("add", builder.gep(data, [values[1]]), values[2], "seq_cst")

    return types.int64(I64, types.int64, types.int64), generate


@intrinsic
def _words_at(_typing: Any, address: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.int32)(types.int64), generate


#: added(shared, place, more) adds to shared[place] at once, whoever else does; what was there
added: Any = _added
words_at: Any = _words_at  #: the int32 words at an address


@inlined
def take_part(shared):  # type: ignore[no-untyped-def]
    """Copy pieces as long as there are some that nobody has taken."""
    count, words = shared[COUNT], shared[WORDS]
    places = words_at(shared[PLACES])
    while True:
        first = added(shared, NEXT, shared[PIECE])
        if first >= count:
            break
        for i in range(first, min(first + shared[PIECE], count)):
            at = numba.int64(places[i])
            row = words_at(shared[TO] + 4 * words * i)
            made = words_at(shared[FROM] + 4 * shared[WIDTH] * max(at, 0))
            for w in range(words):
                row[w] = made[w] if at >= 0 else 0


def _native(signature: Any) -> Any:
    """`lean` where a process has pipes."""
    return lean(signature) if os.name == "posix" else lambda function: function


@_native(types.void(I64, types.int32))
def help_out(shared, pipe):  # type: ignore[no-untyped-def]
    """Take part in all work, from one byte in the pipe to the next, until told to stop."""
    while added(shared, STOP, 0) == 0:
        _read(pipe, shared[LETTERS:].ctypes.data, numba.uintp(1))
        added(shared, ACTIVE, 1)  # before it is looked whether there is work: see `copy_together`
        waits = 0
        while added(shared, OPEN, 0) == 0 and added(shared, SOON, 0) != 0 and waits < WAITS:
            waits += 1
        if added(shared, OPEN, 0) != 0:
            take_part(shared)
        added(shared, ACTIVE, -1)


@_native(types.void(I64, types.int32, types.int64))
def rouse(shared, pipe, helpers):  # type: ignore[no-untyped-def]
    """Wake as many of those that wait, for work that is there soon."""
    shared[SOON] = 1
    _write(pipe, shared[LETTERS:].ctypes.data, numba.uintp(helpers))


@_native(types.void(TABLE, types.int32[::1], ROWS, I64, types.int64))
def copy_together(table, places, out, shared, piece):  # type: ignore[no-untyped-def]
    """`rows.copy_rows`, with those that have been woken. piece: rows that one takes at once.

    Nobody else may be in here with the same `shared`. Whoever has seen that there is work has said
    before that it is at it; so when the work is closed and nobody is, nobody comes to it later.
    """
    shared[FROM], shared[PLACES] = table.ctypes.data, places.ctypes.data
    shared[TO], shared[WORDS], shared[WIDTH] = out.ctypes.data, out.shape[1], table.shape[1]
    shared[COUNT], shared[PIECE], shared[NEXT] = places.shape[0], piece, 0
    added(shared, OPEN, 1)
    take_part(shared)
    shared[SOON] = 0
    added(shared, OPEN, -1)
    spins = 0
    while added(shared, ACTIVE, 0) != 0:
        spins += 1
        if spins > SPINS:
            _usleep(numba.uint32(NAP))
