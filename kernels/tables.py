"""The run-time tables of a schema's constraint: columns, codes, numba types and hash tables.

The tables are a lexer (a lazily built byte DFA) and a pushdown parser whose stack is a
graph-structured stack of interned nodes, all in flat arrays. Kernels read them and add stack nodes,
bit sets and lexer states; whatever else is missing Python adds when a kernel stops with a NEED_*
code: an on-demand table fill.

A *position* in a text is an int64: lexer state << 32 | stack node. A lexer state is one of the byte
DFA; a stack node is an interned parser frame together with the node below it, so a position costs
no copy and equal histories have equal numbers. Codes below zero are not positions.

Hash tables use open addressing with linear probing; Python keeps them at most half full.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, reference, types

# -- what kernels return in place of a position or a row ---------------------------------------
# Codes from NEED_ROW down stop a kernel: Python adds what `need` names to the tables, and calls it
# again with the same arguments (an on-demand table fill).

DEAD = -1  #: the byte, terminal or token is not allowed
NEED_ROW = -2  #: the row of lexer state `need[WANTED]`
NEED_EVENT = -3  #: what terminal `need[WANTED_WITH]` does in stack node `need[WANTED]`
NEED_SPACE = -4  #: room: a table of stack nodes or sets is full, or a hash table of them half full
UNKNOWN = -5  #: a hash table does not have that key (nothing to be filled)
NEED_ACTION = -6  #: the action of terminal `need[WANTED_WITH]` in frame `need[WANTED]`
NEED_OPENING = -7  #: the same, or only the lexer state behind it (see `masks.deferred_openings`)
NEED_EXACT = -8  #: a mask's stack node leaves open which texts were seen, and that matters here
NEED_STATES = -10  #: room for `need[WANTED]` more lexer states and `need[WANTED_WITH]` more spans

# Entries of `need`.
WANTED, WANTED_WITH = 0, 1  #: what the codes above are about
EDIT_PART, EDIT_STAGE = 2, 3  #: how far `masks.entry_points.build_edits` has come
READ_OFFSET, READ_POSITION = 4, 5  #: the byte at which `run` stopped, and the position before it

# Entries of `sizes`: how much of each table is in use.
SIZE_STACK_NODES = 0  #: stack nodes
SIZE_CAPTURES = 1  #: entries of `capture_slots`
SIZE_EVENTS = 2  #: entries of `events`
SIZE_INTERNED = 3  #: entries of `node_slots`
SIZE_ACTIONS = 4  #: entries of `actions`
SIZE_WORDS = 5  #: rows of `words`, and entries of `order`
SIZE_STATES = 6  #: lexer states
SIZE_LETTERS = 7  #: entries of `letters`
SIZE_ALLOWED = 8  #: bytes of `allowed`
SIZE_SPANS = 9  #: rows of `spans`
SIZE_BIT_SET_WORDS = 10  #: words of `bit_sets`
SIZE_BIT_SETS = 11  #: sets in `bit_sets`, which are the entries of `bit_set_slots`
SIZE_KEY_SETS = 12  #: rows of `key_sets`
SIZE_SIGNATURES = 13  #: entries of `signatures`
SIZES = 14

# -- terminals and actions ---------------------------------------------------------------------

END_TERMINAL = 0  #: ends the whole text
SKIP_TERMINAL = 1  #: leads from the entry of a frame (white space) to its lexeme

# Values of `needs_text`: what the captured bytes of a terminal are for.
TEXT_UNUSED = 0
TEXT_READ = 1  #: Python decides by them what the terminal does: `events`
TEXT_COMPARED = 2  #: they must differ from the texts seen before in the frame (a key, an item)
TEXT_CAPTURED = 3  #: they are kept for events to come

# Kinds of actions, what a terminal does in a frame: kind << 56 | a << 28 | b (or DEAD, UNKNOWN).
GOTO = 0  #: the frame becomes frame a
PUSH = 1  #: the frame becomes frame b and waits there while frame a is open
POP = 2  #: the frame closes, and terminal a happens in the one below (a reduction)
GOTO_IF_NEW = 3  #: as GOTO, and the captured text must not have been seen before in this frame
MARK_SEEN = 4  #: as GOTO, and key b of the key set is marked as seen, which it must not have been
CHECK_KEYS = 5  #: as GOTO, to the frame that key set a has for the keys seen so far
RECALL = 6  #: as GOTO, and the same terminal happens there, which depends on what was captured
CAPTURES = 1  #: as b of GOTO, GOTO_IF_NEW and RECALL: the text just read is captured

# -- columns -----------------------------------------------------------------------------------

# Columns of `stack_nodes`; two nodes with equal FRAME, PARENT, SEEN_TEXTS, SEEN_KEYS and CAPTURED
# and nothing captured in progress are one node.
FRAME = 0
PARENT = 1  #: the stack node below, -1 at the bottom
SEEN_TEXTS = 2  #: the node that captured the text seen last in this frame, -1 if there is none
CAPTURE_START = 3  #: the node in which the bytes being captured began; itself if there are none
SEEN_KEYS = 4  #: the set (see `bit_sets`) of keys seen, -1 in a frame without a key set
SIGNATURE = 5  #: its stack signature, -1 as long as nobody has asked for it
CAPTURED = 6  #: the node that holds the text captured last for later events, -1 if there is none
STACK_COLUMNS = 7
#: in SEEN_TEXTS and CAPTURED: some text, left open; only nodes made for masks have it
UNSPECIFIED = -2

# Columns of `frames`.
ENTRY = 0  #: the lexer state with which the frame begins, white space included
LEXEME = 1  #: the one behind the white space; -2 minus it where it depends on what was captured
LOW, HIGH = 2, 3  #: keys LOW to HIGH - 1 may come
ALLOWED = 4  #: where the bits of those that may begin in `allowed`; -1 if all of them may
KEY_SET = 5  #: the key set that begins with the frame, -1 if none does
ACTIONS_OF = 6  #: the frame whose `actions` it has
IN_SCALAR = 7  #: the frame that will do in its place once a string or number has begun
ONLY_SCALAR = 8  #: LEXEME where nothing but a string or number may come, else 0
FRAME_COLUMNS = 9

# Columns of `key_sets`: three sets, a flag, and the frames that follow CHECK_KEYS.
NO_KEYS, REQUIRED_KEYS, ALL_KEYS = 0, 1, 2  #: the empty set, required keys, all declared keys
ALWAYS_MORE = 3  #: whether other keys may follow even when all declared ones were seen
ONLY_MORE, ONLY_END, MORE_OR_END = 4, 5, 6  #: frames: a key must follow, cannot, or may
KEY_SET_COLUMNS = 7

# Entries of `lookups`, which a walk fills (see `parser.key_sets.note_lookup`).
LOOKUP_NODE = 0  #: the stack node at which the walk began, -1 while nobody takes notes
LOOKUP_UNIQUE = 1  #: 1 if the answers hold for no other node
LOOKUP_KEYS = 2  #: from here on: bits of the keys that were looked up

WORD_BEGIN, WORD_END, WORD_TERMINAL = 0, 1, 2  # columns of `words`
SPAN_FIRST, SPAN_LAST, SPAN_STATE = 0, 1, 2  # columns of `spans`
GUARD_BEGIN, GUARD_END = 0, 1  # columns of `guard`

# Columns of `state_info`: what kernels must know of a lexer state to fill its row.
KIND = 0  #: one of the kinds below; 0 for states that Python fills
OWNER = 1  #: the state before the letter that is being read, or before the last letter; -1 if none
FIRST, LAST = 2, 3  #: words (or spans) FIRST to LAST - 1 go on from here
DEPTH = 4  #: how many letters of the words have been read in whole
FALLBACK = 5  #: the state in which texts other than the words would be, -1 if there are none
DIGITS_LEFT = 6  #: how many digits (UTF-8 bytes, hex digits) of the letter are still to be read
HIGH_SURROGATE = 7  #: the first UTF-16 half of the letter, read as an escape before; or 0
CHILD = 8  #: the state behind the letter of the first word; those of the other letters follow it
FROM_STATE, FROM_BYTE = 9, 10  #: the state from which this one was first met, and by which byte
FLAGS = 11  #: of a list QUOTED, ESCAPES, GUARDED, OPEN, KEYS; of a text QUOTED, ESCAPES, SCALARS
DONE = 12  #: 1 when the row has been filled once
NEXT_ALIKE = 13  #: the next state in the same slot of `span_slots`, made earlier; -1 for none
INFO_COLUMNS = 14
# In states of a regular expression (SPANS_UNKNOWN) two columns have another meaning.
EXPRESSION_STATE = DEPTH  #: the state of the expression's automaton
EXPRESSION = HIGH_SURROGATE  #: which of the expressions entered it is one of

# Places of `info`: addresses of kernels that others call by them.
AT_FILL_ROW, AT_ALLOWED_KEY, AT_KEY_ACTION, AT_RUN, AT_ENDING, AT_LEXEME_ENDS = range(6)
AT_LISTED_WORDS, AT_NARROW, AT_STEP, AT_ADVANCE, AT_BOUNDARY_TOKENS = 6, 7, 8, 9, 10
AT_IS_SEEN, AT_SEEN_REMAINDERS, AT_FILL_WORDS, AT_FILL_SPANS, AT_PREDICT = 11, 12, 13, 14, 15
INFO_SIZE = 16
#: of each place the kernel whose address stands there
CALLED = {
    AT_FILL_ROW: "lexer.rows.fill_row",
    AT_FILL_SPANS: "lexer.spans.fill_span",
    AT_FILL_WORDS: "lexer.words.fill_listed",
    AT_BOUNDARY_TOKENS: "masks.boundary_tokens.walk_boundary_tokens",
    AT_LISTED_WORDS: "masks.byte_walk.walk_listed",
    AT_NARROW: "masks.byte_walk.walk_narrow",
    AT_PREDICT: "masks.deferred_openings.predict",
    AT_LEXEME_ENDS: "masks.lexeme_walk.walk_lexeme_ends",
    AT_KEY_ACTION: "parser.key_sets.apply_key_action",
    AT_IS_SEEN: "parser.seen_keys.is_seen",
    AT_SEEN_REMAINDERS: "parser.seen_keys.seen_remainders",
    AT_ADVANCE: "parser.step.advance_terminal",
    AT_ALLOWED_KEY: "parser.step.has_allowed_key",
    AT_STEP: "parser.step.step",
    AT_RUN: "parser.step.run",
    AT_ENDING: "parser.step.ending",
}

# Kinds of lexer states within listed words.
IN_WORD = 1  #: between two letters
IN_UTF8 = 2  #: within a letter in UTF-8
IN_ESCAPE = 3  #: behind a backslash
IN_HEX = 4  #: within the digits of an escape
AFTER_HIGH_SURROGATE = 5  #: behind the escaped first half of a letter
LOW_SURROGATE_BACKSLASH = 6  #: behind the backslash that follows
# Kinds of lexer states within texts of which Python says what spans of code points lead to. FIRST
# and LAST are then rows of `spans`, CHILD of the first kind is the terminal that may end the text.
SPANS_TEXT = 7  #: between two characters
SPANS_UTF8 = 8  #: within a character in UTF-8
SPANS_ESCAPE = 9  #: behind a backslash
SPANS_HEX = 10  #: within the digits of an escape
SPANS_AFTER_HIGH = 11  #: behind the escaped first half of a character
SPANS_BACKSLASH = 12  #: behind the backslash that follows
SPANS_UNKNOWN = 13  #: between two characters, of which Python has yet to say what leads on

# Flags.
QUOTED = 1  #: spelled inside a JSON string
ESCAPES = 2  #: in any spelling; else a character is itself, or has the one escape that it needs
GUARDED = 4  #: frames say which of the words they let through
OPEN = 8  #: any other text may be read too
KEYS = 16  #: the words are keys
SCALARS = 32  #: a text that is a string or number by itself


class Tables(NamedTuple):
    """All arrays of one constraint at run time: its lexer, its parser and their hash tables.

    Sizes: Q lexer states, T terminals, F frames, C stack nodes, W listed words, S spans, K key
    sets, H slots of a hash table (a power of two, at most half of them used).

    Lexer. rows: int32[Q, 256], what each byte leads to: the next lexer state, DEAD, or
    -(terminal) - 2 when the byte ends the lexeme. filled: uint8[Q], whether the row is there.
    accept: int32[Q], the terminal of a lexeme that may end *before* the next byte, or -1.
    recorded: uint8[Q], whether bytes read in this state are captured on the stack.
    needs_text: uint8[T], what a terminal's captured bytes are for: TEXT_UNUSED, ...
    guard: int32[Q, 2], of states inside one of several words: `words` guard[q, 0] to
    guard[q, 1] - 1 begin with what was read; -1 for other states.
    order: int32[W], the key of each of `words`; a frame lets those through in its range.
    state_info: int32[Q, 14], of states whose rows kernels fill (columns KIND, ...).
    words: int32[W, 3], where the letters of each listed word begin and end, and its terminal.
    letters: int32[n], code points. allowed: uint8[n], bits of keys.
    spans: int32[S, 3], first and last code point (less what was read of them) and the state behind.
    span_slots: int32[H], hash table over spans: the last state made with such a hash, or -1.
    shared_rows: int32[n, 256], the rows of the first states, which many constraints have.

    Parser. frames: int32[F, 9] (columns ENTRY, ...), what is open at one place of a schema.
    actions: int64[H, 2], hash table: frame << 32 | terminal -> the action. With SKIP_TERMINAL, of a
    frame in which an object with members may open: lexer state before its keys << 28 | terminal;
    with END_TERMINAL, of one in which the value of a member ends that others may follow: that
    behind it, as well.
    key_sets: int32[K, 7] (columns NO_KEYS, ...), the declared keys of an object.
    bit_sets: int64[n], sets of keys one behind the other: a word with the number of words (low
    half) and the hash of the set, and then its bits; a set is named by where it begins.
    bit_set_slots: int32[H], hash table over them.
    stack_nodes: int32[C, 7] (columns FRAME, ...), a frame and the node below it.
    capture_links: int64[C], of nodes that captured a byte: the node before it << 8 | the byte; -1.
    node_slots: int32[H], hash table over nodes without captured bytes; capture_slots: int32[H],
    over the others, by `capture_links`; -1 empty.
    events: int64[H, 2], hash table: stack node << 32 | terminal -> position after it, or DEAD, for
    what only Python can decide.
    signatures: int64[H, 2], hash table: what of a stack node its future depends on (see
    `kernels.parser.stack_signature`) -> its signature.
    lookups: int64[n] (LOOKUP_NODE, ...), what a walk looked up beside the signature.

    Both. sizes: int64[14] (SIZE_STACK_NODES, ...), how much is in use. need: int64[8] (WANTED,
    ...), what a kernel that stopped is waiting for, and where it stopped. info: int64[16]
    (AT_FILL_ROW, ...), the addresses of kernels that others call by them.
    """

    rows: npt.NDArray[np.int32]
    filled: npt.NDArray[np.uint8]
    accept: npt.NDArray[np.int32]
    recorded: npt.NDArray[np.uint8]
    needs_text: npt.NDArray[np.uint8]
    guard: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]
    state_info: npt.NDArray[np.int32]
    words: npt.NDArray[np.int32]
    letters: npt.NDArray[np.int32]
    allowed: npt.NDArray[np.uint8]
    spans: npt.NDArray[np.int32]
    span_slots: npt.NDArray[np.int32]
    frames: npt.NDArray[np.int32]
    actions: npt.NDArray[np.int64]
    key_sets: npt.NDArray[np.int32]
    bit_sets: npt.NDArray[np.int64]
    bit_set_slots: npt.NDArray[np.int32]
    stack_nodes: npt.NDArray[np.int32]
    capture_links: npt.NDArray[np.int64]
    node_slots: npt.NDArray[np.int32]
    capture_slots: npt.NDArray[np.int32]
    events: npt.NDArray[np.int64]
    signatures: npt.NDArray[np.int64]
    lookups: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    need: npt.NDArray[np.int64]
    info: npt.NDArray[np.int64]
    shared_rows: npt.NDArray[np.int32]


I32 = types.int32[::1]
U8 = types.uint8[::1]
U16 = types.uint16[::1]
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
    """Whether the row of a lexer state is there; a shared one is copied there first."""
    if t.filled[q] == 0 and q < t.shared_rows.shape[0]:
        for byte in range(256):
            t.rows[q, byte] = t.shared_rows[q, byte]
        t.filled[q] = 1
    return t.filled[q] != 0


@inlined
def hashed(key):  # type: ignore[no-untyped-def]
    """A hash of an int64 key; its low bits are used."""
    # Two odd multipliers, one for each half (frame or node above, terminal or byte below).
    h = (key & 0xFFFFFFFF) * 40503 + (key >> 32) * 60493  # both below 2**48: nothing overflows
    return h ^ (h >> 15)


@inlined
def slot_of(table, key):  # type: ignore[no-untyped-def]
    """The slot that holds `key`, or the empty slot where it belongs (linear probing)."""
    last = table.shape[0] - 1
    i = hashed(key) & last
    while table[i, 0] != key and table[i, 0] != -1:
        i = (i + 1) & last
    return i


@inlined
def find(table, key):  # type: ignore[no-untyped-def]
    """The value of `key`, or UNKNOWN."""
    i = slot_of(table, key)
    if table[i, 0] == key:
        return table[i, 1]
    return numba.int64(UNKNOWN)


@inlined
def capture_slot(capture_links, capture_slots, key):  # type: ignore[no-untyped-def]
    """The slot of `capture_slots` that holds the node with that link, or the empty one for it."""
    last = capture_slots.shape[0] - 1
    i = hashed(key) & last
    while capture_slots[i] >= 0 and capture_links[capture_slots[i]] != key:
        i = (i + 1) & last
    return i


@inlined
def node_slot(stack_nodes, node_slots, frame, parent, seen_texts, seen, captured):  # type: ignore[no-untyped-def]
    """The slot of `node_slots` that holds such a stack node, or the empty one for it."""
    last = node_slots.shape[0] - 1
    h = frame * 40503 + (parent + 1) * 60493 + (seen_texts + 1) * 48271 + (seen + 1) * 52711
    h += (captured + 1) * 44017
    i = (h ^ (h >> 15)) & last
    while node_slots[i] >= 0:
        found = node_slots[i]
        if (
            stack_nodes[found, FRAME] == frame
            and stack_nodes[found, PARENT] == parent
            and stack_nodes[found, SEEN_TEXTS] == seen_texts
            and stack_nodes[found, SEEN_KEYS] == seen
            and stack_nodes[found, CAPTURED] == captured
        ):
            break
        i = (i + 1) & last
    return i


@lean(types.void(GRID, I32, I32))
def rehash_nodes(stack_nodes, old, new):  # type: ignore[no-untyped-def]
    """Insert all stack nodes of the hash table `old` into the larger, empty one `new`."""
    for k in range(old.shape[0]):
        c = old[k]
        if c >= 0:
            i = node_slot(
                stack_nodes,
                new,
                numba.int64(stack_nodes[c, FRAME]),
                numba.int64(stack_nodes[c, PARENT]),
                numba.int64(stack_nodes[c, SEEN_TEXTS]),
                numba.int64(stack_nodes[c, SEEN_KEYS]),
                numba.int64(stack_nodes[c, CAPTURED]),
            )
            new[i] = c


@lean(types.void(I64, I32, I32))
def rehash_captures(capture_links, old, new):  # type: ignore[no-untyped-def]
    """The same for the nodes that captured bytes, found by their link."""
    for k in range(old.shape[0]):
        if old[k] >= 0:
            new[capture_slot(capture_links, new, capture_links[old[k]])] = old[k]


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
def add_action(actions, sizes, key, code):  # type: ignore[no-untyped-def]
    """Add an action to `Tables.actions` and count it in `Tables.sizes`; False if it is full."""
    if 2 * sizes[SIZE_ACTIONS] >= actions.shape[0]:
        return False
    i = slot_of(actions, key)
    actions[i, 0] = key
    actions[i, 1] = code
    sizes[SIZE_ACTIONS] += 1
    return True


@lean(types.int64(GRID, types.int64, types.int64))
def next_described_state(state_info, q, made):  # type: ignore[no-untyped-def]
    """The first of lexer states `q` to `made` - 1 that Python describes, or `made`.

    Kernels number states of their own in between; these have an OWNER.
    """
    while q < made and state_info[q, OWNER] >= 0:
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
