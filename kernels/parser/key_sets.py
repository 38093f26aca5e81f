"""In: sets of positions. Out: larger ones, and the frames that follow from what is ticked off.

A frame in which each of some names may come once need not know which have come: that is said by a
set of positions beside it. Equal sets have the same number.
"""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.tables import (
    ALL,
    ALONE,
    AT_CHECKED,
    DEAD,
    EITHER,
    ENDLESS,
    NEED_SPACE,
    NOTHING,
    OF,
    ONLY_MORE,
    PARENT,
    POSITIONS,
    REQUIRED,
    TABLES,
    TICK,
    TICKED,
)

MASKS = types.Array(types.int64, 1, "C", readonly=True)


@inlined
def size_of(t, at):  # type: ignore[no-untyped-def]
    """How many words the set `at` has."""
    return t.sets[at] & 0xFFFFFFFF


@inlined
def contains(t, at, position):  # type: ignore[no-untyped-def]
    """Whether the set `at` has a position; those beyond its words count as such that it has."""
    word = position >> 6
    return word >= size_of(t, at) or (t.sets[at + 1 + word] >> (position & 63)) & 1 != 0


@inlined
def includes(t, at, part):  # type: ignore[no-untyped-def]
    """Whether the set `at` has all that `part` has."""
    size = size_of(t, part)
    result = size <= size_of(t, at)
    if result:
        for k in range(1, size + 1):
            result = result and t.sets[part + k] & ~t.sets[at + k] == 0
    return result


@inner(types.int64(TABLES, types.int64))
def place(t, at):  # type: ignore[no-untyped-def]
    """The slot of `same` that has the set whose words stand at `at`, or the empty one for it.

    Its hash is written into its first word.
    """
    size = size_of(t, at)
    h = numba.int64(size)
    for word in range(at + 1, at + 1 + size):
        bits = (t.sets[word] & 0xFFFFFFFF) ^ ((t.sets[word] >> 32) & 0xFFFFFFFF)
        h = ((h * 31) ^ bits) & 0x3FFFFFFF
    t.sets[at] = size | (h << 32)
    last = t.same.shape[0] - 1
    i = (h ^ (h >> 15)) & last
    while t.same[i] >= 0:
        found = numba.int64(t.same[i])
        k = numba.int64(0)
        while k <= size and t.sets[found + k] == t.sets[at + k]:
            k += 1
        if k > size:
            break
        i = (i + 1) & last
    return i


@lean(types.int64(TABLES, types.int64))
def kept(t, size):  # type: ignore[no-untyped-def]
    """The number of the set whose `size` words have been written behind those in use.

    There is room for it. It is given a number if no equal one has.
    """
    at = t.sizes[10]
    t.sets[at] = size
    i = place(t, at)
    if t.same[i] < 0:
        t.same[i] = at
        t.sizes[10] += size + 1
        t.sizes[11] += 1
    return numba.int64(t.same[i])


@lean(types.void(TABLES, types.int64, types.int64, MASKS, types.boolean))
def keep_checklist(t, number, size, bits, endless):  # type: ignore[no-untyped-def]
    """Write a checklist of `size` words down, for whose sets there is room.

    bits: int64[2 * size], the positions that must be ticked off, and then all that may be.
    """
    for column in range(NOTHING, ALL + 1):
        at = t.sizes[10]
        for word in range(size):
            place_in = (column - REQUIRED) * size + word
            t.sets[at + 1 + word] = 0 if column == NOTHING else bits[place_in]
        t.checklists[number, column] = kept(t, size)
    t.checklists[number, ENDLESS] = endless
    for column in range(ONLY_MORE, EITHER + 1):
        t.checklists[number, column] = -1
    t.sizes[12] = number + 1


@lean(types.void(TABLES))
def place_all(t):  # type: ignore[no-untyped-def]
    """Write all sets into `same`, which is empty and has room for them."""
    at = numba.int64(0)
    while at < t.sizes[10]:
        t.same[place(t, at)] = at
        at += size_of(t, at) + 1


