"""In: tables from a file. Out: whether kernels may read them, and rows from their stored form.

A stored row of a lexer state is a list of runs, each a first byte and what all bytes from there to
the next run do: a dozen where the row has 256 entries.
"""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.parser.key_sets import size_of
from structgen.kernels.tables import (
    ALIKE,
    ALLOWED,
    BASE,
    BEGIN,
    BEGUN,
    BYTE,
    CAME,
    CHECK,
    CHECKLIST,
    CHILD,
    DEAD,
    DEPTH,
    END,
    ENDLESS,
    ENTRY,
    FIRST,
    FRAME,
    GOTO,
    GRID,
    HIGH,
    I32,
    KIND,
    LABEL,
    LAST,
    LEFT,
    LEXEME,
    NEXT,
    OUTLOOK,
    OWNER,
    PARENT,
    PLAIN,
    POP,
    READ,
    RECALL,
    REST,
    SKIP_LABEL,
    SPANS_LATER,
    SPANS_TEXT,
    TABLES,
    TAKEN,
    TICK,
    TICKED,
    U8,
)


@inlined
def is_hash(used, slots, entries):  # type: ignore[no-untyped-def]
    """Whether a hash table has a power of two of slots, at most half of them used, as it says."""
    return used == entries and slots > 0 and slots & (slots - 1) == 0 and 2 * used <= slots


@inlined
def _unsound_hashes(t, labels):  # type: ignore[no-untyped-def]
    states, frames, contexts = t.filled.shape[0], t.frames.shape[0], t.contexts.shape[0]
    used = 0
    for k in range(t.events.shape[0]):
        pair = t.events[k, 1]
        if t.events[k, 0] != -1:
            used += 1
            if pair < -1 or (pair >= 0 and not (pair >> 32 < states)):
                return numba.int64(23)
            if pair >= 0 and not ((pair & 0xFFFFFFFF) < contexts):
                return numba.int64(23)
    if not is_hash(used, t.events.shape[0], t.sizes[2]):
        return numba.int64(23)
    used = 0
    for k in range(t.moves.shape[0]):
        code = t.moves[k, 1]
        if t.moves[k, 0] == -1:
            continue
        used += 1
        kind, first, second = code >> 56, (code >> 28) & 0xFFFFFFF, code & 0xFFFFFFF
        if code == DEAD:
            continue
        if t.moves[k, 0] & 0xFFFFFFFF <= SKIP_LABEL:  # what is foretold, see `openings`
            if not 0 <= code >> 28 < states:
                return numba.int64(15)
            continue
        if not GOTO <= kind <= RECALL or (kind != TICK and second >= frames):
            return numba.int64(15)
        if first >= (labels if kind == POP else t.sizes[12] if kind == CHECK else frames):
            return numba.int64(15)
    if not is_hash(used, t.moves.shape[0], t.sizes[4]):
        return numba.int64(15)
    return numba.int64(0)


@inlined
def _unsound_words(t, labels):  # type: ignore[no-untyped-def]
    if not 0 <= t.sizes[5] <= min(t.order.shape[0], t.words.shape[0]) or t.order.shape[0] == 0:
        return numba.int64(26)
    if not 0 <= t.sizes[7] <= t.letters.shape[0] or not 0 <= t.sizes[8] <= t.allowed.shape[0]:
        return numba.int64(26)
    for k in range(t.sizes[5]):
        if t.order[k] < 0:
            return numba.int64(7)
        if not 0 <= t.words[k, BEGIN] <= t.words[k, END] <= t.sizes[7]:
            return numba.int64(9)
        if not 0 <= t.words[k, LABEL] < labels:
            return numba.int64(9)
    for k in range(t.sizes[7]):
        if not 0 <= t.letters[k] <= 0x10FFFF:
            return numba.int64(10)
    return numba.int64(0)


