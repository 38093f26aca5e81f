"""Walks the whole vocabulary by the tops of stacks, where terminals have no order.

A token that closes nothing of what was open before it is allowed whatever lies below the top of the
stacks. So the vocabulary is read with the tops alone: what lies below them is left out after each
byte, and what returns to it goes no further, but is noted. There are only so many tops, where each
token may lead to stacks of its own. Where the tops read nothing, and something has returned to what
is left out, the stacks are read, from the last byte on behind which they are known: if any lexeme
could be made of the bytes at all.

So it is with what else could be read where a lexeme goes on with a byte, and would with more of the
same, as a word does: the lexeme alone is read on, and the rest is left out. Where tops are still
many (`MANY_TOPS`), all is left out but one way to read each byte (`ONE_WAY`): one thread, with one
top. Sets of tops and of lexemes may be as many as there are texts, their members are not.

Stacks on whose tops rules are called, with something behind each, read what others do that call the
same rules, but for the bytes with which what is behind them begins. So most steps are looked up for
some that stand for all of these (`alike`).
"""

from __future__ import annotations

from structgen.kernels.build.decorators import folded, inlined, inner
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.indentation import call_scan_any
from structgen.kernels.grammar.items import (
    END_ITEM,
    call_closure,
    call_items_of,
    call_union_items,
    goto,
)
from structgen.kernels.grammar.lexer import (
    VIOLATED,
    call_endings,
    call_next_lexer,
    call_next_lookaheads,
)
from structgen.kernels.grammar.records import (
    ITEMS_NON_EMPTY,
    ITEMS_NULLABLE,
    ITEMS_TERMINALS,
    REC_SIZE,
    REC_START,
    STACKS_COST,
    STACKS_LEXER,
    STACKS_TERMINALS,
)
from structgen.kernels.grammar.stacks import call_closed, call_union_closed, stacks_of
from structgen.kernels.grammar.step import (
    LOW,
    SEVERAL,
    packed,
    position_at,
    quick_in_walk,
    record_of,
    step_in_walk,
    unpack,
)
from structgen.kernels.grammar.tables import (
    AFTER,
    BEHIND,
    CHECKED,
    CLASS,
    FAR,
    FIRST,
    GRAMMAR,
    GROUPS,
    HEAP,
    IN,
    INT,
    LEX,
    LEXER,
    NEWLINE,
    ORDERED,
    REACHED,
    READ,
    RECORDS,
    REGION,
    S_DISTANCE,
    S_ENDS,
    S_NO_LONGER,
    S_TERMINAL,
    STAMP,
    T_IGNORED,
    T_START,
    TERMINAL_COUNT,
    call_intern,
    fixed,
    needs_space,
    region,
    sort,
)
from structgen.kernels.grammar.viability import ALWAYS, NEVER
from structgen.kernels.grammar_masks.loops import lexeme_loops, place_loops
from structgen.kernels.grammar_masks.tries import (
    BEGUN,
    BOTTOM,
    MANY_TOPS,
    MEMO,
    NOTHING,
    ONE_WAY,
    PARTS_T,
    STOPPED,
    WALKED,
    WALKED_FROM,
    full,
    set_bit,
)
from structgen.kernels.tables import DEAD, I32, UNKNOWN, find, slot_of

FEW_LEXEMES = 16  # side by side
LONG_SUBTREE = 16  # nodes; whether a position stays the same is looked at for longer ones
# Tags of keys in the memo: lexemes after a byte, stacks of one item set, item sets and stacks that
# stand for others, tops after a byte (keys of up to 57 bits).
LEXEMES_AFTER, TOP, ITEMS_LIKE, STACKS_LIKE = 6 << 56, 7 << 56, 1 << 56, 3 << 56
TOPS_AFTER = 5 << 58
SINGLE = 1 << 48  # marks tops of one thread: lexer state << 24 | stacks; others are THREADS records
LEFT_OUT = 1  #: in what `tops_of` writes: some threads or stacks are left out; alone: all are
RETURNS = -22  #: what lies below a top may come to the top
BY_TOPS = -1  #: in sizes[WALKED]: the walk that has been stopped is this one


@inlined
def goes_by_tops(t):  # type: ignore[no-untyped-def]
    """Whether what the tops of stacks read, the stacks read, too.

    In Lark's order the lexer looks for what the stacks allow. Only threads with lookaheads, which
    are left out here, may be dead ends.
    """
    return t.info[ORDERED] == 0 and t.info[CHECKED] != ALWAYS and t.info[NEWLINE] < 0


