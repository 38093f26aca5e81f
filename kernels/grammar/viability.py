"""In: tables, threads. Out: those that some text finishes, as far as that is in doubt."""

from __future__ import annotations

import numba

from structgen.kernels.build.decorators import called, folded, inlined, inner, lean
from structgen.kernels.grammar.indentation import call_scan_any
from structgen.kernels.grammar.lexer import (
    call_both_watches,
    call_endings,
    call_next_lexer,
    call_next_watches,
)
from structgen.kernels.grammar.tables import (
    AT_SETTLED,
    BEHIND,
    CHECKED,
    GRAMMAR,
    I64_2,
    INT,
    NEED,
    NEED_SURE,
    NEED_VERDICT,
    REACHED,
    REGION,
    SEARCH,
    THREADS,
    VERDICT,
    call_intern,
    key_of,
    lacks,
    recall,
    region,
    remember,
)
from structgen.kernels.masks.byte_walk import ENDS_FULL
from structgen.kernels.tables import DEAD, UNKNOWN, slot_of

BREAKS, SETTLES, BEHIND_IT = 0, 1, 2  # what can become of watches
NEVER, DOUBTED, ALWAYS = 0, 1, 2  # which threads are asked about: none, with watches, all
WATCHES_OF = (1 << 30) - 1  # the bits of a pair that hold its watches
MOST_LOOKED_AT = 64  # pairs on the way to the end of a lexeme


@lean(INT(GRAMMAR, INT))
def verdict_key(t, thread):  # type: ignore[no-untyped-def]
    """The key under which it is kept whether a thread of region REACHED can be finished."""
    base = region(t, REACHED) + 3 * thread
    if t.work[base + 2] == 0:
        return key_of(VERDICT, t.work[base], t.work[base + 1])
    record = call_intern(t, THREADS, base, 3)
    return record if record < 0 else key_of(VERDICT, 0, record)


@inner(INT(GRAMMAR, INT, INT))
def is_sure(t, lexer, stacks):  # type: ignore[no-untyped-def]
    """1 if all lexemes that a lexer state can become can be finished there, 0 if that is in doubt.

    Or NEED_SURE. Its key is that of no thread, where the lexer state comes first.
    """
    sure = recall(t, key_of(VERDICT, stacks, lexer))
    if sure == UNKNOWN:
        t.info[NEED] = lexer
        t.info[NEED + 1] = stacks
        return numba.int64(NEED_SURE)
    return sure


@lean(INT(GRAMMAR, INT, INT, INT))
def note_sure(t, lexer, stacks, sure):  # type: ignore[no-untyped-def]
    """Keep what `is_sure` says. Returns it, or NEED_SPACE."""
    return remember(t, key_of(VERDICT, stacks, lexer), sure)


@lean(INT(GRAMMAR, INT, INT))
def decided(t, key, verdict):  # type: ignore[no-untyped-def]
    """Keep a verdict (0 or 1) under the key of its thread. Returns it, or NEED_SPACE."""
    return remember(t, key, verdict)


@inlined
def paired(lexer, watches):  # type: ignore[no-untyped-def]
    """A lexer state and watches as one number."""
    return (numba.int64(lexer) << 30) | watches


@inlined
def pair_after(t, lexer, watches, kind):  # type: ignore[no-untyped-def]
    """The pair of a lexer state and watches after a byte, DEAD, or NEED_SPACE."""
    after = call_next_lexer(t, lexer, kind)
    if after < 0:
        return after
    beyond = call_next_watches(t, watches, kind)
    return beyond if beyond < 0 else paired(after, beyond)