@inlined
def _unsound_spans(t):  # type: ignore[no-untyped-def]
    states, size = t.filled.shape[0], t.alike.shape[0]
    if not 0 <= t.sizes[9] <= t.spans.shape[0]:
        return numba.int64(26)
    for k in range(t.sizes[9]):
        if not 0 <= t.spans[k, 0] <= t.spans[k, 1] <= 0x10FFFF:
            return numba.int64(12)
        if not 0 <= t.spans[k, 2] < states:
            return numba.int64(12)
    if size == 0 or size & (size - 1) != 0:
        return numba.int64(13)
    for k in range(size):
        if not -1 <= t.alike[k] < states:
            return numba.int64(13)
    return numba.int64(0)


@inlined
def is_kept(t, at):  # type: ignore[no-untyped-def]
    """Whether a set begins at `at`, where the sets that begin at those in `same` are sound."""
    if not 0 <= at < t.sizes[10]:
        return False
    last = t.same.shape[0] - 1
    h = (t.sets[at] >> 32) & 0x3FFFFFFF
    i = (h ^ (h >> 15)) & last
    while t.same[i] >= 0:
        if t.same[i] == at:
            return True
        i = (i + 1) & last
    return False


@inlined
def _unsound_checklists(t):  # type: ignore[no-untyped-def]
    frames, used, count = t.frames.shape[0], t.sizes[10], numba.int64(0)
    if not 0 <= t.sizes[12] <= t.checklists.shape[0] or not 0 <= used <= t.sets.shape[0]:
        return numba.int64(26)
    for k in range(t.same.shape[0]):
        if not -1 <= t.same[k] < used:
            return numba.int64(18)
        count += t.same[k] >= 0
    if not is_hash(count, t.same.shape[0], t.sizes[11]):
        return numba.int64(18)
    at = numba.int64(0)
    while at < used:  # those in `same` are all, and each is one
        count -= 1
        if t.sets[at] < 0 or at + size_of(t, at) >= used or not is_kept(t, at):
            return numba.int64(17)
        at += size_of(t, at) + 1
    if count != 0:
        return numba.int64(18)
    for c in range(t.sizes[12]):
        for column in range(ENDLESS):
            if not is_kept(t, numba.int64(t.checklists[c, column])):
                return numba.int64(16)
        for column in range(ENDLESS + 1, t.checklists.shape[1]):
            if not -1 <= t.checklists[c, column] < frames:
                return numba.int64(16)
    return numba.int64(0)


@inlined
def is_within(t, q, states, labels):  # type: ignore[no-untyped-def]
    """Whether what is said of a state that kernels fill leads to no place outside the tables."""
    kind, rest = t.within[q, KIND], t.within[q, REST]
    if kind == 0:
        return t.within[q, OWNER] < 0 and -1 <= rest < states
    if not (-1 <= t.within[q, OWNER] < q and -1 <= t.within[q, CAME] < q):
        return False
    first, last = t.within[q, FIRST], t.within[q, LAST]
    if kind >= SPANS_TEXT:
        return (
            kind <= SPANS_LATER
            and 0 <= first <= last <= t.sizes[9]
            and 0 <= t.within[q, LEFT] <= 4
            and -1 <= t.within[q, CHILD] < (labels if kind == SPANS_TEXT else states)
            and -1 <= t.within[q, NEXT] < q
        )
    return (
        kind > 0
        and 0 <= first < last <= t.sizes[5]
        and t.within[q, DEPTH] >= 0
        and -1 <= rest < states
        and (rest < 0 or t.within[rest, KIND] == 0 or t.within[rest, KIND] >= SPANS_TEXT)
        and 0 <= t.within[q, LEFT] <= 4
        and 0 <= t.within[q, CHILD] <= states
        and 0 <= t.within[q, BYTE] < 256
    )