@inlined
def is_enough(p, count):  # type: ignore[no-untyped-def]
    """Whether so many threads are as many as are looked at."""
    return count > 0 and p.sizes[ONE_WAY] == 1


@folded(INT(PARTS_T, INT, INT))
def note(p, key, value):  # type: ignore[no-untyped-def]
    """Keep a value in the memo. Returns it, or NEED_ROOM."""
    if 2 * p.sizes[MEMO] >= p.memo.shape[0]:
        return full(p, MEMO)
    slot = slot_of(p.memo, key)
    p.memo[slot, 0] = key
    p.memo[slot, 1] = value
    p.sizes[MEMO] += 1
    return numba.int64(value)


@inner(INT(GRAMMAR, PARTS_T))
def lay_bottom(t, p):  # type: ignore[no-untyped-def]
    """Make what stands below the tops of stacks: 0, or a code.

    What returns to it shows: then on top is the empty item set, which reads nothing, above no
    stacks at all, where no other item set is.
    """
    base = region(t, GROUPS)
    nothing, none = stacks_of(t, base, numba.int64(0)), call_closure(t, numba.int64(0))
    if min(nothing, none) < 0:
        return min(nothing, none)
    t.work[base], t.work[base + 1] = none, nothing
    bottom = stacks_of(t, base, numba.int64(1))
    p.sizes[NOTHING], p.sizes[BOTTOM], p.sizes[BEGUN] = nothing, bottom, t.info[RECORDS]
    return min(bottom, numba.int64(0))


@inlined
def marks_terminals(t, lexer):  # type: ignore[no-untyped-def]
    """Stamp in t.mark the terminals that a lexer state reads: if all stacks are as before one."""
    t.info[STAMP] += 1
    shift = t.mark.shape[0] - t.info[TERMINAL_COUNT]
    start, ignored = numba.int64(t.rec[lexer, REC_START]), False
    for i in range(start, start + t.rec[lexer, REC_SIZE]):
        if t.heap[i] >= 0:
            terminal = fixed(t, S_TERMINAL, t.heap[i])
            t.mark[shift + terminal] = t.info[STAMP]
            ignored = ignored or fixed(t, T_IGNORED, terminal) == 1
    return ignored


@inlined
def reads_marked(t, item_set):  # type: ignore[no-untyped-def]
    """Whether items can begin with a terminal that is stamped."""
    shift, found = t.mark.shape[0] - t.info[TERMINAL_COUNT], False
    terminals = t.rec[item_set, ITEMS_TERMINALS]
    start = numba.int64(t.rec[terminals, REC_START])
    for j in range(start, start + t.rec[terminals, REC_SIZE]):
        found = found or t.mark[shift + t.heap[j]] == t.info[STAMP]
    return found


@inlined
def reads_more(t, one, other):  # type: ignore[no-untyped-def]
    """Whether an item set can begin with more terminals than another one."""
    more = t.rec[t.rec[one, ITEMS_TERMINALS], REC_SIZE]
    return more > t.rec[t.rec[other, ITEMS_TERMINALS], REC_SIZE]


@inlined
def last_below(t, stacks):  # type: ignore[no-untyped-def]
    """The last record that lies below the tops of some stacks.

    A record of stacks is made after those below it. So what has returned to what was below has no
    later record below its tops, and what has been put on top of it has.
    """
    start, last = numba.int64(t.rec[stacks, REC_START]), numba.int64(0)
    for i in range(start, start + t.rec[stacks, REC_SIZE], 2):
        last = max(last, numba.int64(t.heap[i + 1]))
    return last


