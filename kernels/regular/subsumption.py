"""In: sets of positions that a text may be read from. Out: the same without those not needed.

A position is needless beside others that read all texts that it reads. Without them there are fewer
sets: a few where each history of what has been read would have its own.
"""

from __future__ import annotations

import numba

from structgen.kernels.build.decorators import inlined

WORD, MASK, GOES_ON, RISES = 0, 1, 2, 3  # of a piece of a run


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

    row: uint64[W]. runs: uint64[r, 4], see `regex_positions.Run.pieces`.
    """
    found = False
    for i in range(runs.shape[0]):
        w = runs[i, WORD]
        bits = row[w] & runs[i, MASK]
        found = found and runs[i, GOES_ON] != 0
        if bits != 0:
            row[w] ^= bits
            if not found:
                row[w] |= highest(bits) if runs[i, RISES] else bits & (~bits + numba.uint64(1))
            found = True


@inlined
def highest(bits):  # type: ignore[no-untyped-def]
    """The highest bit of some that are set."""
    kept, one = bits, numba.uint64(1)
    while kept & (kept - one) != 0:
        kept &= kept - one
    return kept
