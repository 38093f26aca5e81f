"""In: tables, a trie, a lexer state. Out: what tokens do within a lexeme, kept for all places.

A *part* belongs to a trie and a lexer state: the tokens that stay within the lexeme, and for every
way in which the lexeme can end within a token, a trie of what is left of the tokens then. Parts do
not depend on the syntax. The trie of the vocabulary is trie 0; others are stretches of it, or of
tries merged from many short stretches.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from structgen.kernels.flags import inlined, lean
from structgen.kernels.grammar_lexer import endings, next_lexer, next_watches
from structgen.kernels.grammar_tables import CLASS, GRAMMAR, INT
from structgen.kernels.tables import BYTES, DEAD, HASH, I32, I64, INTS, U8, slot_of

NEED_ROOM = -8  #: an array of the parts is full: `sizes[FULL]` says which

# Places in `sizes`.
(
    TRIES, PARTS, LISTS, DENSE, MEMO, NODES, TOKENS, CUTS, LINKS, FULL, LARGE, SPARSE, SMALL,
    KEPT, SEGMENTS, GROUPS, PLACES, CLUSTERED,
) = range(18)  # fmt: skip


class Parts(NamedTuple):
    """The arrays of parts over one vocabulary; n nodes of its trie, m of merged ones.

    byte, depth, end, token: the vocabulary's trie (see `kernels.walk.Nodes`). follow: uint8[
    terminals, classes], whether a byte can follow a terminal. sub_byte, sub_depth, sub_end: merged
    tries in the same order; sub_start: int32[m + 1], their tokens in sub_token. tries: int32[k, 4],
    1 if merged, first node, last node + 1, depth above it. parts: int32[k, 5], row in dense or -1,
    tokens in lists (start, count), groups in lists (start, count; triples of terminals, watches,
    trie). memo: int64[H, 2], trie << 31 | lexer state -> part,
    and 1 << 62 | merged << 61 | first << 30 | last -> trie. segments: int32[k, 4], scratch:
    group, first, last + 1, depth above. groups: int32[k, 2], scratch: terminals, watches. links:
    int32[k, 4], scratch: byte, first child, next sibling, last token; cuts: int32[k, 2], scratch:
    token, the one before. stack: int64[2 (depth + 4)], scratch; scratch: int32[words],
    zeros; places: int64[4 k], scratch: trie, lexer state, stacks, watches. sizes: int64[18].
    """

    byte: npt.NDArray[np.uint8]
    depth: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    token: npt.NDArray[np.int32]
    follow: npt.NDArray[np.uint8]
    sub_byte: npt.NDArray[np.uint8]
    sub_depth: npt.NDArray[np.int32]
    sub_end: npt.NDArray[np.int32]
    sub_start: npt.NDArray[np.int32]
    sub_token: npt.NDArray[np.int32]
    tries: npt.NDArray[np.int32]
    parts: npt.NDArray[np.int32]
    lists: npt.NDArray[np.int32]
    dense: npt.NDArray[np.int32]
    memo: npt.NDArray[np.int64]
    segments: npt.NDArray[np.int32]
    groups: npt.NDArray[np.int32]
    links: npt.NDArray[np.int32]
    cuts: npt.NDArray[np.int32]
    stack: npt.NDArray[np.int64]
    scratch: npt.NDArray[np.int32]
    places: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]


I32_2 = types.int32[:, ::1]
PARTS_T = types.NamedTuple(
    [
        BYTES, INTS, INTS, INTS, types.uint8[:, ::1], U8, I32, I32, I32, I32,
        I32_2, I32_2, I32, I32_2, HASH, I32_2, I32_2, I32_2, I32_2, I64, I32, I64, I64,
    ],
    Parts,
)  # fmt: skip


@inlined
def full(p, what):  # type: ignore[no-untyped-def]
    """Say that an array is full."""
    p.sizes[FULL] = what
    return numba.int64(NEED_ROOM)


@inlined
def set_bit(row, token):  # type: ignore[no-untyped-def]
    """Set the bit of a token."""
    row[token >> 5] |= numba.int32(numba.uint32(1) << numba.uint32(token & 31))


@inlined
def may_follow(t, p, terminals, kind):  # type: ignore[no-untyped-def]
    """Whether a byte can follow any of some terminals."""
    start = t.rec[terminals, 0]
    found = False
    for j in range(start, start + t.rec[terminals, 1]):
        if p.follow[t.heap[j], kind] == 1:
            found = True
    return found


@lean(INT(GRAMMAR, PARTS_T, INT, INT))
def segments_of(t, p, trie, lexer):  # type: ignore[no-untyped-def]
    """Walk a trie within a lexeme: set bits of tokens that stay in it, list where they leave it.

    Writes p.segments and p.groups, and the first sizes[SPARSE] tokens to the end of p.lists.
    Returns the number of tokens that stay, or a code; begin again then.
    """
    merged, first, last = p.tries[trie, 0], p.tries[trie, 1], p.tries[trie, 2]
    base = p.tries[trie, 3]
    stack, row = p.stack, p.scratch
    half = stack.shape[0] // 2
    stack[0] = lexer
    stack[half] = endings(t, lexer)
    if stack[half] < 0:
        return stack[half]
    kept = numba.int64(0)
    count = numba.int64(0)
    groups = numba.int64(0)
    space = p.lists.shape[0] - p.sizes[SPARSE]
    if p.sizes[LISTS] > space:
        return full(p, LISTS)
    classes = t.offsets[CLASS]
    i = numba.int64(first)
    while i < last:
        if merged == 1:
            depth, byte, end = p.sub_depth[i] - base, p.sub_byte[i], numba.int64(p.sub_end[i])
        else:
            depth, byte, end = p.depth[i] - base, p.byte[i], numba.int64(p.end[i])
        kind = numba.int64(t.fixed[classes + byte])
        ends = stack[half + depth - 1]
        for j in range(t.heap[ends]):
            terminals, watches = t.heap[ends + 1 + 2 * j], numba.int64(t.heap[ends + 2 + 2 * j])
            if not may_follow(t, p, terminals, kind):
                continue
            after = next_watches(t, watches, kind)
            if after == DEAD:
                continue
            if after < 0:
                return after
            if after == 0:
                watches = numba.int64(0)
            group = numba.int64(0)
            while group < groups:
                if p.groups[group, 0] == terminals and p.groups[group, 1] == watches:
                    break
                group += 1
            if group == groups:
                if groups >= p.groups.shape[0]:
                    return full(p, GROUPS)
                p.groups[group, 0] = terminals
                p.groups[group, 1] = watches
                groups += 1
            above = base + depth - 1
            k = count - 1
            while k >= 0 and k >= count - 4:
                s = p.segments[k]
                if s[0] == group and s[2] == i and s[3] == above:
                    break
                k -= 1
            if k >= 0 and k >= count - 4:
                p.segments[k, 2] = end
            else:
                if count >= p.segments.shape[0]:
                    return full(p, SEGMENTS)
                p.segments[count, 0] = group
                p.segments[count, 1] = i
                p.segments[count, 2] = end
                p.segments[count, 3] = above
                count += 1
        state = stack[depth - 1]
        after = numba.int64(-2)
        if t.rec[state, 3] >= 0:
            after = numba.int64(t.rows[t.rec[state, 3], kind])
        if after < DEAD:
            after = next_lexer(t, state, kind)
        if after == DEAD:
            i = end
            continue
        if after < 0:
            return after
        ends = numba.int64(t.rec[after, 4])
        if ends < 0:
            ends = endings(t, after)
            if ends < 0:
                return ends
        stack[depth] = after
        stack[half + depth] = ends
        if merged == 1:
            for j in range(p.sub_start[i], p.sub_start[i + 1]):
                set_bit(row, p.sub_token[j])
                if kept < p.sizes[SPARSE]:
                    p.lists[space + kept] = p.sub_token[j]
                kept += 1
        elif p.token[i] >= 0:
            set_bit(row, p.token[i])
            if kept < p.sizes[SPARSE]:
                p.lists[space + kept] = p.token[i]
            kept += 1
        i += 1
    p.sizes[KEPT] = kept
    p.sizes[GROUPS] = groups
    return count


@lean(INT(PARTS_T, INT, INT, INT, INT))
def new_trie(p, merged, first, last, above):  # type: ignore[no-untyped-def]
    """The number of a trie, the same for the same nodes, or NEED_ROOM."""
    key = (
        (numba.int64(1) << 62)
        | (numba.int64(merged) << 61)
        | (numba.int64(first) << 30)
        | numba.int64(last)
    )
    slot = slot_of(p.memo, key)
    if p.memo[slot, 0] == key:
        return p.memo[slot, 1]
    new = p.sizes[TRIES]
    if new >= p.tries.shape[0]:
        return full(p, TRIES)
    if 2 * p.sizes[MEMO] >= p.memo.shape[0]:
        return full(p, MEMO)
    p.memo[slot, 0] = key
    p.memo[slot, 1] = new
    p.sizes[MEMO] += 1
    p.tries[new, 0] = merged
    p.tries[new, 1] = first
    p.tries[new, 2] = last
    p.tries[new, 3] = above
    p.sizes[TRIES] += 1
    return new


@lean(INT(PARTS_T, INT, INT))
def linked(p, group, merged):  # type: ignore[no-untyped-def]
    """Merge the short segments of a group into links: the number of links, 1 when there are none.

    Link 0 is the root. sizes[CUTS] becomes the number of tokens.
    """
    links = numba.int64(1)
    cuts = numba.int64(0)
    p.links[0, 1] = -1
    for k in range(p.sizes[SEGMENTS]):
        if p.segments[k, 0] != group:
            continue
        first, last, above = p.segments[k, 1], p.segments[k, 2], p.segments[k, 3]
        p.stack[0] = 0
        for i in range(first, last):
            if merged == 1:
                depth, byte = p.sub_depth[i] - above, p.sub_byte[i]
            else:
                depth, byte = p.depth[i] - above, p.byte[i]
            parent = p.stack[depth - 1]
            link = numba.int64(p.links[parent, 1])
            while link >= 0 and p.links[link, 0] != byte:
                link = numba.int64(p.links[link, 2])
            if link < 0:
                link = links
                if link >= p.links.shape[0]:
                    return full(p, LINKS)
                links += 1
                p.links[link, 0] = byte
                p.links[link, 1] = -1
                p.links[link, 2] = p.links[parent, 1]
                p.links[link, 3] = -1
                p.links[parent, 1] = link
            p.stack[depth] = link
            low, high = numba.int64(0), numba.int64(1)
            if merged == 1:
                low, high = numba.int64(p.sub_start[i]), numba.int64(p.sub_start[i + 1])
            for j in range(low, high):
                token = p.sub_token[j] if merged == 1 else p.token[i]
                if token >= 0:
                    if cuts >= p.cuts.shape[0]:
                        return full(p, CUTS)
                    p.cuts[cuts, 0] = token
                    p.cuts[cuts, 1] = p.links[link, 3]
                    p.links[link, 3] = cuts
                    cuts += 1
    p.sizes[CUTS] = cuts
    return links


@lean(INT(PARTS_T, INT))
def flattened(p, links):  # type: ignore[no-untyped-def]
    """The trie of the links, in depth-first order; or NEED_ROOM."""
    node, used = p.sizes[NODES], p.sizes[TOKENS]
    if node + links + 1 > p.sub_byte.shape[0]:
        return full(p, NODES)
    if used + p.sizes[CUTS] > p.sub_token.shape[0]:
        return full(p, TOKENS)
    first = node
    depth = numba.int64(1)
    p.stack[0] = 0
    p.stack[1] = p.links[0, 1]
    opened = p.stack.shape[0] // 2  # nodes open at each depth are kept in the upper half
    while depth > 0:
        link = p.stack[depth]
        if link < 0:
            depth -= 1
            if depth > 0:
                p.sub_end[p.stack[opened + depth]] = node
                p.stack[depth] = p.links[p.stack[depth], 2]
            continue
        p.sub_byte[node] = p.links[link, 0]
        p.sub_depth[node] = depth
        p.sub_start[node] = used
        cut = p.links[link, 3]
        while cut >= 0:
            p.sub_token[used] = p.cuts[cut, 0]
            used += 1
            cut = p.cuts[cut, 1]
        p.stack[opened + depth] = node
        node += 1
        depth += 1
        p.stack[depth] = p.links[link, 1]
    p.sub_start[node] = used
    trie = new_trie(p, 1, first, node, 0)
    if trie >= 0:
        p.sizes[NODES] = node
        p.sizes[TOKENS] = used
    return trie


@lean(INT(PARTS_T, INT, INT, INT))
def write_groups(p, trie, count, place):  # type: ignore[no-untyped-def]
    """Write the groups of p.segments, with their tries, to p.lists: their number, or NEED_ROOM."""
    merged = numba.int64(p.tries[trie, 0])
    made = numba.int64(0)
    for k in range(count):
        if p.segments[k, 2] - p.segments[k, 1] >= p.sizes[LARGE]:
            group = p.segments[k, 0]
            other = new_trie(p, merged, p.segments[k, 1], p.segments[k, 2], p.segments[k, 3])
            if other < 0:
                return other
            p.lists[place + 3 * made] = p.groups[group, 0]
            p.lists[place + 3 * made + 1] = p.groups[group, 1]
            p.lists[place + 3 * made + 2] = other
            p.segments[k, 0] = -1
            made += 1
    for group in range(p.sizes[GROUPS]):
        links = linked(p, group, merged)
        if links < 0:
            return links
        if links > 1:
            other = flattened(p, links)
            if other < 0:
                return other
            p.lists[place + 3 * made] = p.groups[group, 0]
            p.lists[place + 3 * made + 1] = p.groups[group, 1]
            p.lists[place + 3 * made + 2] = other
            made += 1
    return made


@lean(INT(PARTS_T, INT, INT))
def kept_row(p, new, most):  # type: ignore[no-untyped-def]
    """Keep the tokens of p.scratch for part `new`: where in p.lists they end, or NEED_ROOM.

    most: groups that will be written behind them at most.
    """
    kept = p.sizes[KEPT]
    dense = kept > p.sizes[SPARSE]
    if dense and p.sizes[DENSE] >= p.dense.shape[0]:
        return full(p, DENSE)
    sparse = numba.int64(0) if dense else kept
    start = p.sizes[LISTS]
    space = p.lists.shape[0] - p.sizes[SPARSE]
    if start + sparse + 3 * most > space:
        return full(p, LISTS)
    p.parts[new, 0] = -1
    if dense:
        p.parts[new, 0] = p.sizes[DENSE]
        for j in range(p.scratch.shape[0]):
            p.dense[p.sizes[DENSE], j] = p.scratch[j]
        p.sizes[DENSE] += 1
    for k in range(sparse):
        p.lists[start + k] = p.lists[space + k]
    p.parts[new, 1] = start
    p.parts[new, 2] = sparse
    return start + sparse


@lean(INT(GRAMMAR, PARTS_T, INT, INT))
def build(t, p, trie, lexer):  # type: ignore[no-untyped-def]
    """Make the part of a trie and a lexer state: its number, or a code; then call again."""
    count = segments_of(t, p, trie, lexer)
    if count < 0:
        p.scratch[:] = 0
        return count
    p.sizes[SEGMENTS] = count
    new = p.sizes[PARTS]
    place = numba.int64(0)
    if new >= p.parts.shape[0]:
        place = full(p, PARTS)
    elif 2 * p.sizes[MEMO] >= p.memo.shape[0]:
        place = full(p, MEMO)
    else:
        most = p.sizes[GROUPS]
        for k in range(count):
            if p.segments[k, 2] - p.segments[k, 1] >= p.sizes[LARGE]:
                most += 1
        place = kept_row(p, new, most)
    p.scratch[:] = 0
    if place < 0:
        return place
    made = write_groups(p, trie, count, place)
    if made < 0:
        if p.parts[new, 0] >= 0:
            p.sizes[DENSE] -= 1
        return made
    p.parts[new, 3] = place
    p.parts[new, 4] = made
    p.sizes[LISTS] = place + 3 * made
    p.sizes[PARTS] += 1
    slot = slot_of(p.memo, (trie << 31) | lexer)
    p.memo[slot, 0] = (trie << 31) | lexer
    p.memo[slot, 1] = new
    p.sizes[MEMO] += 1
    return new
