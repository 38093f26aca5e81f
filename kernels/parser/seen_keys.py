"""In: contexts that remember JSON keys as spelled. Out: whether a key has been read before."""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from structgen.kernels.build.decorators import called, inlined, kernel, lean
from structgen.kernels.tables import AT_RESTS, AT_TAKEN, I64, TABLES, TAKEN, U8

BACKSLASH = 0x5C
# b f n r t, and the bytes that they stand for
_SHORT = np.array([[0x62, 8], [0x66, 12], [0x6E, 10], [0x72, 13], [0x74, 9]], np.int64)


@lean(types.int64(I64, types.int64))
def length_of(origin, ctx):  # type: ignore[no-untyped-def]
    """How many bytes a context remembers."""
    count = 0
    while origin[ctx] >= 0:
        count += 1
        ctx = origin[ctx] >> 8
    return numba.int64(count)


@lean(types.int64(I64, types.int64, U8))
def decoded(origin, ctx, out):  # type: ignore[no-untyped-def]
    """Write the text that a context remembers, JSON escapes as UTF-8; returns its length.

    out: uint8[length_of(ctx)]. Unpaired surrogates become three bytes each.
    """
    n = length_of(origin, ctx)
    for k in range(n - 1, -1, -1):
        out[k] = origin[ctx] & 0xFF
        ctx = origin[ctx] >> 8
    i, used, high = 0, 0, 0
    while i < n:
        byte = numba.int64(out[i])
        i += 1
        if byte != BACKSLASH or i >= n:
            out[used] = byte
            used += 1
            high = 0
            continue
        byte = numba.int64(out[i])
        i += 1
        if byte != 0x75:
            high = 0
            for k in range(_SHORT.shape[0]):
                if _SHORT[k, 0] == byte:
                    byte = _SHORT[k, 1]
            out[used] = byte
            used += 1
            continue
        code = 0
        for k in range(i, i + 4):
            digit = numba.int64(out[k])
            code = code * 16 + (digit & 15) + (9 if digit > 0x39 else 0)
        i += 4
        if 0xDC00 <= code < 0xE000 and high != 0:
            code = 0x10000 + ((high - 0xD800) << 10) + code - 0xDC00
            used -= 3  # the high half that was written
        high = code if 0xD800 <= code < 0xDC00 else 0
        size = 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        for k in range(size - 1, 0, -1):
            out[used + k] = 0x80 | (code & 63)
            code >>= 6
        out[used] = code if size == 1 else (0xF00 >> size) & 0xFF | code
        used += size
    return numba.int64(used)


@inlined
def begins_with(text, start, size):  # type: ignore[no-untyped-def]
    """Whether the first `size` bytes are equal; numba's own way takes seconds to compile."""
    same = True
    for k in range(size):
        same = same and text[k] == start[k]
    return same


@kernel(types.boolean(TABLES, types.int64))
def is_taken(t, ctx):  # type: ignore[no-untyped-def]
    """Whether the key that `ctx` remembers is one of those taken before it, however spelled."""
    other = numba.int64(t.contexts[ctx, TAKEN])
    if other < 0:
        return False
    text = np.empty(length_of(t.origin, ctx), np.uint8)
    size = decoded(t.origin, ctx, text)
    while other >= 0:
        known = np.empty(length_of(t.origin, other), np.uint8)
        if decoded(t.origin, other, known) == size and begins_with(known, text, size):
            return True
        other = numba.int64(t.contexts[other, TAKEN])
    return False


call_is_taken = called(is_taken, AT_TAKEN)


@kernel(types.int64(TABLES, types.int64, U8, I64))
def rests_of_taken(t, ctx, text, start):  # type: ignore[no-untyped-def]
    """What follows the text of `ctx` in those keys taken before that begin with it.

    text: uint8[n], receives the rests; rest k is `text[start[k]:start[k + 1]]`. Returns how many
    there are, or -1 when there is no room or the text has an escape, so that nobody can tell.
    """
    size = length_of(t.origin, ctx)
    begun = np.empty(size, np.uint8)
    at = ctx
    for k in range(size - 1, -1, -1):
        begun[k] = t.origin[at] & 0xFF
        at = t.origin[at] >> 8
        if begun[k] == BACKSLASH:
            return numba.int64(-1)
    count = 0
    other = numba.int64(t.contexts[ctx, TAKEN])
    while other >= 0:
        known = np.empty(length_of(t.origin, other), np.uint8)
        length = decoded(t.origin, other, known)
        if length > size and begins_with(known, begun, size):
            used = start[count]
            if count + 2 > start.shape[0] or used + length - size > text.shape[0]:
                return numba.int64(-1)
            for k in range(size, length):
                text[used + k - size] = known[k]
            count += 1
            start[count] = used + length - size
        other = numba.int64(t.contexts[other, TAKEN])
    return numba.int64(count)


call_rests_of_taken = called(rests_of_taken, AT_RESTS)
