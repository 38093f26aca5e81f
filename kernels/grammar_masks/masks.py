"""Token masks of positions: joins the parts of lexer states, lexeme by lexeme.

Where their parts are not made yet, or where tokens can be read in too many ways, the vocabulary is
walked node by node with the whole set of threads instead (`walk_plain`): sets are merged after each
byte, so how many ways there are to read a token does not count.

A worklist of *places* (trie of what is left of tokens, lexer state, stacks, lookaheads), at first
one for each thread with the whole vocabulary. Each place adds the tokens that stay within its
lexeme, and a new place for each end of the lexeme that the stacks allow. Small tries, and what
cannot be told by parts, are walked node by node.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import called, folded, inlined, inner, lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.indentation import call_scan_any, counted
from structgen.kernels.grammar.lexer import call_next_lexer, call_next_lookaheads
from structgen.kernels.grammar.records import LEXER_CLUSTERS, STACKS_LEXER
from structgen.kernels.grammar.step import (
    SEVERAL,
    known_beyond,
    packed,
    quick_in_walk,
    step_in_walk,
    unpack,
)
from structgen.kernels.grammar.tables import (
    AT_WALK_PLAIN,
    CHECKED,
    CLASS,
    GRAMMAR,
    INT,
    REACHED,
    READ,
    RECORDS,
    fixed,
    region,
)
from structgen.kernels.grammar.viability import ALWAYS, NEVER, finishable, is_sure
from structgen.kernels.grammar_masks.clusters import call_clusters
from structgen.kernels.grammar_masks.lexeme_states import BY_STACKS
from structgen.kernels.grammar_masks.loops import call_flows, kept_as, place_loops
from structgen.kernels.grammar_masks.parts import call_build
from structgen.kernels.grammar_masks.tops import LONG_SUBTREE, goes_by_tops, walk_by_tops
from structgen.kernels.grammar_masks.tries import (
    CLUSTERED,
    EFFORT,
    LARGE,
    MANY_STACKS,
    MEMO,
    NEW_RECORDS,
    OLD_RECORDS,
    PARTS_T,
    PATIENCE,
    PLACES,
    SMALL,
    STOPPED,
    TOO_MUCH,
    WALKED,
    WALKED_FROM,
    full,
    new_trie,
    set_bit,
)
from structgen.kernels.tables import DEAD, I32, UNKNOWN, find, slot_of

PER_PLACE = 8  # nodes that looking at a place takes as long as
MOST_TIMES = 12  # that it was too much to make the parts of a lexer state; then it is no more tried
FEW_RECORDS = 64  # that one mask makes before tops are read, where these had to be read before
FIRST_LONG = 0x80  # from here on bytes do not stand for whole characters


@inlined
def set_tokens(p, merged, node, row):  # type: ignore[no-untyped-def]
    """Set the bits of the tokens at a node."""
    if merged == 1:
        for j in range(p.sub_start[node], p.sub_start[node + 1]):
            set_bit(row, p.sub_token[j])
    elif p.token[node] >= 0:
        set_bit(row, p.token[node])


@inner(INT(GRAMMAR, PARTS_T, INT, INT, I32))
def walk_plain(t, p, trie, at, row):  # type: ignore[no-untyped-def]
    """Set bits of the tokens of a trie that can be read from a position, node by node.

    Stopped for a code, the same walk goes on where it was, if no other has begun (STOPPED).
    """
    merged, first, last = p.tries[trie, 0], p.tries[trie, 1], p.tries[trie, 2]
    base = p.tries[trie, 3]
    looping, loops = numba.int64(DEAD), numba.int64(0)
    i = numba.int64(first)
    if p.sizes[WALKED] == trie and p.sizes[WALKED_FROM] == at and p.sizes[STOPPED] > 0:
        i = p.sizes[STOPPED]
    p.sizes[STOPPED] = 0
    p.stack[0] = at
    while i < last:
        if merged == 1:
            depth, byte, end = p.sub_depth[i] - base, p.sub_byte[i], numba.int64(p.sub_end[i])
        else:
            depth, byte, end = p.depth[i] - base, p.byte[i], numba.int64(p.end[i])
        after = p.stack[depth - 1]
        if after != looping or byte >= FIRST_LONG or (loops >> numba.int64(p.group[byte])) & 1 == 0:
            after = quick_in_walk(t, p.stack[depth - 1], fixed(t, CLASS, byte))
        if after == SEVERAL:
            if trie == 0 and t.info[RECORDS] > p.sizes[NEW_RECORDS] and goes_by_tops(t):
                return numba.int64(TOO_MUCH)
            after = step_in_walk(t, p.stack[depth - 1], numba.int64(byte))
        if after == DEAD:
            i = end
            continue
        if after < 0:
            p.sizes[WALKED], p.sizes[WALKED_FROM], p.sizes[STOPPED] = trie, at, i
            return after
        if after == p.stack[depth - 1] and after != looping and end - i > LONG_SUBTREE:
            looping, loops = after, place_loops(t, p, after)
            if loops < 0:
                return loops
        if after == looping and merged == 0 and p.beneath[i] & ~loops == 0:
            for j in range(p.before[i], p.before[end]):
                set_bit(row, p.order[j])
            i = end
            continue
        p.stack[depth] = after
        set_tokens(p, merged, i, row)
        i += 1
    return numba.int64(0)


call_walk_plain = called(walk_plain, AT_WALK_PLAIN)


@inlined
def write_thread(t, lexer, stacks, lookaheads):  # type: ignore[no-untyped-def]
    """Write a thread to region REACHED, as the first one."""
    base = region(t, REACHED)
    t.work[base] = lexer
    t.work[base + 1] = stacks
    t.work[base + 2] = lookaheads


@lean(INT(GRAMMAR, INT, INT, INT))
def place_of(t, lexer, stacks, lookaheads):  # type: ignore[no-untyped-def]
    """The position of one thread."""
    write_thread(t, lexer, stacks, lookaheads)
    return packed(t, 1)


@folded(INT(PARTS_T, INT, I32))
def or_part(p, part, row):  # type: ignore[no-untyped-def]
    """Or the tokens that stay within the lexeme of a part into a row."""
    dense = p.parts[part, 0]
    if dense >= 0:
        for j in range(row.shape[0]):
            row[j] |= p.dense[dense, j]
    start = p.parts[part, 1]
    for j in range(start, start + p.parts[part, 2]):
        set_bit(row, p.lists[j])
    return numba.int64(0)


@folded(INT(GRAMMAR, PARTS_T, INT, INT, INT, INT, I32))
def walk_from(t, p, trie, lexer, stacks, lookaheads, row):  # type: ignore[no-untyped-def]
    """`walk_plain` from one thread."""
    place = (lexer << 31) | stacks
    if lookaheads != 0:
        place = place_of(t, lexer, stacks, lookaheads)
        if place < 0:
            return place
    return call_walk_plain(t, p, trie, place, row)


@inlined
def push(p, height, trie, lexer, stacks, lookaheads):  # type: ignore[no-untyped-def]
    """Add a place to the worklist: its length then, or NEED_ROOM."""
    stack = p.places
    if 4 * height + 4 > stack.shape[0]:
        return full(p, PLACES)
    stack[4 * height] = trie
    stack[4 * height + 1] = lexer
    stack[4 * height + 2] = stacks
    stack[4 * height + 3] = lookaheads
    return height + 1


@inner(INT(GRAMMAR, INT, INT, INT, INT))
def goes_on(t, lexer, stacks, lookaheads, byte_class):  # type: ignore[no-untyped-def]
    """Read one more byte of a lexeme: 1 if it can still be finished, 0 if not, or a code.

    Its thread then is the first one in region REACHED.
    """
    after = call_next_lexer(t, lexer, byte_class)
    wider = after if after < 0 else counted(t, stacks, after, byte_class)
    left = wider if wider < 0 else call_next_lookaheads(t, lookaheads, byte_class)
    if left < 0:
        return numba.int64(0) if left == DEAD else left
    write_thread(t, after, wider, left)
    return numba.int64(1) if t.info[CHECKED] == NEVER else finishable(t, 1)


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT, I32))
def push_children(t, p, group, stacks, height, row):  # type: ignore[no-untyped-def]
    """Add the places behind the first bytes of a trie to the worklist: its length, or a code.

    group: where in p.lists -1 - a lexer state, lookaheads and a trie stand, or 0 for none: how the
    lexeme goes on there depends on the stacks. Tokens that are read then are set in `row`.
    """
    lexer, lookaheads = -1 - numba.int64(p.lists[group]), numba.int64(p.lists[group + 1])
    trie = p.lists[group + 2]
    merged, i, last = p.tries[trie, 0], numba.int64(p.tries[trie, 1]), p.tries[trie, 2]
    while i < last and trie > 0:
        byte, depth, end = p.byte[i], p.depth[i], numba.int64(p.end[i])
        if merged == 1:
            byte, depth, end = p.sub_byte[i], p.sub_depth[i], numba.int64(p.sub_end[i])
        on = goes_on(t, lexer, stacks, lookaheads, fixed(t, CLASS, byte))
        if on < 0:
            return on
        if on == 1:
            set_tokens(p, merged, i, row)
            base = region(t, REACHED)
            after, wider, left = t.work[base], t.work[base + 1], t.work[base + 2]
            if i + 1 < end:
                inner_trie = new_trie(p, merged, i + 1, end, depth)
                if inner_trie < 0:
                    return inner_trie
                height = push(p, height, inner_trie, after, wider, left)
                if height < 0:
                    return height
        i = end
    return height


@inner(INT(GRAMMAR, INT, INT, INT))
def is_finishable(t, lexer, stacks, lookaheads):  # type: ignore[no-untyped-def]
    """1 if some text finishes a thread, 0 if none does, or a code."""
    if lookaheads == 0 or t.info[CHECKED] == NEVER:
        return numba.int64(1)
    write_thread(t, lexer, stacks, lookaheads)
    return finishable(t, 1)


@folded(INT(GRAMMAR, PARTS_T, INT, INT, INT, I32))
def push_groups(t, p, part, stacks, height, row):  # type: ignore[no-untyped-def]
    """Add the places where the lexeme of a part can end to the worklist: its length, or a code.

    BY_STACKS where the lexeme cannot be finished after all of the tokens that stay in it. Those
    that the stacks read (see `push_children`) are set in `row`.
    """
    start = p.parts[part, 3]
    for j in range(start, start + 3 * p.parts[part, 4], 3):
        if p.lists[j] < 0:
            lexer, lookaheads = -1 - numba.int64(p.lists[j]), numba.int64(p.lists[j + 1])
            well = is_finishable(t, lexer, stacks, lookaheads)
            if well <= 0:
                return numba.int64(BY_STACKS) if well == 0 else well
            height = push_children(t, p, j, stacks, height, row)
            if height < 0:
                return height
            continue
        beyond = known_beyond(t, stacks, numba.int64(p.lists[j]))
        if beyond == UNKNOWN:
            beyond = call_scan_any(t, stacks, numba.int64(p.lists[j]))
        if beyond == DEAD:
            continue
        if beyond < 0:
            return beyond
        height = push(
            p, height, p.lists[j + 2], t.rec[beyond, STACKS_LEXER], beyond, p.lists[j + 1]
        )
        if height < 0:
            return height
    return height


@folded(INT(GRAMMAR, PARTS_T, INT, INT))
def cut(t, p, trie, lexer):  # type: ignore[no-untyped-def]
    """`clusters` of a lexer state where a trie is large, 0 where it is better read as a whole."""
    if p.tries[trie, 2] - p.tries[trie, 1] < p.sizes[CLUSTERED] and t.info[CHECKED] != ALWAYS:
        return numba.int64(0)
    if t.rec[lexer, LEXER_CLUSTERS] >= 0:
        return numba.int64(t.rec[lexer, LEXER_CLUSTERS])
    return call_clusters(t, p, lexer)


@inner(INT(GRAMMAR, PARTS_T, INT))
def first_places(t, p, at):  # type: ignore[no-untyped-def]
    """Begin the worklist with the threads of a position: its length, or a code."""
    height = unpack(t, at)
    if 4 * height > p.places.shape[0]:
        return full(p, PLACES)
    base = region(t, READ)
    for i in range(height):
        p.places[4 * i] = 0
        for k in range(3):
            p.places[4 * i + 1 + k] = t.work[base + 3 * i + k]
    return height


@folded(INT(GRAMMAR, PARTS_T, INT, INT, INT, INT))
def is_walked(t, p, trie, lexer, stacks, lookaheads):  # type: ignore[no-untyped-def]
    """1 if a trie is better read node by node from a thread than by parts, 0 if not, or a code."""
    size = p.tries[trie, 2] - p.tries[trie, 1]
    if size < p.sizes[SMALL] or size < p.sizes[LARGE]:
        return numba.int64(size < p.sizes[SMALL])
    place = place_of(t, lexer, stacks, lookaheads)
    return place if place < 0 else call_flows(t, p, place)


@folded(INT(GRAMMAR, INT, INT, INT))
def is_partless(t, lexer, stacks, lookaheads):  # type: ignore[no-untyped-def]
    """1 if each lexeme of a lexer state must be checked by itself, so that parts do not apply.

    Else 0, or a code.
    """
    if t.info[CHECKED] != ALWAYS or lookaheads != 0:
        return numba.int64(t.info[CHECKED] == ALWAYS)
    sure = is_sure(t, lexer, stacks)
    return sure if sure < 0 else 1 - sure


@folded(INT(GRAMMAR, PARTS_T, INT, INT, INT))
def part_of(t, p, trie, lexer, lookaheads):  # type: ignore[no-untyped-def]
    """The part of a trie and a lexer state, perhaps with lookaheads; or a code."""
    kept = kept_as(t, lexer, lookaheads)
    if kept < 0:
        return kept
    part = find(p.memo, (trie << 31) | kept)
    return call_build(t, p, trie, kept) if part == UNKNOWN else part


@folded(INT(PARTS_T, INT, INT))
def is_too_much(p, key, trie):  # type: ignore[no-untyped-def]
    """Whether so much has been read for one mask that the rest is better walked at once.

    key: of the lexer state in the memo, where it is counted how often this was so. What is made by
    then stays made, so a lexer state whose parts take long has them after a few masks; where tokens
    can be read in too many ways to go through them one by one, it soon costs nothing to find out.
    """
    p.sizes[EFFORT] += PER_PLACE
    if p.tries[trie, 2] - p.tries[trie, 1] < p.sizes[SMALL]:
        p.sizes[EFFORT] += p.tries[trie, 2] - p.tries[trie, 1]
    slot = slot_of(p.memo, key)
    times = p.memo[slot, 1] if p.memo[slot, 0] == key else numba.int64(0)
    if p.sizes[EFFORT] << times <= p.sizes[PATIENCE]:
        return False
    if p.memo[slot, 0] != key and 2 * p.sizes[MEMO] < p.memo.shape[0]:
        p.memo[slot, 0] = key
        p.sizes[MEMO] += 1
    if p.memo[slot, 0] == key:
        p.memo[slot, 1] = min(times + 1, MOST_TIMES)
    return True


@inlined
def are_too_many(t, p):  # type: ignore[no-untyped-def]
    """Whether so many records have been made for one mask that tops are better read first.

    Once they were, fewer are too many in other masks.
    """
    new, most = t.info[RECORDS] - p.sizes[OLD_RECORDS], p.sizes[NEW_RECORDS] - p.sizes[OLD_RECORDS]
    if p.sizes[MANY_STACKS] == 1:
        most = min(most, numba.int64(FEW_RECORDS))
    return goes_by_tops(t) and new > most


@inner(INT(GRAMMAR, PARTS_T, INT, I32))
def mask_of(t, p, at, row):  # type: ignore[no-untyped-def]
    """Or into `row` the tokens allowed at a position.

    Returns 0 when done, or a code; then call again. sizes[EFFORT] must be 0 at first.
    """
    # The walk over the whole vocabulary, stopped for a code, goes on.
    at_once = p.sizes[STOPPED] > 0 and p.sizes[WALKED_FROM] == at and p.sizes[WALKED] <= 0
    by_tops = p.sizes[MANY_STACKS] == 1
    stack = p.places
    height = numba.int64(1) if at_once else first_places(t, p, at)
    key = (numba.int64(1) << 58) | stack[1]
    while height > 0:
        height -= 1
        trie = stack[4 * height]
        many = are_too_many(t, p)
        if at_once or is_too_much(p, key, trie) or many:
            code = numba.int64(TOO_MUCH) if many or by_tops else call_walk_plain(t, p, 0, at, row)
            if code != TOO_MUCH:
                return code
            p.sizes[MANY_STACKS] = 1  # it will be so in other masks
            return walk_by_tops(t, p, at, row)
        lexer = stack[4 * height + 1]
        stacks, lookaheads = stack[4 * height + 2], stack[4 * height + 3]
        walked = is_walked(t, p, trie, lexer, stacks, lookaheads)
        if walked == 1:
            walked = walk_from(t, p, trie, lexer, stacks, lookaheads, row)
            if walked == 0:
                continue
        # Clusters of terminals that do not compete are looked at one by one: their parts are
        # shared by more lexer states than a part of the whole state would be.
        apart = walked if walked < 0 else cut(t, p, trie, lexer)
        if apart == TOO_MUCH:
            at_once, height = True, numba.int64(1)
            continue
        if apart < 0:
            return apart
        count = numba.int64(1)
        if apart > 0:
            count = numba.int64(t.heap[apart])
        for k in range(count):
            cluster = lexer
            if apart > 0:
                cluster = numba.int64(t.heap[apart + 1 + k])
            partless = is_partless(t, cluster, stacks, lookaheads)
            if partless == 1:
                partless = walk_from(t, p, trie, cluster, stacks, lookaheads, row)
                if partless == 0:
                    continue
            part = partless if partless < 0 else part_of(t, p, trie, cluster, lookaheads)
            higher = part
            if part >= 0:
                higher = push_groups(t, p, part, stacks, height, row)
            if higher == BY_STACKS:
                higher = walk_from(t, p, trie, cluster, stacks, lookaheads, row)
                if higher == 0:
                    continue
            if higher == TOO_MUCH:
                is_too_much(p, key, trie)  # counts it
                at_once, height = True, numba.int64(1)
                break
            if higher < 0:
                return higher
            height = higher
            or_part(p, part, row)
    return height
