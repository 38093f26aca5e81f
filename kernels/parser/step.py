"""In: tables, a pair, bytes. Out: the pair after them, or what is missing to say."""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.build.decorators import called, inlined, inner
from structgen.kernels.lexer.rows import call_provide
from structgen.kernels.lexer.words import is_escapable, letter_at
from structgen.kernels.parser.key_sets import call_checked, is_ticked
from structgen.kernels.parser.seen_keys import call_is_taken
from structgen.kernels.parser.stack_nodes import context_of, is_vague, remember
from structgen.kernels.tables import (
    ALIKE,
    ALLOWED,
    ALONE,
    AT_ENDING,
    AT_FIRE,
    AT_HAS_ALLOWED,
    AT_RUN,
    AT_STEP,
    BASE,
    BYTES,
    CHECK,
    CHECKLIST,
    DEAD,
    DEPTH,
    END_LABEL,
    ENTRY,
    FLAGS,
    FRAME,
    GOTO,
    HIGH,
    IN_ESCAPE,
    IN_HEX,
    KEEPS,
    KIND,
    LEXEME,
    LOOKED_AT,
    LOW,
    NEED_EVENT,
    NEED_EXACT,
    NEED_MOVE,
    NOTHING,
    OF,
    ONCE,
    PARENT,
    POP,
    PUSH,
    READ,
    RECALL,
    SKIP_LABEL,
    SOME,
    TABLES,
    TAKEN,
    TICK,
    TICKED,
    UNKNOWN,
    find,
)

MAX_ENDS = 64  # lexemes that end before one byte: far more than any machine has, but an end


@inlined
def recalled(t, ctx, label):  # type: ignore[no-untyped-def]
    """The pair after a label that depends on what `ctx` remembers or keeps, DEAD, or a NEED_*."""
    t.asked[ALONE] = 1
    if t.contexts[ctx, READ] == SOME:
        return numba.int64(NEED_EXACT)
    pair = find(t.events, (ctx << 32) | label)
    if pair == UNKNOWN:
        t.need[0] = ctx
        t.need[1] = label
        return numba.int64(NEED_EVENT)
    return pair


@inlined
def arrive(t, at, source, label, known, vague):  # type: ignore[no-untyped-def]
    """The pair after a move (as in `t.moves`, but no POP) in context `at`; or as `move`.

    source: the context that remembers what has been read, or the one that closed.
    """
    parent = numba.int64(t.contexts[at, PARENT])
    taken = numba.int64(t.contexts[at, TAKEN])
    ticked = numba.int64(t.contexts[at, TICKED])
    kept = numba.int64(t.contexts[at, READ])
    kind = known >> 56
    first = (known >> 28) & 0xFFFFFFF
    if kind == PUSH:
        below = known & 0xFFFFFFF
        waiting = numba.int64(t.contexts[at, BASE])
        if below != t.contexts[at, FRAME]:
            waiting = context_of(t, below, parent, taken, ticked, kept)
            if waiting < 0:
                return waiting
        parent = waiting
        taken = kept = numba.int64(-1)
        checklist = t.frames[first, CHECKLIST]
        ticked = numba.int64(t.checklists[checklist, NOTHING] if checklist >= 0 else -1)
    elif kind == ONCE:
        if vague:
            taken = numba.int64(SOME)
        elif taken == SOME:
            t.asked[ALONE] = 1
            return numba.int64(NEED_EXACT)
        elif call_is_taken(t, at):
            t.asked[ALONE] = 1
            return numba.int64(DEAD)
        else:
            if taken >= 0:
                t.asked[ALONE] = 1
            taken = at
    elif TICK <= kind <= CHECK:
        after = call_checked(t, at, known)
        if after < 0:
            return after
        first = after >> 32
        ticked = after & 0xFFFFFFFF
    if known & KEEPS != 0 and (kind == GOTO or kind == ONCE or kind == RECALL):
        kept = numba.int64(SOME) if vague or is_vague(t, at) or is_vague(t, source) else source
    q = numba.int64(t.frames[first, ENTRY])
    after = context_of(t, first, parent, taken, ticked, kept)
    if after >= 0 and kind == RECALL:
        return recalled(t, after, label)
    return (q << 32) | after if after >= 0 else after