@folded(INT(GRAMMAR, PARTS_T, INT, INT))
def one_top(t, p, item_set, below):  # type: ignore[no-untyped-def]
    """The closed stacks of one item set on others; DEAD, or a code."""
    key = numba.int64(TOP) | (item_set << 28) | below
    found = find(p.memo, key)
    if found == UNKNOWN:
        base = region(t, GROUPS)
        t.work[base], t.work[base + 1] = item_set, below
        found = call_closed(t, numba.int64(1))
        if found >= DEAD:
            found = note(p, key, found)
    return found


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT))
def top_of(t, p, lexer, stacks, last):  # type: ignore[no-untyped-def]
    """The item sets on top of closed stacks, as closed stacks on the bottom; DEAD, or a code.

    Those are left out that do not read what the lexer reads. Records below them up to `last` stay
    there, if they are not on the bottom themselves: what was below from the first byte on.
    """
    base, start = region(t, GROUPS), numba.int64(t.rec[stacks, REC_START])
    all_read, count = marks_terminals(t, lexer), numba.int64(0)
    for i in range(start, start + t.rec[stacks, REC_SIZE], 2):
        below = numba.int64(t.heap[i + 1])
        if below != p.sizes[NOTHING] and (all_read or reads_marked(t, t.heap[i])):
            stays = below <= last and t.rec[below, STACKS_COST] < FAR
            if is_enough(p, count):  # the one with which most can come is kept
                count -= 1 if reads_more(t, t.heap[i], t.work[base]) else 0
            if not is_enough(p, count):
                t.work[base + 2 * count] = t.heap[i]
                t.work[base + 2 * count + 1] = below if stays else p.sizes[BOTTOM]
                count += 1
    if count != 1:
        return call_closed(t, count)
    return one_top(t, p, numba.int64(t.work[base]), numba.int64(t.work[base + 1]))


@inner(INT(GRAMMAR, INT, INT, INT))
def reach_top(t, count, lexer, top):  # type: ignore[no-untyped-def]
    """Add a thread, with stacks as `top_of` returns them, to region REACHED: their number now.

    It joins one with the same lexer state. Or a code.
    """
    base, place = region(t, REACHED), numba.int64(0)
    while place < count and t.work[base + 3 * place] != lexer:
        place += 1
    if place < count and top >= 0:
        top = call_union_closed(t, numba.int64(t.work[base + 3 * place + 1]), top)
    if top < 0:
        return count if top == DEAD else top
    if 3 * place + 3 > t.info[REGION]:
        return needs_space(t, REGION)
    t.work[base + 3 * place] = lexer
    t.work[base + 3 * place + 1] = top
    t.work[base + 3 * place + 2] = 0
    return max(count, place + 1)


@folded(INT(GRAMMAR, INT, INT))
def written(t, count, left_out):  # type: ignore[no-untyped-def]
    """The threads in region REACHED as one number: what `tops_of` returns."""
    found = packed(t, count)
    if found >= 0:
        if found < SEVERAL and max(found >> 31, found & LOW) < 1 << 24:
            found = SINGLE | (found >> 31 << 24) | (found & LOW)
        else:
            found = record_of(t, found)
    return found if found < DEAD else ((found + 1) << 1) | left_out


@inlined
def place_of_tops(t, tops):  # type: ignore[no-untyped-def]
    """The position of tops that `written` wrote."""
    if tops & SINGLE == 0:
        return position_at(t, tops)
    return ((tops ^ SINGLE) >> 24 << 31) | (tops & 0xFFFFFF)


@inner(INT(GRAMMAR, PARTS_T, INT))
def tops_of(t, p, at):  # type: ignore[no-untyped-def]
    """The threads of a position with the tops of their stacks; or a code.

    Their number, DEAD without any, + 1, times 2; 1 more if some have been left out: those with
    lookaheads are.
    """
    threads, count, left_out = unpack(t, at), numba.int64(0), p.sizes[ONE_WAY]
    read = region(t, READ)
    for i in range(threads):
        if is_enough(p, count):
            break
        if t.work[read + 3 * i + 2] != 0:
            left_out = numba.int64(1)
            continue
        lexer, stacks = numba.int64(t.work[read + 3 * i]), numba.int64(t.work[read + 3 * i + 1])
        count = reach_top(t, count, lexer, top_of(t, p, lexer, stacks, p.sizes[BEGUN]))
        if count < 0:
            return count
    return written(t, count, left_out)


