"""In: mask rows (bit t % 32 of word t // 32). Out: logits with the rest at -inf."""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from structgen.kernels.build.decorators import inlined, kernel

ROWS = types.int32[:, ::1]
PRIME = 16777619  # of FNV-1a with 32 bits


@inlined
def mixed(h, word):  # type: ignore[no-untyped-def]
    """A number below 2**57 made of two: nothing overflows."""
    return (h & 0x7FFFFFFF) * PRIME + (h >> 31) + word


@inlined
def block(logits, rows, refused):  # type: ignore[no-untyped-def]
    """Write `refused` where the bit is not set."""
    for i in range(logits.shape[0]):
        for w in range(rows.shape[1]):
            word = numba.uint32(rows[i, w])
            if word == numba.uint32(0xFFFFFFFF):
                continue
            first = w << 5
            last = min(first + 32, logits.shape[1])
            for t in range(first, last):
                if (word >> numba.uint32(t - first)) & numba.uint32(1) == 0:
                    logits[i, t] = refused


@kernel(types.void(types.float32[:, ::1], ROWS))
def block_float32(logits, rows):  # type: ignore[no-untyped-def]
    """logits float32[n, V]: -inf in place where the bit in rows int32[n, words] is not set."""
    block(logits, rows, np.float32(-np.inf))


@kernel(types.void(types.uint16[:, ::1], ROWS, types.uint16))
def block_uint16(logits, rows, refused):  # type: ignore[no-untyped-def]
    """The same for 16-bit floats seen as uint16; `refused` is the bit pattern of their -inf."""
    block(logits, rows, refused)
