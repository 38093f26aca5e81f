"""Tables do not share memory, and cost only the pages that are written to."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from structgen.util.arrays import KEPT, LEAST, SPARE, Pages, distinct, paged

PER_HUGE_PAGE = (2 << 20) // 4  # integers


def used() -> int:
    """The bytes of memory that this process uses."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("rows", [1, LEAST // 4096 - 1, LEAST // 4096, 5000])
def test_a_paged_array_holds_what_is_written(rows: int) -> None:
    """Small or large, and apart from another one of the same shape."""
    first, second = paged(rows, 1024), paged(rows, 1024)
    first[:], second[:] = 1, 2
    assert first.shape == (rows, 1024)
    assert first.dtype == np.int32
    assert first.flags.c_contiguous
    assert (first == 1).all()
    assert (second == 2).all()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="tells how much memory is used")
def test_memory_is_taken_where_it_is_written() -> None:
    """One integer in each 2 MB of 256 MB takes a page each, not all of it."""
    array, before = paged(128, PER_HUGE_PAGE), used()
    array[:, 0] = 1
    assert used() - before < 16 << 20


def test_a_room_goes_to_the_next_when_nobody_has_it() -> None:
    """Not before the last view of an array is gone; and no more maps are kept than may be."""
    pages = Pages()
    first = pages.take(LEAST)
    at, view = first.ctypes.data, first[5:].reshape(-1, 1).view(np.uint8)
    view[:] = 7
    del first
    second = pages.take(LEAST)
    second[:] = 1
    assert second.ctypes.data != at
    assert (view == 7).all()
    del view
    third = pages.take(LEAST - 5)
    assert third.ctypes.data == at
    many = [pages.take(LEAST) for _ in range(2 * SPARE)]
    places = {one.ctypes.data for one in many}
    many.clear()
    again = [pages.take(LEAST) for _ in range(2 * SPARE)]
    assert len(places & {one.ctypes.data for one in again[:SPARE]}) == SPARE


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="tells how much memory is used")
def test_a_room_that_nobody_has_takes_little_memory() -> None:
    """Of what was written only the beginning stays."""
    pages, before = Pages(), used()
    pages.take(64 << 20)[:] = 1
    assert used() - before < KEPT + (2 << 20)
    assert (pages.take(64 << 20)[: KEPT // 4] == 1).all()


@pytest.mark.parametrize("entries", [[], [1], [3, 1, 3, 2, 1], [[5, 5], [0, 5]]])
def test_distinct_entries_are_those_of_numpy(entries: list[int]) -> None:
    """Ascending, whatever the shape."""
    array = np.array(entries, np.int64)
    assert distinct(array).tolist() == np.unique(array).tolist()
