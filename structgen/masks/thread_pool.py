"""Write many mask rows at once, by several threads where that pays.

The threads are native: they run one kernel (`kernels.masks.thread_pool`) and hold no GIL. They are
made when first needed, end with the process, and are made anew in a fork.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from time import perf_counter
from typing import NamedTuple

import numpy as np

from structgen.automata.interface import Row
from structgen.kernels.build.ledger import usable_cores
from structgen.kernels.build.loader import kernels

# Sizes are in words of 4 bytes, over all rows of a call.
FROM = 3 << 17  # from here on helpers are used: a smaller call is done before they have come
WAKING = 3 << 18  # the same for a call by itself: sleeping threads take long to wake
IN_A_ROW = 1.5e-4  # seconds between two calls in which helpers are still awake
EACH = 3 << 16  # for each helper
THREADS = 8  # with the caller; on 16 cores, more gain nothing for a batch of 256 rows of 16 kB
PIECE = 1 << 16  # bytes that a thread takes at a time, at least
PATIENCE = 1.0  # seconds for threads to end


class Records(NamedTuple):
    """Where rows are stored.

    pool: int32[], records of rows, of which `used` words count; places: int32[states + 1], where
    the record of state s - 1 begins, or -1; as `kernels.masks.delta_rows` takes them.
    """

    pool: Row
    used: int
    places: Row


class ThreadPool:
    """Threads that help to write rows, one batch at a time.

    They sleep in a read from a pipe; one byte wakes one of them.
    """

    def __init__(self, count: int) -> None:
        """Start `count` threads. Raises OSError or RuntimeError where they cannot be had."""
        self._k = kernels("masks.thread_pool")
        if os.name != "posix" or self._k.INTERPRETED:
            raise OSError("helper threads need compiled kernels, and pipes that these can read")
        self._shared = np.zeros(self._k.SIZE, np.int64)
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[1], False)  # when it is full, enough threads will wake
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        given = self._shared, self._pipe[0]
        for _ in range(count):
            thread = threading.Thread(target=self._k.help_out, args=given, daemon=True)
            try:
                thread.start()
            except RuntimeError:
                self.stop()
                raise
            self._threads.append(thread)

    def __len__(self) -> int:
        return len(self._threads)

    def write(self, records: Records, states: Row, rows: Row, helpers: int) -> bool | None:
        """See `Writer.write`; None if the threads are at work for another caller."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            piece = max(1, PIECE // (4 * rows.shape[1]))
            how = self._shared, self._pipe[1], piece, helpers
            done: bool = self._k.write_together(*records, states, rows, *how)
            return done
        finally:
            self._lock.release()

    def stop(self) -> None:
        """End the threads; from now on `write` returns None."""
        idle = self._lock.acquire(timeout=PATIENCE)  # it is never released again
        self._shared[self._k.STOP] = 1
        with contextlib.suppress(BlockingIOError):  # the pipe is full: all will wake
            os.write(self._pipe[1], bytes(len(self)))
        for thread in self._threads:
            thread.join(PATIENCE)
        if idle and not any(thread.is_alive() for thread in self._threads):
            self.close()

    def close(self) -> None:
        """Close the pipe: no thread is left, or they did not come along into this fork."""
        for end in self._pipe:
            os.close(end)


class Writer:
    """Writes rows, with a thread pool where that pays. Safe to use from many threads."""

    def __init__(self) -> None:
        self._pool: ThreadPool | None = None
        self._most = THREADS  # helpers; 0 where there can be none
        self._callers: list[None] = []  # one entry for each thread that is in `write`
        self._until = 0.0  # a call before this time follows another one closely
        self._lock = threading.Lock()

    def write(self, records: Records, states: Row, rows: Row) -> bool:
        """Write the row of states[i] to rows[i], without the GIL.

        states: int32[n]; rows: int32[n, words], C-ordered. Returns False where a state has no
        record; the rows are then undefined.
        """
        callers = self._callers
        callers.append(None)
        try:
            in_a_row = perf_counter() < self._until
            helpers = min(helpers_for(rows.size, len(callers), in_a_row=in_a_row), self._most)
            pool = self._pool_of(helpers) if helpers else None
            done = pool.write(records, states, rows, helpers) if pool else None
            if done is None:
                done = bool(kernels("masks.delta_rows").write_rows(*records, states, rows))
            return done
        finally:
            callers.pop()
            self._until = perf_counter() + IN_A_ROW

    def _pool_of(self, helpers: int) -> ThreadPool | None:
        """A pool of at least so many threads, None where there can be none."""
        pool = self._pool
        if pool is None or len(pool) < helpers:
            with self._lock:
                pool = self._pool
                if pool is None or len(pool) < helpers:
                    self.stop()
                    try:
                        pool = self._pool = ThreadPool(helpers)
                    except (OSError, RuntimeError):
                        self._most = 0
                        return None
        return pool

    def stop(self) -> None:
        """End the threads, if there are any."""
        if self._pool is not None:
            self._pool.stop()
            self._pool = None

    def begin_anew(self) -> None:
        """Forget the threads, which did not come along into this fork."""
        if self._pool is not None:
            self._pool.close()
        self._pool, self._lock, self._callers = None, threading.Lock(), []


def helpers_for(words: int, callers: int, *, in_a_row: bool) -> int:
    """How many helpers pay for a call that writes `words`, one of `callers` at once.

    in_a_row: whether the last call was just before, so that helpers are still awake.
    """
    idle = usable_cores() - callers if words >= FROM else 0
    if idle <= 0 or not (in_a_row or words >= WAKING + WAKING // idle):
        return 0
    return min(idle, THREADS - 1, words // EACH - 1)


_writer = Writer()
write = _writer.write
atexit.register(_writer.stop)
os.register_at_fork(after_in_child=_writer.begin_anew)
