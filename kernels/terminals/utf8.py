"""From a DFA over classes of characters to one over bytes: the states inside characters in UTF-8.

Such a state is a row of 64 digits, one for each continuation byte; equal rows are one state. What a
state does with characters behind ASCII is a tree of such rows, which is made once for all states
that do the same.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.tables import I32, I32_2, INT
from structgen.kernels.masks.byte_walk import ENDS_FULL
from structgen.kernels.regular.bit_rows import put, slot_of_row

ASCII, DIGITS = 128, 64
NUMBER = DIGITS  # the column of a node that has its state
NODE = -2  # and below: nodes, in place of states


@inlined
def state_of(node, digits, table, slots, count):  # type: ignore[no-untyped-def]
    """The state with a row of digits: one of the first `count`, or that number for a new one.

    ENDS_FULL where the table is full.
    """
    row, known = digits[node, :DIGITS], table[:, ASCII : ASCII + DIGITS]
    slot = slot_of_row(row, known, slots)
    if slots[slot] >= 0:
        return numba.int64(slots[slot])
    if count >= table.shape[0]:
        return numba.int64(ENDS_FULL)
    slots[slot] = count
    put(known[count], row)
    return count


@inlined
def put_block(nodes, used, first, size, more, to):  # type: ignore[no-untyped-def]
    """Let the characters of a block of `size` lead to something: how many nodes there are then.

    first: code point; more: continuation bytes. Node 0 stands for lead bytes. ENDS_FULL where
    there are too few nodes; the last is kept free.
    """
    node, shift = numba.int64(0), 6 * more
    column = (first >> shift) + (0xC0 if more == 1 else 0xE0 if more == 2 else 0xF0) - ASCII
    while size < numba.int64(1) << shift:
        if nodes[node, column] > NODE:
            if used >= nodes.shape[0] - 1:
                return numba.int64(ENDS_FULL)
            for digit in range(DIGITS):
                nodes[used, digit] = -1
            nodes[node, column] = NODE - used
            used += 1
        node = numba.int64(NODE - nodes[node, column])
        shift -= 6
        column = (first >> shift) & (DIGITS - 1)
    nodes[node, column] = to
    return used


@inlined
def behind_any(alls, size, to, nodes, table, slots, count):  # type: ignore[no-untyped-def]
    """How many states there are with those that lead to a state behind any character of a block.

    size: of the block, a power of 64. alls: int32[3, states], such states by the digits that they
    read, one less, and where they lead; -1 if they are not made. ENDS_FULL where the table is full.
    """
    last, before, level = nodes.shape[0] - 1, to, numba.int64(0)
    while size > 1:
        size //= DIGITS
        if alls[level, to] < 0:
            for digit in range(DIGITS):
                nodes[last, digit] = before
            found = state_of(last, nodes, table, slots, count)
            if found < 0:
                return found
            count = max(count, found + 1)
            alls[level, to] = found
        before = alls[level, to]
        level += 1
    return count


@inlined
def digits_of(size):  # type: ignore[no-untyped-def]
    """How many digits a block of some size has."""
    return 0 if size == 1 else 1 if size == DIGITS else 2 if size == DIGITS * DIGITS else 3


@inlined
def grow_tree(nodes, used, span, to, alls, table, slots, count):  # type: ignore[no-untyped-def]
    """Let the characters of a span lead to a state: how many nodes and states there are then.

    ENDS_FULL, for the former, where there are too few.
    """
    for more in range(1, 4):
        first = numba.int64(0x80 if more == 1 else 0x800 if more == 2 else 0x10000)
        last = numba.int64(0x7FF if more == 1 else 0xFFFF if more == 2 else 0x10FFFF)
        first, last = max(first, numba.int64(span[0])), min(last, numba.int64(span[1]))
        while first <= last:  # by blocks that are as large as they can be
            size = numba.int64(1)
            for _ in range(more):
                if first % (DIGITS * size) == 0 and first + DIGITS * size - 1 <= last:
                    size *= DIGITS
            count = behind_any(alls, size, to, nodes, table, slots, count)
            if count < 0:
                return numba.int64(ENDS_FULL), count
            digits = digits_of(size)
            inside = numba.int64(to if digits == 0 else alls[digits - 1, to])
            used = put_block(nodes, used, first, size, more, inside)
            if used < 0:
                return used, count
            first += size
    return used, count


@inlined
def merged_tree(state, nodes, used, table, slots, count):  # type: ignore[no-untyped-def]
    """Write a tree as states: how many there are then, or ENDS_FULL. Its root is a state's row."""
    for node in range(used - 1, -1, -1):
        for digit in range(DIGITS if node > 0 else ASCII):
            to = nodes[node, digit]
            if to <= NODE:  # nodes behind have greater numbers
                nodes[node, digit] = nodes[NODE - to, NUMBER]
        if node > 0:
            found = state_of(node, nodes, table, slots, count)
            if found < 0:
                return found
            count = max(count, found + 1)
            nodes[node, NUMBER] = found
    for byte in range(ASCII):
        table[state, ASCII + byte] = nodes[0, byte]
    return count


