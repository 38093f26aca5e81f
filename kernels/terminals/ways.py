"""Ways to match a pattern in the order in which they are tried, beside all there are."""

from __future__ import annotations

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.bit_rows import add_rows, has
from structgen.kernels.grammar.tables import I32, I32_2, INT
from structgen.kernels.masks.byte_walk import ENDS_FULL
from structgen.kernels.terminals.positions import BITS_2


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
