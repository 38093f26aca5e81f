"""Find a position with the same mask, or else the edits that make its row from a base row.

What a row depends on is found out while it is built: lexer state, stack signature, and the keys
that were looked up beside it (see `kernels.parser.stack_signature`). So for most positions the
cache answers without a walk. It has three kinds of entries:

- state, signature, i -> the i-th set of keys that a walk from such a position looked up;
- state, signature, such a set, which of its keys were seen -> a position with the same mask;
- base row, edits -> a position with the same mask, though it depends on something else.

A row that must be built begins with the base of its recipe: the lexeme mask, which depends on the
lexer state only. Tokens that cross the lexeme's end are added as edits of that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, lean, loader, stored
from structgen.kernels.build.language import numba, reference, types
from structgen.kernels.masks.entry_points import (
    ENDS,
    FROM_START,
    SCRATCH_AT,
    SHIFT,
    UNSHAREABLE,
    USED_LOOKUPS,
    build_edits,
    scratch_at,
    tables_at,
)
from structgen.kernels.masks.lexeme_walk import Remainders
from structgen.kernels.masks.mask_cache import (
    COUNT,
    DESCRIBED,
    ENTERS,
    FOR_SCALAR,
    KEY,
    POSITION,
    RECIPE,
    RESULT,
    SCALAR,
    SIGNATURE_AT,
    SIZE,
    USED,
    VALUE,
    cache_at,
    find_or_add,
    value_of,
)
from structgen.kernels.masks.row_edits import apply
from structgen.kernels.parser.key_sets import size_of
from structgen.kernels.parser.stack_signature import signature_of
from structgen.kernels.parser.step import call_advance
from structgen.kernels.tables import (
    DEAD,
    FALLBACK,
    FLAGS,
    FRAME,
    HASH,
    I64,
    INTS,
    KEYS,
    KIND,
    LOOKUP_KEYS,
    LOOKUP_NODE,
    ONLY_SCALAR,
    OWNER,
    SCALARS,
    SEEN_KEYS,
    SKIP_TERMINAL,
    SPANS_TEXT,
    UNKNOWN,
    find,
    slot_of,
)

# Bits of `how` for `find_same`.
RESTART = 1  #: begin anew, rather than go on where a NEED_* code above RESTART_BELOW stopped it
REBUILD = 2  #: find the edits even if another position is known to have the same mask
# Codes beside those of `kernels.tables`.
RESTART_BELOW = -16  #: codes below it ask to be called with RESTART when what they need is there
NEED_KIND = -17  #: what kind the lexer state of the position is: `MaskCache.kinds`
NEED_RECIPE = -18  #: the recipe with key `need[RECIPE_KEY]`
NEED_ROOM = -19  #: room for more records
NEED_SIGNATURES = -20  #: room for more stack signatures
NEED_LEXEME = -21  #: what SKIP_TERMINAL does at the position, which depends on a captured text
RECORDS = 4  # that one call adds at most
MAX_LOOKUPS = 16  # different sets of keys looked up that are remembered for a signature
# What the key of a record begins with.
BY_SIGNATURE = 0  #: state and signature, and a count: leads to a record of keys that were looked up
LOOKED_UP = 1  #: the keys that were looked up, as bits
BY_SEEN_KEYS = 2  #: state and signature, and which of these were seen: leads to a position
BY_EDITS = 3  #: what a row is made of: leads to a position
# Kinds of recipes: for one lexer state, for all with one fallback, or for all with none.
OF_STATE, OF_KEYS, OF_WORDS = 0, 1, 2
# Entries of `Recipe.numbers`: where the lexeme ends of the lexeme and of the white space before it
# are written down, which parts `build_edits` adds, and a number that tells the base from others.
LEXEME_AT, SPACE_AT, PARTS, NUMBER = 0, 1, 2, 3
# Entries of `need` beside NEED_RECIPE: the key that is missing, and what it was made of.
RECIPE_KEY, RECIPE_SPACE, RECIPE_KIND, RECIPE_STATE = 0, 1, 2, 3


class Recipe(NamedTuple):
    """How to find the tokens of a lexer state: a base row, and what is added to it.

    base: int32[words], see `entry_points.build_edits`. numbers: int64[4] (LEXEME_AT, ...).
    """

    base: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.int64]


RECIPE_TYPE = reference(types.NamedTuple([INTS, I64], Recipe))
recipe_at = loader(RECIPE_TYPE)


@lean(types.void(HASH, types.int64, types.int64, RECIPE_TYPE.kind))
def store_recipe(recipes, key, address, recipe):  # type: ignore[no-untyped-def]
    """Write a recipe down at an address and enter it in the table, where there is room."""
    stored(address, recipe)
    i = slot_of(recipes, key)
    recipes[i, 0] = key
    recipes[i, 1] = address


@inlined
def lookups_key(cache, nth):  # type: ignore[no-untyped-def]
    """Write the key of the `nth` set of keys that a signature's walks looked up; its size."""
    cache.key[0] = BY_SIGNATURE
    cache.key[1] = cache.sizes[FOR_SCALAR]
    cache.key[2] = cache.sizes[SIGNATURE_AT]
    cache.key[3] = nth
    return 4


