"""Tries of what is left of tokens behind a lexeme, and the arrays of parts.

Trie 0 is the vocabulary's. Others are stretches of it, or of tries merged from many short
stretches: behind `a,` and `b,` in two tokens the same text is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import folded, inlined, inner
from structgen.kernels.build.language import numba, reference, types
from structgen.kernels.grammar.tables import INT
from structgen.kernels.tables import BYTES, HASH, I32, I64, INTS, U8, slot_of

NEED_ROOM = -8  #: an array of the parts is full: `sizes[FULL]` says which
TOO_MUCH = -21  #: it takes more than `sizes[ENOUGH]` or `sizes[NEW_RECORDS]` allow

# Indices into `sizes`.
(
    TRIES, PARTS, LISTS, DENSE, MEMO, NODES, TOKENS, CUTS, LINKS, FULL, LARGE, SPARSE, SMALL,
    KEPT, SEGMENTS, GROUPS, PLACES, CLUSTERED, PLACE,
    LOOPING, LOOPS, WALKS, NOTED, FEW, MANY, WALKED, WALKED_FROM, STOPPED, MODELS, MODEL, UNLIKE,
    UNLIKE_NEXT, PATIENCE, EFFORT, ENOUGH, NEW_RECORDS, MANY_STACKS, NOTHING, BOTTOM, BEGUN,
    ONE_WAY, MANY_TOPS, OLD_RECORDS, SIZE_COUNT,
) = np.arange(44)  # fmt: skip


class Parts(NamedTuple):
    """The arrays of parts over one vocabulary; n nodes of its trie, m of merged ones.

    Of the vocabulary: byte, depth, end, token: its trie (see `kernels.masks.lexeme_walk.Nodes`).
    beneath, before, order: `groups`, `first` and `order` of its subtrees (see
    `kernels.trie.loops.Subtrees`). group: uint8[256], the group of each byte (see
    `regular.byte_groups`).
    Of the grammar: follow, competing: see `GrammarAutomaton`.
    Merged tries: sub_byte, sub_depth, sub_end: in depth-first order; sub_start: int32[m + 1], CSR:
    the tokens of each node in sub_token.
    tries: int32[k, 4], 1 if merged, first node, last node + 1, depth above it. parts: int32[k, 5],
    row in dense or -1, tokens in lists (start, count), groups in lists (start, count). A group is a
    triple: terminals, lookaheads, trie; or -1 - lexer state, lookaheads, trie or 0: what the stacks
    must be able to finish, and what is left for them to read. memo: int64[H, 2], hash table: trie
    << 31 | lexer state (or its record with lookaheads) -> part, 1 << 62 | merged << 61 | first <<
    30 | last -> trie, and what `loops`, `segments`, `merged_trie` and `masks` cache.
    models: int32[k, 4], see `models`: lexer state, lookaheads, row in dense, place in walks. walks:
    int32[k], cached walks (see `segments.note_walk`), merged tries and models. sizes:
    int64[SIZE_COUNT], how far arrays are filled, limits, and scalars of the walk going on. Scratch:
    segments: int32[k, 4], group, first, last + 1, depth above; groups: int32[k, 2], terminals,
    lookaheads; links: int32[k, 4], byte, first child, next sibling, last token; cuts: int32[k, 2],
    token, the one before; stack: int64[4 (depth + 4)]; scratch: int32[words], zeros; places:
    int64[4 k], trie, lexer state, stacks, lookaheads.
    """

    byte: npt.NDArray[np.uint8]
    depth: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    token: npt.NDArray[np.int32]
    beneath: npt.NDArray[np.int64]
    before: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]
    group: npt.NDArray[np.uint8]
    follow: npt.NDArray[np.uint8]
    competing: npt.NDArray[np.uint8]
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
    models: npt.NDArray[np.int32]
    walks: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int64]


U8_2 = types.uint8[:, ::1]
I32_2 = types.int32[:, ::1]
PARTS_T = reference(types.NamedTuple(
    [
        BYTES, INTS, INTS, INTS, I64, I32, I32, BYTES, U8_2, U8_2, U8, I32, I32, I32, I32,
        I32_2, I32_2, I32, I32_2, HASH, I32_2, I32_2, I32_2, I32_2, I64, I32, I64, I32_2, I32, I64,
    ],
    Parts,
))  # fmt: skip


@inlined
def full(p, what):  # type: ignore[no-untyped-def]
    """Note which array is full: the code NEED_ROOM."""
    p.sizes[FULL] = what
    return numba.int64(NEED_ROOM)


@inlined
def set_bit(row, token):  # type: ignore[no-untyped-def]
    """Set the bit of a token."""
    row[token >> 5] |= numba.int32(numba.uint32(1) << numba.uint32(token & 31))


@inner(INT(PARTS_T, INT, INT, INT, INT))
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


@inner(INT(PARTS_T, INT, INT))
def linked(p, group, merged):  # type: ignore[no-untyped-def]
    """Merge the short segments of a group into a linked trie: its number of nodes, or a code.

    Node 0 is the root. sizes[CUTS] becomes the number of tokens.
    """
    links = numba.int64(1)
    cuts = numba.int64(0)
    p.links[0, 1] = -1
    for k in range(p.sizes[SEGMENTS]):
        if p.segments[k, 0] != group:
            continue
        first, last, above = p.segments[k, 1], p.segments[k, 2], p.segments[k, 3]
        size = numba.int64(last) - first
        if merged == 1:  # a token may be at one node as often as there are ways to read it so far
            size = max(size, numba.int64(p.sub_start[last]) - p.sub_start[first])
        p.sizes[EFFORT] += size
        if p.sizes[EFFORT] > p.sizes[ENOUGH]:
            return numba.int64(TOO_MUCH)
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


@inner(INT(PARTS_T, INT))
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


@folded(INT(PARTS_T, INT, INT))
def listed(p, group, merged):  # type: ignore[no-untyped-def]
    """Write which short segments a group has behind what is in p.walks: a hash key of them.

    There: whether they are of a merged trie, their number, then first, last + 1, depth above of
    each. 0 when there are none; or NEED_ROOM.
    """
    place = p.sizes[WALKS] + 1
    at = place + 2
    if at + 3 * p.sizes[SEGMENTS] > p.walks.shape[0]:
        return full(p, WALKS)
    h = merged
    for k in range(p.sizes[SEGMENTS]):
        if p.segments[k, 0] == group:
            for j in range(3):
                p.walks[at + j] = p.segments[k, 1 + j]
                h = (h ^ p.walks[at + j]) * 1099511628211
                h ^= h >> 31
            at += 3
    p.walks[place] = merged
    p.walks[place + 1] = (at - place - 2) // 3
    if p.walks[place + 1] == 0:
        return numba.int64(0)
    return (numba.int64(1) << 59) | (h & ((numba.int64(1) << 59) - 1))


@inner(INT(PARTS_T, INT, INT))
def merged_trie(p, group, merged):  # type: ignore[no-untyped-def]
    """The trie merged from the short segments of a group, the same for the same ones.

    0 when there are none; or a code.
    """
    key = listed(p, group, merged)
    if key <= 0:
        return key
    place = p.sizes[WALKS]
    size = 3 + 3 * p.walks[place + 2]
    slot = slot_of(p.memo, key)
    known = p.memo[slot, 0] == key
    if known:
        before = p.memo[slot, 1]
        same = True
        for j in range(1, size):
            same = same and p.walks[before + j] == p.walks[place + j]
        if same:
            return numba.int64(p.walks[before])
    if 2 * p.sizes[MEMO] + 2 >= p.memo.shape[0]:
        return full(p, MEMO)
    links = linked(p, group, merged)
    trie = links if links < 0 else flattened(p, links)
    if trie >= 0 and not known:
        p.walks[place] = trie
        p.sizes[WALKS] += size
        slot = slot_of(p.memo, key)
        p.memo[slot, 0] = key
        p.memo[slot, 1] = place
        p.sizes[MEMO] += 1
    return trie