@lean(types.int64(TABLES, types.int64))
def unsound(t, labels):  # type: ignore[no-untyped-def]
    """0 if no number leads a kernel outside the tables or round in a circle.

    Else which table is at fault: its place in `Tables`, counted from 1. The rows are not looked at.
    """
    states, frames, contexts = t.filled.shape[0], t.frames.shape[0], t.contexts.shape[0]
    if t.sizes[0] != contexts or t.origin.shape[0] != contexts:
        return numba.int64(26)
    if t.sizes[6] != states or t.sizes[1] != 0 or t.sizes[13] != 0:
        return numba.int64(26)
    fault = _unsound_words(t, labels)
    if fault == 0:
        fault = _unsound_spans(t)
    if fault == 0:
        fault = _unsound_checklists(t)
    if fault != 0:
        return fault
    for q in range(states):
        if not -1 <= t.accept[q] < labels:
            return numba.int64(3)
        if t.guard[q, 0] < -1 or t.guard[q, 1] > t.sizes[5]:
            return numba.int64(6)
        if not is_within(t, q, states, labels):
            return numba.int64(8)
    for f in range(frames):
        lexeme = numba.int64(t.frames[f, LEXEME])
        lexeme = lexeme if lexeme >= 0 else -2 - lexeme
        if not 0 <= t.frames[f, ENTRY] < states or not 0 <= lexeme < states:
            return numba.int64(14)
        bits, high = t.frames[f, ALLOWED], t.frames[f, HIGH]
        if not -1 <= t.frames[f, CHECKLIST] < t.sizes[12] or not 0 <= t.frames[f, ALIKE] < frames:
            return numba.int64(14)
        if not 0 <= t.frames[f, BEGUN] < frames or not 0 <= t.frames[f, PLAIN] < states:
            return numba.int64(14)
        if bits < -1 or (bits >= 0 and bits + (max(high, 1) + 7 >> 3) > t.sizes[8]):
            return numba.int64(14)
    for c in range(contexts):
        if not 0 <= t.contexts[c, FRAME] < frames or not -1 <= t.contexts[c, PARENT] < c:
            return numba.int64(19)
        if t.contexts[c, TAKEN] >= c or t.contexts[c, READ] >= c:
            return numba.int64(19)
        if not 0 <= t.contexts[c, BASE] <= c:
            return numba.int64(19)
        if t.origin[c] < -1 or t.origin[c] >> 8 >= c:
            return numba.int64(20)
        if t.contexts[c, OUTLOOK] != -1:
            return numba.int64(19)
        if t.contexts[c, TICKED] >= 0 and not is_kept(t, numba.int64(t.contexts[c, TICKED])):
            return numba.int64(19)
    used = 0
    for k in range(t.interned.shape[0]):
        if not -1 <= t.interned[k] < contexts:
            return numba.int64(21)
        used += t.interned[k] >= 0
    if not is_hash(used, t.interned.shape[0], t.sizes[3]):
        return numba.int64(21)
    return _unsound_hashes(t, labels)


RUNS = [GRID, U8, I32, U8, I32]


@lean(types.boolean(*RUNS, *[types.int64] * 4))
def unpack(rows, filled, starts, firsts, targets, begin, end, states, labels):  # type: ignore[no-untyped-def]
    """Write rows `begin` to `end` and mark them as filled; False if the runs are not sound.

    starts: int32[Q + 1], the runs of row q are starts[q] to starts[q + 1], none for a row that was
    not filled. firsts: uint8[n], the first byte of each run, ascending within a row. targets:
    int32[n], as in the rows.
    """
    for q in range(begin, end):
        a, b = starts[q], starts[q + 1]
        if a == b or filled[q] != 0:
            continue
        if not 0 <= a < b <= firsts.shape[0] or firsts[a] != 0:
            return False
        for k in range(a, b):
            last = 256 if k + 1 == b else numba.int64(firsts[k + 1])
            if last <= firsts[k] or not -labels - 2 < targets[k] < states:
                return False
            for byte in range(firsts[k], last):
                rows[q, byte] = targets[k]
        filled[q] = 1
    return True
