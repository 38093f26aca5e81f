"""In: tables, a pair, bytes. Out: the pair after them, or what is missing to say."""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.flags import inlined, kernel
from structgen.kernels.tables import (
    BYTES,
    DEAD,
    END_LABEL,
    NEED_EVENT,
    NEED_ROW,
    NEED_SPACE,
    TABLES,
    UNKNOWN,
    find,
    slot_of,
)


@inlined
def remember(t, ctx, byte):  # type: ignore[no-untyped-def]
    """The context that remembers one more byte, or NEED_SPACE."""
    key = (numba.int64(ctx) << 8) | byte
    i = slot_of(t.ctx_next, key)
    if t.ctx_next[i, 0] == key:
        return t.ctx_next[i, 1]
    new = t.sizes[0]
    if new >= t.ctx_base.shape[0] or 2 * t.sizes[1] >= t.ctx_next.shape[0]:
        t.need[0] = 0
        return numba.int64(NEED_SPACE)
    t.sizes[0] += 1
    t.sizes[1] += 1
    t.ctx_base[new] = t.ctx_base[ctx]
    t.ctx_origin[new] = key
    t.ctx_next[i, 0] = key
    t.ctx_next[i, 1] = new
    return new


@inlined
def fire(t, ctx, label):  # type: ignore[no-untyped-def]
    """The pair after the event `label` in `ctx`, DEAD, or NEED_EVENT."""
    at = numba.int64(ctx)
    if t.needs_text[label] == 0:
        at = numba.int64(t.ctx_base[ctx])
    pair = find(t.events, (at << 32) | label)
    if pair == UNKNOWN:
        t.need[0] = at
        t.need[1] = label
        return numba.int64(NEED_EVENT)
    return pair


@kernel(types.int64(TABLES, types.int64, types.int64))
def step(t, pair, byte):  # type: ignore[no-untyped-def]
    """Read one byte. Returns a pair, DEAD, or a NEED_* code with `t.need[:2]` set."""
    q = pair >> 32
    ctx = pair & 0xFFFFFFFF
    while True:
        if t.filled[q] == 0:
            t.need[0] = q
            return numba.int64(NEED_ROW)
        target = numba.int64(t.rows[q, byte])
        if target != DEAD:
            break
        label = numba.int64(t.accept[q])
        if label <= END_LABEL:
            return numba.int64(DEAD)
        after = fire(t, ctx, label)
        if after < 0:
            return after
        q = after >> 32
        ctx = after & 0xFFFFFFFF
    if t.recorded[q] != 0:
        ctx = remember(t, ctx, byte)
        if ctx < 0:
            return ctx
    if target >= 0:
        return (target << 32) | ctx
    return fire(t, ctx, -target - 2)


@kernel(types.int64(TABLES, types.int64, BYTES))
def run(t, pair, data):  # type: ignore[no-untyped-def]
    """Read all bytes of `data` (uint8[n], read-only) from `t.need[4]` on.

    Returns a pair, DEAD or NEED_*; then `t.need[4]` is the offset of the byte that could not be
    read and `t.need[5]` the pair before it, so that the caller can go on from there.
    """
    i = t.need[4]
    while i < data.shape[0]:
        after = step(t, pair, numba.int64(data[i]))
        if after < 0:
            t.need[4] = i
            t.need[5] = pair
            return after
        pair = after
        i += 1
    t.need[4] = i
    return pair


@kernel(types.int64(TABLES, types.int64))
def ending(t, pair):  # type: ignore[no-untyped-def]
    """1 if the text may end at `pair`, 0 if not, or a NEED_* code."""
    q = pair >> 32
    ctx = pair & 0xFFFFFFFF
    while True:
        if t.filled[q] == 0:
            t.need[0] = q
            return numba.int64(NEED_ROW)
        label = numba.int64(t.accept[q])
        if label == END_LABEL:
            return numba.int64(1)
        if label < 0:
            return numba.int64(0)
        after = fire(t, ctx, label)
        if after == DEAD:
            return numba.int64(0)
        if after < 0:
            return after
        q = after >> 32
        ctx = after & 0xFFFFFFFF


@kernel(types.int64(TABLES, types.int64))
def only_byte(t, pair):  # type: ignore[no-untyped-def]
    """The byte if exactly one can follow `pair`, -1 if none or several, or a NEED_* code."""
    found = numba.int64(-1)
    for byte in range(256):
        after = step(t, pair, numba.int64(byte))
        if after >= 0:
            if found >= 0:
                return numba.int64(-1)
            found = numba.int64(byte)
        elif after != DEAD:
            return after
    return found


@kernel(types.int64(TABLES, types.int64, types.uint8[::1]))
def next_bytes(t, pair, out):  # type: ignore[no-untyped-def]
    """Set out[b] (uint8[256]) to 1 for each byte that can follow `pair`. Returns 0 or a NEED_*."""
    for byte in range(256):
        after = step(t, pair, numba.int64(byte))
        if after < DEAD:
            return after
        out[byte] = 1 if after >= 0 else 0
    return numba.int64(0)