@inlined
def shows_bottom(t, p, stacks):  # type: ignore[no-untyped-def]
    """Whether the bottom is on top of any of some closed stacks."""
    start, found = numba.int64(t.rec[stacks, REC_START]), False
    for i in range(start, start + t.rec[stacks, REC_SIZE], 2):
        found = found or t.heap[i + 1] == p.sizes[NOTHING]
    return found


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT))
def begin_on(t, p, count, pair, byte_class):  # type: ignore[no-untyped-def]
    """Add what is read when a byte begins a lexeme on a top to region REACHED.

    pair: stacks below << 31 | item set. Returns the number of threads there now, or a code.
    """
    bare = numba.int64(t.rec[pair & LOW, ITEMS_NON_EMPTY])
    if bare < 0:
        return count
    stacks = one_top(t, p, bare, pair >> 31)
    if stacks < 0:
        return count if stacks == DEAD else stacks
    lexer = call_next_lexer(t, numba.int64(t.rec[stacks, STACKS_LEXER]), byte_class)
    if lexer < 0:
        return count if lexer == DEAD else lexer
    return reach_top(t, count, lexer, stacks)


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT))
def begin_behind(t, p, count, pair, terminal_class):  # type: ignore[no-untyped-def]
    """`begin_on` for all tops there are once a terminal has been read on a top.

    pair: as there; terminal_class: terminal << 8 | the class of the byte. Returns the number of
    threads, RETURNS where what lies below may be among the tops, or a code.
    """
    terminal, byte_class = terminal_class >> 8, terminal_class & 255
    if fixed(t, T_IGNORED, terminal) == 1:  # rules may read it, too
        count = begin_on(t, p, count, pair, byte_class)
    place, below, returns = goto(t, pair & LOW, terminal), pair >> 31 << 31, False
    if min(place, count) < 0 or place == 0:
        return min(place, count) if min(place, count) < 0 else count
    level = numba.int64(t.heap[place])
    if level >= 0:
        returns = t.rec[level, ITEMS_NULLABLE] == 1
        count = begin_on(t, p, count, below | level, byte_class)
    for k in range(t.heap[place + 1] if count >= 0 else 0):
        if is_enough(p, count):
            return count
        inside, back = t.heap[place + 2 + 2 * k], t.heap[place + 3 + 2 * k]
        under = below if t.rec[back, ITEMS_NON_EMPTY] < 0 else p.sizes[BOTTOM] << 31
        count = begin_on(t, p, count, under | inside, byte_class)
        if count >= 0 and t.rec[inside, ITEMS_NULLABLE] == 1:
            returns = returns or t.rec[back, ITEMS_NULLABLE] == 1
            count = begin_on(t, p, count, below | back, byte_class)
        if count < 0:
            return count
    if is_enough(p, count):
        return count
    return numba.int64(RETURNS) if returns and count >= 0 else count


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT))
def begin_all(t, p, count, stacks, ends_class):  # type: ignore[no-untyped-def]
    """`begin_behind` for each top of closed stacks and each of some terminals.

    So no stacks are made that are left out at once. ends_class: TERMINALS << 8 | the class of the
    byte. Returns what `begin_behind` does.
    """
    first = numba.int64(t.rec[ends_class >> 8, REC_START])
    start = numba.int64(t.rec[stacks, REC_START])
    for j in range(first, first + t.rec[ends_class >> 8, REC_SIZE]):
        terminal_class = (numba.int64(t.heap[j]) << 8) | (ends_class & 255)
        for i in range(start, start + t.rec[stacks, REC_SIZE], 2):
            pair = (numba.int64(t.heap[i + 1]) << 31) | numba.int64(t.heap[i])
            count = begin_behind(t, p, count, pair, terminal_class)
            if count < 0 or is_enough(p, count):
                return count
    return count


@inner(INT(GRAMMAR, PARTS_T, INT))
def items_like(t, p, item_set):  # type: ignore[no-untyped-def]
    """The item set that stands for those that call the same rules, and what is behind these.

    Both as item sets, the first << 28 | the second; 0 if an item calls no rule, or nothing need be
    read behind it; or a code.
    """
    key = numba.int64(ITEMS_LIKE) | item_set
    found = find(p.memo, key)
    if found != UNKNOWN:
        return found
    base, count, behind = region(t, BEHIND), numba.int64(0), call_closure(t, numba.int64(0))
    start = numba.int64(t.rec[item_set, REC_START])
    for i in range(start, start + t.rec[item_set, REC_SIZE]):
        item = numba.int64(t.heap[i])
        if item <= END_ITEM or fixed(t, FIRST, item) < t.info[TERMINAL_COUNT]:
            return note(p, key, numba.int64(0))
        first = item  # of those that call the rule, which stand side by side
        while fixed(t, FIRST, first - 1) == fixed(t, FIRST, item):
            first -= 1
        for one in (first, item):
            t.work[region(t, IN)] = fixed(t, AFTER, one)
            rest = call_closure(t, numba.int64(1))
            if min(rest, behind) < 0:
                return min(rest, behind)
            if t.rec[rest, ITEMS_NULLABLE] == 1:
                return note(p, key, numba.int64(0))
            behind = call_union_items(t, behind, rest)
        if count == 0 or t.work[base + count - 1] != first:
            t.work[base + count] = first
            count += 1
    like = behind if behind < 0 else call_items_of(t, base, count)
    return like if like < 0 else note(p, key, (like << 28) | behind)


