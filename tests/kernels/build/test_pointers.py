"""Kernels read and write tuples of arrays through their address."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import types

from structgen.kernels.build.loader import kernels

pytestmark = pytest.mark.skipif(
    bool(getattr(numba.config, "DISABLE_JIT")),  # noqa: B009  made when numba is imported
    reason="plain Python has no addresses",
)


class Pair(NamedTuple):
    """A grid, and bytes that nobody may write."""

    grid: Any
    data: Any


named: Any = types.NamedTuple  # untyped in numba, as the next
several: Any = types.UniTuple
KIND = named([types.int32[:, ::1], types.Array(types.uint8, 1, "C", readonly=True)], Pair)


@pytest.fixture(scope="module")
def compiled() -> tuple[Any, ...]:
    """Kernels: the sizes and a number of the grid, in place of which another is put.

    By reference, with the tuple in hand, from where the tuple has been written down, and by a
    number that says where.
    """
    made = kernels("build.pointers")
    pair = made.reference(KIND)
    pair_at, stored = made.loader_of(pair), made.stored
    sizes = several(types.int64, 8)

    @numba.njit(sizes(pair, types.int64, types.int64))
    def swap(t, i, j):  # type: ignore[no-untyped-def]
        before, t.grid[i, j] = t.grid[i, j], 7
        last = t.data[t.data.shape[0] - 1]
        rows, columns = t.grid.shape
        step = t.grid.strides[0]
        return rows, columns, t.grid.size, step, t.data.strides[0], before, t.grid[i].sum(), last

    @numba.njit(sizes(KIND, types.int64, types.int64))
    def in_hand(t, i, j):  # type: ignore[no-untyped-def]
        return swap(t, i, j)

    @numba.njit(sizes(KIND, types.int64[::1], types.int64, types.int64))
    def written(t, room, i, j):  # type: ignore[no-untyped-def]
        stored(room.ctypes.data, t)
        return swap(pair_at(room.ctypes.data), i, j)

    @numba.njit(types.void(KIND, types.int64[::1]))
    def write(t, room):  # type: ignore[no-untyped-def]
        stored(room.ctypes.data, t)

    def by_address(t: Any, i: int, j: int) -> Any:
        room = np.zeros(32, np.int64)
        write(t, room)
        return swap(room.ctypes.data, i, j)

    return swap, in_hand, lambda t, i, j: written(t, np.zeros(32, np.int64), i, j), by_address


@given(data=st.data())
def test_arrays_are_what_they_are(data: st.DataObject, compiled: tuple[Any, ...]) -> None:
    """Their items, lengths and steps; what is written stays; however the tuple came there."""
    rows, columns = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    i, j = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    for kernel in compiled:
        grid = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
        pair = Pair(grid, np.frombuffer(b"ab\xff"[: data.draw(st.integers(1, 3))], np.uint8))
        before = int(grid[i, j])
        found = kernel(pair, i, j)
        assert grid[i, j] == 7
        wanted = rows, columns, grid.size, grid.strides[0], 1
        assert found == (*wanted, before, grid[i].sum(), pair.data[-1])


@pytest.mark.parametrize(
    "pair",
    [
        Pair(np.zeros((4, 4), np.int32)[:, ::2], np.frombuffer(b"a", np.uint8)),
        Pair(np.zeros((4, 4), np.int64), np.frombuffer(b"a", np.uint8)),
        (np.zeros((4, 4), np.int32), np.frombuffer(b"a", np.uint8)),
    ],
    ids=["not C-ordered", "of another type", "no such tuple"],
)
def test_other_tuples_are_refused(pair: Any, compiled: tuple[Any, ...]) -> None:
    """An array that is laid out otherwise is never read as if it were not."""
    with pytest.raises(TypeError, match="No matching definition"):
        compiled[0](pair, 0, 0)


def test_unknown_fields_are_refused() -> None:
    """As of the tuple itself, when a kernel is compiled."""
    pair = kernels("build.pointers").reference(KIND)
    with pytest.raises(numba.TypingError, match="nothing"):
        numba.njit(types.int64(pair))(lambda t: t.nothing[0])
