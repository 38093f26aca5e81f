"""Write many mask rows at once with a pool of native threads.

Threads of Python would have to be woken and wait for the GIL, which takes as long as to write a
hundred rows. These sleep in a read from a pipe, not at once when they have worked, and take pieces
of the work by an atomic counter, so nobody waits for a thread that comes late: the others have done
its part. A thread that is awake without work yields its core: the thread that it waits for may need
it.
"""

from __future__ import annotations

import os
from typing import Any

from structgen.kernels.build.decorators import inlined, interpreted, lean
from structgen.kernels.build.language import intrinsic, numba, types
from structgen.kernels.masks.apply import ROWS
from structgen.kernels.masks.delta_rows import POOL, expand, place_of
from structgen.kernels.tables import I64

# Entries of what the threads share, int64[SIZE]. First the addresses of arguments of
# `delta_rows.write_rows`, and their sizes.
POOL_AT, PLACES_AT, STATES_AT, ROWS_AT = 0, 1, 2, 3
USED, PLACE_COUNT = 4, 5  #: words of the pool that count, and how many places there are
WORDS, COUNT = 6, 7  #: words of a row, and how many rows
PIECE, SHARES = 8, 9  #: rows of the shortest piece; a piece is a SHARES-th of what is left, or that
MISSING = 10  #: 1 when a record was not there
LETTERS = 11  #: room for what is read from the pipe
# What several threads look at, each in a cache line of its own.
NEXT = 24  #: how many pieces have been taken
OPEN = 32  #: 1 while there is work
ACTIVE = 40  #: how many threads are at it
STOP = 48  #: 1 when they are to end
LINGERING = 56  #: how many linger
SIZE = 64
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

    Memory is written faster in a row; and short pieces at the end let all threads end together.
    """
    count, words, known, used = shared[COUNT], shared[WORDS], shared[PLACE_COUNT], shared[USED]
    pool, places = words_at(shared[POOL_AT]), words_at(shared[PLACES_AT])
    states = words_at(shared[STATES_AT])
    piece, first, end = numba.int64(-1), numba.int64(0), numba.int64(0)
    while end < count:
        # Every thread computes the same sequence of pieces, and writes those whose numbers it
        # draws.
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
            expand(pool, at, words_at(shared[ROWS_AT] + 4 * words * i), words)


def _native(signature: Any) -> Any:
    """A kernel where a process has pipes."""
    return lean(signature) if os.name == "posix" else lambda function: function


@_native(types.void(I64, types.int32))
def help_out(shared, pipe):  # type: ignore[no-untyped-def]
    """Take part in all work, from one byte in the pipe to the next, until told to stop."""
    lingers = LINGERS
    while added(shared, STOP, 0) == 0:
        added(shared, LINGERING, 1)
        # Linger for a while after work: the next batch mostly comes soon, and waking up takes long.
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


GIVEN = POOL, types.int64, types.int32[::1], types.int32[::1], ROWS  # as to `delta_rows.write_rows`


@_native(types.boolean(*GIVEN, I64, types.int32, types.int64, types.int64))
def write_together(pool, used, places, states, out, shared, pipe, piece, helpers):  # type: ignore[no-untyped-def]
    """Write rows as `delta_rows.write_rows` does, with so many `helpers`, lingering or woken.

    piece: rows that one thread takes at once at least. Nobody else may use the same `shared`
    meanwhile.

    A thread says that it is active before it looks whether there is work; so when the work is
    closed and nobody is active, nobody comes to it later.
    """
    shared[POOL_AT], shared[USED] = pool.ctypes.data, used
    shared[PLACES_AT], shared[PLACE_COUNT] = places.ctypes.data, places.shape[0]
    shared[STATES_AT], shared[COUNT] = states.ctypes.data, states.shape[0]
    shared[ROWS_AT], shared[WORDS] = out.ctypes.data, out.shape[1]
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
