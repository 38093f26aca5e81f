"""In: mask rows by state. Out: a table of them, equal ones once, and copies of many at a time.

Rows are kept by generation: when a store is full, a new one takes its place and takes over from it
what is asked for again; what was not asked for until the new one is full too is dropped. That keeps
the rows used last, as a least-recently-used order would, and costs nothing when a row is found.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from structgen.automaton.automaton import Row
from structgen.jit import kernels
from structgen.mask import crew
from structgen.mask.bitmask import row_id
from structgen.paged import paged

AT_FIRST = 1 << 27  # bytes that a table has room for at first: that not used is no memory
LEAST = 32  # rows that every store has room for
TYPES = np.dtype(np.int32), np.dtype(np.uint32)  # of rows to be written
BATCH = 6  # rows from which one call of a kernel is cheaper than a copy for each


class RowStore:
    """Mask rows by state. `table`: int32[n, words]; `index`: state -> row of the table.

    `views`: state -> its row, read-only, for states whose rows were asked for one by one.
    Rows once written never change, and the table only grows: a reader needs no lock. When the store
    is `full` its owner goes on with `next()`; rows dropped are made again when asked for.
    """

    def __init__(self, words: int, max_bytes: int, older: RowStore | None = None) -> None:
        """Room for `max_bytes` of rows, half of them here and half in the generation before."""
        self._k = kernels("rows")
        self._limit = max(LEAST, max_bytes // 2 // (4 * words))
        self._grow(paged(min(self._limit, max(LEAST, AT_FIRST // (4 * words))), words))
        self.ids: dict[int, int] = {}  # place -> what `bitmask.row_id` says of the row
        self.index: dict[int, int] = {}
        self._known: dict[int, int] = {}  # digest of a row -> its place
        self._count = 0
        self._max_bytes = max_bytes
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
        rows: int = 4 * self._count * self.table.shape[1]
        return rows + (self._older.nbytes if self._older else 0)

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
        self.free()[:] = row
        return self.keep(state)

    def free(self) -> Row:
        """The row of the table that is written next; nobody has seen it."""
        if self._count == len(self.table):
            larger = paged(2 * self._count, self.table.shape[1])
            larger[: self._count] = self.table
            self._grow(larger)
        row: Row = self.table[self._count]
        return row

    def keep(self, state: int) -> int:
        """Keep what was written into the `free` row as that of a state; returns its place."""
        at = self._count
        key = self._k.digest(self.table, at)
        known = self._known.get(key)
        if known is not None and self._k.are_equal(self.table, known, at):
            at = known
        else:
            self._known[key] = at
            self._count += 1
        self.index[state] = at
        return at

    def _grow(self, table: Row) -> None:
        self.table = table
        self._shown: dict[int, Row] = {}  # by place; views of the table before would keep it alive
        self.views: dict[int, Row] = {}

    def show(self, state: int, at: int) -> Row:
        """The row of a state, at a place, as all may see it."""
        view = self._shown.get(at)
        if view is None:
            view = self._shown[at] = self.table[at]
            view.flags.writeable = False
        self.views[state] = view
        return view

    def id_of(self, at: int) -> int:
        """What tells the row at a place from all others."""
        found = self.ids.get(at)
        if found is None:
            found = self.ids[at] = row_id(self.table[at])
        return found

    def items(self) -> Iterator[tuple[int, Row]]:
        """The states whose rows are kept, and the rows."""
        if self._older is not None:
            older = self._older
            yield from ((s, row) for s, row in older.items() if s not in self.index)
        for state, at in self.index.items():
            yield state, self.table[at]


class Owner(Protocol):
    """What has mask rows."""

    def write_row(self, state: int, row: Row, /) -> None:
        """Write the row of a state, whatever stands there."""

    def twin(self, state: int, /) -> int | None:
        """Another state that is known to have the same row."""


class MaskRows:
    """The rows of one constraint: made when first asked for, and again when they were dropped.

    It does not keep its owner alive, so that both go at once when nobody uses them any more.

    `current` is the store of the rows used last. Safe to use from many threads: who finds a row
    takes no lock, who makes one takes `lock`.
    """

    def __init__(self, words: int, max_bytes: int, owner: Owner, lock: threading.RLock) -> None:
        """As many rows of so many words as `max_bytes` hold; `owner` makes them."""
        self.current = RowStore(words, max_bytes)
        self._words = words
        self._owner = weakref.ref(owner)
        self._lock = lock

    def place(self, state: int) -> tuple[RowStore, int]:
        """The store that has the row of a state, and its place there."""
        store = self.current
        at = store.index.get(state)
        if at is not None:
            return store, at
        with self._lock:
            return self._made(state)

    def view(self, state: int) -> Row:
        """The row of a state, read-only."""
        known = self.current.views.get(state)
        if known is None:
            with self._lock:
                store, at = self._made(state)
                known = store.show(state, at)
        return known

    def _made(self, state: int) -> tuple[RowStore, int]:
        """See `place`; the caller holds the lock."""
        store = self.current
        at = store.index.get(state)
        if at is None:
            if store.full:
                store = self.current = store.next()
            at = self._add(store, state)
        return store, at

    def _add(self, store: RowStore, state: int) -> int:
        row = store.older(state)
        if row is not None:
            return store.add(state, row)
        owner = self._owner()
        if owner is None:
            raise ReferenceError("the constraint that has these rows is gone")
        twin = owner.twin(state)
        at = None if twin is None else store.index.get(twin)
        if at is not None:
            store.index[state] = at
            return at
        owner.write_row(state, store.free())
        return store.keep(state)

    def id_of(self, state: int) -> int:
        """What `bitmask.row_id` says of the row of a state."""
        store, at = self.place(state)
        return store.id_of(at)

    def copy(self, states: Sequence[int], rows: npt.NDArray[Any]) -> None:
        """rows[i] = the row of states[i]; rows: int32 or uint32[n, words], and may have more rows.

        Raises ValueError for another shape or type.
        """
        store = self.current
        if rows.shape != (len(states), self._words) or rows.dtype not in TYPES:
            rows = self._fitting(rows, len(states))
        if len(states) < BATCH:
            for i, state in enumerate(states):
                at = store.index.get(state)
                if at is None:
                    store, at = self.place(state)
                rows[i] = store.table[at]
            return
        index, table = store.index, store.table

        def find(places: crew.Places, begin: int, end: int) -> None:
            _write(places, begin, itemgetter(*states[begin:end])(index))
            if store.table is not table:  # then a place may be one of the larger table
                raise KeyError

        try:
            _copy(table, find, rows)
        except KeyError:
            table, known = self._found(states)
            _copy(table, lambda places, begin, end: _write(places, begin, known[begin:end]), rows)

    def _fitting(self, rows: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
        """The first rows. Raises ValueError."""
        fits = rows.ndim == 2 and len(rows) >= count and rows.shape[1] == self._words
        if not fits or rows.dtype not in TYPES:
            wanted = f"int32[{count}, {self._words}]"
            raise ValueError(f"rows is {rows.dtype}{[*rows.shape]}, expected {wanted}")
        return rows[:count]

    def _found(self, states: Sequence[int]) -> tuple[Row, list[int]]:
        """A table, and which of its rows are those of the states; they are made if need be."""
        with self._lock:  # all in one store, which may take more than its share for that
            store = self.current
            found = [
                self._add(store, state) if (at := store.index.get(state)) is None else at
                for state in states
            ]
        return store.table, found


def _copy(table: Row, find: crew.Find, rows: npt.NDArray[Any]) -> None:
    """rows[i] = table[places[i]], as `find` writes the places."""
    if rows.flags.c_contiguous:
        crew.copy(table, find, rows if rows.dtype == np.int32 else rows.view(np.int32))
        return
    places = np.empty(len(rows), np.int32)
    find(places, 0, len(rows))
    rows[:] = table[places]


def _write(places: crew.Places, begin: int, found: Sequence[int]) -> None:
    """places[begin:] = found, of which an array would take twice as long to be made."""
    _struct_of(len(found)).pack_into(places.data, 4 * begin, *found)


@lru_cache(maxsize=256)
def _struct_of(count: int) -> struct.Struct:
    return struct.Struct(f"={count}i")