@inlined
def seen_keys_key(t, cache, stack_node, looked_up):  # type: ignore[no-untyped-def]
    """Write as a key which of the keys in a record of lookups have been seen; its size."""
    # A LOOKED_UP record has one word before its bits.
    words = cache.records[looked_up + SIZE] - 1
    at = numba.int64(t.stack_nodes[stack_node, SEEN_KEYS])
    size = numba.int64(0) if at < 0 else size_of(t, at)
    cache.key[0] = BY_SEEN_KEYS
    cache.key[1] = cache.sizes[FOR_SCALAR]
    cache.key[2] = cache.sizes[SIGNATURE_AT]
    cache.key[3] = looked_up
    for k in range(words):
        seen = t.bit_sets[at + 1 + k] if k < size else 0
        cache.key[4 + k] = cache.records[looked_up + KEY + 1 + k] & seen
    return 4 + words


@inlined
def cached_position(t, cache, stack_node):  # type: ignore[no-untyped-def]
    """A position with equal state, signature and answers to all lookups, or DEAD.

    Two walks from equal states and signatures look up equal keys as long as the answers are equal.
    So the sets that were recorded are tried one by one; few signatures have more than one.
    """
    for nth in range(MAX_LOOKUPS):
        looked_up = value_of(cache, lookups_key(cache, nth))
        if looked_up < 0:
            break
        found = value_of(cache, seen_keys_key(t, cache, stack_node, looked_up))
        if found >= 0:
            return found
    return numba.int64(DEAD)


@inlined
def store(t, cache, position, looked):  # type: ignore[no-untyped-def]
    """Record what the walk looked up, and that equal answers have the row of `position`.

    looked: whether keys were looked up at all.
    """
    # The keys without trailing zeros: equal sets have equal records.
    size = 1
    cache.key[0] = LOOKED_UP
    if looked:
        for k in range(LOOKUP_KEYS, t.lookups.shape[0]):
            cache.key[k - LOOKUP_KEYS + 1] = t.lookups[k]
            if t.lookups[k] != 0:
                size = k - LOOKUP_KEYS + 2
    looked_up = find_or_add(cache, size, 0)
    # Enter the set under the next free number of this signature, unless it is there; when all are
    # taken, nothing is remembered.
    for nth in range(MAX_LOOKUPS):
        record = find_or_add(cache, lookups_key(cache, nth), looked_up)
        if cache.records[record + VALUE] == looked_up:
            find_or_add(cache, seen_keys_key(t, cache, position & 0xFFFFFFFF, looked_up), position)
            break


@inlined
def is_listed(t, q):  # type: ignore[no-untyped-def]
    """Whether a lexer state is within listed words, or where a key that is one of them begins."""
    kind = t.state_info[q, KIND]
    return kind < SPANS_TEXT and (kind > 0 or t.state_info[q, FLAGS] > 0)


@inlined
def begin(t, cache, remainders, position):  # type: ignore[no-untyped-def]
    """Begin to note what the row of a position depends on: 0, or a code below RESTART_BELOW."""
    q, stack_node = position >> 32, position & 0xFFFFFFFF
    # Room for all that one call may add, so that nothing stops it later.
    most = cache.key.shape[0]
    if (
        cache.sizes[USED] + RECORDS * (KEY + most) > cache.records.shape[0]
        or 2 * (cache.sizes[COUNT] + RECORDS) > cache.places.shape[0]
        or most < 4 + t.lookups.shape[0]
    ):
        return numba.int64(NEED_ROOM)
    frame = t.stack_nodes[stack_node, FRAME]
    if q >= cache.kinds.shape[0]:
        return numba.int64(NEED_KIND)
    # Some kinds follow from the tables; Python says the others.
    if cache.kinds[q] == 0 and is_listed(t, q):
        if t.state_info[q, FLAGS] & KEYS != 0 or t.state_info[q, OWNER] >= 0:
            cache.kinds[q] = DESCRIBED
    if cache.kinds[q] == 0 and t.state_info[q, KIND] == SPANS_TEXT and t.state_info[q, OWNER] >= 0:
        cache.kinds[q] = DESCRIBED | SCALAR if t.state_info[q, FLAGS] & SCALARS != 0 else DESCRIBED
    if cache.kinds[q] == 0:
        return numba.int64(NEED_KIND)
    for_scalar = numba.int64(t.frames[frame, ONLY_SCALAR])
    if cache.kinds[q] & SCALAR != 0:
        for_scalar = numba.int64(1)
    # From here on lookups are noted, for the walk that begins at this node.
    for k in range(t.lookups.shape[0]):
        t.lookups[k] = 0
    t.lookups[LOOKUP_NODE] = stack_node
    found = signature_of(t, remainders, stack_node, for_scalar)
    if found < 0:
        return numba.int64(NEED_SIGNATURES)
    cache.sizes[FOR_SCALAR] = for_scalar
    # One word for both: the signature is below 2**40.
    cache.sizes[SIGNATURE_AT] = (q << 40) | found
    return numba.int64(0)


