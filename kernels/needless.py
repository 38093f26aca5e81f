"""In: sets of positions that a text may be read from. Out: the same without those not needed.

A position is needless beside others that read all texts that it reads. Without them there are fewer
sets: a few where each history of what has been read would have its own.
"""

from __future__ import annotations

import numba

from structgen.kernels.flags import inlined

FIRST, LAST, RISES = 0, 1, 2  # of a run


@inlined
def absorb(row, universal):  # type: ignore[no-untyped-def]
    """Leave in the bits of a state the first row of `universal`, if all of some row are there.

    row: uint64[W]. universal: uint64[u, W], sets of positions that read any text.
    """
    for u in range(universal.shape[0]):
        inside = True
        for w in range(row.shape[0]):
            inside = inside and universal[u, w] & ~row[w] == 0
        if inside:
            for w in range(row.shape[0]):
                row[w] = universal[0, w]
            break


@inlined
def thin(row, runs):  # type: ignore[no-untyped-def]
    """Leave of each run one position in the bits of a state: the last where it rises, or the first.

    row: uint64[W]. runs: int32[r, 3], see `regex_positions.Run`.
    """
    every = ~numba.uint64(0)
    for i in range(runs.shape[0]):
        first, last = numba.int64(runs[i, FIRST]), numba.int64(runs[i, LAST])
        low, high = first >> 6, last >> 6
        found = False
        for step in range(high - low + 1):
            w = high - step if runs[i, RISES] else low + step
            mask = every
            if w == low:
                mask &= every << numba.uint64(first & 63)
            if w == high:
                mask &= every >> numba.uint64(63 - (last & 63))
            bits = row[w] & mask
            if bits == 0:
                continue
            row[w] &= ~mask
            if not found:
                row[w] |= highest(bits) if runs[i, RISES] else bits & (~bits + numba.uint64(1))
            found = True


@inlined
def highest(bits):  # type: ignore[no-untyped-def]
    """The highest bit of some that are set."""
    kept = bits
    while kept & (kept - numba.uint64(1)) != 0:
        kept &= kept - numba.uint64(1)
    return kept
