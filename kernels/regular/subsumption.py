"""Drop positions from a state that others in it cover (subsumption).

A position is superfluous beside others that read all texts that it reads. Without it there are
fewer sets: a few where each history of what has been read would have its own.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined
from structgen.kernels.build.language import numba

WORD, MASK, GOES_ON, RISES = 0, 1, 2, 3  # of a piece of a run


@inlined
def absorb(row, universal):  # type: ignore[no-untyped-def]
    """Leave the first row of `universal` in a state that includes some row of it.

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
def keep_one_per_run(row, runs):  # type: ignore[no-untyped-def]
    """Leave of each run one position in a state: the last where it rises, or the first.

    The positions of a run stand for a repeat; each reads all that the one before it (or behind)
    does. row: uint64[W]. runs: uint64[r, 4], see `_pieces` in
    `regular.lazy_dfa.glushkov`.
    """
    found = False
    for i in range(runs.shape[0]):
        w = runs[i, WORD]
        bits = row[w] & runs[i, MASK]
        # A run may cross words: pieces that go on belong to the one before.
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
