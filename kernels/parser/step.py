"""Read bytes and terminals: from a position to the next, or to what is missing to know it.

A byte moves the lexer state along its row. Where the byte ends a lexeme, or the lexeme may have
ended before it, the lexeme's terminal acts on the stack node: it is shifted, or frames close first
(POP, the reductions of a pushdown automaton) and the terminal acts in the frame below. All that is
known stands in hash tables; what is not stops the kernel with a NEED_* code.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, inlined, inner
from structgen.kernels.build.language import numba, types
from structgen.kernels.lexer.rows import call_fill_row
from structgen.kernels.lexer.words import is_escapable, letter_at
from structgen.kernels.parser.key_sets import call_apply_key_action, has_seen
from structgen.kernels.parser.seen_keys import call_is_seen
from structgen.kernels.parser.stack_nodes import capture_byte, is_unspecified, stack_node_of
from structgen.kernels.tables import (
    ACTIONS_OF,
    ALLOWED,
    AT_ADVANCE,
    AT_ALLOWED_KEY,
    AT_ENDING,
    AT_RUN,
    AT_STEP,
    BYTES,
    CAPTURE_START,
    CAPTURED,
    CAPTURES,
    CHECK_KEYS,
    DEAD,
    DEPTH,
    END_TERMINAL,
    ENTRY,
    FLAGS,
    FRAME,
    GOTO,
    GOTO_IF_NEW,
    GUARD_BEGIN,
    GUARD_END,
    HIGH,
    IN_ESCAPE,
    IN_HEX,
    KEY_SET,
    KIND,
    LEXEME,
    LOOKUP_NODE,
    LOOKUP_UNIQUE,
    LOW,
    MARK_SEEN,
    NEED_ACTION,
    NEED_EVENT,
    NEED_EXACT,
    NO_KEYS,
    PARENT,
    POP,
    PUSH,
    READ_OFFSET,
    READ_POSITION,
    RECALL,
    SEEN_KEYS,
    SEEN_TEXTS,
    SKIP_TERMINAL,
    TABLES,
    TEXT_READ,
    UNKNOWN,
    UNSPECIFIED,
    WANTED,
    WANTED_WITH,
    find,
)

# A frame whose lexeme ends without a byte and leads to itself stands in damaged files only.
MAX_ENDS = 64  # lexemes that end before one byte: far more than any machine has, but an end


@inlined
def recall(t, stack_node, terminal):  # type: ignore[no-untyped-def]
    """The position after a terminal of which Python decides by a captured text; or as `advance`."""
    # Captured texts are no part of the stack signature: no other node can share the mask.
    t.lookups[LOOKUP_UNIQUE] = 1
    if t.stack_nodes[stack_node, CAPTURED] == UNSPECIFIED:
        return numba.int64(NEED_EXACT)
    position = find(t.events, (stack_node << 32) | terminal)
    if position == UNKNOWN:
        t.need[WANTED] = stack_node
        t.need[WANTED_WITH] = terminal
        return numba.int64(NEED_EVENT)
    return position


@inlined
def perform(t, at, source, terminal, action, unspecified):  # type: ignore[no-untyped-def]
    """The position after an action (not POP) in stack node `at`; or as `advance`.

    source: the node that captured what has been read, or the one that closed. action: as in
    `t.actions`. unspecified: see `advance`.
    """
    parent = numba.int64(t.stack_nodes[at, PARENT])
    seen_texts = numba.int64(t.stack_nodes[at, SEEN_TEXTS])
    seen = numba.int64(t.stack_nodes[at, SEEN_KEYS])
    captured = numba.int64(t.stack_nodes[at, CAPTURED])
    kind = action >> 56
    first = (action >> 28) & 0xFFFFFFF
    # The node stays, as frame b, below a new one that has seen and captured nothing.
    if kind == PUSH:
        below = action & 0xFFFFFFF
        # What was captured in progress is no part of the node that waits.
        waiting = numba.int64(t.stack_nodes[at, CAPTURE_START])
        if below != t.stack_nodes[at, FRAME]:
            waiting = stack_node_of(t, below, parent, seen_texts, seen, captured)
            if waiting < 0:
                return waiting
        parent = waiting
        seen_texts = captured = numba.int64(-1)
        key_set = t.frames[first, KEY_SET]
        seen = numba.int64(t.key_sets[key_set, NO_KEYS] if key_set >= 0 else -1)
    # `at` holds the text that was read. In a mask its remainders have been compared before, so
    # which one it is may be left open; otherwise it becomes the last text seen, if it is new.
    elif kind == GOTO_IF_NEW:
        if unspecified:
            seen_texts = numba.int64(UNSPECIFIED)
        elif seen_texts == UNSPECIFIED:
            t.lookups[LOOKUP_UNIQUE] = 1
            return numba.int64(NEED_EXACT)
        elif call_is_seen(t, at):
            t.lookups[LOOKUP_UNIQUE] = 1
            return numba.int64(DEAD)
        else:
            # That it is new holds beside these texts only.
            if seen_texts >= 0:
                t.lookups[LOOKUP_UNIQUE] = 1
            seen_texts = at
    # The keys seen change, or say which frame comes.
    elif MARK_SEEN <= kind <= CHECK_KEYS:
        after = call_apply_key_action(t, at, action)
        if after < 0:
            return after
        first = after >> 32
        seen = after & 0xFFFFFFFF
    # The CAPTURES bit is only a flag where b is no frame or key.
    if action & CAPTURES != 0 and (kind == GOTO or kind == GOTO_IF_NEW or kind == RECALL):
        captured = (
            numba.int64(UNSPECIFIED)
            if unspecified or is_unspecified(t, at) or is_unspecified(t, source)
            else source
        )
    q = numba.int64(t.frames[first, ENTRY])
    after = stack_node_of(t, first, parent, seen_texts, seen, captured)
    if after >= 0 and kind == RECALL:
        return recall(t, after, terminal)
    return (q << 32) | after if after >= 0 else after


@inlined
def advance(t, stack_node, terminal, unspecified):  # type: ignore[no-untyped-def]
    """The position after `terminal` in `stack_node`, DEAD, or a NEED_* code.

    unspecified: for masks: a text that comes once is known to be new, and it and texts to be
    captured may be left open (UNSPECIFIED), so that one node serves all of them.
    """
    at = source = numba.int64(stack_node)
    # White space ends: the same node goes on with the lexeme of its frame.
    if terminal == SKIP_TERMINAL:
        lexeme = numba.int64(t.frames[t.stack_nodes[at, FRAME], LEXEME])
        if lexeme < 0:  # within masks, how it begins is mostly all that is asked for
            if t.stack_nodes[at, CAPTURED] != UNSPECIFIED and (
                t.lookups[LOOKUP_NODE] < 0 or t.lookups[LOOKUP_NODE] == at
            ):
                return recall(t, at, terminal)
            lexeme = -2 - lexeme
        return (lexeme << 32) | at
    # Close frames (POP) until an action says what becomes of the frame that is then on top. Each
    # round goes one node down, so it ends.
    while True:
        if t.needs_text[terminal] == TEXT_READ:
            return recall(t, at, terminal)
        frame = numba.int64(t.stack_nodes[at, FRAME])
        # Frames that differ only in what else may come share their actions.
        owner = numba.int64(t.frames[frame, ACTIONS_OF])
        action = find(t.actions, (owner << 32) | terminal)
        if action == UNKNOWN:
            t.need[WANTED] = owner
            t.need[WANTED_WITH] = terminal
            return numba.int64(NEED_ACTION)
        if action < 0:
            return numba.int64(DEAD)
        if action >> 56 != POP:
            break
        terminal = (action >> 28) & 0xFFFFFFF
        source = numba.int64(t.stack_nodes[at, CAPTURE_START])
        at = numba.int64(t.stack_nodes[at, PARENT])
        if at < 0:
            return numba.int64(DEAD)
    return perform(t, at, source, terminal, action, unspecified)


@inner(types.int64(TABLES, types.int64, types.int64))
def advance_terminal(t, stack_node, terminal):  # type: ignore[no-untyped-def]
    """`advance` compiled once, to be called by its address."""
    return advance(t, stack_node, terminal, False)


call_advance = called(advance_terminal, AT_ADVANCE)


@inner(types.boolean(TABLES, types.int64, types.int64))
def has_allowed_key(t, stack_node, q):  # type: ignore[no-untyped-def]
    """Whether the frame of a stack node allows one of the keys that lexer state `q` is within."""
    frame = t.stack_nodes[stack_node, FRAME]
    low, high, bits = t.frames[frame, LOW], t.frames[frame, HIGH], t.frames[frame, ALLOWED]
    seen = numba.int64(t.stack_nodes[stack_node, SEEN_KEYS])
    within_escape = t.state_info[q, KIND] == IN_ESCAPE or t.state_info[q, KIND] == IN_HEX
    # Word k begins with what was read. Its key must be in the frame's range and among its allowed
    # ones, must not have been seen, and, behind a backslash, have a next letter that may be
    # escaped.
    for k in range(t.guard[q, GUARD_BEGIN], t.guard[q, GUARD_END]):
        key = t.order[k]
        if (
            low <= key < high
            and (bits < 0 or (t.allowed[bits + (key >> 3)] >> (key & 7)) & 1)
            and (seen < 0 or not has_seen(t, stack_node, numba.int64(key)))
            and (
                not within_escape
                or is_escapable(t.state_info[q, FLAGS], letter_at(t, k, t.state_info[q, DEPTH]))
            )
        ):
            return True
    return False


call_has_allowed_key = called(has_allowed_key, AT_ALLOWED_KEY)


@inlined
def allows_key(t, stack_node, q):  # type: ignore[no-untyped-def]
    """Whether the word being read may still become a key of this frame; True if it is no key."""
    first = t.guard[q, GUARD_BEGIN]
    return True if first < 0 else call_has_allowed_key(t, stack_node, q)


@inlined
def read(t, position, byte):  # type: ignore[no-untyped-def]
    """Read one byte: the position after it, DEAD, or a NEED_* code with `t.need[:2]` set."""
    q = position >> 32
    stack_node = position & 0xFFFFFFFF
    # Each round that does not break ends a lexeme *before* the byte, which the next one may read.
    for _ in range(MAX_ENDS):
        if t.filled[q] == 0:
            code = call_fill_row(t, q)
            if code < 0:
                return code
        target = numba.int64(t.rows[q, byte])
        if target != DEAD:
            break
        # The byte does not go on in the lexeme: may the lexeme end here?
        terminal = numba.int64(t.accept[q])
        if terminal <= END_TERMINAL:
            return numba.int64(DEAD)
        after = advance(t, stack_node, terminal, False)
        if after < 0:
            return after
        q = after >> 32
        stack_node = after & 0xFFFFFFFF
    else:
        return numba.int64(DEAD)
    # The byte is part of the lexeme and of a text that matters later.
    if t.recorded[q] != 0:
        stack_node = capture_byte(t, stack_node, byte)
        if stack_node < 0:
            return stack_node
    # Inside the lexeme the stack does not change; a closing byte (`-target - 2`) is a terminal.
    if target >= 0:
        if not allows_key(t, stack_node, target):
            return numba.int64(DEAD)
        return (target << 32) | stack_node
    return advance(t, stack_node, -target - 2, False)


@inner(types.int64(TABLES, types.int64, types.int64))
def step(t, position, byte):  # type: ignore[no-untyped-def]
    """`read` compiled once, to be called by its address."""
    return read(t, position, byte)


call_step = called(step, AT_STEP)


@inner(types.int64(TABLES, types.int64, BYTES))
def run(t, position, data):  # type: ignore[no-untyped-def]
    """Read all bytes of `data` (uint8[n], read-only) from `t.need[READ_OFFSET]` on.

    Returns a position, DEAD or a NEED_* code; then READ_OFFSET is the byte that could not be read
    and READ_POSITION the position before it, so that the caller can go on from there.
    """
    i = t.need[READ_OFFSET]
    while i < data.shape[0]:
        after = read(t, position, numba.int64(data[i]))
        if after < 0:
            t.need[READ_OFFSET] = i
            t.need[READ_POSITION] = position
            return after
        position = after
        i += 1
    t.need[READ_OFFSET] = i
    return position


call_run = called(run, AT_RUN)


@inner(types.int64(TABLES, types.int64))
def ending(t, position):  # type: ignore[no-untyped-def]
    """1 if the text may end at a position, 0 if not, or a NEED_* code."""
    q = position >> 32
    stack_node = position & 0xFFFFFFFF
    # As lexemes end one after the other, END_TERMINAL must be reached: 64 rounds, as in `read`.
    for _ in range(MAX_ENDS):
        if t.filled[q] == 0:
            code = call_fill_row(t, q)
            if code < 0:
                return code
        terminal = numba.int64(t.accept[q])
        if terminal == END_TERMINAL:
            return numba.int64(1)
        if terminal < 0:
            return numba.int64(0)
        after = advance(t, stack_node, terminal, False)
        if after == DEAD:
            return numba.int64(0)
        if after < 0:
            return after
        q = after >> 32
        stack_node = after & 0xFFFFFFFF
    return numba.int64(0)


call_ending = called(ending, AT_ENDING)


@inlined
def follows(t, position, byte):  # type: ignore[no-untyped-def]
    """At least 0 if a byte can follow a position, else DEAD or a NEED_* code.

    As `step`, but a byte within a lexeme is not captured: no stack node is made for the question.
    """
    q = position >> 32
    if t.filled[q] != 0 and t.rows[q, byte] >= 0:
        if allows_key(t, position & 0xFFFFFFFF, numba.int64(t.rows[q, byte])):
            return numba.int64(0)
        return numba.int64(DEAD)
    return call_step(t, position, byte)


@inner(types.int64(TABLES, types.int64))
def only_byte(t, position):  # type: ignore[no-untyped-def]
    """The byte if exactly one can follow a position, -1 if none or several, or a NEED_* code."""
    found = numba.int64(-1)
    for byte in range(256):
        after = follows(t, position, numba.int64(byte))
        if after >= 0:
            if found >= 0:
                return numba.int64(-1)
            found = numba.int64(byte)
        elif after != DEAD:
            return after
    return found


@inner(types.int64(TABLES, types.int64, types.uint8[::1]))
def next_bytes(t, position, out):  # type: ignore[no-untyped-def]
    """Set out[b] (uint8[256]) to 1 for each byte that can follow. Returns 0 or a NEED_* code."""
    for byte in range(256):
        after = follows(t, position, numba.int64(byte))
        if after < DEAD:
            return after
        out[byte] = 1 if after >= 0 else 0
    return numba.int64(0)
