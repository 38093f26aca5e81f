"""In: shapes of tables. Out: proof that they are arrays of their own, and cost what is written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from structgen.paged import HUGE, paged

PER_HUGE_PAGE = (2 << 20) // 4  # integers


@pytest.mark.parametrize("rows", [1, HUGE // 4096 - 1, HUGE // 4096, 5000])
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

    def used() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    array, before = paged(128, PER_HUGE_PAGE), used()
    array[:, 0] = 1
    assert used() - before < 16 << 20
