"""In: records of rows. Out: the rows, written by several threads where that pays.

The threads are made when first needed, end with the process, and are made anew in a fork.
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

FROM = 3 << 17  # words from which others are asked to help: sooner, one is done before they come
WAKING = 3 << 18  # for one call by itself, and twice that for one alone: to wake them takes long
IN_A_ROW = 1.5e-4  # seconds between calls, less than who has helped looks whether there are more
EACH = 3 << 16  # words for each that helps
THREADS = 8  # with who asks; of 16 cores, more gain nothing for a batch of 256 rows of 16 kB
PIECE = 1 << 16  # bytes that one takes at least
PATIENCE = 1.0  # seconds for threads to end


class Records(NamedTuple):
    """Where rows are: as `kernels.masks.delta_rows.write_rows` takes them."""

    pool: Row
    used: int
    places: Row


class Crew:
    """Threads that help to write rows, one batch at a time."""

    def __init__(self, count: int) -> None:
        """Raises OSError or RuntimeError where no more files or threads can be had, or used."""
        self._k = kernels("masks.thread_pool")
        if os.name != "posix" or self._k.INTERPRETED:
            raise OSError("threads that help need compiled kernels, and pipes that these can read")
        self._shared = np.zeros(self._k.SIZE, np.int64)
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[1], False)  # where nobody reads, nobody need be woken
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
        """See `Writer.write`; None if they are at work."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            piece = max(1, PIECE // (4 * rows.shape[1]))
            told = self._shared, self._pipe[1], piece, helpers
            done: bool = self._k.write_together(*records, states, rows, *told)
            return done
        finally:
            self._lock.release()

    def stop(self) -> None:
        """End the threads; nobody is helped from now on."""
        idle = self._lock.acquire(timeout=PATIENCE)  # and from now on nobody gets it
        self._shared[self._k.STOP] = 1
        with contextlib.suppress(BlockingIOError):  # then there is enough to read
            os.write(self._pipe[1], bytes(len(self)))
        for thread in self._threads:
            thread.join(PATIENCE)
        if idle and not any(thread.is_alive() for thread in self._threads):
            self.leave()

    def leave(self) -> None:
        """Let go of what the threads wait for: none is left, or they are not in this fork."""
        for end in self._pipe:
            os.close(end)


class Writer:
    """Writes rows, with the help of a crew where that pays. Safe to use from many threads."""

    def __init__(self) -> None:
        self._crew: Crew | None = None
        self._most = THREADS  # that help
        self._callers: list[None] = []  # as many as there are threads that write
        self._until = 0.0  # a call before that is not by itself
        self._lock = threading.Lock()

    def write(self, records: Records, states: Row, rows: Row) -> bool:
        """rows[i] = that of states[i], without the GIL. int32[n], int32[n, words], C-ordered.

        False where a state has no record; the rows are then in no certain state.
        """
        callers = self._callers
        callers.append(None)
        try:
            in_a_row = perf_counter() < self._until
            helpers = min(helpers_for(rows.size, len(callers), in_a_row=in_a_row), self._most)
            crew = self._of(helpers) if helpers else None
            done = crew.write(records, states, rows, helpers) if crew else None
            if done is None:
                done = bool(kernels("masks.delta_rows").write_rows(*records, states, rows))
            return done
        finally:
            callers.pop()
            self._until = perf_counter() + IN_A_ROW

    def _of(self, helpers: int) -> Crew | None:
        """A crew of at least so many, None where there can be none."""
        crew = self._crew
        if crew is None or len(crew) < helpers:
            with self._lock:
                crew = self._crew
                if crew is None or len(crew) < helpers:
                    self.stop()
                    try:
                        crew = self._crew = Crew(helpers)
                    except (OSError, RuntimeError):
                        self._most = 0
                        return None
        return crew

    def stop(self) -> None:
        """End the threads, if there are any."""
        if self._crew is not None:
            self._crew.stop()
            self._crew = None

    def begin_anew(self) -> None:
        """Forget the threads, which are those of the process that this one is a fork of."""
        if self._crew is not None:
            self._crew.leave()
        self._crew, self._lock, self._callers = None, threading.Lock(), []


def helpers_for(words: int, callers: int, *, in_a_row: bool) -> int:
    """How many are to help who writes so many words, as one of so many that write at once.

    in_a_row: whether the last call was just before, so that they stay awake for the next.
    """
    idle = usable_cores() - callers if words >= FROM else 0
    if idle <= 0 or not (in_a_row or words >= WAKING + WAKING // idle):
        return 0
    return min(idle, THREADS - 1, words // EACH - 1)


_writer = Writer()
write = _writer.write
atexit.register(_writer.stop)
os.register_at_fork(after_in_child=_writer.begin_anew)
