"""In: tables, a context. Out: a number for what its future depends on.

A context remembers more than matters: which names have come, say, where it only matters whether
those that must have. Two contexts of one outlook have equal futures but for what a walk has to look
up beside it, which the walk notes in `asked`. So a walk need not be made again for a context of the
same outlook, of which what was looked up is the same.
"""

from __future__ import annotations

import numba

from structgen.kernels.build.decorators import inlined
from structgen.kernels.parser.key_sets import includes, size_of
from structgen.kernels.parser.seen_keys import call_rests_of_taken
from structgen.kernels.tables import (
    ALL,
    BEGUN,
    CHECKLIST,
    ENDLESS,
    FRAME,
    NEED_SPACE,
    OUTLOOK,
    PARENT,
    REQUIRED,
    TAKEN,
    TICKED,
    slot_of,
)


@inlined
def standing(t, checklist, ticked):  # type: ignore[no-untyped-def]
    """Whether more may follow (2) and whether it may end (1), as far as a checklist says."""
    every = numba.int64(t.checklists[checklist, ALL])
    needed = numba.int64(t.checklists[checklist, REQUIRED])
    found = numba.int64(0)
    if size_of(t, every) == size_of(t, ticked):
        found += 2 if t.checklists[checklist, ENDLESS] != 0 or not includes(t, ticked, every) else 0
        found += 1 if includes(t, ticked, needed) else 0
    return found


@inlined
def looks(t, ctx, frame):  # type: ignore[no-untyped-def]
    """What decides the future of a context: its frame, how far it has come, and the one below.

    frame: that of the context, or one that will do in its place.
    """
    parent = numba.int64(t.contexts[ctx, PARENT])
    ticked, checklist = numba.int64(t.contexts[ctx, TICKED]), t.frames[frame, CHECKLIST]
    found = frame << 3
    if ticked >= 0 and checklist >= 0:
        found |= standing(t, checklist, ticked) << 1
    if t.contexts[ctx, TAKEN] != -1:
        found |= 1
    if parent >= 0:
        found |= (numba.int64(t.contexts[parent, OUTLOOK]) + 1) << 32
    return found


@inlined
def known(t, key):  # type: ignore[no-untyped-def]
    """The outlook of what `looks` says, or NEED_SPACE."""
    i = slot_of(t.outlooks, key)
    if t.outlooks[i, 0] != key:
        if 2 * t.sizes[13] >= t.outlooks.shape[0]:
            return numba.int64(NEED_SPACE)
        t.outlooks[i, 0] = key
        t.outlooks[i, 1] = t.sizes[13]
        t.sizes[13] += 1
    return t.outlooks[i, 1]


@inlined
def outlook(t, rests, ctx, begun):  # type: ignore[no-untyped-def]
    """Twice the outlook of a context, and 1 more if what was read may begin a text taken before.

    rests: scratch. begun: not 0 where nothing but a scalar can be read first. Or NEED_SPACE.
    """
    while t.contexts[ctx, OUTLOOK] < 0:
        at = numba.int64(ctx)  # outermost first
        while t.contexts[at, PARENT] >= 0 and t.contexts[t.contexts[at, PARENT], OUTLOOK] < 0:
            at = numba.int64(t.contexts[at, PARENT])
        found = known(t, looks(t, at, numba.int64(t.contexts[at, FRAME])))
        if found < 0:
            return found
        t.contexts[at, OUTLOOK] = found
    found = numba.int64(t.contexts[ctx, OUTLOOK])
    if begun != 0:
        frame = t.contexts[ctx, FRAME]
        found = known(t, looks(t, ctx, numba.int64(t.frames[frame, BEGUN])))
        if found < 0:
            return found
    found = found << 1
    if t.contexts[ctx, TAKEN] >= 0:
        if call_rests_of_taken(t, ctx, rests.text, rests.start) != 0:
            found |= 1
    return found
