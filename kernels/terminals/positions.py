"""Sets of positions of expressions (V. Glushkov, 1961), and the characters that they read.

And the order in which ways to match are tried, beside all ways there are.
"""

from __future__ import annotations

import numpy as np

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.grammar.tables import I32, I32_2, INT
from structgen.kernels.masks.byte_walk import ENDS_FULL
from structgen.kernels.regular.bit_rows import add_rows, has, put, slot_of_row

BITS_2 = types.uint64[:, ::1]


@lean(INT(I32_2, I32, I32, BITS_2, BITS_2, BITS_2, I32_2, I32))
def character_classes(bounds, owners, points, among, positions, reading, spans, slots):  # type: ignore[no-untyped-def]
    """Set the classes of characters that are in the same sets, those in any: how many spans.

    bounds: int32[ranges, 2], where ranges of characters begin, and behind them; owners:
    int32[ranges], the set of each. points: int32[p], all bounds, ascending. positions: uint64[sets,
    words], what reads each set. reading: uint64[p, words], 0 at first, set to what reads each
    class. spans: int32[p, 3], set to first and last code points and their class, ascending. among:
    uint64[2 p, words of sets], 0 at first, scratch. slots: int32[s], -1 at first, s a power of two,
    s > 2 p.
    """
    last = points.shape[0] - 1
    among, known = among[: last + 1], among[last + 1 :]
    for i in range(bounds.shape[0]):  # a set begins or ends at each of its bounds
        bit = numba.uint64(1) << numba.uint64(owners[i] & 63)
        for side in range(2):
            among[np.searchsorted(points, bounds[i, side]), owners[i] >> 6] ^= bit
    count, kinds = numba.int64(0), numba.int64(0)
    for point in range(last):
        inside = False
        for k in range(among.shape[1]):
            inside = inside or among[point, k] != 0
            among[point + 1, k] ^= among[point, k]
        if not inside or points[point] == points[point + 1]:
            continue
        slot = slot_of_row(among[point], known, slots)
        if slots[slot] < 0:
            slots[slot] = kinds
            put(known[kinds], among[point])
            for k in range(among.shape[1]):
                add_rows(positions, among[point, k], k << 6, reading[kinds])
            kinds += 1
        spans[count, 0], spans[count, 1] = points[point], points[point + 1] - 1
        spans[count, 2] = slots[slot]
        count += 1
    return count


@lean(INT(BITS_2, BITS_2, BITS_2, I32_2, I32))
def position_sets(follow, reading, states, moves, slots):  # type: ignore[no-untyped-def]
    """All sets of positions to which texts lead (V. Glushkov): how many, or ENDS_FULL for too many.

    follow: uint64[positions, words], those that may come next behind each. reading: uint64[classes,
    words], those that read a character of each class. states: uint64[n, words], the first set at
    first, set to all of them. moves: int32[n, classes], set to the set behind a character of each
    class, -1 for the empty one. slots: int32[s], -1 at first, s a power of two, s > 2 n.
    """
    words, count, place = states.shape[1], numba.int64(0), numba.int64(-1)
    while place < count:
        for kind in range(reading.shape[0] if place >= 0 else 1):
            if count >= states.shape[0]:
                return numba.int64(ENDS_FULL)
            some = place < 0
            if place >= 0:
                for k in range(words):
                    states[count, k] = 0
                for word in range(words):
                    bits = states[place, word] & reading[kind, word]
                    add_rows(follow, bits, word << 6, states[count])
                for k in range(words):
                    some = some or states[count, k] != 0
                if not some:
                    moves[place, kind] = -1
                    continue
            slot = slot_of_row(states[count], states, slots)
            if slots[slot] < 0:
                slots[slot] = count
                count += 1
            if place >= 0:
                moves[place, kind] = slots[slot]
        place += 1
    return count


@lean(INT(I32, I32, BITS_2, BITS_2, I32_2, I32, BITS_2, I32))
def all_ends_are_tried(starts, ways, behind, reading, tried, sizes, every, marks):  # type: ignore[no-untyped-def]
    """Whether a way is tried that ends wherever some way ends: 1 or 0; ENDS_FULL for too many sets.

    Ways are positions, of which the last stands for the end of the match. ways[starts[i]] to
    ways[starts[i + 1] - 1] are those behind position i, the first tried first; those behind the end
    stand for the start of the match. behind: uint64[positions, words], the same as sets. reading:
    uint64[classes, words], those that read a character of each class. tried: int32[n, positions],
    sizes: int32[n], set to the ways that are tried, up to the first end, and every: uint64[n,
    words], to all of them; n - 1 are looked at. marks: int32[positions], 0 at first.
    """
    end, words = behind.shape[0] - 1, behind.shape[1]
    count, place, stamp = numba.int64(0), numba.int64(-1), 0
    while place < count:
        if place >= 0:
            last = sizes[place] - 1
            is_tried = last >= 0 and tried[place, last] == end
            if has(every[place], end) and not is_tried:
                return numba.int64(0)
        for kind in range(reading.shape[0] if place >= 0 else 1):
            stamp += 1
            size, ended = numba.int64(0), False
            for i in range(sizes[place] if place >= 0 else 1):
                at = numba.int64(tried[place, i]) if place >= 0 else end
                if ended or (place >= 0 and (at == end or not has(reading[kind], at))):
                    continue
                for j in range(starts[at], starts[at + 1]):
                    if not ended and marks[ways[j]] != stamp:
                        marks[ways[j]] = stamp
                        tried[count, size] = ways[j]
                        size += 1
                        ended = ways[j] == end
            sizes[count] = size
            some = False
            for k in range(words):
                every[count, k] = behind[end, k] if place < 0 else 0
            for k in range(words if place >= 0 else 0):
                add_rows(behind, every[place, k] & reading[kind, k], k << 6, every[count])
            for k in range(words):
                some = some or every[count, k] != 0
            known = not some
            for other in range(count):
                if known:
                    break
                same = sizes[other] == size
                for k in range(words):
                    same = same and every[other, k] == every[count, k]
                for i in range(size if same else 0):
                    same = same and tried[other, i] == tried[count, i]
                known = same
            if not known:
                count += 1
                if count == tried.shape[0]:
                    return numba.int64(ENDS_FULL)
        place += 1
    return numba.int64(1)