@inlined
def move(t, ctx, label, vague):  # type: ignore[no-untyped-def]
    """The pair after the event `label` in `ctx`, DEAD, or a NEED_* code.

    vague: a text that comes once is known not to have come before, and need not be remembered, and
    a value need not be kept.
    """
    at = source = numba.int64(ctx)
    if label == SKIP_LABEL:
        lexeme = numba.int64(t.frames[t.contexts[at, FRAME], LEXEME])
        if lexeme < 0:  # within masks, how it begins is mostly all that is asked for
            if t.contexts[at, READ] != SOME and (t.asked[OF] < 0 or t.asked[OF] == at):
                return recalled(t, at, label)
            lexeme = -2 - lexeme
        return (lexeme << 32) | at
    while True:
        if t.needs_text[label] == LOOKED_AT:
            return recalled(t, at, label)
        frame = numba.int64(t.contexts[at, FRAME])
        alike = numba.int64(t.frames[frame, ALIKE])
        known = find(t.moves, (alike << 32) | label)
        if known == UNKNOWN:
            t.need[0] = alike
            t.need[1] = label
            return numba.int64(NEED_MOVE)
        if known < 0:
            return numba.int64(DEAD)
        if known >> 56 != POP:
            break
        label = (known >> 28) & 0xFFFFFFF
        source = numba.int64(t.contexts[at, BASE])
        at = numba.int64(t.contexts[at, PARENT])
        if at < 0:
            return numba.int64(DEAD)
    return arrive(t, at, source, label, known, vague)


@inner(types.int64(TABLES, types.int64, types.int64))
def fire(t, ctx, label):  # type: ignore[no-untyped-def]
    """The pair after the event `label` in `ctx`, DEAD, or a NEED_* code."""
    return move(t, ctx, label, False)


call_fire = called(fire, AT_FIRE)


@inner(types.boolean(TABLES, types.int64, types.int64))
def has_allowed(t, ctx, q):  # type: ignore[no-untyped-def]
    """Whether the frame of a context allows one of the names that lexer state `q` begins."""
    frame = t.contexts[ctx, FRAME]
    low, high, bits = t.frames[frame, LOW], t.frames[frame, HIGH], t.frames[frame, ALLOWED]
    ticked = numba.int64(t.contexts[ctx, TICKED])
    within_escape = t.within[q, KIND] == IN_ESCAPE or t.within[q, KIND] == IN_HEX
    for k in range(t.guard[q, 0], t.guard[q, 1]):
        at = t.order[k]
        if (
            low <= at < high
            and (bits < 0 or (t.allowed[bits + (at >> 3)] >> (at & 7)) & 1)
            and (ticked < 0 or not is_ticked(t, ctx, numba.int64(at)))
            and (
                not within_escape
                or is_escapable(t.within[q, FLAGS], letter_at(t, k, t.within[q, DEPTH]))
            )
        ):
            return True
    return False


call_has_allowed = called(has_allowed, AT_HAS_ALLOWED)


@inlined
def lets_through(t, ctx, q):  # type: ignore[no-untyped-def]
    """Whether one of the names that lexer state `q` begins may come in the frame of a context."""
    first = t.guard[q, 0]
    return True if first < 0 else call_has_allowed(t, ctx, q)


