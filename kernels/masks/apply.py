"""Apply mask rows to logits: tokens whose bit is not set get -inf.

A row is int32[words]; bit t % 32 of word t // 32 is token t (the layout of llguidance and
xgrammar).
"""

from __future__ import annotations

import numpy as np

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types

ROWS = types.int32[:, ::1]
PRIME = 16777619  # of FNV-1a with 32 bits


@inlined
def mixed(h, word):  # type: ignore[no-untyped-def]
    """Mix a word into a hash (FNV-1a in 64 bits): below 2**57, so nothing overflows."""
    return (h & 0x7FFFFFFF) * PRIME + (h >> 31) + word


@inlined
def block(logits, rows, refused):  # type: ignore[no-untyped-def]
    """Write `refused` where the bit is not set."""
    for i in range(logits.shape[0]):
        for w in range(rows.shape[1]):
            word = numba.uint32(rows[i, w])
            # In most words of a free string's row all tokens fit.
            if word == numba.uint32(0xFFFFFFFF):
                continue
            first = w << 5
            last = min(first + 32, logits.shape[1])
            for t in range(first, last):
                if (word >> numba.uint32(t - first)) & numba.uint32(1) == 0:
                    logits[i, t] = refused


@lean(types.void(types.float32[:, ::1], ROWS))
def block_float32(logits, rows):  # type: ignore[no-untyped-def]
    """Write -inf into logits float32[n, V] where the bit in rows int32[n, words] is not set."""
    block(logits, rows, np.float32(-np.inf))


@lean(types.void(types.uint16[:, ::1], ROWS, types.uint16))
def block_uint16(logits, rows, refused):  # type: ignore[no-untyped-def]
    """The same for 16-bit floats seen as uint16; `refused` is the bit pattern of their -inf."""
    block(logits, rows, refused)
