"""In: sorted names. Out: the rows of the lexer states that read one of them, or any other key."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.flags import kernel, lean
from structgen.kernels.tables import BYTES, GRID, I32, I64, TABLES

QUOTE = 0x22


class Names(NamedTuple):
    """Names in sorted order, as they are spelled between quotes.

    data: uint8, all bytes; start: int64[n + 1], name k is `data[start[k]:start[k + 1]]`; label:
    int32[n], with which the quote behind it ends the lexeme.
    """

    data: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]
    label: npt.NDArray[np.int32]


NAMES = types.NamedTuple([BYTES, I64, I32], Names)


@lean(types.void(TABLES, types.int64, types.int64, types.int64, types.int64))
def begin(t, q, free, root, order):  # type: ignore[no-untyped-def]
    """The row of a state before anything is known to lead on from it."""
    for byte in range(256):
        t.rows[q, byte] = t.rows[free, byte] if free >= 0 else -1
    t.filled[q] = 1
    t.accept[q] = -1
    t.recorded[q] = t.recorded[root]
    t.guard[q, 0] = -1 if free >= 0 else order


@kernel(types.int64(TABLES, NAMES, types.int64, types.int64, types.int64, types.int64, GRID))
def fill_names(t, names, root, base, free, order, born):  # type: ignore[no-untyped-def]
    """Write the rows of lexer state `root`, before all names, and of `base`, ... within them.

    free: the lexer state before any other key, or -1 where only the names count; order: the place
    of the first name in `t.order`. born: int32[n, 2] receives a
    name that begins with the bytes that lead to each new state, and the number of these bytes.
    Returns how many states there are (`t` has room for all of them), or -1 when the row of the
    lexer state `t.need[0]` must be filled first.
    """
    count = names.start.shape[0] - 1
    longest = 0
    for k in range(count):
        longest = max(longest, names.start[k + 1] - names.start[k])
    path = np.empty(longest + 1, np.int64)  # the states that lead to the last name
    frees = np.empty(longest + 1, np.int64)  # what reads any key in their place
    path[0] = root
    frees[0] = free
    if free >= 0 and t.filled[free] == 0:
        t.need[0] = free
        return numba.int64(-1)
    begin(t, root, free, root, order)
    made = 0
    before = 0  # length of the name before
    for k in range(count):
        first = names.start[k]
        size = names.start[k + 1] - first
        depth = 0
        if k > 0:
            other = names.start[k - 1]
            while (
                depth < min(size, before) and names.data[first + depth] == names.data[other + depth]
            ):
                depth += 1
            for d in range(depth + 1, before + 1):
                t.guard[path[d], 1] = order + k
        while depth < size:
            byte = names.data[first + depth]
            q = base + made
            born[made, 0] = k
            born[made, 1] = depth + 1
            made += 1
            rest = numba.int64(-1)
            if frees[depth] >= 0:
                rest = max(rest, numba.int64(t.rows[frees[depth], byte]))
            if rest >= 0 and t.filled[rest] == 0:
                t.need[0] = rest
                return numba.int64(-1)
            frees[depth + 1] = rest
            t.rows[path[depth], byte] = q
            path[depth + 1] = q
            depth += 1
            begin(t, q, rest, root, order + k)
        t.rows[path[size], QUOTE] = -2 - names.label[k]
        before = size
    for d in range(before + 1):
        t.guard[path[d], 1] = order + count
    return numba.int64(made)
