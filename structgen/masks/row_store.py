"""Keep the mask rows of a constraint, in little memory, and write them out fast.

Rows are stored as *delta rows*: a record has the words in which a row differs from another one, and
equal records are stored once (`kernels.masks.delta_rows`). A batch is written by a thread pool.

Memory is bounded by generations. When a store is full, a new one takes its place and copies from
it what is asked for again; what was not asked for until the new one is full too is dropped. That
keeps the rows used last, as a least-recently-used order would, and costs nothing when a row is
found.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Row
from structgen.errors import ArgumentError
from structgen.kernels.build.loader import kernels
from structgen.masks import thread_pool
from structgen.masks.bitmask import row_id
from structgen.masks.saved_rows import Kept
from structgen.util.arrays import paged, with_room

AT_FIRST = 1 << 22  # bytes that a pool reserves; pages that are not written to take no memory
MIN_ROWS = 32  # that every store has room for
MAX_STORE = 1 << 32  # bytes of a store, so that places in its pool are int32
ROW_BYTES = 256  # of Python objects for a row, besides its record, about
TYPES = np.dtype(np.int32), np.dtype(np.uint32)  # that rows to be filled may have
STATES_AT_FIRST = 1024  # that a store has room for
BATCH = 6  # rows from which one call of a kernel is cheaper than one call for each

#: Write the row at a place in a pool; False, and nothing is written, if the shape is another.
Write = Callable[[Row, int, Row], bool]
#: The states of a batch.
States = Sequence[int] | npt.NDArray[np.integer[Any]]


class RowStore:
    """One generation of mask rows, by state.

    pool: int32[], their records one after the other (see `kernels.masks.delta_rows`). index: state
    -> place, where its row's record begins in the pool. views: state -> row int32[words],
    read-only, for states of which somebody asked for a view.

    Records once written never change, and a larger pool begins with the same records: a reader that
    takes the pool after the place needs no lock. When the store is `full` its owner goes on with
    `next()`.
    """

    def __init__(self, words: int, max_bytes: int, older: RowStore | None = None) -> None:
        """Room for `max_bytes` of rows, half of them here and half in the generation before."""
        self._k = kernels("masks.delta_rows")
        self.write: Write = self._k.write_row
        self._words, self._max_bytes = words, max_bytes
        self._limit = min(MAX_STORE, max(MIN_ROWS * 4 * words, max_bytes // 2))
        self._needed = self._k.needed(words)
        self.pool = paged(max(min(self._limit, AT_FIRST) // 4, 2 * self._needed))
        self.pool[self._k.WORDS] = words
        self._sizes = np.zeros(self._k.SIZE, np.int64)
        self._sizes[self._k.USED] = self._k.BEGIN
        self.ids: dict[int, int] = {}  # place -> `bitmask.row_id` of the row
        self.index: dict[int, int] = {}
        # `index` once more, for kernels: int32[states + 1], by state + 1 (DEAD and FINAL are at 0).
        self._places = np.full(STATES_AT_FIRST, -1, np.int32)
        self._place_of: dict[int, int] = {}  # digest of a record -> its place
        self._count = 0
        self._shown: dict[int, Row] = {}  # place -> view
        self.views: dict[int, Row] = {}
        self._older = older

    def __len__(self) -> int:
        return self._count + (len(self._older) if self._older else 0)

    @property
    def full(self) -> bool:
        """Whether the rows take all the memory that they may."""
        return self._nbytes >= self._limit

    @property
    def _nbytes(self) -> int:
        used: int = self._sizes.item(self._k.USED)
        return 4 * (used + self._words * len(self._shown)) + ROW_BYTES * self._count

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, with those of the generation before."""
        return self._nbytes + (self._older.nbytes if self._older else 0)

    def next(self) -> RowStore:
        """The store that takes this one's place; the generation before this one is dropped."""
        self._older = None
        return RowStore(self._words, self._max_bytes, self)

    def write_older(self, state: int, row: Row) -> bool:
        """Write the row that a state had in the generation before, if it is still there."""
        at = None if self._older is None else self._older.index.get(state)
        if self._older is None or at is None:
            return False
        return self.write(self._older.pool, at, row)

    def keep(self, state: int, row: Row) -> int:
        """Keep the row of a state; returns its place."""
        before = self._sizes.item(self._k.USED)
        if before + self._needed > len(self.pool):
            larger = paged(2 * len(self.pool))
            larger[: len(self.pool)] = self.pool
            self.pool = larger
        at: int = self._k.keep_row(self.pool, self._sizes, row)
        key = self._sizes.item(self._k.DIGEST)
        known = self._place_of.get(key)
        if known is not None and self._k.are_equal(self.pool, known, at):
            at, self._sizes[self._k.USED] = known, before
        else:
            self._place_of[key] = at
            self._count += 1
        return self.share(state, at)

    def share(self, state: int, at: int) -> int:
        """Let a state have the row at a place, which is returned."""
        slot = max(state + 1, 0)
        self._places = with_room(self._places, slot + 1, -1)
        self._places[slot] = self.index[state] = at
        return at

    def records(self) -> thread_pool.Records:
        """The rows that are there now, for kernels; rows kept later may be in another pool."""
        places, used = self._places, self._sizes.item(self._k.USED)
        return thread_pool.Records(self.pool, used, places)

    def row(self, at: int) -> Row:
        """The row at a place."""
        row = np.empty(self._words, np.int32)
        self.write(self.pool, at, row)
        return row

    def show(self, state: int, at: int) -> Row:
        """The row at a place as a read-only view, which the state then has too."""
        view = self._shown.get(at)
        if view is None:
            if self.full:  # views take memory of their own
                self._shown, self.views = {}, {}
            view = self._shown[at] = self.row(at)
            view.flags.writeable = False
        self.views[state] = view
        return view

    def id_of(self, at: int) -> int:
        """`bitmask.row_id` of the row at a place."""
        found = self.ids.get(at)
        if found is None:
            found = self.ids[at] = row_id(self.row(at))
        return found

    def items(self) -> Iterator[tuple[int, Kept]]:
        """The states whose rows are kept, and what makes each row again."""
        if self._older is not None:
            older = self._older
            yield from ((s, kept) for s, kept in older.items() if s not in self.index)
        for state, at in self.index.items():
            yield state, (self.row, at)


