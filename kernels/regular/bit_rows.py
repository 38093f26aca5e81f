"""Sets as rows of bits, uint64[words]: bit i of word k says whether 64 k + i is in the set."""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined
from structgen.kernels.build.language import numba


@inlined
def has(row, element):  # type: ignore[no-untyped-def]
    """Whether an element is in a row."""
    return (row[element >> 6] >> numba.uint64(element & 63)) & numba.uint64(1) == 1


@inlined
def put(out, row):  # type: ignore[no-untyped-def]
    """Set a row to another one."""
    for k in range(out.shape[0]):
        out[k] = row[k]


@inlined
def add(out, row):  # type: ignore[no-untyped-def]
    """Add another row to a row."""
    for k in range(out.shape[0]):
        out[k] |= row[k]


@inlined
def add_one(out, element):  # type: ignore[no-untyped-def]
    """Add an element to a row."""
    out[element >> 6] |= numba.uint64(1) << numba.uint64(element & 63)


@inlined
def put_one(out, element):  # type: ignore[no-untyped-def]
    """Set a row to one element alone."""
    out[:] = 0
    add_one(out, element)


@inlined
def meet(one, other):  # type: ignore[no-untyped-def]
    """Whether two rows have something in common."""
    found = False
    for k in range(one.shape[0]):
        found = found or one[k] & other[k] != 0
    return found


@inlined
def add_rows(rows, bits, first, out):  # type: ignore[no-untyped-def]
    """Add to `out` the rows of all elements of a word of bits, of which bit 0 is `first`."""
    element = numba.int64(first)
    while bits != 0:
        if bits & numba.uint64(1):
            add(out, rows[element])
        bits >>= numba.uint64(1)
        element += 1


@inlined
def slot_of_row(row, known, slots):  # type: ignore[no-untyped-def]
    """The slot of a hash table with the number of a row in `known`, or the free one for it.

    slots: int32[s], numbers, -1 for free ones, of which there is one at least, s a power of two.
    """
    last = slots.shape[0] - 1
    h = numba.uint64(1469598103934665603)
    for k in range(row.shape[0]):
        h = (h ^ numba.uint64(row[k])) * numba.uint64(1099511628211)
        h ^= h >> numba.uint64(29)
    slot = numba.int64(h & numba.uint64(last))
    while slots[slot] >= 0:
        same = True
        for k in range(row.shape[0]):
            same = same and known[slots[slot], k] == row[k]
        if same:
            break
        slot = (slot + 1) & last
    return slot
