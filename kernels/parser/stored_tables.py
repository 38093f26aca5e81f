"""Check tables that were read from a file, and unpack their rows.

Kernels trust the numbers in the tables, so a damaged file could make them read outside of an array
or go round in a circle. `unsound` checks every number once: each leads into the tables, and what
links backwards (stack nodes, states) only to smaller numbers.

A stored row of a lexer state is a list of runs, each a first byte and what all bytes from there to
the next run do: a dozen where the row has 256 entries.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.parser.key_sets import size_of
from structgen.kernels.tables import (
    ACTIONS_OF,
    ALLOWED,
    ALWAYS_MORE,
    CAPTURE_START,
    CAPTURED,
    CHECK_KEYS,
    CHILD,
    DEAD,
    DEPTH,
    DIGITS_LEFT,
    ENTRY,
    FALLBACK,
    FIRST,
    FRAME,
    FROM_BYTE,
    FROM_STATE,
    GOTO,
    GRID,
    GUARD_BEGIN,
    GUARD_END,
    HIGH,
    I32,
    IN_SCALAR,
    KEY_SET,
    KIND,
    LAST,
    LEXEME,
    MARK_SEEN,
    NEXT_ALIKE,
    ONLY_SCALAR,
    OWNER,
    PARENT,
    POP,
    RECALL,
    SEEN_KEYS,
    SEEN_TEXTS,
    SIGNATURE,
    SIZE_ACTIONS,
    SIZE_ALLOWED,
    SIZE_BIT_SET_WORDS,
    SIZE_BIT_SETS,
    SIZE_CAPTURES,
    SIZE_EVENTS,
    SIZE_INTERNED,
    SIZE_KEY_SETS,
    SIZE_LETTERS,
    SIZE_SIGNATURES,
    SIZE_SPANS,
    SIZE_STACK_NODES,
    SIZE_STATES,
    SIZE_WORDS,
    SKIP_TERMINAL,
    SPAN_FIRST,
    SPAN_LAST,
    SPAN_STATE,
    SPANS_TEXT,
    SPANS_UNKNOWN,
    TABLES,
    U8,
    WORD_BEGIN,
    WORD_END,
    WORD_TERMINAL,
    Tables,
)

# What `unsound` returns: the place in `Tables`, counted from 1, of a table that is at fault.
ACCEPT = Tables._fields.index("accept") + 1
ACTIONS = Tables._fields.index("actions") + 1
BIT_SETS = Tables._fields.index("bit_sets") + 1
BIT_SET_SLOTS = Tables._fields.index("bit_set_slots") + 1
CAPTURE_LINKS = Tables._fields.index("capture_links") + 1
EVENTS = Tables._fields.index("events") + 1
FRAMES = Tables._fields.index("frames") + 1
GUARD = Tables._fields.index("guard") + 1
KEY_SETS = Tables._fields.index("key_sets") + 1
LETTERS = Tables._fields.index("letters") + 1
NODE_SLOTS = Tables._fields.index("node_slots") + 1
ORDER = Tables._fields.index("order") + 1
SIZES_TABLE = Tables._fields.index("sizes") + 1
SPANS = Tables._fields.index("spans") + 1
SPAN_SLOTS = Tables._fields.index("span_slots") + 1
STACK_NODES = Tables._fields.index("stack_nodes") + 1
STATE_INFO = Tables._fields.index("state_info") + 1
WORDS = Tables._fields.index("words") + 1


@inlined
def is_hash(used, slots, entries):  # type: ignore[no-untyped-def]
    """Whether a hash table has 2**n slots, at most half of them used, as many as are counted."""
    return used == entries and slots > 0 and slots & (slots - 1) == 0 and 2 * used <= slots


@inlined
def _unsound_hashes(t, terminals):  # type: ignore[no-untyped-def]
    """Check `events` and `actions`: 0 or the table at fault."""
    states, frames, stack_nodes = t.filled.shape[0], t.frames.shape[0], t.stack_nodes.shape[0]
    used = 0
    for k in range(t.events.shape[0]):
        position = t.events[k, 1]
        if t.events[k, 0] != -1:
            used += 1
            if position < -1 or (position >= 0 and not (position >> 32 < states)):
                return numba.int64(EVENTS)
            if position >= 0 and not ((position & 0xFFFFFFFF) < stack_nodes):
                return numba.int64(EVENTS)
    if not is_hash(used, t.events.shape[0], t.sizes[SIZE_EVENTS]):
        return numba.int64(EVENTS)
    used = 0
    for k in range(t.actions.shape[0]):
        code = t.actions[k, 1]
        if t.actions[k, 0] == -1:
            continue
        used += 1
        kind, first, second = code >> 56, (code >> 28) & 0xFFFFFFF, code & 0xFFFFFFF
        if code == DEAD:
            continue
        # Under SKIP_TERMINAL and END_TERMINAL stand lexer states, see `masks.deferred_openings`.
        if t.actions[k, 0] & 0xFFFFFFFF <= SKIP_TERMINAL:  # decided ahead
            if not 0 <= code >> 28 < states:
                return numba.int64(ACTIONS)
            continue
        if not GOTO <= kind <= RECALL or (kind != MARK_SEEN and second >= frames):
            return numba.int64(ACTIONS)
        if first >= (
            terminals if kind == POP else t.sizes[SIZE_KEY_SETS] if kind == CHECK_KEYS else frames
        ):
            return numba.int64(ACTIONS)
    if not is_hash(used, t.actions.shape[0], t.sizes[SIZE_ACTIONS]):
        return numba.int64(ACTIONS)
    return numba.int64(0)


@inlined
def _unsound_words(t, terminals):  # type: ignore[no-untyped-def]
    """Check `order`, `words`, `letters` and the use of `allowed`: 0 or the table at fault."""
    if (
        not 0 <= t.sizes[SIZE_WORDS] <= min(t.order.shape[0], t.words.shape[0])
        or t.order.shape[0] == 0
    ):
        return numba.int64(SIZES_TABLE)
    if (
        not 0 <= t.sizes[SIZE_LETTERS] <= t.letters.shape[0]
        or not 0 <= t.sizes[SIZE_ALLOWED] <= t.allowed.shape[0]
    ):
        return numba.int64(SIZES_TABLE)
    for k in range(t.sizes[SIZE_WORDS]):
        if t.order[k] < 0:
            return numba.int64(ORDER)
        if not 0 <= t.words[k, WORD_BEGIN] <= t.words[k, WORD_END] <= t.sizes[SIZE_LETTERS]:
            return numba.int64(WORDS)
        if not 0 <= t.words[k, WORD_TERMINAL] < terminals:
            return numba.int64(WORDS)
    for k in range(t.sizes[SIZE_LETTERS]):
        if not 0 <= t.letters[k] <= 0x10FFFF:
            return numba.int64(LETTERS)
    return numba.int64(0)


@inlined
def _unsound_spans(t):  # type: ignore[no-untyped-def]
    """Check `spans` and `span_slots`: 0 or the table at fault."""
    states, size = t.filled.shape[0], t.span_slots.shape[0]
    if not 0 <= t.sizes[SIZE_SPANS] <= t.spans.shape[0]:
        return numba.int64(SIZES_TABLE)
    for k in range(t.sizes[SIZE_SPANS]):
        if not 0 <= t.spans[k, SPAN_FIRST] <= t.spans[k, SPAN_LAST] <= 0x10FFFF:
            return numba.int64(SPANS)
        if not 0 <= t.spans[k, SPAN_STATE] < states:
            return numba.int64(SPANS)
    if size == 0 or size & (size - 1) != 0:
        return numba.int64(SPAN_SLOTS)
    for k in range(size):
        if not -1 <= t.span_slots[k] < states:
            return numba.int64(SPAN_SLOTS)
    return numba.int64(0)


@inlined
def is_kept(t, at):  # type: ignore[no-untyped-def]
    """Whether a set begins at `at`, provided that those in `bit_set_slots` are sound."""
    if not 0 <= at < t.sizes[SIZE_BIT_SET_WORDS]:
        return False
    # Found by its hash, as `slot_of_set` would find it.
    last = t.bit_set_slots.shape[0] - 1
    h = (t.bit_sets[at] >> 32) & 0x3FFFFFFF
    i = (h ^ (h >> 15)) & last
    while t.bit_set_slots[i] >= 0:
        if t.bit_set_slots[i] == at:
            return True
        i = (i + 1) & last
    return False


@inlined
def _unsound_checklists(t):  # type: ignore[no-untyped-def]
    """Check `key_sets`, `bit_sets` and `bit_set_slots`: 0 or the table at fault."""
    frames, used, count = t.frames.shape[0], t.sizes[SIZE_BIT_SET_WORDS], numba.int64(0)
    if (
        not 0 <= t.sizes[SIZE_KEY_SETS] <= t.key_sets.shape[0]
        or not 0 <= used <= t.bit_sets.shape[0]
    ):
        return numba.int64(SIZES_TABLE)
    for k in range(t.bit_set_slots.shape[0]):
        if not -1 <= t.bit_set_slots[k] < used:
            return numba.int64(BIT_SET_SLOTS)
        count += t.bit_set_slots[k] >= 0
    if not is_hash(count, t.bit_set_slots.shape[0], t.sizes[SIZE_BIT_SETS]):
        return numba.int64(BIT_SET_SLOTS)
    at = numba.int64(0)
    # Every set in `bit_sets` must be found by its hash, and there are as many as slots: so each
    # slot leads to the beginning of a set, and no two slots to the same.
    while at < used:  # those in `bit_set_slots` are all, and each is one
        count -= 1
        if t.bit_sets[at] < 0 or at + size_of(t, at) >= used or not is_kept(t, at):
            return numba.int64(BIT_SETS)
        at += size_of(t, at) + 1
    if count != 0:
        return numba.int64(BIT_SET_SLOTS)
    for c in range(t.sizes[SIZE_KEY_SETS]):
        for column in range(ALWAYS_MORE):
            if not is_kept(t, numba.int64(t.key_sets[c, column])):
                return numba.int64(KEY_SETS)
        for column in range(ALWAYS_MORE + 1, t.key_sets.shape[1]):
            if not -1 <= t.key_sets[c, column] < frames:
                return numba.int64(KEY_SETS)
    return numba.int64(0)


@inlined
def is_within(t, q, states, terminals):  # type: ignore[no-untyped-def]
    """Whether what is said of a state that kernels fill leads to no place outside the tables."""
    kind, rest = t.state_info[q, KIND], t.state_info[q, FALLBACK]
    if kind == 0:
        return t.state_info[q, OWNER] < 0 and -1 <= rest < states
    if not (-1 <= t.state_info[q, OWNER] < q and -1 <= t.state_info[q, FROM_STATE] < q):
        return False
    first, last = t.state_info[q, FIRST], t.state_info[q, LAST]
    if kind >= SPANS_TEXT:
        return (
            kind <= SPANS_UNKNOWN
            and 0 <= first <= last <= t.sizes[SIZE_SPANS]
            and 0 <= t.state_info[q, DIGITS_LEFT] <= 4
            and -1 <= t.state_info[q, CHILD] < (terminals if kind == SPANS_TEXT else states)
            and -1 <= t.state_info[q, NEXT_ALIKE] < q
        )
    return (
        kind > 0
        and 0 <= first < last <= t.sizes[SIZE_WORDS]
        and t.state_info[q, DEPTH] >= 0
        and -1 <= rest < states
        and (rest < 0 or t.state_info[rest, KIND] == 0 or t.state_info[rest, KIND] >= SPANS_TEXT)
        and 0 <= t.state_info[q, DIGITS_LEFT] <= 4
        and 0 <= t.state_info[q, CHILD] <= states
        and 0 <= t.state_info[q, FROM_BYTE] < 256
    )


@lean(types.int64(TABLES))
def _unsound_nodes(t):  # type: ignore[no-untyped-def]
    """`unsound` of the stack nodes and captures."""
    frames, stack_nodes = t.frames.shape[0], t.stack_nodes.shape[0]
    # A parent, a captured text and a capture's link have smaller numbers: walks along them end.
    for c in range(stack_nodes):
        if not 0 <= t.stack_nodes[c, FRAME] < frames or not -1 <= t.stack_nodes[c, PARENT] < c:
            return numba.int64(STACK_NODES)
        if t.stack_nodes[c, SEEN_TEXTS] >= c or t.stack_nodes[c, CAPTURED] >= c:
            return numba.int64(STACK_NODES)
        if not 0 <= t.stack_nodes[c, CAPTURE_START] <= c:
            return numba.int64(STACK_NODES)
        if t.capture_links[c] < -1 or t.capture_links[c] >> 8 >= c:
            return numba.int64(CAPTURE_LINKS)
        if t.stack_nodes[c, SIGNATURE] != -1:
            return numba.int64(STACK_NODES)
        if t.stack_nodes[c, SEEN_KEYS] >= 0 and not is_kept(
            t, numba.int64(t.stack_nodes[c, SEEN_KEYS])
        ):
            return numba.int64(STACK_NODES)
    return numba.int64(0)


@lean(types.int64(TABLES, types.int64))
def unsound(t, terminals):  # type: ignore[no-untyped-def]
    """0 if no number leads a kernel outside the tables or in a circle, else the table at fault.

    That is its place in `Tables`, counted from 1. The rows are not looked at: `unpack` checks them.
    """
    states, frames, stack_nodes = t.filled.shape[0], t.frames.shape[0], t.stack_nodes.shape[0]
    if t.sizes[SIZE_STACK_NODES] != stack_nodes or t.capture_links.shape[0] != stack_nodes:
        return numba.int64(SIZES_TABLE)
    if (
        t.sizes[SIZE_STATES] != states
        or t.sizes[SIZE_CAPTURES] != 0
        or t.sizes[SIZE_SIGNATURES] != 0
    ):
        return numba.int64(SIZES_TABLE)
    fault = _unsound_words(t, terminals)
    if fault == 0:
        fault = _unsound_spans(t)
    if fault == 0:
        fault = _unsound_checklists(t)
    if fault != 0:
        return fault
    for q in range(states):
        if not -1 <= t.accept[q] < terminals:
            return numba.int64(ACCEPT)
        if t.guard[q, GUARD_BEGIN] < -1 or t.guard[q, GUARD_END] > t.sizes[SIZE_WORDS]:
            return numba.int64(GUARD)
        if not is_within(t, q, states, terminals):
            return numba.int64(STATE_INFO)
    for f in range(frames):
        lexeme = numba.int64(t.frames[f, LEXEME])
        lexeme = lexeme if lexeme >= 0 else -2 - lexeme
        if not 0 <= t.frames[f, ENTRY] < states or not 0 <= lexeme < states:
            return numba.int64(FRAMES)
        bits, high = t.frames[f, ALLOWED], t.frames[f, HIGH]
        if (
            not -1 <= t.frames[f, KEY_SET] < t.sizes[SIZE_KEY_SETS]
            or not 0 <= t.frames[f, ACTIONS_OF] < frames
        ):
            return numba.int64(FRAMES)
        if not 0 <= t.frames[f, IN_SCALAR] < frames or not 0 <= t.frames[f, ONLY_SCALAR] < states:
            return numba.int64(FRAMES)
        if bits < -1 or (bits >= 0 and bits + (max(high, 1) + 7 >> 3) > t.sizes[SIZE_ALLOWED]):
            return numba.int64(FRAMES)
    fault = _unsound_nodes(t)
    if fault != 0:
        return fault
    used = 0
    for k in range(t.node_slots.shape[0]):
        if not -1 <= t.node_slots[k] < stack_nodes:
            return numba.int64(NODE_SLOTS)
        used += t.node_slots[k] >= 0
    if not is_hash(used, t.node_slots.shape[0], t.sizes[SIZE_INTERNED]):
        return numba.int64(NODE_SLOTS)
    return _unsound_hashes(t, terminals)


RUNS = [GRID, U8, I32, U8, I32]


@lean(types.boolean(*RUNS, *[types.int64] * 4))
def unpack(rows, filled, starts, firsts, targets, begin, end, states, terminals):  # type: ignore[no-untyped-def]
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
            if last <= firsts[k] or not -terminals - 2 < targets[k] < states:
                return False
            for byte in range(firsts[k], last):
                rows[q, byte] = targets[k]
        filled[q] = 1
    return True
