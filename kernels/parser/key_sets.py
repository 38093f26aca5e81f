"""Track which declared keys of an object have been seen, as interned bit sets.

An object in which each of n keys may come once would need a frame for each of 2**n subsets. Instead
the stack node has the set of keys seen (SEEN_KEYS) beside its frame, MARK_SEEN adds a key to it,
and CHECK_KEYS picks one of three frames by what is still required and what is still allowed. Equal
sets have the same number.

What a walk asks of the set is noted in `Tables.lookups`: together with the stack signature, these
answers are all that a mask depends on (see `kernels.masks.same_mask`).
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.tables import (
    ALL_KEYS,
    ALWAYS_MORE,
    AT_KEY_ACTION,
    DEAD,
    LOOKUP_KEYS,
    LOOKUP_NODE,
    LOOKUP_UNIQUE,
    MARK_SEEN,
    MORE_OR_END,
    NEED_SPACE,
    NO_KEYS,
    ONLY_MORE,
    PARENT,
    REQUIRED_KEYS,
    SEEN_KEYS,
    SIZE_BIT_SET_WORDS,
    SIZE_BIT_SETS,
    SIZE_KEY_SETS,
    TABLES,
)

MASKS = types.Array(types.int64, 1, "C", readonly=True)


@inlined
def size_of(t, at):  # type: ignore[no-untyped-def]
    """How many words the set `at` has."""
    return t.bit_sets[at] & 0xFFFFFFFF


@inlined
def contains(t, at, key):  # type: ignore[no-untyped-def]
    """Whether the set `at` has a key; keys beyond its words count as seen."""
    word = key >> 6
    return word >= size_of(t, at) or (t.bit_sets[at + 1 + word] >> (key & 63)) & 1 != 0


@inlined
def includes(t, at, part):  # type: ignore[no-untyped-def]
    """Whether the set `at` includes the set `part`."""
    size = size_of(t, part)
    result = size <= size_of(t, at)
    if result:
        for k in range(1, size + 1):
            result = result and t.bit_sets[part + k] & ~t.bit_sets[at + k] == 0
    return result


@inner(types.int64(TABLES, types.int64))
def slot_of_set(t, at):  # type: ignore[no-untyped-def]
    """The slot of `bit_set_slots` with the set whose words stand at `at`, or the empty one for it.

    Its hash is written into its first word.
    """
    size = size_of(t, at)
    h = numba.int64(size)
    # Below 2**30 throughout: nothing overflows, and there is room for the size in the low half.
    for word in range(at + 1, at + 1 + size):
        bits = (t.bit_sets[word] & 0xFFFFFFFF) ^ ((t.bit_sets[word] >> 32) & 0xFFFFFFFF)
        h = ((h * 31) ^ bits) & 0x3FFFFFFF
    t.bit_sets[at] = size | (h << 32)
    last = t.bit_set_slots.shape[0] - 1
    i = (h ^ (h >> 15)) & last
    # The first word has size and hash, so most sets differ there.
    while t.bit_set_slots[i] >= 0:
        found = numba.int64(t.bit_set_slots[i])
        k = numba.int64(0)
        while k <= size and t.bit_sets[found + k] == t.bit_sets[at + k]:
            k += 1
        if k > size:
            break
        i = (i + 1) & last
    return i


@lean(types.int64(TABLES, types.int64))
def intern_set(t, size):  # type: ignore[no-untyped-def]
    """The number of the set whose `size` words have been written behind those in use.

    There is room for it. An equal set that is known keeps its number, and what was written is left
    to be overwritten.
    """
    at = t.sizes[SIZE_BIT_SET_WORDS]
    t.bit_sets[at] = size
    i = slot_of_set(t, at)
    if t.bit_set_slots[i] < 0:
        t.bit_set_slots[i] = at
        t.sizes[SIZE_BIT_SET_WORDS] += size + 1
        t.sizes[SIZE_BIT_SETS] += 1
    return numba.int64(t.bit_set_slots[i])


@lean(types.void(TABLES, types.int64, types.int64, MASKS, types.boolean))
def store_key_set(t, number, size, bits, always_more):  # type: ignore[no-untyped-def]
    """Write a key set of `size` words down, for whose three bit sets there is room.

    bits: int64[2 * size], the required keys, and then all declared ones. always_more: whether
    others may follow these. Its frames are written by Python when they are first needed.
    """
    for column in range(NO_KEYS, ALL_KEYS + 1):
        at = t.sizes[SIZE_BIT_SET_WORDS]
        for word in range(size):
            place_in = (column - REQUIRED_KEYS) * size + word
            t.bit_sets[at + 1 + word] = 0 if column == NO_KEYS else bits[place_in]
        t.key_sets[number, column] = intern_set(t, size)
    t.key_sets[number, ALWAYS_MORE] = always_more
    for column in range(ONLY_MORE, MORE_OR_END + 1):
        t.key_sets[number, column] = -1
    t.sizes[SIZE_KEY_SETS] = number + 1


@lean(types.void(TABLES))
def rehash_sets(t):  # type: ignore[no-untyped-def]
    """Enter all bit sets in `bit_set_slots`, which is empty and has room for them."""
    at = numba.int64(0)
    while at < t.sizes[SIZE_BIT_SET_WORDS]:
        t.bit_set_slots[slot_of_set(t, at)] = at
        at += size_of(t, at) + 1


@inlined
def note_lookup(t, stack_node, key):  # type: ignore[no-untyped-def]
    """Note that a key was looked up in a stack node, in the course of a walk.

    The walk began at LOOKUP_NODE. Keys of that object, or of one opened in its place (the same
    parent), are noted one by one. Objects opened further in began with no keys: nothing depends on
    them. If the node is further out than the walk's own frame, the signature does not say enough,
    and the answers hold for no other position (LOOKUP_UNIQUE).
    """
    begin = t.lookups[LOOKUP_NODE]
    if begin >= 0:
        parent = t.stack_nodes[stack_node, PARENT]
        above = numba.int64(t.stack_nodes[begin, PARENT])
        if parent == above:
            if LOOKUP_KEYS + (key >> 6) < t.lookups.shape[0]:
                t.lookups[LOOKUP_KEYS + (key >> 6)] |= numba.int64(1) << (key & 63)
        else:
            # Is the object one of those that are open around the walk's frame?
            while above >= 0:
                above = numba.int64(t.stack_nodes[above, PARENT])
                if above == parent:
                    t.lookups[LOOKUP_UNIQUE] = 1


@inlined
def has_seen(t, stack_node, key):  # type: ignore[no-untyped-def]
    """Whether a key has been seen in a stack node; the lookup is noted."""
    note_lookup(t, stack_node, key)
    return contains(t, numba.int64(t.stack_nodes[stack_node, SEEN_KEYS]), key)


@inlined
def has_seen_all(t, stack_node, part):  # type: ignore[no-untyped-def]
    """Whether all keys of the set `part` have been seen in a stack node.

    What is noted is as little as shows the answer: one key that is missing, or else all. Of the set
    with which the walk began, here or further out, the signature has the answer already.
    """
    at, begin = numba.int64(t.stack_nodes[stack_node, SEEN_KEYS]), t.lookups[LOOKUP_NODE]
    noted = (
        begin >= 0
        and t.stack_nodes[begin, SEEN_KEYS] != at
        and t.stack_nodes[begin, PARENT] == t.stack_nodes[stack_node, PARENT]
    )
    missing = numba.int64(0)
    for k in range(1, size_of(t, part) + 1):
        # Lowest missing key alone, or the whole word when nothing is missing in it.
        missing = t.bit_sets[part + k] & ~t.bit_sets[at + k]
        if noted and LOOKUP_KEYS + k - 1 < t.lookups.shape[0]:
            t.lookups[LOOKUP_KEYS + k - 1] |= (
                missing & -missing if missing != 0 else t.bit_sets[part + k]
            )
        if missing != 0:
            break
    return missing == 0


@inner(types.int64(TABLES, types.int64, types.int64))
def apply_key_action(t, stack_node, action):  # type: ignore[no-untyped-def]
    """The frame that MARK_SEEN or CHECK_KEYS leads to << 32 | the keys seen then.

    NEED_SPACE where there is no room for the set; DEAD where the node has no key set, the key was
    seen already, or no key may follow and some are still required. action: its code, as in
    `t.actions`.
    """
    first = (action >> 28) & 0xFFFFFFF
    seen = numba.int64(t.stack_nodes[stack_node, SEEN_KEYS])
    if seen < 0:
        return numba.int64(DEAD)
    if action >> 56 == MARK_SEEN:
        key = action & 0xFFFFFFF
        if has_seen(t, stack_node, key):
            return numba.int64(DEAD)
        # A copy with one more bit, which `intern_set` drops again if an equal set is known.
        size = size_of(t, seen)
        at = t.sizes[SIZE_BIT_SET_WORDS]
        if (
            at + size + 1 > t.bit_sets.shape[0]
            or 2 * t.sizes[SIZE_BIT_SETS] >= t.bit_set_slots.shape[0]
        ):
            return numba.int64(NEED_SPACE)
        for k in range(1, size + 1):
            t.bit_sets[at + k] = t.bit_sets[seen + k]
        t.bit_sets[at + 1 + (key >> 6)] |= numba.int64(1) << (key & 63)
        return (first << 32) | intern_set(t, size)
    # Only a damaged file has a node with the set of another object.
    if size_of(t, seen) != size_of(t, numba.int64(t.key_sets[first, ALL_KEYS])):
        return numba.int64(DEAD)
    more = t.key_sets[first, ALWAYS_MORE] != 0
    # More keys may come while some declared ones are unseen; the object may end once the required
    # ones have been seen. The three frames stand in the order: only more (1), only the end (2),
    # both (3).
    more = more or not has_seen_all(t, stack_node, numba.int64(t.key_sets[first, ALL_KEYS]))
    ends = has_seen_all(t, stack_node, numba.int64(t.key_sets[first, REQUIRED_KEYS]))
    frame = numba.int64(DEAD)
    if more or ends:
        frame = numba.int64(t.key_sets[first, ONLY_MORE - 1 + more + 2 * ends])
    return (frame << 32) | seen if frame >= 0 else numba.int64(DEAD)


call_apply_key_action = called(apply_key_action, AT_KEY_ACTION)
