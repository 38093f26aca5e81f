"""In: a position. Out: one that has the same row, or in what its row differs from one made before.

All that a row depends on is noted while it is found out (see `outlook`), so that for most positions
one look at what is known will do; of the others, most differ from a row made before in words in
which another one did.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.build.decorators import inlined, kernel, lean, loader, stored
from structgen.kernels.build.pointers import reference
from structgen.kernels.masks.entry_points import (
    ALONE_HERE,
    ENDS,
    FRESH,
    LOOKED,
    SCRATCH_AT,
    SHIFT,
    make,
    scratch_at,
    tables_at,
)
from structgen.kernels.masks.lexeme_walk import Rests
from structgen.kernels.masks.mask_cache import (
    BEGUN,
    CHANGED,
    COUNT,
    ENTERS,
    KEY,
    LOOKS,
    PAIR,
    PLAN,
    SAID,
    SCALAR,
    SIZE,
    USED,
    VALUE,
    keep,
    known_at,
    number_of,
)
from structgen.kernels.masks.row_edits import apply
from structgen.kernels.parser.key_sets import size_of
from structgen.kernels.parser.stack_signature import outlook
from structgen.kernels.parser.step import call_fire
from structgen.kernels.tables import (
    DEAD,
    FLAGS,
    FRAME,
    HASH,
    I64,
    INTS,
    KEYS,
    KIND,
    OF,
    OWNER,
    PLAIN,
    POSITIONS,
    REST,
    SCALARS,
    SKIP_LABEL,
    SPANS_TEXT,
    TICKED,
    UNKNOWN,
    find,
    slot_of,
)

ANEW, IN_ANY_CASE = 1, 2  # how `seek` goes about it
AGAIN = -16  #: codes below it ask to be called ANEW when what they need is there
NEED_SAID = -17  #: what there is to say of the lexer state of the position
NEED_PLAN = -18  #: plan number need[0], see `planned` for what follows it in `need`
NEED_ROOM = -19  #: for more records
NEED_LOOKS = -20  #: room for more outlooks
NEED_LEXEME = -21  #: what SKIP does at the position, which depends on what is kept
RECORDS = 4  # that a walk makes at most
MAX_WAYS = 16  # in which what is looked up beside an outlook is remembered
ALIKE, NOTED, TICKED_OFF, SAME = 0, 1, 2, 3  # what a key begins with
OWN, OF_KEYS, OF_WORDS = 0, 1, 2  # kinds of plans: for one lexer state, or for many
INSIDE, AROUND, PARTS, NUMBER = 0, 1, 2, 3  # places of `numbers`


class Plan(NamedTuple):
    """How to find the tokens of a lexer state. base: int32[words], see `doors.make`.

    numbers: int64[4], three more of its arguments, and what tells the base from others.
    """

    base: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.int64]


PLAN_TYPE = reference(types.NamedTuple([INTS, I64], Plan))
plan_at = loader(PLAN_TYPE)


@lean(types.void(HASH, types.int64, types.int64, PLAN_TYPE.kind))
def keep_plan(plans, key, address, plan):  # type: ignore[no-untyped-def]
    """Write a plan down at an address, and that in the table of plans, where there is room."""
    stored(address, plan)
    i = slot_of(plans, key)
    plans[i, 0] = key
    plans[i, 1] = address


@inlined
def alike(known, way):  # type: ignore[no-untyped-def]
    """Write down the key of a way in which things were looked up; its size."""
    known.key[0] = ALIKE
    known.key[1] = known.sizes[BEGUN]
    known.key[2] = known.sizes[LOOKS]
    known.key[3] = way
    return 4


@inlined
def ticked_off(t, known, ctx, noted):  # type: ignore[no-untyped-def]
    """Write down as a key which of the positions noted in a record are ticked off; its size."""
    words = known.records[noted + SIZE] - 1
    at = numba.int64(t.contexts[ctx, TICKED])
    size = numba.int64(0) if at < 0 else size_of(t, at)
    known.key[0] = TICKED_OFF
    known.key[1] = known.sizes[BEGUN]
    known.key[2] = known.sizes[LOOKS]
    known.key[3] = noted
    for k in range(words):
        ticked = t.sets[at + 1 + k] if k < size else 0
        known.key[4 + k] = known.records[noted + KEY + 1 + k] & ticked
    return 4 + words


@inlined
def twin(t, known, ctx):  # type: ignore[no-untyped-def]
    """A position of which all that matters is the same, or DEAD."""
    for way in range(MAX_WAYS):
        noted = number_of(known, alike(known, way))
        if noted < 0:
            break
        found = number_of(known, ticked_off(t, known, ctx, noted))
        if found >= 0:
            return found
    return numba.int64(DEAD)


@inlined
def note(t, known, pair, looked):  # type: ignore[no-untyped-def]
    """Keep what was noted: whoever has the same has the row of `pair`.

    looked: whether positions were looked up, which it then holds for.
    """
    size = 1
    known.key[0] = NOTED
    if looked:
        for k in range(POSITIONS, t.asked.shape[0]):
            known.key[k - POSITIONS + 1] = t.asked[k]
            if t.asked[k] != 0:
                size = k - POSITIONS + 2
    noted = keep(known, size, 0)
    for way in range(MAX_WAYS):
        record = keep(known, alike(known, way), noted)
        if known.records[record + VALUE] == noted:
            keep(known, ticked_off(t, known, pair & 0xFFFFFFFF, noted), pair)
            break


@inlined
def is_listed(t, q):  # type: ignore[no-untyped-def]
    """Whether a lexer state is within listed words, or where a key that is one of them begins."""
    kind = t.within[q, KIND]
    return kind < SPANS_TEXT and (kind > 0 or t.within[q, FLAGS] > 0)


@inlined
def begin(t, known, rests, pair):  # type: ignore[no-untyped-def]
    """Begin to note what the row of a position depends on: 0, or a code below AGAIN."""
    q, ctx = pair >> 32, pair & 0xFFFFFFFF
    most = known.key.shape[0]
    if (
        known.sizes[USED] + RECORDS * (KEY + most) > known.records.shape[0]
        or 2 * (known.sizes[COUNT] + RECORDS) > known.places.shape[0]
        or most < 4 + t.asked.shape[0]
    ):
        return numba.int64(NEED_ROOM)
    frame = t.contexts[ctx, FRAME]
    if q >= known.kinds.shape[0]:
        return numba.int64(NEED_SAID)
    if known.kinds[q] == 0 and is_listed(t, q):
        if t.within[q, FLAGS] & KEYS != 0 or t.within[q, OWNER] >= 0:
            known.kinds[q] = SAID
    if known.kinds[q] == 0 and t.within[q, KIND] == SPANS_TEXT and t.within[q, OWNER] >= 0:
        known.kinds[q] = SAID | SCALAR if t.within[q, FLAGS] & SCALARS != 0 else SAID
    if known.kinds[q] == 0:
        return numba.int64(NEED_SAID)
    begun = numba.int64(t.frames[frame, PLAIN])
    if known.kinds[q] & SCALAR != 0:
        begun = numba.int64(1)
    for k in range(t.asked.shape[0]):
        t.asked[k] = 0
    t.asked[OF] = ctx
    found = outlook(t, rests, ctx, begun)
    if found < 0:
        return numba.int64(NEED_LOOKS)
    known.sizes[BEGUN] = begun
    known.sizes[LOOKS] = (q << 40) | found
    return numba.int64(0)


@inlined
def planned(t, known, around, lexeme):  # type: ignore[no-untyped-def]
    """The address of the plan for a lexer state, or NEED_PLAN.

    around: the one in the white space before it that the text is in, or -1. Within listed words
    only the state in which other texts would be matters, and nothing where there are none.
    """
    way, state = numba.int64(OWN), lexeme
    if is_listed(t, lexeme):
        way, state = numba.int64(OF_WORDS), numba.int64(-1)
        if t.within[lexeme, FLAGS] & KEYS != 0:
            way, state = numba.int64(OF_KEYS), numba.int64(t.within[lexeme, REST])
    key = (around + 1) << 34 | way << 32 | (state + 1)
    at = find(known.plans, key)
    if at == UNKNOWN:
        t.need[0] = key
        t.need[1] = around
        t.need[2] = way
        t.need[3] = state
        return numba.int64(NEED_PLAN)
    return at


@inlined
def changed(known, scratch, number, found):  # type: ignore[no-untyped-def]
    """Write down as a key what a row is made of; its size. found: as `make` returns it."""
    count = found >> SHIFT
    known.key[0] = SAME
    known.key[1] = number << 1 | (found & ENDS)
    for k in range(count):
        bits = numba.int64(scratch.changed[2 * k + 1]) & 0xFFFFFFFF
        known.key[2 + k] = numba.int64(scratch.changed[2 * k]) << 32 | bits
    return 2 + count


@kernel(types.int64(*[types.int64] * 5))
def seek(tables, nodes, address, pair, how):  # type: ignore[no-untyped-def]
    """A position whose row was made before and is that of `pair`, or DEAD: then it can be written.

    address: of what is known. how: ANEW at first, or when a code below AGAIN was returned;
    IN_ANY_CASE beside it where the row is to be written even if another one is known to be the
    same. Returns a NEED_* code where it must be called once more.
    """
    t, known, scratch = tables_at(tables), known_at(address), scratch_at(nodes + SCRATCH_AT)
    q, ctx = pair >> 32, pair & 0xFFFFFFFF
    if how & ANEW:
        known.sizes[PAIR] = DEAD
        code = begin(t, known, Rests(scratch.rest, scratch.rests), pair)
        if code < 0:
            return code
        found = twin(t, known, ctx) if how & IN_ANY_CASE == 0 else numba.int64(DEAD)
        if found >= 0:
            t.asked[OF] = -1
            return found
    enters, inner = known.kinds[q] & ENTERS != 0, pair
    if enters:
        inner = call_fire(t, ctx, numba.int64(SKIP_LABEL))
        if inner < DEAD:
            return numba.int64(NEED_LEXEME)
        if inner == DEAD:
            enters, inner = False, pair
    lexeme = inner >> 32
    at = planned(t, known, q if enters else numba.int64(-1), lexeme)
    if at < 0:
        return at
    plan = plan_at(at)
    numbers = plan.numbers
    parts = numbers[PARTS] | FRESH if how & ANEW else numbers[PARTS]
    found = make(tables, nodes, numbers[INSIDE], numbers[AROUND], pair, inner, parts, plan.base)
    if found < 0:
        return found
    if found & ALONE_HERE == 0:
        note(t, known, pair, found & LOOKED != 0)
    known.sizes[PAIR] = pair
    known.sizes[CHANGED] = found
    known.sizes[PLAN] = at
    size = changed(known, scratch, numbers[NUMBER], found)
    other = known.records[keep(known, size, pair) + VALUE]
    return numba.int64(DEAD) if other == pair or how & IN_ANY_CASE != 0 else other


@kernel(types.int64(types.int64, types.int64, types.int64, types.int32[::1]))
def write(nodes, address, pair, row):  # type: ignore[no-untyped-def]
    """Write the row of the position that `seek` walked last, int32[words], if that is `pair`.

    address: of what is known. Returns 1 if the text may end there, 0 if not, -1 if it is another.
    """
    known, scratch = known_at(address), scratch_at(nodes + SCRATCH_AT)
    if known.sizes[PAIR] != pair:
        return numba.int64(-1)
    base = plan_at(known.sizes[PLAN]).base
    for w in range(row.shape[0]):
        row[w] = base[w]
    apply(row, scratch.changed[: known.sizes[CHANGED] >> SHIFT << 1])
    return known.sizes[CHANGED] & ENDS
