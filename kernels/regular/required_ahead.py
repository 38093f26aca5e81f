"""Find which characters every text from a state on must read, and which it may, and how many.

What one expression requires and another rules out shows that no text has both, without a search.
The four facts are the least solution of equations over what may follow, found by iteration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.regular.glushkov import BITS, U64
from structgen.kernels.tables import GRID, I32, I64, U8

ENDLESS = 1 << 40  # characters, where there is no bound


class Ahead(NamedTuple):
    """What texts read from each of n states on, as far as it is known.

    may, must: uint64[n], bits of the classes of characters that some text reads, and that each one
    does. least, most: int64[n], how many characters follow.
    """

    may: npt.NDArray[np.uint64]
    must: npt.NDArray[np.uint64]
    least: npt.NDArray[np.int64]
    most: npt.NDArray[np.int64]


AHEAD = types.NamedTuple([U64, U64, I64, I64], Ahead)


@inlined
def put(out, at, found):  # type: ignore[no-untyped-def]
    """Write down what is read from one state on; whether that is news."""
    may, must, least, most = found
    changed = may != out.may[at] or must != out.must[at]
    changed = changed or least != out.least[at] or most != out.most[at]
    out.may[at], out.must[at], out.least[at], out.most[at] = may, must, least, most
    return changed


@inlined
def from_positions(sets, s, reads, behind):  # type: ignore[no-untyped-def]
    """What is read from the set of positions in row s on."""
    one, nothing = numba.uint64(1), numba.uint64(0)
    may, must, least, most = nothing, ~nothing, numba.int64(ENDLESS), numba.int64(0)
    for w in range(sets.shape[1]):
        bits = sets[s, w]
        p = 64 * w
        while bits != nothing:
            if bits & one and p > 0:
                # A position that reads one class requires it.
                read = reads[p]
                may |= read | behind.may[p]
                must &= behind.must[p] | (read if read & (read - one) == nothing else nothing)
                least = min(least, behind.least[p] + 1)
                most = max(most, min(behind.most[p] + 1, numba.int64(ENDLESS)))
            bits >>= one
            p += 1
    if sets[s, 0] & one:
        must, least = nothing, numba.int64(0)
    return may, must, least, most


@inlined
def from_nodes(row, ends, block, here, behind):  # type: ignore[no-untyped-def]
    """What is read from a row of nodes on, in their sub-automata and behind them.

    ends: whether a text may also end without any.
    """
    nothing = numba.uint64(0)
    may, must, least, most = nothing, ~nothing, numba.int64(ENDLESS), numba.int64(0)
    for i in range(row.shape[0]):
        node = numba.int64(row[i])
        if node >= 0:
            b = block[node]
            may |= here.may[node] | behind.may[b]
            must &= here.must[node] | behind.must[b]
            least = min(least, here.least[node] + behind.least[b])
            most = max(most, min(here.most[node] + behind.most[b], numba.int64(ENDLESS)))
    return may, nothing if ends else must, numba.int64(0) if ends else least, most


@lean(types.void(BITS, U64, AHEAD))
def look_behind(follow, reads, behind):  # type: ignore[no-untyped-def]
    """Find what is read behind each position.

    follow: uint64[n, W], the positions that may come next, in bits; bit 0 says that the text may
    end. reads: uint64[n], bits of the classes that each reads. behind: as
    `regular.lazy_dfa.states.nothing_ahead`; filled.
    """
    changed = True
    while changed:
        changed = False
        for p in range(follow.shape[0] - 1, 0, -1):
            changed = put(behind, p, from_positions(follow, p, reads, behind)) or changed


@lean(types.void(BITS, U64, AHEAD, AHEAD))
def look_from(states, reads, behind, out):  # type: ignore[no-untyped-def]
    """The same from each state, uint64[S, W], a set of the positions that may come next."""
    for s in range(states.shape[0]):
        put(out, s, from_positions(states, s, reads, behind))


@lean(types.void(GRID, U8, I32, AHEAD, AHEAD))
def look_behind_sub_automata(after, last, block, here, behind):  # type: ignore[no-untyped-def]
    """Find what is read behind each sub-automaton.

    after: int32[B, k], the nodes at which those begin that may follow, -1 for no more; last:
    uint8[B], whether the text may end. block: int32[n], that of each node; here: what is read from
    each on in its block. behind: as `regular.lazy_dfa.states.nothing_ahead`; filled.
    """
    changed = True
    while changed:
        changed = False
        for b in range(after.shape[0] - 1, -1, -1):
            found = from_nodes(after[b], last[b] != 0, block, here, behind)
            changed = put(behind, b, found) or changed


@lean(types.void(types.int64[:, ::1], I32, AHEAD, AHEAD, AHEAD))
def look_from_nodes(states, block, here, behind, out):  # type: ignore[no-untyped-def]
    """The same from each state, int64[S, W], a set of nodes, -1 for no more."""
    for s in range(states.shape[0]):
        put(out, s, from_nodes(states[s], False, block, here, behind))


@lean(types.void(AHEAD, U64, I32, AHEAD))
def spread(found, bits, numbers, out):  # type: ignore[no-untyped-def]
    """Write what is read from each of k states on in the classes of a whole.

    bits: uint64[C], the classes of the whole that each class has; one that has several is none that
    must be read. numbers: int32[k], where in `out`.
    """
    one, nothing = numba.uint64(1), numba.uint64(0)
    for i in range(numbers.shape[0]):
        may, must = nothing, nothing
        for c in range(bits.shape[0]):
            if found.may[i] >> numba.uint64(c) & one:
                may |= bits[c]
            if found.must[i] >> numba.uint64(c) & one and bits[c] & (bits[c] - one) == nothing:
                must |= bits[c]
        out.may[numbers[i]], out.must[numbers[i]] = may, must
        out.least[numbers[i]], out.most[numbers[i]] = found.least[i], found.most[i]
