"""In: a mask row, bits to set and to clear in it. Out: in what it differs then, as a short list.

Most rows are equal to one made before but for some tokens, and most of these lists come again and
again. So a row is written only when its list is new.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.build.decorators import inlined, kernel, lean
from structgen.kernels.tables import I32, INTS


class Changes(NamedTuple):
    """How a row differs from another.

    base: int32[words], the other one; bits: int32[words], set where they differ. touched: int32[n],
    the number of words that have been changed, and these, some of them twice; n as their number
    says that there was no room for all.
    """

    base: npt.NDArray[np.int32]
    bits: npt.NDArray[np.int32]
    touched: npt.NDArray[np.int32]


CHANGES = types.NamedTuple([INTS, I32, I32], Changes)


@inlined
def has(changes, token):  # type: ignore[no-untyped-def]
    """Whether the bit of a token is set: 1 or 0."""
    word = changes.base[token >> 5] ^ changes.bits[token >> 5]
    return (numba.uint32(word) >> numba.uint32(token & 31)) & numba.uint32(1)


@inlined
def turn(changes, token, before):  # type: ignore[no-untyped-def]
    """Change the bit of a token if it is `before`; token: -1 for none."""
    if token >= 0 and has(changes, token) == before:
        word = token >> 5
        if changes.bits[word] == 0:
            count = changes.touched[0] + 1
            if count < changes.touched.shape[0]:
                changes.touched[count] = word
                changes.touched[0] = count
            else:
                changes.touched[0] = changes.touched.shape[0]
        changes.bits[word] ^= numba.int32(numba.uint32(1) << numba.uint32(token & 31))


@inlined
def admit(changes, token):  # type: ignore[no-untyped-def]
    """Set the bit of a token, unless it is -1."""
    turn(changes, token, 0)


@inlined
def refuse(changes, token):  # type: ignore[no-untyped-def]
    """Clear the bit of a token, unless it is -1."""
    turn(changes, token, 1)


@lean(types.int64(CHANGES, I32))
def collect(changes, out):  # type: ignore[no-untyped-def]
    """Write words that differ into `out`, each behind its place, and forget them; their number.

    out: int32[2 * words].
    """
    if changes.touched[0] == 0:
        return numba.int64(0)
    everywhere = changes.touched[0] == changes.touched.shape[0]
    count = changes.bits.shape[0] if everywhere else changes.touched[0]
    used = 0
    for k in range(count):
        word = k if everywhere else changes.touched[k + 1]
        if changes.bits[word] != 0:
            out[2 * used] = word
            out[2 * used + 1] = changes.bits[word]
            changes.bits[word] = 0
            used += 1
    changes.touched[0] = 0
    return numba.int64(used)


@kernel(types.void(I32, INTS))
def apply(row, changed):  # type: ignore[no-untyped-def]
    """Change a row as `collect` wrote it down. row: int32[words]; changed: int32[2 * n]."""
    for k in range(0, changed.shape[0], 2):
        row[changed[k]] ^= changed[k + 1]
