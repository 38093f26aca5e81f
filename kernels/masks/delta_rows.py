"""Store mask rows as differences from other rows (delta rows), in one pool of records.

Rows of one constraint resemble each other: most have a few tokens, or all that may stand in a
string and a few more or less. So a record names the words in which a row differs from a base row,
or from the row without tokens. The few base rows stay in the processor's caches, so a row is
written in less time than one is copied that lies in memory.

A pool is int32[n]. pool[WORDS] is the number of words of a row. A record at a place in it: BASE,
where its base row begins, 0 for that without tokens; COUNT, how many words differ; then each of
these, its place in the row and what stands there.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import brief, inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.masks.apply import mixed
from structgen.kernels.tables import I64

POOL = types.int32[::1]
WORDS, BEGIN = 0, 16  # places in a pool: what is said of it, and where its first record may be
BASE, COUNT, CHANGES = 0, 1, 2  # places in a record
LINE = 16  # words; rows begin where a line of memory does
SPAN = 64  # words that are compared at once
FEW, SHARE = 64, 16  # a row that differs in more words, and that part of all, is a base itself
# What is said of a pool, int64[SIZE]: words used of it; a number that differs between most records,
# of the last one; then where bases begin, last used first.
USED, DIGEST, BASES, SIZE = 0, 1, 2, 18


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


@lean(types.boolean(POOL, types.int64, types.int32[::1], types.int32[::1], types.int32[:, ::1]))
def write_rows(pool, used, places, states, rows):  # type: ignore[no-untyped-def]
    """Write rows[i], the row of states[i]; False where a record is missing.

    used: words of the pool that count: what was kept later may be in another one. places: that of
    state s is places[s + 1], -1 for none; states below 0 share the first. rows: int32[n, words];
    some may be missing where False is returned.
    """
    for i in range(states.shape[0]):
        at = place_of(places, places.shape[0], states[i])
        if not 0 <= at < used:
            return False
        expand(pool, at, rows[i], rows.shape[1])
    return True


@inlined
def _span_differs(pool, base, row, first, length):  # type: ignore[no-untyped-def]
    """Whether a row differs from a base in some of the words from `first` on; no sign anywhere."""
    # All bits where there is a base, none for the row without tokens: no branch inside the loop.
    there = numba.int32(-1 if base != 0 else 0)
    differing = numba.int32(0)
    for i in range(numba.uint64(length)):
        differing |= row[first + i] ^ (pool[base + first + i] & there)
    return differing != 0


@inlined
def _spans_apart(pool, base, row, most):  # type: ignore[no-untyped-def]
    """In how many spans a row differs from a base; none beyond `most` are counted."""
    words, span = numba.uint64(row.shape[0]), numba.uint64(SPAN)
    first, found = numba.uint64(0), numba.int64(0)
    while first + span <= words and found < most:
        found += _span_differs(pool, base, row, first, SPAN)
        first += span
    if first < words and found < most:
        found += _span_differs(pool, base, row, first, words - first)
    return found


@inlined
def _nearest(pool, sizes, row):  # type: ignore[no-untyped-def]
    """The base from which a row differs in the fewest spans, or 0, the row without tokens."""
    base = numba.int64(0)
    least = _spans_apart(pool, numba.uint64(base), row, row.shape[0])
    for i in range(BASES, SIZE):
        at = sizes[i]
        if at == 0 or least == 0:
            break
        found = _spans_apart(pool, numba.uint64(at), row, least)
        if found < least:
            base, least = at, found
    return base


@inlined
def _changes(pool, base, row, to, most):  # type: ignore[no-untyped-def]
    """Write in which words a row differs from a base; how many, or `most` + 1 if there are more.

    base: without sign.
    """
    words, span = numba.uint64(row.shape[0]), numba.uint64(SPAN)
    there, found = numba.int32(-1 if base != 0 else 0), numba.int64(0)
    for first in range(numba.uint64(0), words, span):
        if first + span <= words and not _span_differs(pool, base, row, first, SPAN):
            continue
        for w in range(first, min(first + span, words)):
            if row[w] != pool[base + w] & there:
                if found == most:
                    return most + 1
                pool[to], pool[to + 1] = w, row[w]
                to += 2
                found += 1
    return found


@inlined
def _use(sizes, base):  # type: ignore[no-untyped-def]
    """Let a base be the one used last; a new one takes the place of the least recently used."""
    before = base
    for i in range(BASES, SIZE):
        before, sizes[i] = sizes[i], before
        if before == base:
            break


@lean(types.int64(POOL, I64, POOL))
def keep_row(pool, sizes, row):  # type: ignore[no-untyped-def]
    """Append a record of a row, for which there must be `needed(words)`; returns its place."""
    words, at = row.shape[0], sizes[USED]
    base, most = _nearest(pool, sizes, row), FEW + words // SHARE
    count = _changes(pool, numba.uint64(base), row, at + CHANGES, most)
    # Too different from all bases: the row is stored whole, and is a base for others from now on.
    if count > most:
        base, count = (at + LINE - 1) // LINE * LINE, numba.int64(0)
        for w in range(words):
            pool[base + w] = row[w]
        at = base + words
    pool[at + BASE], pool[at + COUNT] = base, count
    if base > 0:
        _use(sizes, base)
    sizes[USED] = at + CHANGES + 2 * count
    # For the caller to find equal records.
    digest = numba.int64(0)
    for i in range(at, sizes[USED]):
        digest = mixed(digest, numba.int64(numba.uint32(pool[i])))
    sizes[DIGEST] = digest
    return at


def needed(words):  # type: ignore[no-untyped-def]
    """Words of a pool that a record of a row takes at most."""
    return LINE + CHANGES + words + 2 * FEW + 2


@lean(types.boolean(POOL, types.int64, types.int64))
def are_equal(pool, one, other):  # type: ignore[no-untyped-def]
    """Whether two records are the same, word by word."""
    for i in range(CHANGES + 2 * numba.int64(pool[one + COUNT])):
        if pool[one + i] != pool[other + i]:
            return False
    return True
