"""Arrays that grow, and arrays whose memory is taken page by page where it is written to."""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import weakref
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

#: from so many bytes on numpy asks for huge pages of memory. The first write to one clears all of
#: it, which takes as long as a hundred masks, and uses it up though most of a table stays unwritten
HUGE = 1 << 22
KEPT = 1 << 22  # bytes at the beginning of a room whose pages stay when it is given back
SPARE = 4  # rooms of each size that are kept for who comes next


class Pages:
    """Memory of which nobody knows how much will be used; sizes are powers of two.

    To take a page anew takes longer than to write to it, so rooms go from one array to the next.
    Safe to use from many threads, and after a fork.
    """

    def __init__(self) -> None:
        self._spare: dict[int, list[mmap.mmap]] = {}
        self._lent: dict[int, tuple[weakref.ref[Any], mmap.mmap]] = {}  # by the id of the array

    def take(self, size: int) -> npt.NDArray[np.int32]:
        """At least `size` bytes; when the array and its views are gone, others get its room."""
        size = 1 << (size - 1).bit_length()
        try:
            room = self._spare[size].pop()
        except (KeyError, IndexError):
            room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            with contextlib.suppress(AttributeError, OSError):  # where there are no huge pages
                room.madvise(mmap.MADV_NOHUGEPAGE)
        found = np.frombuffer(room, np.int32)
        key = id(found)
        self._lent[key] = weakref.ref(found, lambda _: self._give(key)), room
        return found

    def _give(self, key: int) -> None:
        _, room = self._lent.pop(key)
        spare = self._spare.setdefault(len(room), [])
        if len(spare) < SPARE:
            with contextlib.suppress(AttributeError, OSError):
                if len(room) > KEPT:
                    room.madvise(mmap.MADV_DONTNEED, KEPT)
                spare.append(room)

    def end(self) -> None:
        """Take no rooms back any more: what that needs is going, too."""
        self._lent = {}

    def forget(self) -> None:
        """Let all rooms go."""
        self._spare = {}


_pages = Pages()
os.register_at_fork(after_in_child=_pages.forget)
atexit.register(_pages.end)


def paged(*shape: int) -> npt.NDArray[np.int32]:
    """An int32 array of that shape; what is in it is undefined."""
    count = prod(shape)
    if 4 * count < HUGE or not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(shape, np.int32)
    return _pages.take(4 * count)[:count].reshape(shape)


def with_room(
    array: npt.NDArray[Any], count: int, fill: Any = 0, used: int | None = None
) -> npt.NDArray[Any]:
    """The array, or a copy with at least twice the room, so that it has `count` entries.

    fill: what the new entries are, None when they are written before they are read. used: how many
    of those that are there matter, all if None.
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