@inlined
def ignores(t, stacks):  # type: ignore[no-untyped-def]
    """Whether something that is ignored may stand on stacks, which it leaves as they are."""
    terminals = t.rec[stacks, STACKS_TERMINALS]
    start, found = numba.int64(t.rec[terminals, REC_START]), False
    for i in range(start, start + t.rec[terminals, REC_SIZE]):
        found = found or fixed(t, T_IGNORED, t.heap[i]) == 1
    return found


@inner(INT(GRAMMAR, PARTS_T, INT))
def stacks_like(t, p, stacks):  # type: ignore[no-untyped-def]
    """Stacks that stand for those on whose tops the same rules are called, and what is behind.

    Both as closed stacks, the first << 28 | the second; 0 if there are none; or a code.
    """
    key = numba.int64(STACKS_LIKE) | stacks
    found = find(p.memo, key)
    if found != UNKNOWN:
        return found
    if ignores(t, stacks):
        return note(p, key, numba.int64(0))
    groups, pairs, behind = region(t, GROUPS), numba.int64(0), numba.int64(0)
    start = numba.int64(t.rec[stacks, REC_START])
    for i in range(start, start + t.rec[stacks, REC_SIZE], 2):
        like = items_like(t, p, numba.int64(t.heap[i]))
        if like <= 0:
            return like if like < 0 else note(p, key, like)
        t.work[groups + 2 * pairs] = like >> 28
        t.work[groups + 2 * pairs + 1] = p.sizes[BOTTOM]
        pairs += 1
        rest = like & ((1 << 28) - 1)
        behind = rest if behind == 0 else call_union_items(t, behind, rest)
        if behind < 0:
            return behind
    like = call_closed(t, pairs)
    below = like if like < 0 else one_top(t, p, behind, p.sizes[BOTTOM])
    if below < 0:
        return below if below < DEAD else note(p, key, numba.int64(0))
    return note(p, key, (like << 28) | below if like != stacks else numba.int64(0))


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def alike(t, p, tops, byte_class):  # type: ignore[no-untyped-def]
    """The tops that stand for some in what they do with a byte, or these tops; or a code.

    Others stand for them where with the byte no lexeme goes on, and no rule that is called on top
    can have ended before it: what is behind it would begin with the byte.
    """
    if tops & SINGLE == 0:
        return tops
    like = stacks_like(t, p, tops & 0xFFFFFF)
    if like <= 0:
        return like if like < 0 else tops
    after = call_next_lexer(t, (tops ^ SINGLE) >> 24, byte_class)
    if after == DEAD:
        behind = numba.int64(t.rec[like & ((1 << 28) - 1), STACKS_LEXER])
        after = call_next_lexer(t, behind, byte_class)
    if after != DEAD:
        return after if after < 0 else tops
    return tops ^ (tops & 0xFFFFFF) | (like >> 28) if like >> 28 < 1 << 24 else tops


@inner(INT(GRAMMAR, INT, INT, INT))
def stay(t, count, place, byte_class):  # type: ignore[no-untyped-def]
    """Add to region REACHED a thread whose lexemes go on with a byte, and more of the same bytes.

    place: of it in region READ. Returns the number of threads there now, or a code.
    """
    lexer = call_next_lexer(t, numba.int64(t.work[place]), byte_class)
    after = lexer if lexer < 0 else call_next_lexer(t, lexer, byte_class)
    if after < 0 or after != lexer:
        return min(after, count) if after < DEAD else count
    return reach_top(t, count, lexer, numba.int64(t.work[place + 1]))


