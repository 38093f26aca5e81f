"""In: flat arrays. Out: the tables of one constraint, their numba type, and hash tables over int64.

The tables are the whole run-time form of a constraint. Python fills them on demand, kernels read
them, and (for records and states only) insert into them.

A *pair* is a position in the text: `(q, ctx)` packed as `q << 32 | ctx`, where `q` is a lexer state
(a byte automaton) and `ctx` names what is open around it: a stack of frames, of which each is one
of few (a place in a schema), so that most of what can happen is known after it happened once.
Codes below zero are not pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.pointers import reference

DEAD = -1  #: the byte or token is not allowed
NEED_ROW = -2  #: `need[0]` is a lexer state whose row has not been filled yet
NEED_EVENT = -3  #: `(need[0], need[1])` is a (context, label) pair nobody has evaluated yet
NEED_SPACE = -4  #: a table of contexts is full, or a hash table of them half full
UNKNOWN = -5  #: the hash table does not have that key
NEED_MOVE = -6  #: `(need[0], need[1])` is a (frame, label) pair nobody has evaluated yet
NEED_OPENING = -7  #: the same, where what is behind will do (see `openings.foretell`)
NEED_EXACT = -8  #: whether a text was taken before is not known in a context made for masks only
NEED_STATES = -10  #: there is no room for `need[0]` more lexer states or `need[1]` more spans

UNUSED, LOOKED_AT, COMPARED, KEPT = 0, 1, 2, 3  # values of `needs_text`

END_LABEL = 0  #: the label that ends the whole text
SKIP_LABEL = 1  #: the label that leads from the entry of a frame to its lexeme

# What a label does in a frame: kind << 56 | a << 28 | b (or DEAD, UNKNOWN).
GOTO = 0  #: the frame becomes frame a
PUSH = 1  #: the frame becomes frame b and waits there while frame a is open
POP = 2  #: the frame closes, and label a happens in the one below
ONCE = 3  #: as GOTO, and the text remembered must not have been taken before in this frame
TICK = 4  #: as GOTO, and position b of the checklist is ticked off, which it must not have been
CHECK = 5  #: as GOTO, to the frame of checklist a for what has been ticked off
RECALL = 6  #: as GOTO, and the same label happens there, which depends on what is kept
KEEPS = 1  #: as b of GOTO, ONCE and RECALL: what has just been read is kept beside the frame

FRAME, PARENT, TAKEN, BASE, TICKED, OUTLOOK, READ = range(7)  # columns of `contexts`
#: in columns TAKEN and READ, something that nobody asks for: a context made for masks only
SOME = -2
ENTRY, LEXEME, LOW, HIGH, ALLOWED, CHECKLIST, ALIKE, BEGUN, PLAIN = range(9)  # columns of `frames`
# Columns of `checklists`: the sets of no positions, of those that must be ticked off, and of all;
# whether more may always follow; the frames where only more may follow, only the end, or both.
NOTHING, REQUIRED, ALL, ENDLESS, ONLY_MORE, ONLY_END, EITHER = range(7)

OF, ALONE, POSITIONS = 0, 1, 2  # places of `asked`

BEGIN, END, LABEL = 0, 1, 2  # columns of `words`

# Columns of `within`: what kind of place a state is (0 for those that Python fills), ...
KIND = 0
OWNER = 1  #: the state before the letter that is being read, or before the last letter; -1 if none
FIRST, LAST = 2, 3  #: words `first` to `last` - 1 begin so
DEPTH = 4  #: how many letters of them have been read in whole
REST = 5  #: the state in which other texts would be, or -1
LEFT = 6  #: how many digits of the letter are still to be read
HALF = 7  #: the first half of the letter, read as an escape before; or 0
CHILD = 8  #: the state behind the letter of the first word; those of the others follow it
CAME, BYTE = 9, 10  #: the state from which this one was met, and by which byte
FLAGS = (
    11  #: of the list: QUOTED, ESCAPES, GUARDED, OPEN, KEYS; of a text: QUOTED, ESCAPES, SCALARS
)
DONE = 12  #: 1 when the row has been filled once
NEXT = 13  #: another state with the same hash of its spans, made earlier; or -1
COLUMNS = 14

# Places of `info`.
AT_PROVIDE, AT_HAS_ALLOWED, AT_CHECKED, AT_RUN, AT_ENDING, AT_CROSSING = range(6)
AT_LISTED, AT_ALONG, AT_STEP, AT_FIRE, AT_BEYOND, AT_TAKEN, AT_RESTS = 6, 7, 8, 9, 10, 11, 12
AT_NAME, AT_SPAN, AT_FORETELL, INFO_SIZE = 13, 14, 15, 16

IN_WORD = 1  #: between two letters
IN_DIGITS = 2  #: within a letter in UTF-8
IN_ESCAPE = 3  #: behind a backslash
IN_HEX = 4  #: within the digits of an escape
IN_HIGH = 5  #: behind the escaped first half of a letter
IN_BACKSLASH = 6  #: behind the backslash that follows
# Kinds of places within texts of which Python said what spans of code points lead to. FIRST and
# LAST are then places in `spans`, CHILD of the first kind is the label with which the text may end.
SPANS_TEXT = 7  #: between two characters
SPANS_DIGITS = 8  #: within a character in UTF-8
SPANS_ESCAPE = 9  #: behind a backslash
SPANS_HEX = 10  #: within the digits of an escape
SPANS_HIGH = 11  #: behind the escaped first half of a character
SPANS_U = 12  #: behind the backslash that follows
SPANS_LATER = 13  #: between two characters, of which Python has yet to say what leads on

QUOTED = 1  #: spelled inside a JSON string
ESCAPES = 2  #: with escapes that need not be
GUARDED = 4  #: frames say which of the words they let through
OPEN = 8  #: any other text may be read too
KEYS = 16  #: the words are keys
SCALARS = 32  #: a text that is a string or number by itself


class Tables(NamedTuple):
    """The arrays that kernels read.

    rows: int32[Q, 256], next lexer state; -1 dead; -(label) - 2 when the byte ends the lexeme.
    filled: uint8[Q], whether the row is there.
    accept: int32[Q], label of a lexeme that may end *before* the next byte, or -1.
    recorded: uint8[Q], whether bytes read in this state are remembered in the context.
    needs_text: uint8[L], what the remembered bytes are for when a label happens: UNUSED, LOOKED_AT
    (the event depends on them), COMPARED (with those taken before), or KEPT (for later events).
    guard: int32[Q, 2], of states within one of several names: `words` guard[q, 0] to
    guard[q, 1] - 1 begin with what was read; -1 for other states.
    order: int32[W], the position of each of `words`; a frame lets those through in its range.
    within: int32[Q, 14], of states that kernels fill, what `names` and `spans` have to know.
    words: int32[W, 3], listed words: where the letters of each begin and end, and its label.
    letters: int32[n], code points. allowed: uint8[n], bits of positions.
    spans: int32[S, 3], first and last code point (relative to what was read of them), and the state
    behind. alike: int32[H], hash table over spans: the last state made with such a hash, or -1.
    frames: int32[F, 9], the lexer state with which a frame begins, the one to which SKIP leads (-2
    minus it where it only says how a text begins, and what goes on depends on what is kept), the
    range of positions of names, of which the end does not belong to it, where its bits in `allowed`
    begin (-1 when all in the range are allowed), the checklist that it begins, or -1, the frame
    whose moves it has, the one that will do in its place once a scalar has begun, and the second of
    these lexer states once more where nothing but a scalar can come, else 0.
    moves: int64[H, 2], hash table: frame << 32 | label -> what the label does there; with SKIP, of
    a frame in which an object with members may open: the state before its keys << 28 | label; with
    END, of one in which the value of a member ends that others may follow: that behind it, as well.
    checklists: int32[K, 7], what is ticked off in some frames, see NOTHING and those behind it.
    sets: int64[n], sets of positions, each a word with its size in words (low half) and its hash,
    and then its bits; a set is named by where it begins. same: int32[H], hash table over them.
    contexts: int32[C, 7], the frame; the context below it, or -1; the last text taken (a context
    that remembers it), or -1; the context in which the remembered bytes began (itself if none); the
    set of positions that have been ticked off, or -1 in a frame without a checklist; its outlook,
    or -1 if that is not known; the last value kept (a context that remembers its text, or the last
    one inside of it), or -1.
    origin: int64[C], for contexts that remember bytes: parent << 8 | last byte, otherwise -1.
    interned: int32[H], hash table over `contexts`, by all but BASE and OUTLOOK; -1 empty.
    remembered: int32[H], hash table over `contexts` that remember bytes, by `origin`; -1 empty.
    events: int64[H, 2], hash table: ctx << 32 | label -> pair after the event, or DEAD.
    outlooks: int64[H, 2], hash table: what of a context its future depends on (see
    `kernels.parser.stack_signature`) -> its outlook.
    asked: int64[n], what a walk asked of the context asked[OF] (if not -1): asked[ALONE] is 1 if
    the answers hold for no other; then, from POSITIONS on, the positions that were looked up.
    sizes: int64[14], contexts in use, entries of `remembered`, of `events`, of `interned`, of
    `moves`, of `order` and `words`, lexer states, `letters`, bytes of `allowed`, `spans`, words of
    `sets`, how many sets these are, checklists, outlooks.
    need: int64[8], what a kernel that stopped is waiting for, and where it stopped.
    info: int64[2], the addresses of kernels that others call by them.
    common: int32[n, 256], the rows of the first states, which are the same for many specs.
    """

    rows: npt.NDArray[np.int32]
    filled: npt.NDArray[np.uint8]
    accept: npt.NDArray[np.int32]
    recorded: npt.NDArray[np.uint8]
    needs_text: npt.NDArray[np.uint8]
    guard: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]
    within: npt.NDArray[np.int32]
    words: npt.NDArray[np.int32]
    letters: npt.NDArray[np.int32]
    allowed: npt.NDArray[np.uint8]
    spans: npt.NDArray[np.int32]
    alike: npt.NDArray[np.int32]
    frames: npt.NDArray[np.int32]
    moves: npt.NDArray[np.int64]
    checklists: npt.NDArray[np.int32]
    sets: npt.NDArray[np.int64]
    same: npt.NDArray[np.int32]
    contexts: npt.NDArray[np.int32]
    origin: npt.NDArray[np.int64]
    interned: npt.NDArray[np.int32]
    remembered: npt.NDArray[np.int32]
    events: npt.NDArray[np.int64]
    outlooks: npt.NDArray[np.int64]
    asked: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    need: npt.NDArray[np.int64]
    info: npt.NDArray[np.int64]
    common: npt.NDArray[np.int32]


I32 = types.int32[::1]
U8 = types.uint8[::1]
I64 = types.int64[::1]
HASH = types.int64[:, ::1]
GRID = types.int32[:, ::1]
BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INTS = types.Array(types.int32, 1, "C", readonly=True)
TABLES = reference(types.NamedTuple(
    [
        GRID, U8, I32, U8, U8, GRID, I32, GRID, GRID, I32, U8, GRID, I32,
        GRID, HASH, GRID, I64, I32, GRID, I64, I32, I32, HASH, HASH, I64, I64, I64, I64,
        GRID,
    ],
    Tables,
))  # fmt: skip


@inlined
def has_row(t, q):  # type: ignore[no-untyped-def]
    """Whether the row of a lexer state is there; one that many specs share is put there."""
    if t.filled[q] == 0 and q < t.common.shape[0]:
        for byte in range(256):
            t.rows[q, byte] = t.common[q, byte]
        t.filled[q] = 1
    return t.filled[q] != 0


@inlined
def hashed(key):  # type: ignore[no-untyped-def]
    """A hash of a key, of which the low bits count."""
    h = (key & 0xFFFFFFFF) * 40503 + (key >> 32) * 60493  # both below 2**48: nothing overflows
    return h ^ (h >> 15)


@inlined
def slot_of(table, key):  # type: ignore[no-untyped-def]
    """Index of the slot that holds `key`, or of the empty slot where it belongs."""
    last = table.shape[0] - 1
    i = hashed(key) & last
    while table[i, 0] != key and table[i, 0] != -1:
        i = (i + 1) & last
    return i


@inlined
def find(table, key):  # type: ignore[no-untyped-def]
    """Value of `key`, or UNKNOWN."""
    i = slot_of(table, key)
    if table[i, 0] == key:
        return table[i, 1]
    return numba.int64(UNKNOWN)


@inlined
def memory_of(origin, remembered, key):  # type: ignore[no-untyped-def]
    """Index of the slot of `remembered` that holds the context of such an origin, or is empty."""
    last = remembered.shape[0] - 1
    i = hashed(key) & last
    while remembered[i] >= 0 and origin[remembered[i]] != key:
        i = (i + 1) & last
    return i


@inlined
def place_of(contexts, interned, frame, parent, taken, ticked, kept):  # type: ignore[no-untyped-def]
    """Index of the slot of `interned` that holds such a context, or of the empty one for it."""
    last = interned.shape[0] - 1
    h = frame * 40503 + (parent + 1) * 60493 + (taken + 1) * 48271 + (ticked + 1) * 52711
    h += (kept + 1) * 44017
    i = (h ^ (h >> 15)) & last
    while interned[i] >= 0:
        found = interned[i]
        if (
            contexts[found, FRAME] == frame
            and contexts[found, PARENT] == parent
            and contexts[found, TAKEN] == taken
            and contexts[found, TICKED] == ticked
            and contexts[found, READ] == kept
        ):
            break
        i = (i + 1) & last
    return i


@lean(types.void(GRID, I32, I32))
def reintern(contexts, old, new):  # type: ignore[no-untyped-def]
    """Insert every entry of the table `old` of contexts into the larger, empty table `new`."""
    for k in range(old.shape[0]):
        c = old[k]
        if c >= 0:
            i = place_of(
                contexts,
                new,
                numba.int64(contexts[c, FRAME]),
                numba.int64(contexts[c, PARENT]),
                numba.int64(contexts[c, TAKEN]),
                numba.int64(contexts[c, TICKED]),
                numba.int64(contexts[c, READ]),
            )
            new[i] = c


@lean(types.void(I64, I32, I32))
def remember_again(origin, old, new):  # type: ignore[no-untyped-def]
    """The same of the contexts that remember bytes."""
    for k in range(old.shape[0]):
        if old[k] >= 0:
            new[memory_of(origin, new, origin[old[k]])] = old[k]


@lean(types.int64(HASH, types.int64))
def lookup(table, key):  # type: ignore[no-untyped-def]
    """Value of `key` in a hash table int64[H, 2] (H a power of two, empty slots -1), or UNKNOWN."""
    return find(table, key)


@lean(types.void(HASH, types.int64, types.int64))
def insert(table, key, value):  # type: ignore[no-untyped-def]
    """Set `key` to `value`; the caller keeps the table at most half full."""
    i = slot_of(table, key)
    table[i, 0] = key
    table[i, 1] = value


@lean(types.boolean(HASH, I64, types.int64, types.int64))
def keep_move(moves, sizes, key, code):  # type: ignore[no-untyped-def]
    """Write a move down in `Tables.moves`, and count it in `Tables.sizes`; False if it is full."""
    if 2 * sizes[4] >= moves.shape[0]:
        return False
    i = slot_of(moves, key)
    moves[i, 0] = key
    moves[i, 1] = code
    sizes[4] += 1
    return True


@lean(types.int64(GRID, types.int64, types.int64))
def next_described(within, q, made):  # type: ignore[no-untyped-def]
    """The first of lexer states `q` to `made` - 1 that Python describes, or `made`."""
    while q < made and within[q, OWNER] >= 0:
        q += 1
    return q


@lean(types.void(HASH, HASH))
def rehash(old, new):  # type: ignore[no-untyped-def]
    """Insert every entry of `old` into the larger, empty table `new`."""
    for k in range(old.shape[0]):
        if old[k, 0] != -1:
            i = slot_of(new, old[k, 0])
            new[i, 0] = old[k, 0]
            new[i, 1] = old[k, 1]
