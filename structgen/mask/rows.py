"""In: mask rows by state. Out: a table of them, equal ones once, and copies of many at a time."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.automaton import Row
from structgen.jit import kernels

MAX_BYTES = 256 << 20  # of rows kept by one constraint
PARALLEL_FROM = 1 << 19  # words of a batch from which a second thread pays


class RowStore:
    """Mask rows by state. `table`: int32[n, words]; `index`: state -> row of the table.

    Rows once written never change, and the table only grows: a reader needs no lock. When the store
    is `full` (MAX_BYTES) its owner starts a new one; rows are made again when asked for.
    """

    def __init__(self, words: int, table: Row | None = None) -> None:
        self.table: Row = np.zeros((8, words), np.int32) if table is None else table
        self.index: dict[int, int] = {}
        self._known: dict[bytes, int] = {}
        self._count = 0 if table is None else len(table)
        for at in range(self._count):
            self._known.setdefault(self.table[at].tobytes(), at)
        self._limit = max(64, MAX_BYTES // (4 * words))

    def __len__(self) -> int:
        return self._count

    @property
    def full(self) -> bool:
        """Whether the rows take MAX_BYTES."""
        return self._count >= self._limit

    def add(self, state: int, row: Row) -> int:
        """Keep the row of a state; returns its place in the table."""
        data = row.tobytes()
        at = self._known.get(data)
        if at is None:
            if self._count == len(self.table):
                larger = np.zeros((max(8, 2 * len(self.table)), self.table.shape[1]), np.int32)
                larger[: self._count] = self.table
                self.table = larger
            at = self._count
            self.table[at] = row
            self._known[data] = at
            self._count += 1
        self.index[state] = at
        return at

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
