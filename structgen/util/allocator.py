"""Give memory back to the system that the C library keeps for later."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


@cache
def _trim() -> Callable[[int], int] | None:
    """glibc's `malloc_trim`; other C libraries have none."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def give_back() -> None:
    """Have the C library give back the pages that it keeps free, as far as it can.

    glibc has arenas for threads. What one thread allocates, another frees, and the pages stay with
    the arena until something fits there. It takes milliseconds; other C libraries are left alone.
    """
    trim = _trim()
    if trim is not None:
        trim(0)