@inlined
def read(t, pair, byte):  # type: ignore[no-untyped-def]
    """Read one byte. Returns a pair, DEAD, or a NEED_* code with `t.need[:2]` set."""
    q = pair >> 32
    ctx = pair & 0xFFFFFFFF
    for _ in range(MAX_ENDS):
        if t.filled[q] == 0:
            code = call_provide(t, q)
            if code < 0:
                return code
        target = numba.int64(t.rows[q, byte])
        if target != DEAD:
            break
        label = numba.int64(t.accept[q])
        if label <= END_LABEL:
            return numba.int64(DEAD)
        after = move(t, ctx, label, False)
        if after < 0:
            return after
        q = after >> 32
        ctx = after & 0xFFFFFFFF
    else:
        return numba.int64(DEAD)
    if t.recorded[q] != 0:
        ctx = remember(t, ctx, byte)
        if ctx < 0:
            return ctx
    if target >= 0:
        if not lets_through(t, ctx, target):
            return numba.int64(DEAD)
        return (target << 32) | ctx
    return move(t, ctx, -target - 2, False)


@inner(types.int64(TABLES, types.int64, types.int64))
def step(t, pair, byte):  # type: ignore[no-untyped-def]
    """See `read`."""
    return read(t, pair, byte)


call_step = called(step, AT_STEP)


@inner(types.int64(TABLES, types.int64, BYTES))
def run(t, pair, data):  # type: ignore[no-untyped-def]
    """Read all bytes of `data` (uint8[n], read-only) from `t.need[4]` on.

    Returns a pair, DEAD or NEED_*; then `t.need[4]` is the offset of the byte that could not be
    read and `t.need[5]` the pair before it, so that the caller can go on from there.
    """
    i = t.need[4]
    while i < data.shape[0]:
        after = read(t, pair, numba.int64(data[i]))
        if after < 0:
            t.need[4] = i
            t.need[5] = pair
            return after
        pair = after
        i += 1
    t.need[4] = i
    return pair


call_run = called(run, AT_RUN)


@inner(types.int64(TABLES, types.int64))
def ending(t, pair):  # type: ignore[no-untyped-def]
    """1 if the text may end at `pair`, 0 if not, or a NEED_* code."""
    q = pair >> 32
    ctx = pair & 0xFFFFFFFF
    for _ in range(MAX_ENDS):
        if t.filled[q] == 0:
            code = call_provide(t, q)
            if code < 0:
                return code
        label = numba.int64(t.accept[q])
        if label == END_LABEL:
            return numba.int64(1)
        if label < 0:
            return numba.int64(0)
        after = move(t, ctx, label, False)
        if after == DEAD:
            return numba.int64(0)
        if after < 0:
            return after
        q = after >> 32
        ctx = after & 0xFFFFFFFF
    return numba.int64(0)


call_ending = called(ending, AT_ENDING)


@inlined
def follows(t, pair, byte):  # type: ignore[no-untyped-def]
    """At least 0 if a byte can follow `pair`, else DEAD or a NEED_* code.

    As `step`, but a byte within a lexeme is not remembered: no context is made for the question.
    """
    q = pair >> 32
    if t.filled[q] != 0 and t.rows[q, byte] >= 0:
        if lets_through(t, pair & 0xFFFFFFFF, numba.int64(t.rows[q, byte])):
            return numba.int64(0)
        return numba.int64(DEAD)
    return call_step(t, pair, byte)


@inner(types.int64(TABLES, types.int64))
def only_byte(t, pair):  # type: ignore[no-untyped-def]
    """The byte if exactly one can follow `pair`, -1 if none or several, or a NEED_* code."""
    found = numba.int64(-1)
    for byte in range(256):
        after = follows(t, pair, numba.int64(byte))
        if after >= 0:
            if found >= 0:
                return numba.int64(-1)
            found = numba.int64(byte)
        elif after != DEAD:
            return after
    return found


@inner(types.int64(TABLES, types.int64, types.uint8[::1]))
def next_bytes(t, pair, out):  # type: ignore[no-untyped-def]
    """Set out[b] (uint8[256]) to 1 for each byte that can follow `pair`. Returns 0 or a NEED_*."""
    for byte in range(256):
        after = follows(t, pair, numba.int64(byte))
        if after < DEAD:
            return after
        out[byte] = 1 if after >= 0 else 0
    return numba.int64(0)