@inner(INT(GRAMMAR, INT, INT))
def one_lexeme(t, lexer, byte_class):  # type: ignore[no-untyped-def]
    """The lexer state of one of some lexemes after a byte: of one that goes on with more of these.

    Else of any other; DEAD without one, or NEED_SPACE.
    """
    found, start = numba.int64(DEAD), numba.int64(t.rec[lexer, REC_START])
    for i in range(start, start + t.rec[lexer, REC_SIZE]):
        after = t.next[t.heap[i], byte_class] if t.heap[i] >= 0 else DEAD
        if after >= 0 and fixed(t, S_DISTANCE, after) < FAR:
            loops = t.next[after, byte_class] == after
            if found < 0 or loops:
                found = numba.int64(after)
            if loops:
                break
    if found >= 0:
        t.work[region(t, LEX)] = found
        found = call_intern(t, LEXER, region(t, LEX), numba.int64(1))
    return found


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def one_way_on(t, p, threads, byte_class):  # type: ignore[no-untyped-def]
    """Write a thread whose lexemes go on with a byte to region REACHED, with one top.

    Of many lexemes it has one.

    threads: their number in region READ. Returns 1, or 0 if there is none, or a code.
    """
    for i in range(threads):
        place = region(t, READ) + 3 * i
        lexer, stacks = numba.int64(t.work[place]), t.work[place + 1]
        if t.rec[lexer, REC_SIZE] <= FEW_LEXEMES:
            lexer = call_next_lexer(t, lexer, byte_class)
        else:
            lexer = one_lexeme(t, lexer, byte_class)
        top = lexer if lexer < 0 else top_of(t, p, lexer, numba.int64(stacks), numba.int64(LOW))
        if top >= 0:
            return reach_top(t, numba.int64(0), lexer, top)
        if top < DEAD:
            return top
    return numba.int64(0)


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT))
def tops_after(t, p, tops, byte_class, least):  # type: ignore[no-untyped-def]
    """The tops after a byte as `tops_of` writes them, or a code.

    Left out are stacks below the bottom, too, where something returns to them. least: records that
    stay below, whatever was below before (see `top_of`).
    """
    if least == 0:
        tops = alike(t, p, tops, byte_class)
        if tops < 0:
            return tops
    key = numba.int64(TOPS_AFTER) | (tops << 8) | byte_class
    known = find(p.memo, key)
    if known != UNKNOWN:
        return known
    threads, read = unpack(t, place_of_tops(t, tops)), region(t, READ)
    count, left_out = numba.int64(0), p.sizes[ONE_WAY]
    if left_out == 1:
        count = one_way_on(t, p, threads, byte_class)
    for i in range(0 if left_out == 1 else threads):
        count = stay(t, count, region(t, READ) + 3 * i, byte_class)
        if count < 0:
            return count
    if count < 0:
        return count
    if count > 0:  # they read more of the same; all that is read otherwise is left out
        found = written(t, count, numba.int64(LEFT_OUT))
        return found if found < 0 else note(p, key, found)
    for i in range(threads):  # as `step.follow` does, with lookaheads left out
        if is_enough(p, count):
            break
        lexer, stacks = numba.int64(t.work[read + 3 * i]), numba.int64(t.work[read + 3 * i + 1])
        after, ends = call_next_lexer(t, lexer, byte_class), call_endings(t, lexer)
        last = max(least, last_below(t, stacks))
        if min(after, ends) < DEAD:
            return min(after, ends)
        if after >= 0:
            count = reach_top(t, count, after, stacks)
        for j in range(t.heap[ends]):
            if is_enough(p, count):
                break
            own = call_next_lookaheads(t, numba.int64(t.heap[ends + 2 + 2 * j]), byte_class)
            if own == 0 and count >= 0 and least == 0:
                ends_class = (numba.int64(t.heap[ends + 1 + 2 * j]) << 8) | byte_class
                more = begin_all(t, p, count, stacks, ends_class)
                if more != RETURNS:
                    count = more
                    continue
            beyond = numba.int64(DEAD)
            if own >= 0:
                beyond = call_scan_any(t, stacks, numba.int64(t.heap[ends + 1 + 2 * j]))
            first = min(own, beyond)
            if first >= 0:
                if shows_bottom(t, p, beyond):
                    left_out = numba.int64(1)
                first = call_next_lexer(t, numba.int64(t.rec[beyond, STACKS_LEXER]), byte_class)
            if min(first, count) < DEAD:
                return min(first, count)
            if first >= 0 and own > 0:
                left_out = numba.int64(1)
            elif first >= 0:
                count = reach_top(t, count, first, top_of(t, p, first, beyond, last))
        if count < 0:
            return count
    found = written(t, count, left_out)
    return found if found < 0 else note(p, key, found)


@folded(INT(GRAMMAR, INT))
def lexemes(t, count):  # type: ignore[no-untyped-def]
    """The LEXER record of DFA states in region LEX, DEAD without any; or NEED_SPACE."""
    base, kept = region(t, LEX), numba.int64(0)
    sort(t.work, base, count)
    for i in range(count):
        if kept == 0 or t.work[base + i] != t.work[base + kept - 1]:
            t.work[base + kept] = t.work[base + i]
            kept += 1
    return call_intern(t, LEXER, base, kept) if kept > 0 else numba.int64(DEAD)


