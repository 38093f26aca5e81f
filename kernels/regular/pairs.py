"""Read two automata side by side: the moves of a pair of states, from the moves of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.tables import GRID, I32, I64, SPAN_FIRST, SPAN_LAST, SPAN_STATE

MADE, LISTED = 0, 1  # in `sizes`: how many pairs there are, and how many the hash table has


class Pairs(NamedTuple):
    """The pairs of states that have been met, with room for P.

    halves: int32[P, 2], a state of each automaton, -1 where that reads no more. table: int32[H], a
    hash table over the pairs, -1 empty; H is a power of two and at least twice P. sizes: int64[2]
    (MADE, LISTED).
    """

    halves: npt.NDArray[np.int32]
    table: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int64]


PAIRS = types.NamedTuple([GRID, I32, I64], Pairs)


@inlined
def slot_of(pairs, one, other):  # type: ignore[no-untyped-def]
    """The slot that holds a pair, or the empty one for it."""
    last = pairs.table.shape[0] - 1
    i = (numba.int64(one) * 40503 + numba.int64(other) * 60493) & last
    while pairs.table[i] >= 0:
        at = pairs.table[i]
        if pairs.halves[at, 0] == one and pairs.halves[at, 1] == other:
            break
        i = (i + 1) & last
    return i


@lean(types.int64(GRID, GRID, types.boolean, PAIRS, GRID))
def side_by_side(one, other, joint, pairs, out):  # type: ignore[no-untyped-def]
    """Write the moves of a pair; returns how many. New pairs get numbers.

    one, other: int32[k, 3], ascending, the first and last code point of each move and the state
    behind it. joint: whether both automata must read a character, or either. out: int32[n, 3], the
    same with pairs in the place of states; has room for twice as many as `one` and `other` have.
    """
    sizes, table, halves = pairs.sizes, pairs.table, pairs.halves
    for at in range(sizes[LISTED], sizes[MADE]):
        table[slot_of(pairs, halves[at, 0], halves[at, 1])] = at
    used = numba.int64(0)
    i = k = 0
    low = numba.int64(0)  # the first code point that is not written
    while i < one.shape[0] or k < other.shape[0]:
        # The next piece ends where a span of either begins or ends.
        left, right = numba.int64(-1), numba.int64(-1)
        begin = high = numba.int64(0x110000)
        if i < one.shape[0]:
            begin = max(low, numba.int64(one[i, SPAN_FIRST]))
        if k < other.shape[0]:
            begin = min(begin, max(low, numba.int64(other[k, SPAN_FIRST])))
        if i < one.shape[0]:
            if one[i, SPAN_FIRST] <= begin:
                left, high = numba.int64(one[i, SPAN_STATE]), numba.int64(one[i, SPAN_LAST])
            else:
                high = numba.int64(one[i, SPAN_FIRST]) - 1
        if k < other.shape[0]:
            if other[k, SPAN_FIRST] <= begin:
                right = numba.int64(other[k, SPAN_STATE])
                high = min(high, numba.int64(other[k, SPAN_LAST]))
            else:
                high = min(high, numba.int64(other[k, SPAN_FIRST]) - 1)
        low = high + 1
        i += i < one.shape[0] and one[i, SPAN_LAST] <= high
        k += k < other.shape[0] and other[k, SPAN_LAST] <= high
        if joint and (left < 0 or right < 0):
            continue
        slot = slot_of(pairs, left, right)
        number = numba.int64(table[slot])
        if number < 0:
            number = sizes[MADE]
            table[slot] = number
            halves[number, 0], halves[number, 1] = left, right
            sizes[MADE] += 1
        out[used, SPAN_FIRST], out[used, SPAN_LAST], out[used, SPAN_STATE] = begin, high, number
        used += 1
    sizes[LISTED] = sizes[MADE]
    return used