@lean(INT(GRAMMAR, INT, INT, I64_2, I64_2, I64_2))
def lexeme_ends(t, lexer, watches, queue, seen, out):  # type: ignore[no-untyped-def]
    """All ways in which the lexeme of a lexer state can end, and what watches are left then.

    queue: int64[n, 2], set to the pairs (lexer state, watches) on the way, after their number;
    out: int64[m, 2], set to pairs (TERMINALS, WATCHES); seen: int64[s, 2], a hash table for both,
    s > 4 (n + m). Returns the number of ends; ENDS_FULL where an array is too short; or NEED_SPACE.
    """
    seen[:, :] = -1
    queue[1, 0], queue[1, 1] = lexer, watches
    seen[slot_of(seen, paired(lexer, watches)), 0] = paired(lexer, watches)
    size, count, i = numba.int64(2), numba.int64(0), numba.int64(1)
    while i < size:
        lexer, watches = queue[i, 0], queue[i, 1]
        i += 1
        ends = call_endings(t, lexer)
        if ends < 0:
            return ends
        for j in range(t.heap[ends]):
            both = call_both_watches(t, watches, numba.int64(t.heap[ends + 2 + 2 * j]))
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
        for kind in range(t.next.shape[1]):
            pair = pair_after(t, lexer, watches, kind)
            if pair < DEAD:
                return pair
            if pair != DEAD and seen[slot_of(seen, pair), 0] != pair:
                if size >= queue.shape[0]:
                    return numba.int64(ENDS_FULL)
                seen[slot_of(seen, pair), 0] = pair
                queue[size, 0], queue[size, 1] = pair >> 30, pair & WATCHES_OF
                size += 1
    queue[0, 0] = size - 1
    return count


@inner(INT(GRAMMAR, INT))
def may_turn_out_well(t, watches):  # type: ignore[no-untyped-def]
    """1 if some bytes, whatever they are, or the end of the text break no watch, else 0.

    Or NEED_SPACE. A breadth-first search.
    """
    base = region(t, BEHIND)
    t.work[base] = watches
    count = numba.int64(1)
    i = numba.int64(0)
    while i < count:
        watches = numba.int64(t.work[base + i])
        i += 1
        if t.rec[watches, 4] == 0:
            return numba.int64(1)
        for kind in range(t.next.shape[1]):
            after = call_next_watches(t, watches, kind)
            if after == 0:
                return numba.int64(1)
            if after < DEAD:
                return after
            if after > 0:
                seen = False
                for j in range(count):
                    if t.work[base + j] == after:
                        seen = True
                if not seen:
                    if count >= t.info[REGION]:
                        return lacks(t, REGION)
                    t.work[base + count] = after
                    count += 1
    return numba.int64(0)


@folded(INT(GRAMMAR, INT, INT, INT))
def queued(t, base, count, pair):  # type: ignore[no-untyped-def]
    """How many pairs of lexer state and watches stand at `base`, with this one among them.

    It is written behind the others, if there is room, where it is not one of them.
    """
    for j in range(count):
        if paired(t.work[base + 2 * j], t.work[base + 2 * j + 1]) == pair:
            return count
    if 2 * count + 2 <= t.info[REGION]:
        t.work[base + 2 * count] = pair >> 30
        t.work[base + 2 * count + 1] = pair & WATCHES_OF
    return count + 1


@inner(INT(GRAMMAR, INT, INT))
def settles(t, lexer, watches):  # type: ignore[no-untyped-def]
    """Whether some bytes of the lexeme leave no watch: SETTLES, else BEHIND_IT or BREAKS.

    BEHIND_IT: what is read behind the lexeme may do so. Or NEED_SPACE. A breadth-first search over
    pairs of lexer state and watches.
    """
    base = region(t, SEARCH)
    found = numba.int64(BREAKS)
    t.work[base], t.work[base + 1] = lexer, watches
    count = numba.int64(1)
    i = numba.int64(0)
    while i < count:
        lexer, watches = numba.int64(t.work[base + 2 * i]), numba.int64(t.work[base + 2 * i + 1])
        i += 1
        ends = call_endings(t, lexer)
        if ends < 0:
            return ends
        if found == BREAKS and (t.heap[ends] > 0 or t.heap[t.rec[lexer, 0]] < 0):
            well = may_turn_out_well(t, watches)
            if well < 0:
                return well
            if well == 1:
                found = numba.int64(BEHIND_IT)
        for kind in range(t.next.shape[1]):
            pair = pair_after(t, lexer, watches, kind)
            if pair < DEAD:
                return pair
            if pair == DEAD:
                continue
            if pair & WATCHES_OF == 0:
                return numba.int64(SETTLES)
            count = queued(t, base, count, pair)
            if 2 * count > t.info[REGION]:
                return lacks(t, REGION)
    return found


@inner(INT(GRAMMAR, INT, INT))
def settled(t, lexer, watches):  # type: ignore[no-untyped-def]
    """`settles`, remembered: its key is that of no thread, which has stacks behind the lexer."""
    key = key_of(VERDICT, lexer, watches)
    known = recall(t, key)
    if known != UNKNOWN:
        return known
    found = settles(t, lexer, watches)
    return found if found < 0 else remember(t, key, found)


