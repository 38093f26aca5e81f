"""In: mask rows. Out: records of them in a pool, each a few words long, and the rows again.

Rows of one constraint resemble each other: most have a few tokens, or all that may stand in a
string and a few more or less. So a record names the words in which a row differs from another one,
or from the row without tokens. The few rows that others are told by stay in the processor's caches,
so that a row is written in less time than one is copied that lies in memory.

A pool is int32[n]. pool[WORDS] is the number of words of a row. A record at a place in it: BASE,
where the row begins that this one is told by, 0 for that without tokens; COUNT, how many words
differ; then each of these, its place in the row and what stands there.
"""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.flags import brief, inlined, kernel
from structgen.kernels.tables import I64

POOL = types.int32[::1]
WORDS, BEGIN = 0, 16  # places in a pool: what is said of it, and where its first record may be
BASE, COUNT, CHANGES = 0, 1, 2  # places in a record
LINE = 16  # words; rows begin where a line of memory does
FEW = 16  # words that differ: then no row is looked for that is nearer
SHARE = 16  # a row that differs in more of its words from all others is a base itself
# What is said of a pool, int64[SIZE]: words used of it; then where bases begin, last used first.
USED, BASES, SIZE = 0, 1, 17


@inlined
def expand(pool, at, row, words):  # type: ignore[no-untyped-def]
    """Write the row of a record. pool, row: arrays, or the int32 words at an address."""
    base = numba.uint64(pool[at + BASE])  # without sign: nothing is counted from the end
    for w in range(numba.uint64(words)):
        row[w] = pool[base + w] if base != 0 else 0
    first = at + CHANGES
    for i in range(first, first + 2 * pool[at + COUNT], 2):
        row[pool[i]] = pool[i + 1]


@brief(types.boolean(POOL, types.int64, POOL))
def write_row(pool, at, row):  # type: ignore[no-untyped-def]
    """Write the row of a record; False, and nothing, where it does not have the pool's words."""
    fits = row.shape[0] == pool[WORDS]
    if fits:
        expand(pool, at, row, row.shape[0])
    return fits


@inlined
def place_of(places, count, state):  # type: ignore[no-untyped-def]
    """The place of a state's record, -1 where there is none. places: an array, or an address."""
    at = max(numba.int64(state) + 1, 0)
    return numba.int64(places[at]) if at < count else numba.int64(-1)


@kernel(types.boolean(POOL, types.int64, types.int32[::1], types.int32[::1], types.int32[:, ::1]))
def write_rows(pool, used, places, states, rows):  # type: ignore[no-untyped-def]
    """rows[i] = that of states[i]; False where a record is not there, and rows may be missing.

    used: words of the pool that count: what was kept later may be in another one. places: that of
    state s is places[s + 1], -1 for none; states below 0 share the first. rows: int32[n, words].
    """
    for i in range(states.shape[0]):
        at = place_of(places, places.shape[0], states[i])
        if not 0 <= at < used:
            return False
        expand(pool, at, rows[i], rows.shape[1])
    return True


@inlined
def _differing_from(pool, base, row):  # type: ignore[no-untyped-def]
    """In how many words a row differs from a base."""
    words, count = row.shape[0], numba.int64(0)
    if base == 0:
        for w in range(words):
            count += row[w] != 0
    else:
        whole = pool[base : base + words]
        for w in range(words):
            count += row[w] != whole[w]
    return count


@inlined
def _nearest(pool, sizes, row):  # type: ignore[no-untyped-def]
    """The base that a row differs from in the fewest words, 0 for none, and how many these are."""
    base = numba.int64(0)
    least = _differing_from(pool, base, row)
    for i in range(BASES, SIZE):
        at = sizes[i]
        if at == 0 or least <= FEW:
            break
        differing = _differing_from(pool, at, row)
        if differing < least:
            base, least = at, differing
    return base, least


@inlined
def _use(sizes, base):  # type: ignore[no-untyped-def]
    """Let a base be the one used last; if it is new, the one not used for longest gives way."""
    before = base
    for i in range(BASES, SIZE):
        before, sizes[i] = sizes[i], before
        if before == base:
            break


@kernel(types.int64(POOL, I64, POOL))
def keep_row(pool, sizes, row):  # type: ignore[no-untyped-def]
    """Append a record of a row, for which there must be `needed(words)`; returns its place."""
    words = row.shape[0]
    base, least = _nearest(pool, sizes, row)
    at = sizes[USED]
    if least > FEW + words // SHARE:
        base, least = (at + LINE - 1) // LINE * LINE, numba.int64(0)
        for w in range(words):
            pool[base + w] = row[w]
        at = base + words
    pool[at + BASE], pool[at + COUNT] = base, least
    end = at + CHANGES
    for w in range(words if least > 0 else 0):
        if row[w] != (pool[base + w] if base > 0 else 0):
            pool[end], pool[end + 1] = w, row[w]
            end += 2
    if base > 0:
        _use(sizes, base)
    sizes[USED] = end
    return at


def needed(words):  # type: ignore[no-untyped-def]
    """Words of a pool that a record of a row takes at most."""
    return LINE + CHANGES + words + 2 * FEW


@kernel(types.boolean(POOL, types.int64, POOL))
def is_row_of(pool, at, row):  # type: ignore[no-untyped-def]
    """Whether a row is that of a record, word by word."""
    base, count = numba.int64(pool[at + BASE]), numba.int64(pool[at + COUNT])
    for i in range(at + CHANGES, at + CHANGES + 2 * count, 2):
        if row[pool[i]] != pool[i + 1]:
            return False
    return _differing_from(pool, base, row) == count