@inlined
def note(t, ctx, position):  # type: ignore[no-untyped-def]
    """Write down that a position was looked up in `ctx`, in the course of a walk.

    What is ticked off in the context at which the walk began, or what it added to that, is noted by
    position. So is, though it need not be, what objects opened in its place have. Objects opened
    further in began with nothing. Of those further out nobody will know: `outlook` has less.
    """
    begin = t.asked[OF]
    if begin >= 0:
        parent = t.contexts[ctx, PARENT]
        above = numba.int64(t.contexts[begin, PARENT])
        if parent == above:
            if POSITIONS + (position >> 6) < t.asked.shape[0]:
                t.asked[POSITIONS + (position >> 6)] |= numba.int64(1) << (position & 63)
        else:
            while above >= 0:
                above = numba.int64(t.contexts[above, PARENT])
                if above == parent:
                    t.asked[ALONE] = 1


@inlined
def is_ticked(t, ctx, position):  # type: ignore[no-untyped-def]
    """Whether a position has been ticked off in `ctx`, which is noted."""
    note(t, ctx, position)
    return contains(t, numba.int64(t.contexts[ctx, TICKED]), position)


@inlined
def are_ticked(t, ctx, part):  # type: ignore[no-untyped-def]
    """Whether all of the set `part` have been ticked off in `ctx`.

    What is looked up is noted: one that is missing, or else all. Of what is ticked off when a walk
    begins, here or further out, `outlook` has the answer.
    """
    at, begin = numba.int64(t.contexts[ctx, TICKED]), t.asked[OF]
    noted = (
        begin >= 0
        and t.contexts[begin, TICKED] != at
        and t.contexts[begin, PARENT] == t.contexts[ctx, PARENT]
    )
    missing = numba.int64(0)
    for k in range(1, size_of(t, part) + 1):
        missing = t.sets[part + k] & ~t.sets[at + k]
        if noted and POSITIONS + k - 1 < t.asked.shape[0]:
            t.asked[POSITIONS + k - 1] |= missing & -missing if missing != 0 else t.sets[part + k]
        if missing != 0:
            break
    return missing == 0


@inner(types.int64(TABLES, types.int64, types.int64))
def checked(t, ctx, move):  # type: ignore[no-untyped-def]
    """The frame that a TICK or CHECK leads to << 32 | what is ticked off then; DEAD, NEED_SPACE.

    Nothing is ticked off in `ctx`, or there is no checklist: DEAD. move: as in `t.moves`.
    """
    first = (move >> 28) & 0xFFFFFFF
    ticked = numba.int64(t.contexts[ctx, TICKED])
    if ticked < 0:
        return numba.int64(DEAD)
    if move >> 56 == TICK:
        position = move & 0xFFFFFFF
        if is_ticked(t, ctx, position):
            return numba.int64(DEAD)
        size = size_of(t, ticked)
        at = t.sizes[10]
        if at + size + 1 > t.sets.shape[0] or 2 * t.sizes[11] >= t.same.shape[0]:
            return numba.int64(NEED_SPACE)
        for k in range(1, size + 1):
            t.sets[at + k] = t.sets[ticked + k]
        t.sets[at + 1 + (position >> 6)] |= numba.int64(1) << (position & 63)
        return (first << 32) | kept(t, size)
    if size_of(t, ticked) != size_of(t, numba.int64(t.checklists[first, ALL])):
        return numba.int64(DEAD)
    more = t.checklists[first, ENDLESS] != 0
    more = more or not are_ticked(t, ctx, numba.int64(t.checklists[first, ALL]))
    ends = are_ticked(t, ctx, numba.int64(t.checklists[first, REQUIRED]))
    frame = numba.int64(DEAD)
    if more or ends:
        frame = numba.int64(t.checklists[first, ONLY_MORE - 1 + more + 2 * ends])
    return (frame << 32) | ticked if frame >= 0 else numba.int64(DEAD)


call_checked = called(checked, AT_CHECKED)
