"""In: tables, a trie, a lexer state. Out: what tokens do within a lexeme, kept for all places.

A *part* belongs to a trie and a lexer state: the tokens that stay within the lexeme, and for every
way in which the lexeme can end within a token, a trie of what is left of the tokens then. Parts do
not depend on the syntax. The trie of the vocabulary is trie 0; others are stretches of it, or of
tries merged from many short stretches.
"""

from __future__ import annotations

import numba

from structgen.kernels.flags import called, folded, inner, lean
from structgen.kernels.grammar_lexer import call_endings, call_next_lexer, call_next_watches
from structgen.kernels.grammar_loops import is_whole, may_follow
from structgen.kernels.grammar_step import known_after
from structgen.kernels.grammar_tables import AT_BUILD, CLASS, GRAMMAR, INT
from structgen.kernels.grammar_tries import (
    DENSE,
    GROUPS,
    KEPT,
    LARGE,
    LISTS,
    MEMO,
    PARTS,
    PARTS_T,
    PLACE,
    SEGMENTS,
    SPARSE,
    flattened,
    full,
    linked,
    new_trie,
    set_bit,
)
from structgen.kernels.tables import DEAD, slot_of

SMALL_SUBTREE = 2  # nodes; below, walking is no slower than looking


@folded(INT(PARTS_T, INT, INT, INT))
def group_of(p, terminals, watches, groups):  # type: ignore[no-untyped-def]
    """The number of a group in p.groups, where `groups` are known: it may be the next."""
    group = numba.int64(0)
    while group < groups:
        if p.groups[group, 0] == terminals and p.groups[group, 1] == watches:
            break
        group += 1
    if group < p.groups.shape[0]:
        p.groups[group, 0] = terminals
        p.groups[group, 1] = watches
    return group


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


@folded(INT(PARTS_T, INT, INT))
def keep_tokens(p, merged, node):  # type: ignore[no-untyped-def]
    """Set the bits of the tokens at a node in p.scratch, and list them while they are few."""
    space = p.lists.shape[0] - p.sizes[SPARSE]
    low, high = numba.int64(0), numba.int64(1)
    if merged == 1:
        low, high = numba.int64(p.sub_start[node]), numba.int64(p.sub_start[node + 1])
    for j in range(low, high):
        token = p.sub_token[j] if merged == 1 else p.token[node]
        if token >= 0:
            set_bit(p.scratch, token)
            if p.sizes[KEPT] < p.sizes[SPARSE]:
                p.lists[space + p.sizes[KEPT]] = token
            p.sizes[KEPT] += 1
    return numba.int64(0)


@folded(INT(PARTS_T, INT, INT))
def keep_subtree(p, node, end):  # type: ignore[no-untyped-def]
    """`keep_tokens` for a whole subtree of the vocabulary's trie."""
    space = p.lists.shape[0] - p.sizes[SPARSE]
    first, last = numba.int64(p.before[node]), numba.int64(p.before[end])
    for j in range(first, min(last, first + p.sizes[SPARSE] - p.sizes[KEPT])):
        p.lists[space + p.sizes[KEPT] + j - first] = p.order[j]
    for j in range(first, last):
        set_bit(p.scratch, p.order[j])
    p.sizes[KEPT] += last - first
    return numba.int64(0)


@folded(INT(GRAMMAR, PARTS_T, INT, INT, INT, INT))
def note_ends(t, p, ends, kind, node_end, count):  # type: ignore[no-untyped-def]
    """List a node (node_end: node << 31 | end) in each group in which a lexeme ends before it.

    kind: the class of its byte; ends: of the lexer state above. p.sizes[PLACE]: the depth above.
    """
    for j in range(t.heap[ends]):
        terminals, watches = t.heap[ends + 1 + 2 * j], numba.int64(t.heap[ends + 2 + 2 * j])
        if not may_follow(t, p, terminals, kind):
            continue
        after = call_next_watches(t, watches, kind)
        if after == DEAD:
            continue
        if after < 0:
            return after
        if after == 0:
            watches = numba.int64(0)
        group = group_of(p, terminals, watches, p.sizes[GROUPS])
        if group >= p.groups.shape[0]:
            return full(p, GROUPS)
        p.sizes[GROUPS] = max(p.sizes[GROUPS], group + 1)
        first, last = node_end >> 31, node_end & 0x7FFFFFFF
        count = extend_segment(p, group, first, last, p.sizes[PLACE], count)
        if count < 0:
            return count
    return count


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def segments_of(t, p, trie, lexer):  # type: ignore[no-untyped-def]
    """Walk a trie within a lexeme: set bits of tokens that stay in it, list where they leave it.

    Writes p.segments, p.groups and p.scratch, and the first sizes[SPARSE] tokens to the end of
    p.lists. Returns the number of segments, or a code; begin again then.
    """
    merged, first, last = p.tries[trie, 0], p.tries[trie, 1], p.tries[trie, 2]
    base = p.tries[trie, 3]
    stack = p.stack
    half = stack.shape[0] // 2
    stack[0] = lexer
    stack[half] = call_endings(t, lexer)
    if stack[half] < 0:
        return stack[half]
    if p.sizes[LISTS] > p.lists.shape[0] - p.sizes[SPARSE]:
        return full(p, LISTS)
    p.sizes[KEPT] = p.sizes[GROUPS] = 0
    count = numba.int64(0)
    classes = t.offsets[CLASS]
    i = numba.int64(first)
    while i < last:
        if merged == 1:
            depth, byte, end = p.sub_depth[i] - base, p.sub_byte[i], numba.int64(p.sub_end[i])
        else:
            depth, byte, end = p.depth[i] - base, p.byte[i], numba.int64(p.end[i])
        kind = numba.int64(t.fixed[classes + byte])
        ends = stack[half + depth - 1]
        if t.heap[ends] > 0:
            p.sizes[PLACE] = base + depth - 1
            count = note_ends(t, p, ends, kind, (i << 31) | end, count)
            if count < 0:
                return count
        state = stack[depth - 1]
        after = known_after(t, state, kind)
        if after < DEAD:
            after = call_next_lexer(t, state, kind)
        if after == DEAD:
            i = end
            continue
        if after < 0:
            return after
        if after == state and merged == 0 and end - i > SMALL_SUBTREE:
            whole = is_whole(t, p, state, i)
            if whole < 0:
                return whole
            if whole == 1:
                keep_subtree(p, i, end)
                i = end
                continue
        ends = numba.int64(t.rec[after, 4])
        if ends < 0:
            ends = call_endings(t, after)
            if ends < 0:
                return ends
        stack[depth] = after
        stack[half + depth] = ends
        keep_tokens(p, merged, i)
        i += 1
    return count


@inner(INT(PARTS_T, INT, INT, INT))
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


@inner(INT(PARTS_T, INT, INT))
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


call_build = called(build, AT_BUILD)