class Owner(Protocol):
    """The constraint whose rows these are."""

    def write_row(self, state: int, row: Row, /) -> None:
        """Compute the row of a state, int32[words], over whatever stands in it."""

    def state_with_same_mask(self, state: int, /) -> int | None:
        """Another state that is known to have the same row, if there is one."""


class MaskRows:
    """The rows of one constraint, computed on first use and again after they were dropped.

    current: the store of the rows used last. Safe to use from many threads: to find a row takes no
    lock, to compute one takes the constraint's. Who asks passes the constraint, which computes the
    rows that are not there: `owner`.
    """

    def __init__(self, words: int, max_bytes: int, lock: threading.RLock) -> None:
        """words: of a row. max_bytes: of all rows. lock: held while a row is computed."""
        self.current = RowStore(words, max_bytes)
        self.write = self.current.write
        self._words = words
        self._scratch = np.empty(words, np.int32)  # used while the lock is held
        self._lock = lock

    def place(self, state: int, owner: Owner) -> tuple[RowStore, int]:
        """The store that has the row of a state, and its place there."""
        store = self.current
        at = store.index.get(state)
        if at is not None:
            return store, at
        with self._lock:
            store = self.current
            at = store.index.get(state)
            if at is None:
                if store.full:
                    store = self.current = store.next()
                at = self._add(store, state, owner)
            return store, at

    def fill(self, state: int, row: npt.NDArray[Any], owner: Owner) -> None:
        """Write the row of a state. ArgumentError where `row` cannot take it."""
        store, at = self.place(state, owner)
        try:
            done = self.write(store.pool, at, row)
        except TypeError:  # it is of another type, or does not lie in one piece
            done = False
        if not done:
            check_row("the row", row, (self._words,))
            row[...] = store.row(at)

    def view(self, state: int, owner: Owner) -> Row:
        """The row of a state, read-only."""
        known = self.current.views.get(state)
        if known is None:
            with self._lock:
                store, at = self.place(state, owner)
                known = store.show(state, at)
        return known

    def _add(self, store: RowStore, state: int, owner: Owner) -> int:
        """Get the row of a state the cheapest way, keep it, and return its place."""
        row = self._scratch
        if store.write_older(state, row):
            return store.keep(state, row)
        same = owner.state_with_same_mask(state)
        at = None if same is None else store.index.get(same)
        if at is not None:
            return store.share(state, at)
        owner.write_row(state, row)
        return store.keep(state, row)

    def id_of(self, state: int, owner: Owner) -> int:
        """`bitmask.row_id` of the row of a state."""
        store, at = self.place(state, owner)
        return store.id_of(at)

    def fill_many(self, states: States, rows: npt.NDArray[Any], owner: Owner) -> None:
        """Write the row of states[i] to rows[i], for all of them.

        rows: int32 or uint32[m, words], m >= len(states); further rows are left alone.
        ArgumentError for another shape or type.
        """
        if rows.shape != (len(states), self._words) or rows.dtype not in TYPES:
            rows = self._fitting(rows, len(states))
        if len(states) < BATCH:
            for i, state in enumerate(states):
                self.fill(state, rows[i], owner)
            return
        out = rows if rows.flags.c_contiguous else np.empty(rows.shape, np.int32)
        wanted, records = _int32(states), self.current.records()
        while not thread_pool.write(records, wanted, out.view(np.int32)):  # some are not there
            records = self._made_for(states, owner)
        if out is not rows:
            rows[:] = out

    def _fitting(self, rows: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
        """The first `count` rows. ArgumentError for another shape or type."""
        fits = rows.ndim == 2 and len(rows) >= count and rows.shape[1] == self._words
        check_row("rows", rows[:count] if fits else rows, (count, self._words))
        return rows[:count]

    def _made_for(self, states: States, owner: Owner) -> thread_pool.Records:
        """The records with all these states, whose rows are computed if need be."""
        # All in one store, which may then take more than its share of memory.
        with self._lock:
            store = self.current
            for state in states:
                if state not in store.index:
                    self._add(store, state, owner)
            return store.records()


def check_row(name: str, row: Any, shape: tuple[int, ...]) -> None:
    """ArgumentError unless `row` is an array of int32 or uint32 of this shape."""
    wanted = f"int32{[*shape]}"
    if not isinstance(row, np.ndarray):
        hint = "use tensor.numpy()" if hasattr(row, "numpy") else f"use np.zeros({shape}, np.int32)"
        raise ArgumentError(f"{name} is a {type(row).__name__}", expected=wanted, hint=hint)
    if row.shape != shape or row.dtype not in TYPES:
        hint = "a bit for each token, in words of 32: vocabulary.words" if row.ndim == 1 else ""
        found = f"{row.dtype}{[*row.shape]}"
        raise ArgumentError(f"{name} is {found}", expected=wanted, hint=hint)


def _int32(states: States) -> Row:
    """The states as int32[n]; of a list by `struct`, which takes half the time of `np.array`."""
    if isinstance(states, np.ndarray):
        if states.dtype == np.int32:
            return np.ascontiguousarray(states)
        states = states.tolist()
    found = np.empty(len(states), np.int32)
    _struct_of(len(states)).pack_into(found.data, 0, *states)
    return found


@lru_cache(maxsize=256)
def _struct_of(count: int) -> struct.Struct:
    return struct.Struct(f"={count}i")
