"""In: rows to write, and threads that wait for that. Out: the rows, by all who came in time.

Threads of Python would have to be woken and wait for the GIL, which takes as long as to write a
hundred rows. These sleep in a read from a pipe, not at once when they have worked, and take pieces
of the work by a counter, so that nobody waits for one that comes late: the others have done its
part. Who is awake without work gives way to others: it may be on the core of the thread that it
waits for.
"""

from __future__ import annotations

import os
from typing import Any

import numba
from numba import types
from numba.extending import intrinsic

from structgen.kernels.build.decorators import inlined, interpreted, lean
from structgen.kernels.masks.apply import ROWS
from structgen.kernels.masks.delta_rows import POOL, expand, place_of
from structgen.kernels.tables import I64

# Places of what the threads share, int64[SIZE]: addresses of the pool, of the places in it, of the
# states (see `packed.write_rows`) and of the rows to be written; how many words count and how many
# places there are; words of a row, and how many rows; rows of the shortest piece; which part of
# what is left is taken at once; 1 when a record was not there; room for what is read from the pipe.
POOLED, PLACES, STATES, TO, USED, KNOWN, WORDS, COUNT = range(8)
PIECE, SHARES, MISSING, LETTERS = range(8, 12)
# What several of them look at, each in a line of memory of its own: how many pieces have been
# taken; 1 while there is work; how many are at it; 1 when they are to end; how many linger.
NEXT, OPEN, ACTIVE, STOP, LINGERING, SIZE = 24, 32, 40, 48, 56, 64
LINGERS = 30_000  # looks at whether there will be work before who has worked sleeps: some 180 us
POLITE = 64  # such looks before others that want the core have their turn
SPINS = 20_000  # looks at whether others have ended before who waits for them sleeps
NAP = 20  # microseconds of that sleep

INTERPRETED = interpreted()  #: whether nothing here can be called

# of the C library
_read: Any = types.ExternalFunction("read", types.intp(types.int32, types.uintp, types.uintp))
_write: Any = types.ExternalFunction("write", types.intp(types.int32, types.uintp, types.uintp))
_yield: Any = types.ExternalFunction("sched_yield", types.int32())
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
    """Write pieces that nobody has taken, long ones and then shorter, as long as there are any.

    Memory is written faster in a row; and short ones at the end let all end together.
    """
    count, words, known, used = shared[COUNT], shared[WORDS], shared[KNOWN], shared[USED]
    pool, places = words_at(shared[POOLED]), words_at(shared[PLACES])
    states = words_at(shared[STATES])
    piece, first, end = numba.int64(-1), numba.int64(0), numba.int64(0)
    while end < count:
        mine = added(shared, NEXT, 1)
        while piece < mine and end < count:
            first = end
            end = min(first + max(shared[PIECE], (count - first) // shared[SHARES]), count)
            piece += 1
        if piece < mine:
            break
        for i in range(first, end):
            at = place_of(places, known, states[i])
            if not 0 <= at < used:
                shared[MISSING] = 1
                return
            expand(pool, at, words_at(shared[TO] + 4 * words * i), words)


def _native(signature: Any) -> Any:
    """A kernel where a process has pipes."""
    return lean(signature) if os.name == "posix" else lambda function: function


@_native(types.void(I64, types.int32))
def help_out(shared, pipe):  # type: ignore[no-untyped-def]
    """Take part in all work, from one byte in the pipe to the next, until told to stop."""
    lingers = LINGERS
    while added(shared, STOP, 0) == 0:
        added(shared, LINGERING, 1)
        while lingers < LINGERS and added(shared, OPEN, 0) == 0:
            lingers += 1
            if lingers % POLITE == 0:
                _yield()
        added(shared, LINGERING, -1)
        if added(shared, OPEN, 0) == 0:
            _read(pipe, shared[LETTERS:].ctypes.data, numba.uintp(1))
        added(shared, ACTIVE, 1)  # before it is looked whether there is work: see `write_together`
        if added(shared, OPEN, 0) != 0:
            take_part(shared)
            lingers = 0
        added(shared, ACTIVE, -1)


GIVEN = POOL, types.int64, types.int32[::1], types.int32[::1], ROWS  # as to `packed.write_rows`


@_native(types.boolean(*GIVEN, I64, types.int32, types.int64, types.int64))
def write_together(pool, used, places, states, out, shared, pipe, piece, helpers):  # type: ignore[no-untyped-def]
    """`packed.write_rows` with so many `helpers`, those that linger or else others.

    piece: rows that one takes at once at least. Nobody else may use the same `shared` meanwhile.

    Whoever has seen that there is work has said before that it is at it; so when the work is closed
    and nobody is, nobody comes to it later.
    """
    shared[POOLED], shared[USED] = pool.ctypes.data, used
    shared[PLACES], shared[KNOWN] = places.ctypes.data, places.shape[0]
    shared[STATES], shared[COUNT] = states.ctypes.data, states.shape[0]
    shared[TO], shared[WORDS] = out.ctypes.data, out.shape[1]
    shared[PIECE], shared[SHARES] = piece, helpers + 2
    shared[NEXT] = shared[MISSING] = 0
    helpers -= added(shared, LINGERING, 0)  # one that ends that just now is not missed
    added(shared, OPEN, 1)
    if helpers > 0:
        _write(pipe, shared[LETTERS:].ctypes.data, numba.uintp(helpers))
    take_part(shared)
    added(shared, OPEN, -1)
    spins = 0
    while added(shared, ACTIVE, 0) != 0:
        spins += 1
        if spins % POLITE == 0:
            _yield()
        if spins > SPINS:
            _usleep(numba.uint32(NAP))
    return shared[MISSING] == 0