@inner(INT(GRAMMAR, INT))
def lexemes_of(t, at):  # type: ignore[no-untyped-def]
    """The lexemes that are being read at a position, in any of its threads; or NEED_SPACE."""
    threads, count = unpack(t, at), numba.int64(0)
    read, base = region(t, READ), region(t, LEX)
    for i in range(threads):
        lexer = t.work[read + 3 * i]
        start, size = numba.int64(t.rec[lexer, REC_START]), numba.int64(t.rec[lexer, REC_SIZE])
        if count + size > t.info[REGION]:
            return needs_space(t, REGION)
        for j in range(start, start + size):
            if t.heap[j] >= 0:
                t.work[base + count] = t.heap[j]
                count += 1
    return lexemes(t, count)


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def lexemes_after(t, p, before, byte_class):  # type: ignore[no-untyped-def]
    """All lexemes that can be being read after a byte, whatever the stacks; DEAD, or a code.

    One goes on with the byte, or has ended and the byte, which can follow it, begins any other one.
    """
    key = numba.int64(LEXEMES_AFTER) | (before << 8) | byte_class
    known = find(p.memo, key)
    if known != UNKNOWN:
        return known
    base, start = region(t, LEX), numba.int64(t.rec[before, REC_START])
    size, names = numba.int64(t.rec[before, REC_SIZE]), t.info[TERMINAL_COUNT]
    if size + names > t.info[REGION]:
        return needs_space(t, REGION)
    count, begins = numba.int64(0), False
    for i in range(start, start + size):
        state = t.heap[i]
        if t.next[state, byte_class] >= 0:
            t.work[base + count] = t.next[state, byte_class]
            count += 1
        if fixed(t, S_ENDS, state) > 0 and p.follow[fixed(t, S_TERMINAL, state), byte_class] == 1:
            if t.watch[fixed(t, S_NO_LONGER, state), byte_class] != VIOLATED:
                begins = True
    for terminal in range(names if begins else 0):
        state = t.next[fixed(t, T_START, terminal), byte_class]
        if state >= 0:
            t.work[base + count] = state
            count += 1
    found = lexemes(t, count)
    return found if found < DEAD else note(p, key, found)


@folded(INT(GRAMMAR, PARTS_T, INT))
def is_read(t, p, byte_class):  # type: ignore[no-untyped-def]
    """0 if some terminal reads a byte anywhere, DEAD if none does, or a code."""
    key = numba.int64(LEXEMES_AFTER) | byte_class  # 0 is no lexer state
    found = find(p.memo, key)
    if found == UNKNOWN:
        found = numba.int64(DEAD)
        for state in range(t.next.shape[0]):
            if t.next[state, byte_class] >= 0:
                found = numba.int64(0)
                break
        found = note(p, key, found)
    return found


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def read_lexemes(t, p, depth, some):  # type: ignore[no-untyped-def]
    """The lexemes at a depth, read from the last depth where they are known; DEAD, or a code.

    some: where in p.stack they stand; behind it the bytes.
    """
    path, known = some + p.stack.shape[0] // 4, depth - 1
    while p.stack[some + known] == DEAD:
        known -= 1
    while known < depth:
        byte_class = fixed(t, CLASS, p.stack[path + known + 1])
        after = lexemes_after(t, p, p.stack[some + known], byte_class)
        if after < 0:
            return after
        known += 1
        p.stack[some + known] = after
    return p.stack[some + depth]


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def read_with_stacks(t, p, depth, path):  # type: ignore[no-untyped-def]
    """The position at a depth of p.stack, read from the last one that is known; DEAD, or a code.

    path: where in p.stack the bytes stand.
    """
    known = depth - 1
    while p.stack[known] == DEAD:
        known -= 1
    while known < depth:
        byte = p.stack[path + known + 1]
        after = quick_in_walk(t, p.stack[known], fixed(t, CLASS, byte))
        if after == SEVERAL:
            after = step_in_walk(t, p.stack[known], byte)
        if after < 0:
            return after
        known += 1
        p.stack[known] = after
    return p.stack[depth]


