"""In: mask rows by state. Out: a table of them, equal ones once, and copies of many at a time.

Rows are kept by generation: when a store is full, a new one takes its place and takes over from it
what is asked for again; what was not asked for until the new one is full too is dropped. That keeps
the rows used last, as a least-recently-used order would, and costs nothing when a row is found.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.automaton import Row
from structgen.jit import kernels

LEAST = 32  # rows that every store has room for
PARALLEL_FROM = 1 << 19  # words of a batch from which a second thread pays


class RowStore:
    """Mask rows by state. `table`: int32[n, words]; `index`: state -> row of the table.

    Rows once written never change, and the table only grows: a reader needs no lock. When the store
    is `full` its owner goes on with `next()`; rows dropped are made again when asked for.
    """

    def __init__(self, words: int, max_bytes: int, older: RowStore | None = None) -> None:
        """Room for `max_bytes` of rows, half of them here and half in the generation before."""
        self.table: Row = np.zeros((8, words), np.int32)
        self.index: dict[int, int] = {}
        self._known: dict[int, int] = {}  # hash of a row -> its place
        self._count = 0
        self._max_bytes = max_bytes
        self._limit = max(LEAST, max_bytes // 2 // (4 * words))
        self._older = older

    def __len__(self) -> int:
        return self._count + (len(self._older) if self._older else 0)

    @property
    def full(self) -> bool:
        """Whether the rows take all the memory that they may take."""
        return self._count >= self._limit

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, those of the generation before among them."""
        return self.table.nbytes + (self._older.nbytes if self._older else 0)

    def next(self) -> RowStore:
        """The store that takes this one's place; the generation before this one is dropped."""
        self._older = None
        return RowStore(self.table.shape[1], self._max_bytes, self)

    def older(self, state: int) -> Row | None:
        """The row that a state had in the generation before, if it is still there."""
        if self._older is None:
            return None
        at = self._older.index.get(state)
        return None if at is None else self._older.table[at]

    def add(self, state: int, row: Row) -> int:
        """Keep the row of a state; returns its place in the table."""
        key = hash(row.tobytes())
        at = self._known.get(key)
        if at is None or not np.array_equal(self.table[at], row):
            if self._count == len(self.table):
                size = 2 * len(self.table) if self.full else min(2 * len(self.table), self._limit)
                larger = np.zeros((size, self.table.shape[1]), np.int32)
                larger[: self._count] = self.table
                self.table = larger
            at = self._count
            self.table[at] = row
            self._known[key] = at
            self._count += 1
        self.index[state] = at
        return at

    def items(self) -> Iterator[tuple[int, Row]]:
        """The states whose rows are kept, and the rows."""
        if self._older is not None:
            older = self._older
            yield from ((s, row) for s, row in older.items() if s not in self.index)
        for state, at in self.index.items():
            yield state, self.table[at]

    @staticmethod
    def copy(table: Row, index: npt.NDArray[np.int32], rows: npt.NDArray[Any]) -> None:
        """rows[i] = table[index[i]], without the GIL, on several threads when that pays."""
        if not rows.flags.c_contiguous:
            rows[:] = table[index]
            return
        out = rows.view(np.int32)
        copy = kernels("rows").copy_rows
        if rows.size < PARALLEL_FROM or _threads() < 2:
            copy(table, index, out)
            return
        cuts = np.linspace(0, len(index), _threads() + 1).astype(int)
        parts = [(index[a:b], out[a:b]) for a, b in pairwise(cuts)]
        list(_pool().map(lambda part: copy(table, *part), parts))


_pools: dict[int, ThreadPoolExecutor] = {}
_pool_lock = threading.Lock()


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pool() -> ThreadPoolExecutor:
    """The copying threads of this process (a forked child gets its own)."""
    with _pool_lock:
        pid = os.getpid()
        if pid not in _pools:
            _pools.clear()
            _pools[pid] = ThreadPoolExecutor(_threads(), thread_name_prefix="structgen-copy")
        return _pools[pid]