@inlined
def alike_to(state, moves, spans, begin, slots):  # type: ignore[no-untyped-def]
    """The first state that does the same with characters behind ASCII, -1 if it reads none.

    begin: the first span of such. slots: a hash table of states, see `slot_of_row`.
    """
    last, reads = slots.shape[0] - 1, False
    h = numba.int64(0)
    for span in range(begin, spans.shape[0]):
        to = numba.int64(moves[state, spans[span, 2]])
        reads = reads or to >= 0
        h = (h ^ to) * 1099511628211
        h ^= (h >> 31) & 0x1FFFFFFFF
    if not reads:
        return numba.int64(-1)
    slot = h & last
    while slots[slot] >= 0:
        other, span = numba.int64(slots[slot]), numba.int64(begin)
        while span < spans.shape[0]:
            kind = spans[span, 2]
            if moves[state, kind] != moves[other, kind]:
                break
            span += 1
        if span == spans.shape[0]:
            return other
        slot = (slot + 1) & last
    slots[slot] = state
    return numba.int64(state)


@lean(INT(I32_2, I32_2, I32_2, I32_2, I32_2, I32, I32))
def states_inside(moves, spans, alls, table, nodes, slots, alike):  # type: ignore[no-untyped-def]
    """Set what the bytes of characters do in all states: how many states there are, or ENDS_FULL.

    moves: int32[n, classes], the state behind a character of each class, -1 for none. spans:
    int32[k, 3], first and last code points and their classes, ascending. alls: int32[3, n], -1 at
    first. table: int32[r, 256], -1 at first, set to the states behind bytes; the first n are those
    of `moves`. nodes: int32[m, 128], scratch. slots, alike: int32[s], -1 at first, s a power of
    two, s > 2 r.
    """
    count, begin = numba.int64(moves.shape[0]), numba.int64(0)
    while begin < spans.shape[0] and spans[begin, 1] < ASCII:
        begin += 1
    for state in range(moves.shape[0]):
        for span in range(spans.shape[0]):
            to = moves[state, spans[span, 2]]
            for point in range(spans[span, 0], min(ASCII, spans[span, 1] + 1)):
                table[state, point] = to
        first = alike_to(state, moves, spans, begin, alike)
        if first < 0:
            continue
        if first < state:
            for byte in range(ASCII, 2 * ASCII):
                table[state, byte] = table[first, byte]
            continue
        used = numba.int64(1)
        nodes[0, :] = -1
        for span in range(spans.shape[0]):
            to = numba.int64(moves[state, spans[span, 2]])
            if to >= 0 and spans[span, 1] >= ASCII:
                used, count = grow_tree(nodes, used, spans[span], to, alls, table, slots, count)
                if used < 0:
                    return used
        count = merged_tree(state, nodes, used, table, slots, count)
        if count < 0:
            return count
    return count