@inner(INT(GRAMMAR, PARTS_T, INT, INT))
def loops_at(t, p, tops, at):  # type: ignore[no-untyped-def]
    """`place_loops` of tops as `tops_of` writes them, or where there are none of a position."""
    if tops <= LEFT_OUT:
        return place_loops(t, p, at)
    checked = t.info[CHECKED]
    t.info[CHECKED] = NEVER  # only what is left out would be checked
    found = place_loops(t, p, place_of_tops(t, (tops >> 1) - 1))
    t.info[CHECKED] = checked
    return found


@inner(INT(GRAMMAR, PARTS_T, INT, INT, INT, INT))
def reads_all(t, p, tops, at, same, node):  # type: ignore[no-untyped-def]
    """1 if all below a node is read by tops as `tops_of` writes them, 0 if not known, or a code.

    It is where a lexeme goes on with it, or nothing changes by it: that is looked at if `same` is
    1. at: the position where there are no tops.
    """
    thread, loops = (tops >> 1) - 1, numba.int64(0)
    if tops > LEFT_OUT and thread & SINGLE != 0:
        loops = lexeme_loops(t, p, (thread ^ SINGLE) >> 24)
    if loops >= 0 and same == 1 and p.beneath[node] & ~loops != 0:
        loops = loops_at(t, p, tops, at)
    return loops if loops < 0 else numba.int64(loops > 0 and p.beneath[node] & ~loops == 0)


@inner(INT(GRAMMAR, PARTS_T, INT, I32))
def walk_by_tops(t, p, at, row):  # type: ignore[no-untyped-def]
    """Set bits of the tokens of the vocabulary that can be read from a position.

    p.stack has for each depth the position where it is known (else DEAD), in its second quarter the
    tops (see `tops_of`), then the lexemes where they are known, then the byte. Stopped for a code,
    the walk goes on as `walk_plain`.
    """
    tops = p.stack.shape[0] // 4
    some, path = 2 * tops, 3 * tops
    i = numba.int64(0)
    if p.sizes[WALKED] == BY_TOPS and p.sizes[WALKED_FROM] == at and p.sizes[STOPPED] > 0:
        i = p.sizes[STOPPED]
    else:
        code = lay_bottom(t, p)
        if code < 0:
            return code
        p.stack[0], p.stack[tops], p.stack[some] = at, tops_of(t, p, at), lexemes_of(t, at)
        if min(p.stack[tops], p.stack[some]) < DEAD:
            return min(p.stack[tops], p.stack[some])
    p.sizes[WALKED], p.sizes[WALKED_FROM], p.sizes[STOPPED] = BY_TOPS, at, 0
    while i < p.tries[0, 2]:
        begun = p.sizes[BEGUN]
        if begun < t.info[RECORDS] and t.info[HEAP] - t.rec[begun, REC_START] > p.sizes[MANY_TOPS]:
            p.sizes[ONE_WAY] = 1  # here, and in other masks
        depth, byte, end = p.depth[i], numba.int64(p.byte[i]), numba.int64(p.end[i])
        before = p.stack[tops + depth - 1]
        left_out, top, here = before & LEFT_OUT, before, numba.int64(DEAD)
        if before > LEFT_OUT:
            least = LOW if depth == 1 else numba.int64(0)  # the text's last lexeme ends here
            top = tops_after(t, p, (before >> 1) - 1, fixed(t, CLASS, byte), least)
        if top >= 0:
            top |= left_out
        p.stack[depth], p.stack[some + depth], p.stack[path + depth] = DEAD, DEAD, byte
        if top == LEFT_OUT:  # what is left out may read it
            here = is_read(t, p, fixed(t, CLASS, byte))
            if here == 0:
                here = read_lexemes(t, p, numba.int64(depth), some)
            if here >= 0:
                here = read_with_stacks(t, p, numba.int64(depth), path)
            top = tops_of(t, p, here) if here >= 0 else here
            if here == DEAD:
                top = numba.int64(0)
        whole = numba.int64(0)
        if top > 0 and end - i > LONG_SUBTREE:
            same = here == p.stack[depth - 1] if top == LEFT_OUT else top == before
            whole = reads_all(t, p, top, here, numba.int64(same), i)
        if min(top, whole) < 0:
            p.sizes[STOPPED] = i
            return min(top, whole)
        if top == 0:
            i = end
            continue
        if whole == 1:
            for j in range(p.before[i], p.before[end]):
                set_bit(row, p.order[j])
            i = end
            continue
        p.stack[tops + depth] = top
        if p.token[i] >= 0:
            set_bit(row, p.token[i])
        i += 1
    return numba.int64(0)
