"""In: what rows depend on, as words. Out: the positions whose rows they are, by these words.

Each record is a list of words (its key) and a number for it. Records are kept one behind the other,
and found by a hash table that says where they begin.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.build.decorators import inlined, inner, lean, loader, stored
from structgen.kernels.build.pointers import reference
from structgen.kernels.masks.apply import mixed
from structgen.kernels.tables import HASH, I32, I64

HASH_OF, SIZE, VALUE, KEY = 0, 1, 2, 3  # places in a record, from where it begins
USED, COUNT, LAST_HASH, PAIR, CHANGED, PLAN, BEGUN, LOOKS = range(8)  # places of `sizes`
SAID, SCALAR, ENTERS = 1, 2, 4  # bits of `kinds`


class Known(NamedTuple):
    """What is known of rows.

    kinds: int32[Q], of lexer states: 0 as long as nobody has said; else SAID, SCALAR if it is
    between two characters of a scalar, ENTERS if it is in the white space before a lexeme.
    plans: int64[H, 2], hash table: see `twins.planned` -> the address of a `twins.Plan`.
    places: int64[H], hash table of records: where each begins, or -1. records: int64[n], each its
    hash, the size of its key, its number, and its key. key: int64[k], a key that is looked for.
    sizes: int64[8], words of `records` in use, how many records, the hash of the key looked for
    last; the position walked last, what `doors.make` returned there, and where its plan is; what
    the row asked for depends on (see `outlook`).
    """

    kinds: npt.NDArray[np.int32]
    plans: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    records: npt.NDArray[np.int64]
    key: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]


KNOWN = reference(types.NamedTuple([I32, HASH, I64, I64, I64, I64], Known))
known_at = loader(KNOWN)


@lean(types.void(KNOWN.kind, types.int64))
def keep_known(known, address):  # type: ignore[no-untyped-def]
    """Write down where all that is."""
    stored(address, known)


@inner(types.int64(KNOWN, types.int64))
def slot(known, size):  # type: ignore[no-untyped-def]
    """The slot of the record whose key are the first words of `known.key`, or an empty one."""
    h = numba.int64(1)
    for k in range(size):
        word = known.key[k]
        h = mixed(h, (word & 0xFFFFFFFFFFFF) + ((word >> 48) & 0xFFFF))
    known.sizes[LAST_HASH] = h
    last = known.places.shape[0] - 1
    i = (h ^ (h >> 25)) & last
    while known.places[i] >= 0:
        record = known.places[i]
        if known.records[record + HASH_OF] == h and known.records[record + SIZE] == size:
            same = True
            for k in range(size):
                if known.records[record + KEY + k] != known.key[k]:
                    same = False
                    break
            if same:
                break
        i = (i + 1) & last
    return i


@inlined
def number_of(known, size):  # type: ignore[no-untyped-def]
    """The number of the record with that key, or -1."""
    record = known.places[slot(known, size)]
    return known.records[record + VALUE] if record >= 0 else numba.int64(-1)


@inlined
def keep(known, size, number):  # type: ignore[no-untyped-def]
    """Where the record with that key begins, one with that number if there was none."""
    i = slot(known, size)
    if known.places[i] < 0:
        record = known.sizes[USED]
        known.records[record + HASH_OF] = known.sizes[LAST_HASH]
        known.records[record + SIZE] = size
        known.records[record + VALUE] = number
        for k in range(size):
            known.records[record + KEY + k] = known.key[k]
        known.places[i] = record
        known.sizes[USED] += KEY + size
        known.sizes[COUNT] += 1
    return known.places[i]


@lean(types.void(I64, types.int64, I64))
def find_again(records, used, places):  # type: ignore[no-untyped-def]
    """Enter all records, of so many words, in a larger hash table that is empty."""
    last = places.shape[0] - 1
    record = numba.int64(0)
    while record < used:
        h = records[record + HASH_OF]
        i = (h ^ (h >> 25)) & last
        while places[i] >= 0:
            i = (i + 1) & last
        places[i] = record
        record += KEY + records[record + SIZE]