call_settled = called(settled, AT_SETTLED)


@inner(INT(GRAMMAR, INT, INT))
def lets_on(t, stacks, watches):  # type: ignore[no-untyped-def]
    """1 if watches fail neither if the text ends at stacks nor, for good, if some byte is read."""
    if t.rec[stacks, 4] == 1 and (watches == 0 or t.rec[watches, 4] == 0):
        return numba.int64(1)
    for kind in range(t.next.shape[1]):
        left = call_next_watches(t, watches, kind)
        if left == 0:
            left = call_next_lexer(t, numba.int64(t.rec[stacks, 6]), kind)
            if left >= 0:
                return numba.int64(1)
        if left < DEAD:
            return left
    return numba.int64(0)


@inner(INT(GRAMMAR, INT, INT, INT))
def ends_well(t, lexer, stacks, watches):  # type: ignore[no-untyped-def]
    """1 if a lexeme can end where its watches are settled at once, 0 if that is not found; a code.

    A breadth-first search over pairs of lexer state and watches, as far as a few of them. Where all
    threads without watches can be finished, so can this one then.
    """
    base = region(t, SEARCH)
    t.work[base], t.work[base + 1] = lexer, watches
    count = numba.int64(1)
    i = numba.int64(0)
    while i < count:
        lexer, watches = numba.int64(t.work[base + 2 * i]), numba.int64(t.work[base + 2 * i + 1])
        i += 1
        ends = call_endings(t, lexer)
        if ends < 0:
            return ends
        for j in range(t.heap[ends]):
            both = call_both_watches(t, watches, numba.int64(t.heap[ends + 2 + 2 * j]))
            if both < 0:
                return both
            beyond = call_scan_any(t, stacks, numba.int64(t.heap[ends + 1 + 2 * j]))
            well = beyond if beyond < 0 else lets_on(t, beyond, both)
            if well < DEAD or well == 1:
                return well
        for kind in range(t.next.shape[1]):
            pair = pair_after(t, lexer, watches, kind)
            if pair < DEAD:
                return pair
            if pair != DEAD and count < MOST_LOOKED_AT:
                count = queued(t, base, count, pair)
    return numba.int64(0)


@inner(INT(GRAMMAR, INT))
def verdict_of(t, thread):  # type: ignore[no-untyped-def]
    """Whether a thread of region REACHED can be finished: 1 or 0; NEED_VERDICT, or NEED_SPACE."""
    key = verdict_key(t, thread)
    if key < 0:
        return key
    verdict = recall(t, key)
    if verdict != UNKNOWN:
        return verdict
    base = region(t, REACHED) + 3 * thread
    lexer, stacks = numba.int64(t.work[base]), numba.int64(t.work[base + 1])
    watches = numba.int64(t.work[base + 2])
    if t.info[CHECKED] == DOUBTED:
        well = ends_well(t, lexer, stacks, watches)
        if well != 0:
            return well if well < 0 else remember(t, key, 1)
    t.info[NEED], t.info[NEED + 1], t.info[NEED + 2] = lexer, stacks, watches
    return numba.int64(NEED_VERDICT)


@inner(INT(GRAMMAR, INT))
def finishable(t, count):  # type: ignore[no-untyped-def]
    """Keep the threads in region REACHED that some text finishes: their number."""
    base = region(t, REACHED)
    kept = numba.int64(0)
    for i in range(count):
        verdict = numba.int64(1)
        stacks = numba.int64(t.work[base + 3 * i + 1])
        doubtful = t.work[base + 3 * i + 2] != 0
        if t.info[CHECKED] == ALWAYS and not doubtful:
            sure = is_sure(t, numba.int64(t.rec[stacks, 6]), stacks)
            if sure < 0:
                return sure
            doubtful = sure == 0
        elif doubtful and t.info[CHECKED] == DOUBTED:
            lexer, watches = numba.int64(t.work[base + 3 * i]), t.work[base + 3 * i + 2]
            settling = call_settled(t, lexer, numba.int64(watches))
            if settling < 0:
                return settling
            if settling == BREAKS:
                continue
            doubtful = settling == BEHIND_IT
        if doubtful:
            verdict = verdict_of(t, i)
            if verdict < 0:
                return verdict
        if verdict == 1:
            for k in range(3):
                t.work[base + 3 * kept + k] = t.work[base + 3 * i + k]
            kept += 1
    return kept