@inlined
def recipe_of(t, cache, space, lexeme):  # type: ignore[no-untyped-def]
    """The address of the recipe for a lexer state, or NEED_RECIPE.

    space: the state in the white space before it that the text is in, or -1. Within listed words
    only the fallback matters, and nothing where there is none: many states share a recipe.
    """
    kind, state = numba.int64(OF_STATE), lexeme
    if is_listed(t, lexeme):
        kind, state = numba.int64(OF_WORDS), numba.int64(-1)
        if t.state_info[lexeme, FLAGS] & KEYS != 0:
            kind, state = numba.int64(OF_KEYS), numba.int64(t.state_info[lexeme, FALLBACK])
    key = (space + 1) << 34 | kind << 32 | (state + 1)
    at = find(cache.recipes, key)
    if at == UNKNOWN:
        t.need[RECIPE_KEY] = key
        t.need[RECIPE_SPACE] = space
        t.need[RECIPE_KIND] = kind
        t.need[RECIPE_STATE] = state
        return numba.int64(NEED_RECIPE)
    return at


@inlined
def edits_key(cache, scratch, number, found):  # type: ignore[no-untyped-def]
    """Write down as a key what a row is made of; its size. found: as `build_edits` returns it."""
    count = found >> SHIFT
    cache.key[0] = BY_EDITS
    cache.key[1] = number << 1 | (found & ENDS)
    for k in range(count):
        bits = numba.int64(scratch.changed[2 * k + 1]) & 0xFFFFFFFF
        cache.key[2 + k] = numba.int64(scratch.changed[2 * k]) << 32 | bits
    return 2 + count


@lean(types.int64(*[types.int64] * 5))
def find_same(tables, nodes, address, position, how):  # type: ignore[no-untyped-def]
    """A position whose row was built before and is that of `position`, or DEAD: then write it.

    address: of the cache. how: RESTART at first, or when a code below RESTART_BELOW was returned;
    REBUILD beside it where the row is to be written even if another one is known to be the same.
    Returns a NEED_* code where it must be called once more.
    """
    t, cache, scratch = tables_at(tables), cache_at(address), scratch_at(nodes + SCRATCH_AT)
    q, stack_node = position >> 32, position & 0xFFFFFFFF
    # First: is a position known of which all that matters is the same?
    if how & RESTART:
        cache.sizes[POSITION] = DEAD
        code = begin(t, cache, Remainders(scratch.rest, scratch.rests), position)
        if code < 0:
            return code
        found = cached_position(t, cache, stack_node) if how & REBUILD == 0 else numba.int64(DEAD)
        if found >= 0:
            t.lookups[LOOKUP_NODE] = -1
            return found
    # Within white space, the lexeme behind it is what the row is about.
    enters, inner = cache.kinds[q] & ENTERS != 0, position
    if enters:
        inner = call_advance(t, stack_node, numba.int64(SKIP_TERMINAL))
        if inner < DEAD:
            return numba.int64(NEED_LEXEME)
        if inner == DEAD:
            enters, inner = False, position
    lexeme = inner >> 32
    # Then: build the row as edits of its recipe's base. This is where walks happen.
    at = recipe_of(t, cache, q if enters else numba.int64(-1), lexeme)
    if at < 0:
        return at
    recipe = recipe_at(at)
    numbers = recipe.numbers
    parts = numbers[PARTS] | FROM_START if how & RESTART else numbers[PARTS]
    found = build_edits(
        tables, nodes, numbers[LEXEME_AT], numbers[SPACE_AT], position, inner, parts, recipe.base
    )
    if found < 0:
        return found
    # Nobody else can have this row by what it depends on; by its edits, perhaps.
    if found & UNSHAREABLE == 0:
        store(t, cache, position, found & USED_LOOKUPS != 0)
    cache.sizes[POSITION] = position
    cache.sizes[RESULT] = found
    cache.sizes[RECIPE] = at
    # Last: has another position an equal row? The edits say so without writing it.
    size = edits_key(cache, scratch, numbers[NUMBER], found)
    other = cache.records[find_or_add(cache, size, position) + VALUE]
    return numba.int64(DEAD) if other == position or how & REBUILD != 0 else other


@lean(types.int64(types.int64, types.int64, types.int64, types.int32[::1]))
def write(nodes, address, position, row):  # type: ignore[no-untyped-def]
    """Write the row that `find_same` built last, int32[words], if it is that of `position`.

    address: of the cache. Returns 1 if the text may end there, 0 if not, -1 if it is another
    position.
    """
    cache, scratch = cache_at(address), scratch_at(nodes + SCRATCH_AT)
    if cache.sizes[POSITION] != position:
        return numba.int64(-1)
    base = recipe_at(cache.sizes[RECIPE]).base
    for w in range(row.shape[0]):
        row[w] = base[w]
    apply(row, scratch.changed[: cache.sizes[RESULT] >> SHIFT << 1])
    return cache.sizes[RESULT] & ENDS
