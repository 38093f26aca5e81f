"""In: tables, a vocabulary trie, a position. Out: tokens that stay in the lexeme, or cross its end.

The trie lists all tokens depth-first (see `kernels.trie.nodes`), so a walk is one loop: keep one
automaton state per depth, and jump to the end of the subtree where a byte is refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.build.decorators import called, inlined, inner, lean
from structgen.kernels.build.pointers import reference
from structgen.kernels.lexer.rows import call_provide
from structgen.kernels.masks.deferred_openings import lacking
from structgen.kernels.masks.row_edits import CHANGES, admit, has
from structgen.kernels.parser.seen_keys import BACKSLASH, call_rests_of_taken
from structgen.kernels.parser.stack_nodes import remember
from structgen.kernels.parser.step import move, read
from structgen.kernels.tables import (
    ALONE,
    AT_CROSSING,
    COMPARED,
    DEAD,
    I32,
    I64,
    KEPT,
    NEED_EXACT,
    NEED_SPACE,
    TABLES,
    TAKEN,
    U8,
    UNUSED,
)
from structgen.kernels.trie.loops import (
    LOOPS,
    all_loop,
    allow,
    allow_below,
    is_other,
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


class Crossings(NamedTuple):
    """Where tokens leave a lexeme: one entry per trie node at which it ends.

    node: int32[n]; label: int32[n], how the lexeme ended; before: uint8[n], 1 when it ended before
    the node's own byte, which is then the first byte of what follows; start: int32[n + 1], entry i
    remembers `text[start[i]:start[i + 1]]`.
    """

    node: npt.NDArray[np.int32]
    label: npt.NDArray[np.int32]
    before: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int32]
    text: npt.NDArray[np.uint8]


class Rests(NamedTuple):
    """Room for what would complete keys that came before: text uint8[n], start int64[k]."""

    text: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]


CROSSINGS = reference(types.NamedTuple([I32, I32, U8, I32, U8], Crossings))
RESTS = types.NamedTuple([U8, I64], Rests)


@inlined
def is_full(out, count, used, size):  # type: ignore[no-untyped-def]
    """Whether there is no room for crossing number `count`, which remembers up to `size` bytes."""
    return count + 1 >= out.node.shape[0] or used + size > out.text.shape[0]


@inlined
def cross(t, nodes, out, stack, i, count, used):  # type: ignore[no-untyped-def]
    """Write crossing number `count` at node `i`; returns the new length of the text."""
    depth = nodes.at[i, NODE_DEPTH]
    q = stack[depth - 1] & 0xFFFFFFFF
    target = t.rows[q, nodes.at[i, NODE_BYTE]]
    out.node[count] = i
    out.before[count] = 1 if target == DEAD else 0
    label = t.accept[q] if target == DEAD else -target - 2
    out.label[count] = label
    out.start[count] = used
    if t.needs_text[label] != 0:
        for d in range(1, depth + 1):
            q = stack[d - 1] & 0xFFFFFFFF
            if t.recorded[q] != 0 and (d < depth or target != DEAD):
                out.text[used] = (stack[d] >> 32) & 0xFF if d < depth else nodes.at[i, NODE_BYTE]
                used += 1
    out.start[count + 1] = used
    return used


@inlined
def enter(t, nodes, crossings, ctx, k, vague):  # type: ignore[no-untyped-def]
    """The pair right after the byte of crossing `k`, DEAD, or a NEED_* code."""
    at = numba.int64(ctx)
    if not vague:
        for j in range(crossings.start[k], crossings.start[k + 1]):
            at = remember(t, at, numba.int64(crossings.text[j]))
            if at < 0:
                return at
    pair = move(t, at, numba.int64(crossings.label[k]), vague)
    if pair >= 0 and crossings.before[k] != 0:
        pair = read(t, pair, numba.int64(nodes.at[crossings.node[k], NODE_BYTE]))
    return pair


@inlined
def freshness(crossings, k, rests, count):  # type: ignore[no-untyped-def]
    """Whether the text of a crossing is none of `count` rests: 1 or 0; -1 if it has escapes."""
    first = crossings.start[k]
    size = crossings.start[k + 1] - first
    for j in range(first, first + size):
        if crossings.text[j] == BACKSLASH:
            return -1
    for r in range(count):
        begin = rests.start[r]
        if rests.start[r + 1] - begin == size:
            same = True
            for j in range(size):
                if crossings.text[first + j] != rests.text[begin + j]:
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


@inlined
def allow_rest(nodes, subtrees, row, i, other, most):  # type: ignore[no-untyped-def]
    """Set the bits of all tokens that end at node `i` or below, unless the row has them anyway.

    It has those of at most `most` characters where `other` is 0: see `walk_inside`.
    """
    if other != 0 or nodes.at[i, NODE_DEPTH] - 1 + subtrees.at[i, HEIGHT] > most:
        allow_below(nodes, subtrees, row, i)


@lean(types.int64(TABLES, NODES, SUBTREES, LOOPS, I64, CROSSINGS, types.int32[::1], I64))
def walk_inside(t, nodes, subtrees, loops, told, out, row, stack):  # type: ignore[no-untyped-def]
    """Walk the trie from lexer state `stack[0]`; set bits of tokens that stay in the lexeme.

    row: int32[words], or-ed into; at first it has the tokens of at most told[1] characters, all of
    the groups with bits told[0] (0 for none). Only the ways to tokens of more than told[2]
    characters are walked, and maybe others. out: filled with the crossings found; `stack`
    int64[depth + 4]: per depth 1 << 40 if a character was in none of these groups | byte << 32 |
    lexer state, and in the last three entries the place to go on from: node, number of crossings,
    bytes of their text. Returns 0 when done, NEED_ROW (`t.need[0]`: the lexer state), or NEED_SPACE
    when `out` is full; call again with the same arguments, larger `out`.
    """
    letters, most, least = told[0], told[1], told[2]
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
        other = stack[depth - 1] >> 40
        if all_loop(subtrees, loops, q, i, WHOLE):
            other |= subtrees.at[i, WHOLE] & ~letters
            allow_rest(nodes, subtrees, row, i, other, most)
            i = numba.int64(nodes.at[i, NODE_END])
            continue
        if t.filled[q] == 0:
            status = call_provide(t, q)
            if status < 0:
                break
        target = t.rows[q, nodes.at[i, NODE_BYTE]]
        if target >= 0:
            if is_other(subtrees, letters, i):
                other = numba.int64(1)
            if all_loop(subtrees, loops, target, i, BELOW):
                other |= subtrees.at[i, BELOW] & ~letters
                allow_rest(nodes, subtrees, row, i, other, most)
                i = numba.int64(nodes.at[i, NODE_END])
                continue
            stack[depth] = (other << 40) | (numba.int64(nodes.at[i, NODE_BYTE]) << 32) | target
            allow(nodes, row, i)
            i += 1
            continue
        if target != DEAD or t.accept[q] > 0:
            if is_full(out, count, used, depth):
                status = numba.int64(NEED_SPACE)
                break
            used = cross(t, nodes, out, stack, i, count, used)
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
def walk_behind(t, nodes, changes, stack, i, last):  # type: ignore[no-untyped-def]
    """Set bits of tokens at nodes `i` to `last` - 1 that can be read on. Returns 0 or a NEED_*."""
    while i < last:
        depth = nodes.at[i, NODE_DEPTH]
        pair = read(t, stack[depth - 1], numba.int64(nodes.at[i, NODE_BYTE]))
        if pair >= 0:
            stack[depth] = pair
            admit(changes, nodes.at[i, NODE_TOKEN])
            i += 1
        elif pair == DEAD:
            i = nodes.at[i, NODE_END]
        else:
            code = lacking(t, nodes, i, pair, changes, stack)
            if code < 0:
                return code
            i = nodes.at[i, NODE_END]
    return numba.int64(0)


@inner(types.int64(TABLES, NODES, CROSSINGS, RESTS, types.int64, CHANGES, I64))
def walk_crossing(t, nodes, crossings, rests, ctx, changes, stack):  # type: ignore[no-untyped-def]
    """Set bits of tokens that end the lexeme in context `ctx` and go on beyond it.

    rests: scratch. stack: int64[depth + 4], one pair per depth; its last three entries hold the
    crossing to go on from (0 at first) and -1. Returns 0 when done or a NEED_* code; call again
    with the same arguments.
    """
    place = stack.shape[0] - 3
    k = stack[place]
    i = stack[place + 1]
    count = 0
    if t.contexts[ctx, TAKEN] >= 0:
        count = call_rests_of_taken(t, ctx, rests.text, rests.start)
    exact = False
    known = numba.int64(-1)  # a label that leads on from every crossing alike, and where to
    known_pair = numba.int64(DEAD)
    while k < crossings.node.shape[0]:
        first = crossings.node[k]
        if i < 0:
            label = numba.int64(crossings.label[k])
            compared = t.needs_text[label] == COMPARED
            vague = not exact and (t.needs_text[label] == KEPT or (compared and count >= 0))
            fresh = 1
            if vague and compared and count > 0:
                t.asked[ALONE] = 1
                fresh = freshness(crossings, k, rests, count)
                vague = fresh >= 0
            alike = crossings.before[k] == 0 and (vague or t.needs_text[label] == UNUSED)
            pair = numba.int64(DEAD)
            if fresh != 0 and alike and label == known:
                pair = known_pair
            elif fresh != 0:
                pair = enter(t, nodes, crossings, ctx, k, vague)
                if alike and pair >= DEAD:
                    known = label
                    known_pair = pair
            if pair == NEED_EXACT and not exact:
                exact = True
                continue
            if pair < DEAD:
                stack[place] = k
                stack[place + 1] = -1
                return pair
            i = nodes.at[first, NODE_END]
            if pair >= 0:
                admit(changes, nodes.at[first, NODE_TOKEN])
                stack[nodes.at[first, NODE_DEPTH]] = pair
                i = first + 1
        code = walk_behind(t, nodes, changes, stack, i, nodes.at[first, NODE_END])
        if code < 0 and code != NEED_EXACT:
            stack[place] = k
            stack[place + 1] = -1
            return code
        exact = code == NEED_EXACT
        if not exact:
            k += 1
        i = -1
    stack[place] = k
    stack[place + 1] = -1
    return numba.int64(0)


call_crossing = called(walk_crossing, AT_CROSSING)


@lean(types.void(NODES, types.int32[::1]))
def spread(nodes, row):  # type: ignore[no-untyped-def]
    """Give every token the bit of the token with the same bytes that the trie names."""
    for j in range(nodes.extra_node.shape[0]):
        token = nodes.at[nodes.extra_node[j], NODE_TOKEN]
        if (numba.uint32(row[token >> 5]) >> numba.uint32(token & 31)) & 1:
            permit(row, nodes.extra_token[j])


@inlined
def admit_all(nodes, changes):  # type: ignore[no-untyped-def]
    """`spread` for changes of a row."""
    for j in range(nodes.extra_node.shape[0]):
        if has(changes, nodes.at[nodes.extra_node[j], NODE_TOKEN]):
            admit(changes, nodes.extra_token[j])
