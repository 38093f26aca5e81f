"""In: tables, what is open at some place of a text. Out: the context that stands for it.

Equal contexts have the same number, but for those that remember what has been read byte by byte.
"""

from __future__ import annotations

import numba

from structgen.kernels.build.decorators import inlined
from structgen.kernels.tables import (
    BASE,
    FRAME,
    NEED_SPACE,
    OUTLOOK,
    PARENT,
    READ,
    SOME,
    TAKEN,
    TICKED,
    memory_of,
    place_of,
)


@inlined
def remember(t, ctx, byte):  # type: ignore[no-untyped-def]
    """The context that remembers one more byte, or NEED_SPACE."""
    key = (numba.int64(ctx) << 8) | byte
    i = memory_of(t.origin, t.remembered, key)
    if t.remembered[i] >= 0:
        return numba.int64(t.remembered[i])
    new = t.sizes[0]
    if new >= t.contexts.shape[0] or 2 * t.sizes[1] >= t.remembered.shape[0]:
        return numba.int64(NEED_SPACE)
    t.sizes[0] += 1
    t.sizes[1] += 1
    for column in range(7):
        t.contexts[new, column] = t.contexts[ctx, column]
    t.origin[new] = key
    t.remembered[i] = new
    return new


@inlined
def context_of(t, frame, parent, taken, ticked, kept):  # type: ignore[no-untyped-def]
    """The context with that frame, that one below it, what was taken, ticked off and kept there.

    Or NEED_SPACE.
    """
    i = place_of(t.contexts, t.interned, frame, parent, taken, ticked, kept)
    if t.interned[i] >= 0:
        return numba.int64(t.interned[i])
    new = t.sizes[0]
    if new >= t.contexts.shape[0] or 2 * t.sizes[3] >= t.interned.shape[0]:
        return numba.int64(NEED_SPACE)
    t.sizes[0] += 1
    t.sizes[3] += 1
    t.contexts[new, FRAME] = frame
    t.contexts[new, PARENT] = parent
    t.contexts[new, TAKEN] = taken
    t.contexts[new, BASE] = new
    t.contexts[new, TICKED] = ticked
    t.contexts[new, OUTLOOK] = -1
    t.contexts[new, READ] = kept
    t.origin[new] = -1
    t.interned[i] = new
    return new


@inlined
def is_vague(t, ctx):  # type: ignore[no-untyped-def]
    """Whether it is left open what was read in a context."""
    return t.contexts[ctx, READ] == SOME or t.contexts[ctx, TAKEN] == SOME
