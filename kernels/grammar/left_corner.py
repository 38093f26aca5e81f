r"""The left-corner transform: makes the items of a grammar, from the start on.

See `grammar.transforms.left_corner`, which says what an item and C\X are. Symbols are numbers:
terminals come first, then rules. The right-hand sides stand one behind the other, so what is left
of one is the *place* from which on it is read; equal rests have one place (`rest`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import inlined, inner, lean
from structgen.kernels.build.language import numba, reference, types
from structgen.kernels.grammar.tables import FAR, I32, I32_2, I64_2, INT
from structgen.kernels.tables import hashed

END = -1  # behind the last symbol of a right-hand side
DONE, MORE, FULL = 0, -1, -2  # what `make_items` returns

# Columns of `rules`.
PLACE = 0  #: where its first right-hand side begins; the others follow it
CALLED = 1  #: whether it has been called
REACHED = 2  #: the call that met it last as a left corner
CORNERS = 3  #: the first of its corners + 1, 0 for none
SHORTENED = 4  #: the call at which its corners were shortened last
RULE_COLUMNS = 5

# Columns of `corners`, C\X.
OF, READ = 0, 1  #: the rules C and X
BEGUN = 2  #: the call that found what C\X can be, + 1; 0 where C has no left corner X
FIRST, LAST, COUNT = 3, 4, 5  #: what it can be: a list of entries; behind the call in normal form
ITEMS, LAST_ITEM = 6, 7  #: the same list in normal form, within the call
SHORT, SHORT_AT = 8, 9  #: its normal form, a corner or NO_CORNER; found at that call
SEEN = 10  #: the search that met it last
LEAST = 11  #: bytes of its shortest text
NEXT = 12  #: the next corner of C + 1, 0 for none
ON_THE_WAY = 13  #: the only one that it can be, in the search for its normal form
CORNER_COLUMNS = 14
NO_CORNER = -1

# Columns of `items`.
REST, CORNER = 0, 1  #: the place where it is read from, and the corner behind that, or NO_CORNER
RULE, CALLER = 2, 3  #: the rule it comes from, and that which was called there; -1 as long as open
TAIL_RULE, TAIL_CALLER = 4, 5  #: the same for what stands behind a left corner; -1 if it does not
BEHIND = 6  #: the item behind its first symbol, -1 for none
SKIPS, SKIPPED = 7, 8  #: what it also is: from where on in `skips`, and how many
ITEM_COLUMNS = 9
EMPTY_ITEM = 0

# Columns of `entries`: rest and corner, the next entry of the same list, -1 for none, the item.
ENTRY_REST, ENTRY_CORNER, ENTRY_NEXT, ENTRY_ITEM = 0, 1, 2, 3
ENTRY_COLUMNS = 4

# Columns of `groups`.
GROUP_OF, GROUP_FIRST, GROUP_LAST = 0, 1, 2
GROUP_COLUMNS = 3
OWNER_COLUMNS = 4

# Kinds of keys.
KEY_REST, KEY_CORNER, KEY_ITEM, KEY_LISTED = 0, 1, 2, 3

# Entries of `sizes`.
KEYS, CORNER_COUNT, ITEM_COUNT, ENTRIES, CALLS, SKIP_COUNT = 0, 1, 2, 3, 4, 5
STACK, TODO, OWNED, SEARCHES, OWNERS = 6, 7, 8, 9, 10
SIZES = 11


class LeftCorners(NamedTuple):
    """A grammar, and what the transform makes of it.

    symbols: int32[places], right-hand sides, END behind each; the first is empty, the second has
    the start alone. rest: int32[places], the place of the same rest. cost: int32[places], bytes of
    the shortest text of a rest. alike: int32[symbols], one symbol for all that are alike. nullable:
    int32[symbols]. width: int32[symbols], bytes of the shortest text. rules, corners, items,
    entries: see the columns above. groups: int32[terminals, 3], of a call: its number, the first
    and last entries behind a terminal. owners: int32[n, 4], of a call: symbol, rule, place behind
    it, corner + 1. listed: int32[n], of a call: terminals or corners as they were met. calls:
    int32[n, 3], rule, terminal, item. skips: int32[n], items. stack: int32[n, 3], items that wait
    with their owners. todo, order: int32[n], items. slots: int32[s], hash table of numbers of keys
    + 1; keys: int64[n, 2]. sizes: int32[SIZES].
    """

    symbols: npt.NDArray[np.int32]
    rest: npt.NDArray[np.int32]
    cost: npt.NDArray[np.int32]
    alike: npt.NDArray[np.int32]
    nullable: npt.NDArray[np.int32]
    width: npt.NDArray[np.int32]
    rules: npt.NDArray[np.int32]
    corners: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    entries: npt.NDArray[np.int32]
    groups: npt.NDArray[np.int32]
    owners: npt.NDArray[np.int32]
    listed: npt.NDArray[np.int32]
    calls: npt.NDArray[np.int32]
    skips: npt.NDArray[np.int32]
    stack: npt.NDArray[np.int32]
    todo: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]
    slots: npt.NDArray[np.int32]
    keys: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int32]


LEFT_CORNERS = reference(
    types.NamedTuple(
        [
            I32, I32, I32, I32, I32, I32, I32_2, I32_2, I32_2, I32_2, I32_2,
            I32_2, I32, I32_2, I32, I32_2, I32, I32, I32, I64_2, I32,
        ],
        LeftCorners,
    )
)  # fmt: skip


@inlined
def number_of(t, kind, one, two, fresh):  # type: ignore[no-untyped-def]
    """The number of a pair, `fresh` if it is new; each kind has its own numbers."""
    key = (numba.int64(kind) << 62) | (numba.int64(one) << 31) | (numba.int64(two) + 1)
    last = t.slots.shape[0] - 1
    i = hashed(key) & last
    while t.slots[i] > 0:
        at = t.slots[i] - 1
        if t.keys[at, 0] == key:
            return t.keys[at, 1]
        i = (i + 1) & last
    t.keys[t.sizes[KEYS], 0], t.keys[t.sizes[KEYS], 1] = key, fresh
    t.sizes[KEYS] += 1
    t.slots[i] = t.sizes[KEYS]
    return numba.int64(fresh)


@inlined
def corner_of(t, called, read):  # type: ignore[no-untyped-def]
    r"""The corner C\X of two rules."""
    count = t.sizes[CORNER_COUNT]
    corner = number_of(t, KEY_CORNER, called, read, count)
    if corner == count:
        t.corners[corner, OF], t.corners[corner, READ] = called, read
        t.corners[corner, FIRST] = -1
        t.corners[corner, NEXT] = t.rules[called, CORNERS]
        t.rules[called, CORNERS] = corner + 1
        t.sizes[CORNER_COUNT] += 1
    return corner


@inlined
def item_of(t, rest, corner):  # type: ignore[no-untyped-def]
    """The item with such a rest and corner."""
    count = t.sizes[ITEM_COUNT]
    item = number_of(t, KEY_ITEM, rest, corner, count)
    if item == count:
        for column in range(ITEM_COLUMNS):
            t.items[item, column] = -1
        t.items[item, REST], t.items[item, CORNER] = rest, corner
        t.items[item, SKIPPED] = 0
        t.sizes[ITEM_COUNT] += 1
    return item


@inlined
def append(t, table, row, first, last, entry):  # type: ignore[no-untyped-def]
    """Put an entry at the end of the list of which a row of a table has the first and the last."""
    t.entries[entry, ENTRY_NEXT] = -1
    if table[row, first] < 0:
        table[row, first] = entry
    else:
        t.entries[table[row, last], ENTRY_NEXT] = entry
    table[row, last] = entry


@inlined
def push(t, item, rule, caller):  # type: ignore[no-untyped-def]
    """Let an item wait, with its owners."""
    at = t.sizes[STACK]
    t.stack[at, 0], t.stack[at, 1], t.stack[at, 2] = item, rule, caller
    t.sizes[STACK] += 1


@inlined
def push_list(t, entry, called):  # type: ignore[no-untyped-def]
    """Let the items of a list wait, of which that is the first entry."""
    while entry >= 0:
        corner = t.entries[entry, ENTRY_CORNER]
        rule = t.corners[corner, READ] if corner >= 0 else called
        push(t, t.entries[entry, ENTRY_ITEM], rule, called)
        entry = t.entries[entry, ENTRY_NEXT]


@inlined
def turn_round(t, base):  # type: ignore[no-untyped-def]
    """Turn round what was pushed from `base` on, so that the first comes first."""
    low, high = numba.int64(base), numba.int64(t.sizes[STACK]) - 1
    while low < high:
        for column in range(3):
            kept = t.stack[low, column]
            t.stack[low, column] = t.stack[high, column]
            t.stack[high, column] = kept
        low += 1
        high -= 1


@lean(INT(LEFT_CORNERS, INT))
def prepare(t, start):  # type: ignore[no-untyped-def]
    """Set `nullable`, `width`, `rest` and `cost`, and let the start wait: 0.

    nullable is 0 at first, width FAR for rules. start: the rule to begin with. Rules that others
    use are looked at before these, so mostly each fixed point is found at once.
    """
    n, count, depth = t.groups.shape[0], numba.int64(0), numba.int64(0)
    for root in range(t.rules.shape[0] - 1):
        if t.rules[root, REACHED] == 0:
            t.rules[root, REACHED] = -1
            t.stack[0, 0], t.stack[0, 1], depth = root, t.rules[root, PLACE], 1
        while depth > 0:
            rule, place = t.stack[depth - 1, 0], t.stack[depth - 1, 1]
            if place == t.rules[rule + 1, PLACE]:
                t.order[count] = rule
                count, depth = count + 1, depth - 1
                continue
            t.stack[depth - 1, 1] = place + 1
            used = t.symbols[place] - n
            if used >= 0 and t.rules[used, REACHED] == 0:
                t.rules[used, REACHED] = -1
                t.stack[depth, 0], t.stack[depth, 1] = used, t.rules[used, PLACE]
                depth += 1
    changed = True
    while changed:
        changed = False
        for i in range(count):
            rule = t.order[i]
            least, whole, is_empty, empty = numba.int64(FAR), numba.int64(0), False, True
            for place in range(t.rules[rule, PLACE], t.rules[rule + 1, PLACE]):
                symbol = t.symbols[place]
                if symbol == END:
                    least, is_empty = min(least, whole), is_empty or empty
                    whole, empty = numba.int64(0), True
                else:
                    whole, empty = whole + t.width[symbol], empty and t.nullable[symbol] == 1
            if least < t.width[n + rule] or (is_empty and t.nullable[n + rule] == 0):
                t.width[n + rule] = min(least, numba.int64(t.width[n + rule]))
                t.nullable[n + rule] = 1 if is_empty else 0
                changed = True
    for place in range(t.symbols.shape[0] - 1, -1, -1):
        symbol = t.symbols[place]
        t.rest[place] = t.cost[place] = 0
        if symbol != END:
            t.rest[place] = number_of(t, KEY_REST, symbol, t.rest[place + 1], place)
            t.cost[place] = min(t.width[symbol] + numba.int64(t.cost[place + 1]), FAR)
    item_of(t, 0, NO_CORNER)
    push(t, item_of(t, t.rest[1], NO_CORNER), start, start)
    return numba.int64(0)


@inner(INT(LEFT_CORNERS, INT))
def shortened(t, corner):  # type: ignore[no-untyped-def]
    r"""A corner in normal form: not one that can only end, nor one that can only be another."""
    if corner < 0:
        return numba.int64(NO_CORNER)
    now = t.rules[t.corners[corner, OF], SHORTENED]
    t.sizes[SEARCHES] += 1
    search, at, found = t.sizes[SEARCHES], numba.int64(corner), numba.int64(NO_CORNER)
    while True:
        if t.corners[at, SHORT_AT] == now:
            found = numba.int64(t.corners[at, SHORT])
            break
        if t.corners[at, SEEN] == search:  # they go round in circles
            t.corners[corner, SHORT], t.corners[corner, SHORT_AT] = at, now
            return at
        t.corners[at, SEEN], t.corners[at, ON_THE_WAY] = search, NO_CORNER
        count, rest, other = 0, numba.int64(0), numba.int64(NO_CORNER)
        entry = t.corners[at, FIRST]
        while entry >= 0 and count < 2:
            if t.entries[entry, ENTRY_REST] != 0 or t.entries[entry, ENTRY_CORNER] != at:
                count += 1
                rest = numba.int64(t.entries[entry, ENTRY_REST])
                other = numba.int64(t.entries[entry, ENTRY_CORNER])
            entry = t.entries[entry, ENTRY_NEXT]
        if t.corners[at, OF] == t.corners[at, READ]:
            found = at if count > 0 else numba.int64(NO_CORNER)
            break
        if count != 1 or rest != 0 or other == NO_CORNER:
            found = at if count != 1 or rest != 0 else numba.int64(NO_CORNER)
            break
        t.corners[at, ON_THE_WAY] = other
        at = other
    at = numba.int64(corner)
    while at != NO_CORNER and t.corners[at, SHORT_AT] != now:
        t.corners[at, SHORT], t.corners[at, SHORT_AT] = found, now
        at = numba.int64(t.corners[at, ON_THE_WAY])
    return found


@inner(INT(LEFT_CORNERS, INT))
def left_corners(t, called):  # type: ignore[no-untyped-def]
    """List the symbols with which a rule can begin: how many places were looked at, or FULL.

    Sets `owners`. sizes[OWNERS] is how many there are.
    """
    n, depth, looked_at, count = t.groups.shape[0], numba.int64(1), numba.int64(0), numba.int64(0)
    t.listed[0] = called
    t.rules[called, REACHED] = called + 1
    while depth > 0:
        depth -= 1
        rule, begins = t.listed[depth], True
        for place in range(t.rules[rule, PLACE], t.rules[rule + 1, PLACE]):
            symbol = t.symbols[place]
            looked_at += 1
            if symbol == END:
                begins = True
                continue
            if not begins:
                continue
            if count == t.owners.shape[0]:
                return numba.int64(FULL)
            t.owners[count, 0], t.owners[count, 1] = symbol, rule
            t.owners[count, 2], t.owners[count, 3] = t.rest[place + 1], 0
            count += 1
            if symbol >= n and t.rules[symbol - n, REACHED] != called + 1:
                t.rules[symbol - n, REACHED] = called + 1
                t.listed[depth] = symbol - n
                depth += 1
            begins = t.nullable[symbol] == 1
    t.sizes[OWNERS] = count
    return looked_at


@inner(INT(LEFT_CORNERS, INT))
def note_corners(t, called):  # type: ignore[no-untyped-def]
    """Note what each left corner that is new can be, as rules have it, and in `owners`: 0."""
    n, now = t.groups.shape[0], called + 1
    mine = t.alike[n + called] - n
    for i in range(t.sizes[OWNERS]):
        symbol = t.owners[i, 0]
        if symbol < n:
            continue
        corner = corner_of(t, mine, t.alike[symbol] - n)
        if t.corners[corner, BEGUN] == 0:
            t.corners[corner, BEGUN] = now
            t.corners[corner, ITEMS] = -1
        if t.corners[corner, BEGUN] != now:  # a call before this one did it
            continue
        t.owners[i, 3] = corner + 1
        entry = t.sizes[ENTRIES]
        t.sizes[ENTRIES] += 1
        t.entries[entry, ENTRY_REST] = t.owners[i, 2]
        t.entries[entry, ENTRY_CORNER] = corner_of(t, mine, t.alike[n + t.owners[i, 1]] - n)
        append(t, t.corners, corner, FIRST, LAST, entry)
    return numba.int64(0)


@inner(INT(LEFT_CORNERS, INT))
def call(t, called):  # type: ignore[no-untyped-def]
    """Note the items behind each terminal and each left corner with which a rule can begin.

    They are pushed, with their owners. Returns how much was looked at, or FULL.
    """
    n, looked_at, base = t.groups.shape[0], left_corners(t, called), t.sizes[STACK]
    count = numba.int64(t.sizes[OWNERS])
    if looked_at < 0 or (
        t.sizes[CORNER_COUNT] + 2 * count > t.corners.shape[0]
        or t.sizes[ITEM_COUNT] + count > t.items.shape[0]
        or t.sizes[ENTRIES] + 2 * count > t.entries.shape[0]
        or t.sizes[CALLS] + count > t.calls.shape[0]
        or base + count > t.stack.shape[0]
        or t.sizes[KEYS] + 4 * count > t.keys.shape[0]
    ):
        return numba.int64(FULL)
    note_corners(t, called)
    mine, now = t.alike[n + called] - n, called + 1
    t.rules[called, CALLED] = 1
    t.rules[mine, SHORTENED] = now
    listed = numba.int64(0)
    for i in range(count):  # all items in normal form
        symbol, rule, tail = t.owners[i, 0], t.owners[i, 1], t.owners[i, 2]
        short = shortened(t, corner_of(t, mine, t.alike[n + rule] - n))
        item = item_of(t, tail, short)
        if tail != 0 and t.items[item, TAIL_RULE] < 0:
            t.items[item, TAIL_RULE], t.items[item, TAIL_CALLER] = rule, called
        entry, corner = t.sizes[ENTRIES], t.owners[i, 3] - 1
        t.entries[entry, ENTRY_REST], t.entries[entry, ENTRY_CORNER] = tail, short
        t.entries[entry, ENTRY_ITEM] = item
        if symbol < n:
            if t.groups[symbol, GROUP_OF] != now:
                t.groups[symbol, GROUP_OF], t.groups[symbol, GROUP_FIRST] = now, -1
                t.listed[listed] = symbol
                listed += 1
            append(t, t.groups, symbol, GROUP_FIRST, GROUP_LAST, entry)
            t.sizes[ENTRIES] += 1
            at = t.sizes[CALLS]
            t.calls[at, 0], t.calls[at, 1], t.calls[at, 2] = called, symbol, item
            t.sizes[CALLS] += 1
        elif corner >= 0 and number_of(t, KEY_LISTED, corner, item, entry) == entry:
            if t.corners[corner, ITEMS] < 0:
                t.corners[corner, COUNT] = 0
            append(t, t.corners, corner, ITEMS, LAST_ITEM, entry)
            t.corners[corner, COUNT] += 1
            t.sizes[ENTRIES] += 1
    for i in range(listed):
        push_list(t, t.groups[t.listed[i], GROUP_FIRST], called)
    for i in range(count):
        corner = t.owners[i, 3] - 1
        if corner >= 0 and t.corners[corner, ITEMS] >= 0:
            push_list(t, t.corners[corner, ITEMS], called)
            t.corners[corner, FIRST], t.corners[corner, ITEMS] = t.corners[corner, ITEMS], -1
    turn_round(t, base)
    return looked_at + count


@inner(INT(LEFT_CORNERS, INT, INT, INT))
def look_behind(t, item, rule, caller):  # type: ignore[no-untyped-def]
    """Note what an item also is, and let what is behind its first symbol wait: 0, or FULL."""
    rest, corner = t.items[item, REST], numba.int64(t.items[item, CORNER])
    symbol, base = t.symbols[rest], t.sizes[STACK]
    more = 2 if symbol != END or corner < 0 else 2 + t.corners[corner, COUNT]
    if (
        t.sizes[ITEM_COUNT] == t.items.shape[0]
        or t.sizes[KEYS] == t.keys.shape[0]
        or t.sizes[SKIP_COUNT] + more > t.skips.shape[0]
        or base + more > t.stack.shape[0]
    ):
        return numba.int64(FULL)
    skips = t.sizes[SKIP_COUNT]
    t.items[item, SKIPS] = skips
    if symbol != END:
        behind = item_of(t, t.rest[rest + 1], shortened(t, corner))
        t.items[item, BEHIND] = behind
        push(t, behind, rule, caller)
        if t.nullable[symbol] == 1:
            t.skips[skips] = behind
            skips += 1
    elif corner >= 0:
        if t.corners[corner, OF] == t.corners[corner, READ]:
            t.skips[skips] = EMPTY_ITEM
            push(t, EMPTY_ITEM, rule, caller)
            skips += 1
        entry = t.corners[corner, FIRST]
        while entry >= 0:
            t.skips[skips] = t.entries[entry, ENTRY_ITEM]
            push(t, t.skips[skips], rule, caller)
            skips += 1
            entry = t.entries[entry, ENTRY_NEXT]
        turn_round(t, base)
    t.items[item, SKIPPED], t.sizes[SKIP_COUNT] = skips - t.sizes[SKIP_COUNT], skips
    return numba.int64(0)


@lean(INT(LEFT_CORNERS, INT, INT))
def make_items(t, most, work):  # type: ignore[no-untyped-def]
    """Make all items that the start leads to: DONE; MORE past so much work, or `most` items; FULL.

    Behind MORE it can be called again. Items are owned in the order in which they are met, those of
    the rules that an item begins with depth first.
    """
    n = t.groups.shape[0]
    while t.sizes[STACK] > 0 or t.sizes[TODO] > 0:
        if work <= 0 or t.sizes[OWNED] > most:
            return numba.int64(MORE)
        work -= 1
        if t.sizes[STACK] == 0:
            t.sizes[TODO] -= 1
            item = t.todo[t.sizes[TODO]]
            if look_behind(t, item, t.items[item, RULE], t.items[item, CALLER]) < 0:
                return numba.int64(FULL)
            continue
        t.sizes[STACK] -= 1
        at = t.sizes[STACK]
        item = t.stack[at, 0]
        if t.items[item, RULE] >= 0:
            continue
        t.items[item, RULE], t.items[item, CALLER] = t.stack[at, 1], t.stack[at, 2]
        if t.items[item, TAIL_RULE] >= 0:
            t.items[item, RULE] = t.items[item, TAIL_RULE]
            t.items[item, CALLER] = t.items[item, TAIL_CALLER]
        t.order[t.sizes[OWNED]] = t.todo[t.sizes[TODO]] = item
        t.sizes[OWNED] += 1
        t.sizes[TODO] += 1
        symbol = t.symbols[t.items[item, REST]]
        if symbol >= n and t.rules[symbol - n, CALLED] == 0:
            looked_at = call(t, symbol - n)
            if looked_at < 0:
                return numba.int64(FULL)
            work -= looked_at
    return numba.int64(DONE)


@lean(INT(LEFT_CORNERS, I32))
def shortest(t, cost):  # type: ignore[no-untyped-def]
    """Set the bytes of the shortest text of each item, FAR for none: 0."""
    for rule in range(t.rules.shape[0] - 1):
        corner = t.rules[rule, CORNERS] - 1
        while corner >= 0:
            t.corners[corner, LEAST] = 0 if t.corners[corner, READ] == rule else FAR
            corner = t.corners[corner, NEXT] - 1
        changed = True
        while changed:
            changed = False
            corner = t.rules[rule, CORNERS] - 1
            while corner >= 0:
                entry = t.corners[corner, FIRST]
                while entry >= 0:
                    then = t.entries[entry, ENTRY_CORNER]
                    whole = numba.int64(t.cost[t.entries[entry, ENTRY_REST]])
                    if then >= 0:
                        whole += t.corners[then, LEAST]
                    if whole < t.corners[corner, LEAST]:
                        t.corners[corner, LEAST] = whole
                        changed = True
                    entry = t.entries[entry, ENTRY_NEXT]
                corner = t.corners[corner, NEXT] - 1
    for item in range(t.sizes[ITEM_COUNT]):
        corner = t.items[item, CORNER]
        whole = numba.int64(t.cost[t.items[item, REST]])
        if corner >= 0:
            whole += t.corners[corner, LEAST]
        cost[item] = min(whole, FAR)
    return numba.int64(0)
