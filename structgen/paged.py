"""In: a shape. Out: an array whose memory is taken page by page, where it is written to."""

from __future__ import annotations

import contextlib
import mmap
from math import prod

import numpy as np
import numpy.typing as npt

#: from so many bytes on numpy asks for huge pages of memory. The first write to one clears all of
#: it, which takes as long as a hundred masks, and uses it up though most of a table stays unwritten
HUGE = 1 << 22


def paged(*shape: int) -> npt.NDArray[np.int32]:
    """An int32 array of that shape; what is in it is undefined."""
    size = 4 * prod(shape)
    if size < HUGE or not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(shape, np.int32)
    room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(AttributeError, OSError):  # where there are no huge pages
        room.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(room, np.int32).reshape(shape)
