"""A table of mask rows on a device: each distinct row is copied there once and has a number.

From then on a sequence costs one int32 per step instead of a row of V / 8 bytes. The mask of a
state never changes, so a state keeps its row number.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch

from structgen.masks import bitmask
from structgen.masks.bitmask import FillsMasks

MAX_BYTES = 256 << 20  # of rows on the device
MAX_STATES = 1 << 20  # whose row numbers are remembered
FIRST_ROWS = 64  # room that a table begins with; it doubles


@runtime_checkable
class NamesMasks(FillsMasks, Protocol):
    """A constraint that has an id for each distinct row; for others the row's digest is taken."""

    def mask_id(self, state: int) -> int:
        """What `bitmask.row_id` says of the row of `state`."""


@dataclass(frozen=True, slots=True)
class DeviceMasks:
    """The masks of n sequences: row ids[i] of the table is sequence i's.

    table: int32[rows, words] on a device; ids: int32[n] on the host, a negative one for a row that
    allows nothing. Bit t % 32 of word t // 32: may token t < vocab_size come next?
    """

    table: torch.Tensor
    ids: npt.NDArray[np.int32]
    vocab_size: int

    def ids_there(self) -> torch.Tensor:
        """The row numbers int32[n] on the table's device."""
        return send(self.ids, self.table.device)


class RowTable:
    """Mask rows on one device. Safe to share between threads that use one stream.

    Equal rows are kept once, whatever constraint they are of. When `max_bytes` are full the table
    starts empty again, and rows are copied again when they are needed.
    """

    _table: torch.Tensor
    _count: int  # rows that have a number, those that wait included
    _waiting: list[npt.NDArray[np.int32]]  # rows that are not on the device yet
    _known: dict[int, int]  # what `bitmask.row_id` says of a row -> its number
    _states: WeakKeyDictionary[FillsMasks, dict[int, int]]  # state -> row number
    _remembered: int  # states in all of these

    def __init__(
        self, vocab_size: int, device: torch.device | str, *, max_bytes: int = MAX_BYTES
    ) -> None:
        self.vocab_size = vocab_size
        self.device = torch.device(device)
        self._words = bitmask.words(vocab_size)
        self._limit = max(1, max_bytes // (4 * self._words))
        self._lock = threading.Lock()
        self._forget()

    def __len__(self) -> int:
        """Number of rows on the device."""
        return self._count

    @torch.inference_mode()
    def masks(self, constraints: Sequence[FillsMasks], states: Sequence[int]) -> DeviceMasks:
        """The masks of states[i] of constraints[i], all for this vocabulary size.

        They stay valid, whatever the table is asked for later.
        """
        with self._lock:
            numbers = self._numbers(constraints, states)
            self._upload()
            return DeviceMasks(self._table, np.array(numbers, np.int32), self.vocab_size)

    def _numbers(self, constraints: Sequence[FillsMasks], states: Sequence[int]) -> list[int]:
        """Row numbers; new rows wait for `_upload`."""
        self._limit = max(self._limit, len(states))  # one step must fit
        numbers = []
        previous, known = None, dict[int, int]()
        for constraint, state in zip(constraints, states, strict=True):
            if constraint is not previous:
                previous, known = constraint, self._states.setdefault(constraint, {})
            number = known.get(state)
            if number is None:
                if self._count >= self._limit or self._remembered >= MAX_STATES:
                    self._forget()
                    return self._numbers(constraints, states)
                number = known[state] = self._number(constraint, state)
                self._remembered += 1
            numbers.append(number)
        return numbers

    def _number(self, constraint: FillsMasks, state: int) -> int:
        """The number of a row, which waits for `_upload` if it is new."""
        row = None
        if isinstance(constraint, NamesMasks):
            name = constraint.mask_id(state)
        else:
            row = bitmask.row_of(constraint, state, self.vocab_size)
            name = bitmask.row_id(row)
        number = self._known.get(name)
        if number is None:
            number = self._known[name] = self._count
            if row is None:
                row = bitmask.row_of(constraint, state, self.vocab_size)
            self._waiting.append(row)
            self._count += 1
        return number

    def _upload(self) -> None:
        """Send the rows that wait, in one copy.

        A larger table is a new tensor: the old one stays as it is for masks made with it.
        """
        if not self._waiting:
            return
        there = self._count - len(self._waiting)
        if self._count > len(self._table):
            room = min(max(2 * len(self._table), self._count, FIRST_ROWS), self._limit)
            larger = self._empty(max(room, self._count))
            larger[:there] = self._table[:there]
            self._table = larger
        self._table[there : self._count] = send(np.stack(self._waiting), self.device)
        self._waiting = []

    def _empty(self, rows: int) -> torch.Tensor:
        return torch.empty((rows, self._words), dtype=torch.int32, device=self.device)

    def _forget(self) -> None:
        self._table = self._empty(0)
        self._count = 0
        self._waiting = []
        self._known = {}
        self._states = WeakKeyDictionary()
        self._remembered = 0


def send(array: npt.NDArray[np.int32], device: torch.device) -> torch.Tensor:
    """A copy on the device, which does not wait for what the device is doing."""
    found = torch.from_numpy(array)
    if device.type == "cuda":
        found = found.pin_memory()  # of torch's cache, which keeps it until it is copied
    return found.to(device, non_blocking=True)
