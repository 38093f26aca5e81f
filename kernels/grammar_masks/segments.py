"""Walks a trie within a lexeme: the tokens that stay in it, and segments where it ends.

What a walk below a node of the vocabulary's trie finds depends on the lexer state there alone. It
is cached ("noted"): names and keywords that begin like names go on in the same state soon.
Lookaheads of the lexemes before are mostly satisfied within a few bytes; where it depends on the
stacks whether they ever can be, and how wide a line is, that is left to the stacks, byte by byte.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, folded, inlined, inner
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.lexer import (
    call_endings,
    call_next_lookaheads,
    call_union_lookaheads,
)
from structgen.kernels.grammar.records import LEXER_ENDINGS
from structgen.kernels.grammar.tables import AT_SEGMENTS, CLASS, GRAMMAR, INT, fixed
from structgen.kernels.grammar_masks.lexeme_states import (
    BY_STACKS,
    LEXER_OF,
    group_of,
    read_segment,
    state_after,
    state_of,
    write_segment,
)
from structgen.kernels.grammar_masks.loops import is_whole, may_follow
from structgen.kernels.grammar_masks.models import is_as_modelled, modelled
from structgen.kernels.grammar_masks.tries import (
    EFFORT,
    FEW,
    GROUPS,
    KEPT,
    LISTS,
    LOOPING,
    MANY,
    MEMO,
    MODEL,
    NOTED,
    PARTS_T,
    PLACE,
    SEGMENTS,
    SPARSE,
    WALKS,
    full,
    set_bit,
)
from structgen.kernels.tables import DEAD, UNKNOWN, find, slot_of

SMALL_SUBTREE = 2  # nodes; below, walking is no slower than looking


@folded(INT(PARTS_T, INT, INT, INT, INT, INT))
def extend_segment(p, group, first, last, above, count):  # type: ignore[no-untyped-def]
    """Add nodes to the segments of a group: the number of segments now, or NEED_ROOM."""
    k = count - 1
    while k >= 0 and k >= count - 4:
        s = p.segments[k]
        if s[0] == group and s[2] == first and s[3] == above:
            p.segments[k, 2] = last
            return count
        k -= 1
    if count >= p.segments.shape[0]:
        return full(p, SEGMENTS)
    p.segments[count, 0] = group
    p.segments[count, 1] = first
    p.segments[count, 2] = last
    p.segments[count, 3] = above
    return count + 1


@inlined
def keep(p, tokens, first, last):  # type: ignore[no-untyped-def]
    """Set the bits of tokens[first:last] in p.scratch, list them while they are few.

    On a noted walk, note them.
    """
    for j in range(first, last):
        set_bit(p.scratch, tokens[j])
    kept, count = p.sizes[KEPT], last - first
    listed = p.lists.shape[0] - p.sizes[SPARSE] + kept
    for j in range(min(count, p.sizes[SPARSE] - kept)):
        p.lists[listed + j] = tokens[first + j]
    p.sizes[KEPT] += count
    if p.sizes[NOTED] >= 0:
        noted = p.sizes[WALKS] + 2 + p.sizes[NOTED]
        for j in range(count):
            p.walks[noted + j] = tokens[first + j]
        p.sizes[NOTED] += count
    return numba.int64(0)


@folded(INT(PARTS_T, INT, INT))
def keep_tokens(p, merged, node):  # type: ignore[no-untyped-def]
    """`keep` the tokens at a node."""
    if merged == 1:
        keep(p, p.sub_token, numba.int64(p.sub_start[node]), numba.int64(p.sub_start[node + 1]))
    elif p.token[node] >= 0:
        keep(p, p.token, node, node + 1)
    return numba.int64(0)


@folded(INT(PARTS_T, INT, INT, INT))
def note_walk(p, key, first, count):  # type: ignore[no-untyped-def]
    """Keep what a noted walk below a node has found, under a key: 0, or NEED_ROOM.

    In p.walks: the numbers of tokens and segments, the tokens, and for each of the segments from
    `first` on terminals, lookaheads, first, last + 1, depth above.
    """
    place = p.sizes[WALKS]
    at = place + 2 + p.sizes[NOTED]
    if at + 5 * (count - first) > p.walks.shape[0]:
        return full(p, WALKS)
    if 2 * p.sizes[MEMO] >= p.memo.shape[0]:
        return full(p, MEMO)
    p.walks[place] = p.sizes[NOTED]
    p.walks[place + 1] = count - first
    for k in range(first, count):
        at = write_segment(p, at, k)
    slot = slot_of(p.memo, key)
    p.memo[slot, 0] = key
    p.memo[slot, 1] = place
    p.sizes[MEMO] += 1
    p.sizes[WALKS], p.sizes[NOTED] = at, -1
    return numba.int64(0)


@folded(INT(PARTS_T, INT, INT))
def walk_again(p, place, count):  # type: ignore[no-untyped-def]
    """Do what is noted of a walk: the number of segments now, or NEED_ROOM."""
    first = numba.int64(place) + 2
    last = first + numba.int64(p.walks[place])
    keep(p, p.walks, first, last)
    for j in range(last, last + 5 * p.walks[place + 1], 5):
        count = read_segment(p, j, count)
        if count < 0:
            return count
    return count


@folded(INT(GRAMMAR, PARTS_T, INT, INT, INT, INT, INT))
def note_ends(t, p, ends, before, byte_class, node_end, count):  # type: ignore[no-untyped-def]
    """List a node (node_end: node << 31 | end) in each group in which a lexeme ends before it.

    byte_class: of its byte; ends: of the lexer state above; before: the lookaheads there.
    p.sizes[PLACE]: the depth above.
    """
    for j in range(t.heap[ends]):
        terminals = numba.int64(t.heap[ends + 1 + 2 * j])
        if not may_follow(t, p, terminals, byte_class):
            continue
        lookaheads = call_union_lookaheads(t, before, numba.int64(t.heap[ends + 2 + 2 * j]))
        if lookaheads < 0:
            return lookaheads
        after = call_next_lookaheads(t, lookaheads, byte_class)
        if after == DEAD:
            continue
        if after < 0:
            return after
        if after == 0:
            lookaheads = numba.int64(0)
        group = group_of(p, terminals, lookaheads)
        if group < 0:
            return group
        first, last = node_end >> 31, node_end & 0x7FFFFFFF
        count = extend_segment(p, group, first, last, p.sizes[PLACE], count)
        if count < 0:
            return count
    return count


@folded(INT(PARTS_T, INT, INT, INT))
def leave(p, state, node_end, count):  # type: ignore[no-untyped-def]
    """List a node (see `note_ends`) for the stacks to walk from the state above it.

    Its group is of -1 - the lexer state there, and the lookaheads. Returns what `extend_segment`
    does.
    """
    group = group_of(p, -1 - (state & LEXER_OF), state >> 31)
    if group < 0:
        return group
    return extend_segment(p, group, node_end >> 31, node_end & LEXER_OF, p.sizes[PLACE], count)


@inlined
def ends_of(t, state):  # type: ignore[no-untyped-def]
    """`call_endings`, where that need not be called."""
    ends = numba.int64(t.rec[state, LEXER_ENDINGS])
    return call_endings(t, state) if ends < 0 else ends


@inlined
def key_of_walk(node, lexer):  # type: ignore[no-untyped-def]
    """The key of what is noted of the walk below a node from a lexer state there."""
    return (numba.int64(1) << 60) | (numba.int64(node) << 31) | lexer


@inlined
def is_noted(p, state, size):  # type: ignore[no-untyped-def]
    """Whether what a walk over so many nodes from a state finds is noted now."""
    return p.sizes[NOTED] < 0 and p.sizes[FEW] <= size <= p.sizes[MANY] and state <= LEXER_OF


@folded(INT(GRAMMAR, PARTS_T, INT, INT, INT, INT))
def shortcut(t, p, state, after, node_end, count):  # type: ignore[no-untyped-def]
    """Do what need not be walked below a node: the number of segments then, DEAD, or a code.

    state, after: above the node, and at it; node_end: node << 31 | end.
    """
    node, end = node_end >> 31, node_end & 0x7FFFFFFF
    if state == after or p.sizes[LOOPING] == after:
        whole = is_whole(t, p, after, node)
        if whole < 0:
            return whole
        if whole == 1:
            keep(p, p.order, numba.int64(p.before[node]), numba.int64(p.before[end]))
            return count
    if is_noted(p, after, end - node):
        place = find(p.memo, key_of_walk(node, after))
        if place != UNKNOWN:
            return walk_again(p, place, count)
        tokens = numba.int64(p.before[end]) - p.before[node]
        if p.sizes[WALKS] + 2 + tokens > p.walks.shape[0]:
            return full(p, WALKS)
    return numba.int64(DEAD)


@folded(INT(GRAMMAR, PARTS_T, INT, INT))
def begun(t, p, trie, state):  # type: ignore[no-untyped-def]
    """Be ready for a walk over a trie from a state: the number of segments so far, or a code."""
    ends = ends_of(t, state & LEXER_OF)
    if ends < 0:
        return ends
    if p.sizes[LISTS] > p.lists.shape[0] - p.sizes[SPARSE]:
        return full(p, LISTS)
    p.stack[0], p.stack[p.stack.shape[0] // 2] = state, ends
    p.sizes[KEPT], p.sizes[GROUPS], p.sizes[NOTED], p.sizes[MODEL] = 0, 0, -1, -1
    return modelled(t, p, state) if trie == 0 else numba.int64(0)


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def segments_of(t, p, trie, kept):  # type: ignore[no-untyped-def]
    """Walk a trie within a lexeme: set bits of tokens that stay in it, list where they leave it.

    kept: see `state_of`. Writes p.segments, p.groups, p.scratch, and the first sizes[SPARSE] tokens
    to the end of p.lists. Walks below nodes of the vocabulary's trie are noted, and not done again
    from the same state, nor where a model did them. Returns the number of segments, or a code;
    begin again then.
    """
    merged, last, base = p.tries[trie, 0], numba.int64(p.tries[trie, 2]), p.tries[trie, 3]
    stack, half = p.stack, p.stack.shape[0] // 2
    count = begun(t, p, trie, state_of(t, kept))
    if count < 0:
        return count
    key, first = numba.int64(0), numba.int64(0)
    i, until = numba.int64(p.tries[trie, 1]), numba.int64(-1)  # where a noted walk ends
    while True:
        if i == until:
            code = note_walk(p, key, first, count)
            if code < 0:
                return code
            until = numba.int64(-1)
        if i >= last:
            return count
        p.sizes[EFFORT] += 1
        if merged == 1:
            depth, byte, end = p.sub_depth[i] - base, p.sub_byte[i], numba.int64(p.sub_end[i])
        else:
            depth, byte, end = p.depth[i] - base, p.byte[i], numba.int64(p.end[i])
        byte_class, state = fixed(t, CLASS, byte), stack[depth - 1]
        ends, here = stack[half + depth - 1], (i << 31) | end
        p.sizes[PLACE] = base + depth - 1
        if t.heap[ends] > 0:
            count = note_ends(t, p, ends, state >> 31, byte_class, here, count)
        after = count if count < 0 else state_after(t, p, state, byte_class)
        if after == BY_STACKS:
            count = leave(p, state, here, count)
            after = min(count, numba.int64(DEAD))
        if after == DEAD or (after >= 0 and depth == 1 and is_as_modelled(p, i)):
            i = end
            continue
        ends = after if after < 0 else ends_of(t, after & LEXER_OF)
        if ends < 0:
            return ends
        if merged == 0 and end - i > SMALL_SUBTREE:
            skipped = shortcut(t, p, state, after, here, count)
            if skipped >= 0:
                count = skipped
                i = end
                continue
            if skipped < DEAD:
                return skipped
            if is_noted(p, after, end - i):
                p.sizes[NOTED] = 0
                key, first, until = key_of_walk(i, after), count, end
        stack[depth] = after
        stack[half + depth] = ends
        keep_tokens(p, merged, i)
        i += 1


call_segments_of = called(segments_of, AT_SEGMENTS)
