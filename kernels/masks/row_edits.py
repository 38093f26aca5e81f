"""Record how a mask row differs from another one, as a short list of words.

Most rows are equal to one made before but for some tokens, and most of these lists come again and
again. So walks do not write rows: they set and clear bits of a base row in a sparse difference, and
a row is written only when its list is new.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.tables import I32, INTS


class RowEdits(NamedTuple):
    """How a row differs from a base row.

    base: int32[words]; bits: int32[words], set where the two differ. touched: int32[n], the number
    of words that have been changed, and these, some of them twice; n as their number says that
    there was no room for all.
    """

    base: npt.NDArray[np.int32]
    bits: npt.NDArray[np.int32]
    touched: npt.NDArray[np.int32]


ROW_EDITS = types.NamedTuple([INTS, I32, I32], RowEdits)


@inlined
def has(edits, token):  # type: ignore[no-untyped-def]
    """Whether the bit of a token is set in the edited row: 1 or 0."""
    word = edits.base[token >> 5] ^ edits.bits[token >> 5]
    return (numba.uint32(word) >> numba.uint32(token & 31)) & numba.uint32(1)


@inlined
def turn(edits, token, before):  # type: ignore[no-untyped-def]
    """Flip the bit of a token if it is `before`; token: -1 for none."""
    if token >= 0 and has(edits, token) == before:
        word = token >> 5
        # A word's first difference: remember where it is, for `collect`.
        if edits.bits[word] == 0:
            count = edits.touched[0] + 1
            if count < edits.touched.shape[0]:
                edits.touched[count] = word
                edits.touched[0] = count
            else:
                edits.touched[0] = edits.touched.shape[0]
        edits.bits[word] ^= numba.int32(numba.uint32(1) << numba.uint32(token & 31))


@inlined
def admit(edits, token):  # type: ignore[no-untyped-def]
    """Set the bit of a token, unless it is -1."""
    turn(edits, token, 0)


@inlined
def refuse(edits, token):  # type: ignore[no-untyped-def]
    """Clear the bit of a token, unless it is -1."""
    turn(edits, token, 1)


@lean(types.int64(ROW_EDITS, I32))
def collect(edits, out):  # type: ignore[no-untyped-def]
    """Write the words that differ into `out`, each behind its place, and forget them; their number.

    out: int32[2 * words]. Afterwards there are no edits.
    """
    if edits.touched[0] == 0:
        return numba.int64(0)
    # There was no room for all places: look at every word.
    everywhere = edits.touched[0] == edits.touched.shape[0]
    count = edits.bits.shape[0] if everywhere else edits.touched[0]
    used = 0
    for k in range(count):
        word = k if everywhere else edits.touched[k + 1]
        if edits.bits[word] != 0:
            out[2 * used] = word
            out[2 * used + 1] = edits.bits[word]
            edits.bits[word] = 0
            used += 1
    edits.touched[0] = 0
    return numba.int64(used)


@lean(types.void(I32, INTS))
def apply(row, changed):  # type: ignore[no-untyped-def]
    """Change a row as `collect` wrote it down. row: int32[words]; changed: int32[2 * n]."""
    for k in range(0, changed.shape[0], 2):
        row[changed[k]] ^= changed[k + 1]
