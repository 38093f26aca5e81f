"""Drops threads that no text can finish, as far as that is in doubt.

A thread can become a dead end only because of lookaheads (a longer match must not follow) or, where
that could not be excluded beforehand (CHECKED is ALWAYS), by lexing itself. Cheap searches are
tried here; what they leave open is decided in Python (NEED_VIABLE, NEED_SURE) and memoised.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, folded, inlined, inner, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.grammar.indentation import call_scan_any
from structgen.kernels.grammar.lexer import (
    call_endings,
    call_next_lexer,
    call_next_lookaheads,
    call_union_lookaheads,
)
from structgen.kernels.grammar.records import (
    LOOKAHEADS_VIOLATED,
    REC_START,
    STACKS_ACCEPTING,
    STACKS_LEXER,
)
from structgen.kernels.grammar.tables import (
    AT_SETTLES,
    BEHIND,
    CHECKED,
    GRAMMAR,
    I32_2,
    I64_2,
    INT,
    NEED,
    NEED_SURE,
    NEED_VIABLE,
    REACHED,
    REGION,
    SEARCH,
    THREADS,
    VIABLE,
    call_intern,
    key_of,
    needs_space,
    recall,
    region,
    remember,
)
from structgen.kernels.masks.byte_walk import ENDS_FULL
from structgen.kernels.tables import DEAD, UNKNOWN, hashed, slot_of

BITS_2 = types.uint64[:, ::1]
BREAKS, SETTLES, BEHIND_IT = 0, 1, 2  # lookaheads: none can, the lexeme can, what follows may
NEVER, DOUBTED, ALWAYS = 0, 1, 2  # which threads are checked: none, with lookaheads, all
LOOKAHEADS_OF = (1 << 30) - 1  # the bits of a pair that hold its lookaheads
MOST_LOOKED_AT = 64  # pairs on the way to the end of a lexeme


@lean(INT(GRAMMAR, INT))
def viability_key(t, thread):  # type: ignore[no-untyped-def]
    """The key under which it is memoised whether a thread of region REACHED can be finished."""
    base = region(t, REACHED) + 3 * thread
    if t.work[base + 2] == 0:
        return key_of(VIABLE, t.work[base], t.work[base + 1])
    record = call_intern(t, THREADS, base, 3)
    return record if record < 0 else key_of(VIABLE, 0, record)


@inner(INT(GRAMMAR, INT, INT))
def is_sure(t, lexer, stacks):  # type: ignore[no-untyped-def]
    """1 if all lexemes that a lexer state can become can be finished there, 0 if in doubt.

    Or NEED_SURE. Its key is that of no thread, where the lexer state comes first.
    """
    sure = recall(t, key_of(VIABLE, stacks, lexer))
    if sure == UNKNOWN:
        t.info[NEED] = lexer
        t.info[NEED + 1] = stacks
        return numba.int64(NEED_SURE)
    return sure


@lean(INT(GRAMMAR, INT, INT, INT))
def note_sure(t, lexer, stacks, sure):  # type: ignore[no-untyped-def]
    """Memoise what `is_sure` is to say. Returns it, or NEED_SPACE."""
    return remember(t, key_of(VIABLE, stacks, lexer), sure)


@lean(INT(GRAMMAR, INT, INT))
def decided(t, key, viable):  # type: ignore[no-untyped-def]
    """Memoise whether a thread can be finished (0 or 1). Returns it, or NEED_SPACE."""
    return remember(t, key, viable)


@inlined
def paired(lexer, lookaheads):  # type: ignore[no-untyped-def]
    """A lexer state and lookaheads as one number."""
    return (numba.int64(lexer) << 30) | lookaheads


@inlined
def pair_after(t, lexer, lookaheads, byte_class):  # type: ignore[no-untyped-def]
    """The pair of a lexer state and lookaheads after a byte, DEAD, or NEED_SPACE."""
    after = call_next_lexer(t, lexer, byte_class)
    if after < 0:
        return after
    beyond = call_next_lookaheads(t, lookaheads, byte_class)
    return beyond if beyond < 0 else paired(after, beyond)


@lean(INT(GRAMMAR, INT, INT, I64_2, I64_2, I64_2))
def lexeme_ends(t, lexer, lookaheads, queue, seen, out):  # type: ignore[no-untyped-def]
    """All ways in which the lexeme of a lexer state can end, and the lookaheads left then.

    queue: int64[n, 2], set to the pairs (lexer state, lookaheads) on the way, after their number;
    out: int64[m, 2], set to pairs (TERMINALS, LOOKAHEADS); seen: int64[s, 2], a hash table for
    both, s > 4 (n + m). Returns the number of ends; ENDS_FULL where an array is too short; or
    NEED_SPACE.
    """
    seen[:, :] = -1
    queue[1, 0], queue[1, 1] = lexer, lookaheads
    seen[slot_of(seen, paired(lexer, lookaheads)), 0] = paired(lexer, lookaheads)
    size, count, i = numba.int64(2), numba.int64(0), numba.int64(1)
    while i < size:
        lexer, lookaheads = queue[i, 0], queue[i, 1]
        i += 1
        ends = call_endings(t, lexer)
        if ends < 0:
            return ends
        for j in range(t.heap[ends]):
            both = call_union_lookaheads(t, lookaheads, numba.int64(t.heap[ends + 2 + 2 * j]))
            if both < 0:
                return both
            key = (numba.int64(1) << 61) | (numba.int64(t.heap[ends + 1 + 2 * j]) << 30) | both
            slot = slot_of(seen, key)
            if seen[slot, 0] != key:
                if count >= out.shape[0]:
                    return numba.int64(ENDS_FULL)
                seen[slot, 0] = key
                out[count, 0], out[count, 1] = t.heap[ends + 1 + 2 * j], both
                count += 1
        for byte_class in range(t.next.shape[1]):
            pair = pair_after(t, lexer, lookaheads, byte_class)
            if pair < DEAD:
                return pair
            if pair != DEAD and seen[slot_of(seen, pair), 0] != pair:
                if size >= queue.shape[0]:
                    return numba.int64(ENDS_FULL)
                seen[slot_of(seen, pair), 0] = pair
                queue[size, 0], queue[size, 1] = pair >> 30, pair & LOOKAHEADS_OF
                size += 1
    queue[0, 0] = size - 1
    return count


@lean(types.void(I32_2, BITS_2))
def spread_ends(after, ends):  # type: ignore[no-untyped-def]
    """Add to the ends of each lexer state those of all that it leads to.

    after: int32[states, classes], the state after a byte of each class, -1 for none. ends:
    uint64[states, words], sets as bits.
    """
    changed = True
    while changed:
        changed = False
        for state in range(after.shape[0] - 1, -1, -1):  # most lead to later ones
            for byte_class in range(after.shape[1]):
                other = after[state, byte_class]
                for k in range(ends.shape[1] if other >= 0 else 0):
                    both = ends[state, k] | ends[other, k]
                    changed = changed or both != ends[state, k]
                    ends[state, k] = both


@folded(INT(GRAMMAR, INT, INT, INT))
def queued(t, base, count, pair):  # type: ignore[no-untyped-def]
    """The number of pairs (lexer state, lookaheads) at `base`, with this one among them.

    It is written behind the others where it is not one of them, if the first half of the region is
    not full. The second half is a hash table of their numbers, emptied for the first pair.
    """
    half = t.info[REGION] >> 1
    if count == 0:
        for i in range(half):
            t.work[base + half + i] = 0
    i = hashed(pair) % half
    while t.work[base + half + i] > 0:
        other = base + 2 * (t.work[base + half + i] - 1)
        if paired(t.work[other], t.work[other + 1]) == pair:
            return count
        i = i + 1 if i + 1 < half else numba.int64(0)
    if 2 * count + 2 <= half:
        t.work[base + half + i] = count + 1
        t.work[base + 2 * count] = pair >> 30
        t.work[base + 2 * count + 1] = pair & LOOKAHEADS_OF
    return count + 1


@inlined
def is_full(t, count):  # type: ignore[no-untyped-def]
    """Whether a region does not hold so many pairs (see `queued`)."""
    return 2 * count > t.info[REGION] >> 1


@inner(INT(GRAMMAR, INT))
def can_be_satisfied(t, lookaheads):  # type: ignore[no-untyped-def]
    """1 if some bytes, whatever they are, or the end of the text satisfy all lookaheads, else 0.

    Or NEED_SPACE. A breadth-first search.
    """
    base = region(t, BEHIND)
    count, i = queued(t, base, numba.int64(0), lookaheads), numba.int64(0)
    while i < count:
        lookaheads = numba.int64(t.work[base + 2 * i + 1])
        i += 1
        if t.rec[lookaheads, LOOKAHEADS_VIOLATED] == 0:
            return numba.int64(1)
        for byte_class in range(t.next.shape[1]):
            after = call_next_lookaheads(t, lookaheads, byte_class)
            if after == 0:
                return numba.int64(1)
            if after < DEAD:
                return after
            if after > 0:
                count = queued(t, base, count, after)
                if is_full(t, count):
                    return needs_space(t, REGION)
    return numba.int64(0)


@inner(INT(GRAMMAR, INT, INT))
def settles(t, lexer, lookaheads):  # type: ignore[no-untyped-def]
    """Whether some bytes of the lexeme satisfy all lookaheads: SETTLES, else BEHIND_IT or BREAKS.

    BEHIND_IT: what is read behind the lexeme may do so. Or NEED_SPACE. A breadth-first search over
    pairs of lexer state and lookaheads.
    """
    base = region(t, SEARCH)
    found = numba.int64(BREAKS)
    count, i = queued(t, base, numba.int64(0), paired(lexer, lookaheads)), numba.int64(0)
    while i < count:
        lexer, lookaheads = numba.int64(t.work[base + 2 * i]), numba.int64(t.work[base + 2 * i + 1])
        i += 1
        ends = call_endings(t, lexer)
        if ends < 0:
            return ends
        if found == BREAKS and (t.heap[ends] > 0 or t.heap[t.rec[lexer, REC_START]] < 0):
            well = can_be_satisfied(t, lookaheads)
            if well < 0:
                return well
            if well == 1:
                found = numba.int64(BEHIND_IT)
        for byte_class in range(t.next.shape[1]):
            pair = pair_after(t, lexer, lookaheads, byte_class)
            if pair < DEAD:
                return pair
            if pair == DEAD:
                continue
            if pair & LOOKAHEADS_OF == 0:
                return numba.int64(SETTLES)
            count = queued(t, base, count, pair)
            if is_full(t, count):
                return needs_space(t, REGION)
    return found


@inner(INT(GRAMMAR, INT, INT))
def cached_settles(t, lexer, lookaheads):  # type: ignore[no-untyped-def]
    """`settles`, memoised: its key is that of no thread, which has stacks behind the lexer."""
    key = key_of(VIABLE, lexer, lookaheads)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    found = settles(t, lexer, lookaheads)
    return found if found < 0 else remember(t, key, found)


call_cached_settles = called(cached_settles, AT_SETTLES)


@inner(INT(GRAMMAR, INT, INT))
def can_go_on(t, stacks, lookaheads):  # type: ignore[no-untyped-def]
    """1 if lookaheads allow the text to end at stacks, or one byte satisfies them, else 0.

    Or NEED_SPACE.
    """
    if t.rec[stacks, STACKS_ACCEPTING] == 1 and (
        lookaheads == 0 or t.rec[lookaheads, LOOKAHEADS_VIOLATED] == 0
    ):
        return numba.int64(1)
    for byte_class in range(t.next.shape[1]):
        left = call_next_lookaheads(t, lookaheads, byte_class)
        if left == 0:
            left = call_next_lexer(t, numba.int64(t.rec[stacks, STACKS_LEXER]), byte_class)
            if left >= 0:
                return numba.int64(1)
        if left < DEAD:
            return left
    return numba.int64(0)


@inner(INT(GRAMMAR, INT, INT, INT))
def ends_well(t, lexer, stacks, lookaheads):  # type: ignore[no-untyped-def]
    """1 if a lexeme can end where its lookaheads are satisfied at once; 0 if none is found; a code.

    A breadth-first search over pairs of lexer state and lookaheads, as far as a few of them. Where
    all threads without lookaheads can be finished, so can this one then.
    """
    base = region(t, SEARCH)
    count, i = queued(t, base, numba.int64(0), paired(lexer, lookaheads)), numba.int64(0)
    while i < count:
        lexer, lookaheads = numba.int64(t.work[base + 2 * i]), numba.int64(t.work[base + 2 * i + 1])
        i += 1
        ends = call_endings(t, lexer)
        if ends < 0:
            return ends
        for j in range(t.heap[ends]):
            both = call_union_lookaheads(t, lookaheads, numba.int64(t.heap[ends + 2 + 2 * j]))
            if both < 0:
                return both
            beyond = call_scan_any(t, stacks, numba.int64(t.heap[ends + 1 + 2 * j]))
            well = beyond if beyond < 0 else can_go_on(t, beyond, both)
            if well < DEAD or well == 1:
                return well
        for byte_class in range(t.next.shape[1]):
            pair = pair_after(t, lexer, lookaheads, byte_class)
            if pair < DEAD:
                return pair
            if pair != DEAD and count < MOST_LOOKED_AT:
                count = queued(t, base, count, pair)
    return numba.int64(0)


@inner(INT(GRAMMAR, INT))
def is_viable(t, thread):  # type: ignore[no-untyped-def]
    """Whether a thread of region REACHED can be finished: 1 or 0; NEED_VIABLE, or NEED_SPACE."""
    key = viability_key(t, thread)
    if key < 0:
        return key
    viable = recall(t, key)
    if viable != UNKNOWN:
        return viable
    base = region(t, REACHED) + 3 * thread
    lexer, stacks = numba.int64(t.work[base]), numba.int64(t.work[base + 1])
    lookaheads = numba.int64(t.work[base + 2])
    if t.info[CHECKED] == DOUBTED:
        well = ends_well(t, lexer, stacks, lookaheads)
        if well != 0:
            return well if well < 0 else remember(t, key, 1)
    t.info[NEED], t.info[NEED + 1], t.info[NEED + 2] = lexer, stacks, lookaheads
    return numba.int64(NEED_VIABLE)


@inner(INT(GRAMMAR, INT))
def finishable(t, count):  # type: ignore[no-untyped-def]
    """Keep the threads in region REACHED that some text finishes: their number."""
    base = region(t, REACHED)
    kept = numba.int64(0)
    for i in range(count):
        viable = numba.int64(1)
        stacks = numba.int64(t.work[base + 3 * i + 1])
        doubtful = t.work[base + 3 * i + 2] != 0
        if t.info[CHECKED] == ALWAYS and not doubtful:
            sure = is_sure(t, numba.int64(t.rec[stacks, STACKS_LEXER]), stacks)
            if sure < 0:
                return sure
            doubtful = sure == 0
        elif doubtful and t.info[CHECKED] == DOUBTED:
            lexer, lookaheads = numba.int64(t.work[base + 3 * i]), t.work[base + 3 * i + 2]
            settling = call_cached_settles(t, lexer, numba.int64(lookaheads))
            if settling < 0:
                return settling
            if settling == BREAKS:
                continue
            doubtful = settling == BEHIND_IT
        if doubtful:
            viable = is_viable(t, i)
            if viable < 0:
                return viable
        if viable == 1:
            for k in range(3):
                t.work[base + 3 * kept + k] = t.work[base + 3 * i + k]
            kept += 1
    return kept
