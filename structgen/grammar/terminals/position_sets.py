"""Sets of positions of expressions (V. Glushkov, 1961) as rows of bits, which kernels work with.

A position is a place at which a character of some set is read. Bit i of word k of a row says
whether position 64 k + i is in a set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.regular.charset import CharSet
from structgen.util.cancellation import checkpoint

Ints = npt.NDArray[Any]
Bits = npt.NDArray[np.uint64]
SOME_SETS = 64  # that tables are made for at first


def rows_of(sets: Iterable[int], size: int) -> Bits:
    """uint64[sets, words]: sets of positions, of which there are `size`."""
    width = 8 * max(1, -(-size // 64))
    data = b"".join([one.to_bytes(width, "little") for one in sets])
    return np.frombuffer(data, np.uint64).reshape(-1, width // 8).copy()


def classes_of(sets: Collection[CharSet], positions: Bits) -> tuple[Ints, Bits]:
    """The classes of characters that are in the same sets, those in any.

    positions: uint64[sets, words], those that read each set. Returns int32[k, 3], spans of code
    points and their class, ascending; and uint64[classes, words], the positions that read each.
    """
    listed = [*map(_bounds, sets)]
    bounds = np.concatenate(listed) if listed else np.zeros((0, 2), np.int32)
    owners = np.repeat(np.arange(len(sets), dtype=np.int32), [*map(len, listed)])
    points, words = np.sort(bounds, axis=None), -(-len(sets) // 64)
    size = len(points)
    among, spans = np.zeros((2 * size, words), np.uint64), np.empty((size, 3), np.int32)
    reading = np.zeros((size, positions.shape[1]), np.uint64)
    count = kernels("terminals.positions").character_classes(
        bounds, owners, points, among, positions, reading, spans, empty_slots(size)
    )
    spans = spans[:count]
    return spans, reading[: spans[:, 2].max(initial=-1) + 1]


def all_sets(start: Bits, follow: Bits, reading: Bits, most: int) -> tuple[Bits, Ints] | None:
    """All sets of positions to which texts lead, None where they are more than about `most`.

    start: uint64[1, words]; follow, reading: see the kernel. Returns the sets, the start first, and
    int32[sets, classes], the set behind a character of each class, -1 for the empty one.
    """
    size = SOME_SETS
    while True:
        checkpoint()
        states = np.zeros((size, start.shape[1]), np.uint64)
        moves = np.empty((size, len(reading)), np.int32)
        states[:1] = start
        slots = np.full(4 * size, -1, np.int32)
        count = kernels("terminals.positions").position_sets(follow, reading, states, moves, slots)
        if count >= 0:
            return states[:count], moves[:count]
        if size > most:
            return None
        size *= 8


def empty_slots(count: int) -> npt.NDArray[np.int32]:
    """A hash table for so many entries, as kernels have it."""
    return np.full(1 << (2 * count).bit_length(), -1, np.int32)


@lru_cache(maxsize=64)  # most grammars have letters, or all characters but a few
def _bounds(chars: CharSet) -> Ints:
    """int32[k, 2]: where the ranges of a set begin, and behind them."""
    found: Ints = np.array(chars.ranges, np.int32).reshape(-1, 2)
    found[:, 1] += 1
    return found
