"""Walk the trie within a lexeme: tokens that stay in it, and nodes at which it ends.

The lexeme mask depends on the lexer state only, not on the stack, so it is made once and kept. A
token that crosses the end of the lexeme depends on what the parser does there: such nodes are
listed (lexeme ends), and looked at for each position (`walk_lexeme_ends`, or sorted, see
`kernels.masks.boundary_tokens`).

The trie lists all tokens depth-first (see `kernels.trie.nodes`), so a walk is one loop: keep one
automaton state per depth, and jump to the end of the subtree where a byte is refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.build.language import numba, reference, types
from structgen.kernels.lexer.rows import call_fill_row
from structgen.kernels.masks.deferred_openings import go_on
from structgen.kernels.masks.row_edits import ROW_EDITS, admit, has
from structgen.kernels.parser.seen_keys import BACKSLASH, call_seen_remainders
from structgen.kernels.parser.stack_nodes import capture_byte
from structgen.kernels.parser.step import advance, read
from structgen.kernels.tables import (
    AT_LEXEME_ENDS,
    DEAD,
    I32,
    I64,
    LOOKUP_UNIQUE,
    NEED_EXACT,
    NEED_SPACE,
    SEEN_TEXTS,
    TABLES,
    TEXT_CAPTURED,
    TEXT_COMPARED,
    TEXT_UNUSED,
    U8,
)
from structgen.kernels.trie.loops import (
    LOOPS,
    all_loop,
    allow,
    allow_below,
    permit,
)
from structgen.kernels.trie.nodes import (
    BELOW,
    HEIGHT,
    NODE_BYTE,
    NODE_DEPTH,
    NODE_END,
    NODE_TOKEN,
    NODES,
    SUBTREES,
    WHOLE,
)


class LexemeEnds(NamedTuple):
    """Where tokens leave a lexeme: one entry per trie node at which it ends.

    node: int32[n]; label: int32[n], the terminal with which the lexeme ended; before: uint8[n], 1
    when it ended before the node's own byte, which is then the first byte of what follows; start:
    int32[n + 1], entry i captures `text[start[i]:start[i + 1]]`.
    """

    node: npt.NDArray[np.int32]
    label: npt.NDArray[np.int32]
    before: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int32]
    text: npt.NDArray[np.uint8]


class Remainders(NamedTuple):
    """Room for what would complete keys that were seen: text uint8[n], start int64[k]."""

    text: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]


LEXEME_ENDS = reference(types.NamedTuple([I32, I32, U8, I32, U8], LexemeEnds))
REMAINDERS = types.NamedTuple([U8, I64], Remainders)


@inlined
def is_full(out, count, used, size):  # type: ignore[no-untyped-def]
    """Whether there is no room for lexeme end number `count`, which captures up to `size` bytes."""
    return count + 1 >= out.node.shape[0] or used + size > out.text.shape[0]


@inlined
def add_lexeme_end(t, nodes, out, stack, i, count, used):  # type: ignore[no-untyped-def]
    """Write lexeme end number `count` at node `i`; returns the new length of the text."""
    depth = nodes.at[i, NODE_DEPTH]
    q = stack[depth - 1] & 0xFFFFFFFF
    target = t.rows[q, nodes.at[i, NODE_BYTE]]
    out.node[count] = i
    out.before[count] = 1 if target == DEAD else 0
    terminal = t.accept[q] if target == DEAD else -target - 2
    out.label[count] = terminal
    out.start[count] = used
    # The captured text: bytes read in states that capture, as far as they are part of the lexeme.
    if t.needs_text[terminal] != 0:
        for d in range(1, depth + 1):
            q = stack[d - 1] & 0xFFFFFFFF
            if t.recorded[q] != 0 and (d < depth or target != DEAD):
                out.text[used] = (stack[d] >> 32) & 0xFF if d < depth else nodes.at[i, NODE_BYTE]
                used += 1
    out.start[count + 1] = used
    return used


@inlined
def after_lexeme_end(t, nodes, lexeme_ends, stack_node, k, unspecified):  # type: ignore[no-untyped-def]
    """The position right after the byte of lexeme end `k`, DEAD, or a NEED_* code.

    unspecified: leave open which text was captured: see `parser.step.advance`.
    """
    at = numba.int64(stack_node)
    if not unspecified:
        for j in range(lexeme_ends.start[k], lexeme_ends.start[k + 1]):
            at = capture_byte(t, at, numba.int64(lexeme_ends.text[j]))
            if at < 0:
                return at
    position = advance(t, at, numba.int64(lexeme_ends.label[k]), unspecified)
    if position >= 0 and lexeme_ends.before[k] != 0:
        position = read(t, position, numba.int64(nodes.at[lexeme_ends.node[k], NODE_BYTE]))
    return position


@inlined
def is_new_text(lexeme_ends, k, remainders, count):  # type: ignore[no-untyped-def]
    """Whether the text of a lexeme end is none of the remainders: 1 or 0; -1 if it has escapes."""
    first = lexeme_ends.start[k]
    size = lexeme_ends.start[k + 1] - first
    for j in range(first, first + size):
        if lexeme_ends.text[j] == BACKSLASH:
            return -1
    for r in range(count):
        begin = remainders.start[r]
        if remainders.start[r + 1] - begin == size:
            same = True
            for j in range(size):
                if lexeme_ends.text[first + j] != remainders.text[begin + j]:
                    same = False
                    break
            if same:
                return 0
    return 1


@inlined
def next_child(t, nodes, q, first):  # type: ignore[no-untyped-def]
    """The next node of depth 1, from byte `first` on, that lexer state `q` reads; n if none."""
    for byte in range(first, 256):
        if t.rows[q, byte] != DEAD and nodes.root_child[byte] >= 0:
            return numba.int64(nodes.root_child[byte])
    return numba.int64(nodes.at.shape[0])


@lean(types.int64(
    TABLES, NODES, SUBTREES, LOOPS, types.int64, LEXEME_ENDS, types.int32[::1], I64
))  # fmt: skip
def walk_lexeme(t, nodes, subtrees, loops, least, out, row, stack):  # type: ignore[no-untyped-def]
    """Walk the trie from lexer state `stack[0]`; set bits of tokens that stay in the lexeme.

    least: only the ways to tokens of more characters are walked, and maybe others. out: filled with
    the lexeme ends found. row: int32[words], or-ed into. stack: int64[depth + 4]: per depth
    byte << 32 | lexer state, and in the last three entries the place to go on from: node, number of
    lexeme ends, bytes of their text. Returns 0 when done, NEED_ROW (`t.need[WANTED]`: the lexer
    state), or NEED_SPACE when `out` is full; call again with the same arguments, larger `out`.
    """
    place = stack.shape[0] - 3
    i, count, used = stack[place], stack[place + 1], stack[place + 2]
    status = numba.int64(0)
    n = nodes.at.shape[0]
    while i < n:
        depth = nodes.at[i, NODE_DEPTH]
        if least > 0 and depth - 1 + subtrees.at[i, HEIGHT] <= least:
            i = numba.int64(nodes.at[i, NODE_END])
            continue
        q = stack[depth - 1] & 0xFFFFFFFF
        # The state reads whatever the subtree has and stays in the lexeme: all tokens of it fit.
        if all_loop(subtrees, loops, q, i, WHOLE):
            allow_below(nodes, subtrees, row, i)
            i = numba.int64(nodes.at[i, NODE_END])
            continue
        if t.filled[q] == 0:
            status = call_fill_row(t, q)
            if status < 0:
                break
        target = t.rows[q, nodes.at[i, NODE_BYTE]]
        # Inside the lexeme: its tokens fit, go down.
        if target >= 0:
            if all_loop(subtrees, loops, target, i, BELOW):
                allow_below(nodes, subtrees, row, i)
                i = numba.int64(nodes.at[i, NODE_END])
                continue
            stack[depth] = (numba.int64(nodes.at[i, NODE_BYTE]) << 32) | target
            allow(nodes, row, i)
            i += 1
            continue
        # The lexeme ends with this byte, or before it: what follows is the parser's to say.
        if target != DEAD or t.accept[q] > 0:
            if is_full(out, count, used, depth):
                status = numba.int64(NEED_SPACE)
                break
            used = add_lexeme_end(t, nodes, out, stack, i, count, used)
            count += 1
        elif depth == 1:
            i = next_child(t, nodes, q, numba.int64(nodes.at[i, NODE_BYTE]) + 1)
            continue
        i = numba.int64(nodes.at[i, NODE_END])
    stack[place] = i
    stack[place + 1] = count
    stack[place + 2] = used
    return status


@inlined
def walk_behind(t, nodes, edits, stack, i, last):  # type: ignore[no-untyped-def]
    """Set bits of tokens at nodes `i` to `last` - 1 that can be read on. Returns 0 or a NEED_*."""
    while i < last:
        before = stack[nodes.at[i, NODE_DEPTH] - 1]
        position = read(t, before, numba.int64(nodes.at[i, NODE_BYTE]))
        i = go_on(t, nodes, i, position, edits, stack)
        if i < 0:
            return i
    return numba.int64(0)


@inner(types.int64(TABLES, NODES, LEXEME_ENDS, REMAINDERS, types.int64, ROW_EDITS, I64))
def walk_lexeme_ends(t, nodes, lexeme_ends, remainders, stack_node, edits, stack):  # type: ignore[no-untyped-def]
    """Set bits of tokens that end the lexeme in a stack node and go on beyond it, end by end.

    remainders: scratch. stack: int64[depth + 4], one position per depth; its last three entries
    hold the lexeme end to go on from (0 at first) and -1. Returns 0 when done or a NEED_* code;
    call again with the same arguments.
    """
    place = stack.shape[0] - 3
    k = stack[place]
    i = stack[place + 1]
    # Which texts would make a key that was seen before: known without capturing them byte by byte.
    count = 0
    if t.stack_nodes[stack_node, SEEN_TEXTS] >= 0:
        count = call_seen_remainders(t, stack_node, remainders.text, remainders.start)
    # Whether to capture the text of this end after all, since what follows depends on it.
    exact = False
    known = numba.int64(-1)  # a terminal that leads on from every end alike, and where to
    known_position = numba.int64(DEAD)
    while k < lexeme_ends.node.shape[0]:
        first = lexeme_ends.node[k]
        # i: the next node behind end k, -1 while the end itself has not been looked at.
        if i < 0:
            terminal = numba.int64(lexeme_ends.label[k])
            compared = t.needs_text[terminal] == TEXT_COMPARED
            unspecified = not exact and (
                t.needs_text[terminal] == TEXT_CAPTURED or (compared and count >= 0)
            )
            fresh = 1
            if unspecified and compared and count > 0:
                t.lookups[LOOKUP_UNIQUE] = 1
                fresh = is_new_text(lexeme_ends, k, remainders, count)
                unspecified = fresh >= 0
            # Ends of one terminal lead to the same position when their texts do not matter, or are
            # left open.
            alike = lexeme_ends.before[k] == 0 and (
                unspecified or t.needs_text[terminal] == TEXT_UNUSED
            )
            position = numba.int64(DEAD)
            if fresh != 0 and alike and terminal == known:
                position = known_position
            elif fresh != 0:
                position = after_lexeme_end(t, nodes, lexeme_ends, stack_node, k, unspecified)
                if alike and position >= DEAD:
                    known = terminal
                    known_position = position
            # The text was left open and matters: once more, with it.
            if position == NEED_EXACT and not exact:
                exact = True
                continue
            if position < DEAD:
                stack[place] = k
                stack[place + 1] = -1
                return position
            i = nodes.at[first, NODE_END]
            if position >= 0:
                admit(edits, nodes.at[first, NODE_TOKEN])
                stack[nodes.at[first, NODE_DEPTH]] = position
                i = first + 1
        # What goes on behind the end, in the subtree of its node.
        code = walk_behind(t, nodes, edits, stack, i, nodes.at[first, NODE_END])
        if code < 0 and code != NEED_EXACT:
            stack[place] = k
            stack[place + 1] = -1
            return code
        # The same when it turns out to matter further on.
        exact = code == NEED_EXACT
        if not exact:
            k += 1
        i = -1
    stack[place] = k
    stack[place + 1] = -1
    return numba.int64(0)


call_lexeme_ends = called(walk_lexeme_ends, AT_LEXEME_ENDS)


@lean(types.void(NODES, types.int32[::1]))
def set_duplicates(nodes, row):  # type: ignore[no-untyped-def]
    """Give every token the bit of the token with the same bytes that the trie names."""
    for j in range(nodes.extra_node.shape[0]):
        token = nodes.at[nodes.extra_node[j], NODE_TOKEN]
        if (numba.uint32(row[token >> 5]) >> numba.uint32(token & 31)) & 1:
            permit(row, nodes.extra_token[j])


@inlined
def admit_duplicates(nodes, edits):  # type: ignore[no-untyped-def]
    """`set_duplicates` for the edits of a row."""
    for j in range(nodes.extra_node.shape[0]):
        if has(edits, nodes.at[nodes.extra_node[j], NODE_TOKEN]):
            admit(edits, nodes.extra_token[j])
