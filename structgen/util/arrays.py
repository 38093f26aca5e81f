"""Arrays that grow, and large arrays whose memory is taken page by page as it is written to.

Tables are allocated for more than most uses need. A page of an anonymous memory map costs nothing
until it is written to, so that is free; maps are used again, since to get pages anew takes longer
than to write to them.
"""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import weakref
from math import prod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from structgen.errors import BudgetError

# Bytes from which arrays are maps. From 4 MiB numpy would ask for huge pages: the first write to
# one clears all of it, which takes as long as a hundred masks, and uses memory that most tables
# never write to. Pages of smaller ones would go back to the system, and be cleared once more.
LEAST = 1 << 17
KEPT = 1 << 22  # bytes at the beginning of a map whose pages are kept when it is given back
SPARE = 4  # maps of each size that are kept for the next arrays
T = TypeVar("T", bound=np.generic)


class Pages:
    """A pool of memory maps, whose sizes are powers of two.

    Safe to use from many threads, and after a fork.
    """

    def __init__(self) -> None:
        self._spare: dict[int, list[mmap.mmap]] = {}
        self._lent: dict[int, tuple[weakref.ref[Any], mmap.mmap]] = {}  # by the id of the array

    def take(self, size: int) -> npt.NDArray[np.int32]:
        """An array of at least `size` bytes; when it and its views are gone, its map is reused."""
        size = 1 << (size - 1).bit_length()
        try:
            block = self._spare[size].pop()
        except (KeyError, IndexError):
            block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            with contextlib.suppress(AttributeError, OSError):  # where there are no huge pages
                block.madvise(mmap.MADV_NOHUGEPAGE)
        found = np.frombuffer(block, np.int32)
        key = id(found)
        self._lent[key] = weakref.ref(found, lambda _: self._give_back(key)), block
        return found

    def _give_back(self, key: int) -> None:
        _, block = self._lent.pop(key)
        spare = self._spare.setdefault(len(block), [])
        if len(spare) < SPARE:
            with contextlib.suppress(AttributeError, OSError):
                if len(block) > KEPT:
                    block.madvise(mmap.MADV_DONTNEED, KEPT)
                spare.append(block)

    def end(self) -> None:
        """Take no maps back any more: the interpreter is shutting down."""
        self._lent = {}

    def forget(self) -> None:
        """Free all spare maps."""
        self._spare = {}


_pages = Pages()
os.register_at_fork(after_in_child=_pages.forget)
atexit.register(_pages.end)


def paged(*shape: int) -> npt.NDArray[np.int32]:
    """An int32 array of a shape, with undefined content, like `np.empty`. Raises BudgetError."""
    count = prod(shape)
    if 4 * count >= LEAST and hasattr(mmap, "MAP_PRIVATE"):
        with contextlib.suppress(OSError):  # a process may have only so many maps
            return _pages.take(4 * count)[:count].reshape(shape)
    try:
        return np.empty(shape, np.int32)
    except MemoryError:
        raise BudgetError(
            f"there is no memory for a table of {4 * count >> 20} MiB",
            hint="make the spec simpler, or let the process take more memory",
        ) from None


def bytes_of(*held: object) -> int:
    """Bytes of the arrays among these, and in tuples among these; nothing else counts."""
    total = 0
    for each in held:
        if isinstance(each, np.ndarray):
            total += each.nbytes
        elif isinstance(each, tuple):
            total += bytes_of(*each)
    return total


def distinct(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """The distinct entries of an array, ascending.

    As `np.unique` has it, which first imports all of `numpy.ma`: longer than a grammar compiles.
    """
    listed = np.sort(array, axis=None)
    found: npt.NDArray[T] = listed[np.append(True, listed[1:] != listed[:-1])[: len(listed)]]
    return found


def with_room(
    array: npt.NDArray[Any], count: int, fill: Any = 0, used: int | None = None
) -> npt.NDArray[Any]:
    """The array if it has `count` entries, else a copy that has, and at least twice the room.

    Rows are counted along the first axis. fill: the value of new entries; None leaves them
    undefined. used: how many old entries are copied; None for all.
    """
    if count <= len(array):
        return array
    room = np.zeros if fill == 0 else np.empty  # zeros take no time before somebody reads them
    larger = room((max(count, 2 * len(array)), *array.shape[1:]), array.dtype)
    used = len(array) if used is None else used
    larger[:used] = array[:used]
    if fill is not None and fill != 0:
        larger[len(array) :] = fill
    return larger
