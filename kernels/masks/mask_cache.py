"""A hash table from lists of words to numbers: what mask rows depend on, and who has them.

Each record is a list of words (its key) and a number for it. Records stand one behind the other,
and are found by a hash table that says where they begin. `kernels.masks.same_mask` says what the
keys are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, inner, lean, loader, stored
from structgen.kernels.build.language import numba, reference, types
from structgen.kernels.masks.apply import mixed
from structgen.kernels.tables import HASH, I32, I64

# Entries of a record, from where it begins.
HASH_OF, SIZE, VALUE, KEY = 0, 1, 2, 3
# Entries of `MaskCache.sizes`.
USED, COUNT = 0, 1  #: words of `records` in use, and how many records these are
LAST_HASH = 2  #: the hash of the key looked for last
POSITION, RESULT, RECIPE = 3, 4, 5  #: built last: the position, what came out, the recipe's address
FOR_SCALAR, SIGNATURE_AT = 6, 7  #: the same, but asked for: see `same_mask.begin`
# Bits of `MaskCache.kinds`.
DESCRIBED = 1  #: Python, or the kernel itself, has said what the state is
SCALAR = 2  #: between two characters of a string or number
ENTERS = 4  #: in the white space before a lexeme


class MaskCache(NamedTuple):
    """What is known of the mask rows of one automaton.

    kinds: int32[Q], of lexer states: 0 as long as nobody has said what they are, else bits
    (DESCRIBED, ...). recipes: int64[H, 2], hash table: see `same_mask.recipe_of` -> the address of
    a `same_mask.Recipe`. places: int64[H], hash table of records: where each begins, or -1.
    records: int64[n], each its hash, the size of its key, its number, and its key. key: int64[k], a
    key that is looked for. sizes: int64[8] (USED, ...).
    """

    kinds: npt.NDArray[np.int32]
    recipes: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    records: npt.NDArray[np.int64]
    key: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]


MASK_CACHE = reference(types.NamedTuple([I32, HASH, I64, I64, I64, I64], MaskCache))
cache_at = loader(MASK_CACHE)


@lean(types.void(MASK_CACHE.kind, types.int64))
def store_cache(cache, address):  # type: ignore[no-untyped-def]
    """Write the cache's arrays down at an address, from where kernels read them."""
    stored(address, cache)


@inner(types.int64(MASK_CACHE, types.int64))
def slot(cache, size):  # type: ignore[no-untyped-def]
    """The slot of the record whose key is the first words of `cache.key`, or an empty one."""
    h = numba.int64(1)
    for k in range(size):
        word = cache.key[k]
        # All 64 bits of a word count, though `mixed` takes small numbers.
        h = mixed(h, (word & 0xFFFFFFFFFFFF) + ((word >> 48) & 0xFFFF))
    cache.sizes[LAST_HASH] = h
    last = cache.places.shape[0] - 1
    i = (h ^ (h >> 25)) & last
    while cache.places[i] >= 0:
        record = cache.places[i]
        if cache.records[record + HASH_OF] == h and cache.records[record + SIZE] == size:
            same = True
            for k in range(size):
                if cache.records[record + KEY + k] != cache.key[k]:
                    same = False
                    break
            if same:
                break
        i = (i + 1) & last
    return i


@inlined
def value_of(cache, size):  # type: ignore[no-untyped-def]
    """The number of the record with that key, or -1."""
    record = cache.places[slot(cache, size)]
    return cache.records[record + VALUE] if record >= 0 else numba.int64(-1)


@inlined
def find_or_add(cache, size, number):  # type: ignore[no-untyped-def]
    """Where the record with that key begins; it is added with that number if there was none."""
    i = slot(cache, size)
    if cache.places[i] < 0:
        record = cache.sizes[USED]
        cache.records[record + HASH_OF] = cache.sizes[LAST_HASH]
        cache.records[record + SIZE] = size
        cache.records[record + VALUE] = number
        for k in range(size):
            cache.records[record + KEY + k] = cache.key[k]
        cache.places[i] = record
        cache.sizes[USED] += KEY + size
        cache.sizes[COUNT] += 1
    return cache.places[i]


@lean(types.void(I64, types.int64, I64))
def rehash_records(records, used, places):  # type: ignore[no-untyped-def]
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
