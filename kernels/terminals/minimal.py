"""DFAs of terminals: equal columns and states, their order, and the DFA of what may follow.

Tables are int32[states, classes], -1 dead, over bytes or classes of bytes.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.tables import I32, I32_2, I64, INT

SATISFIED, VIOLATED, SINKS = 0, 1, 2  # lookahead states, see `grammar.terminals.automata`


@lean(INT(I32_2, I32, I32, I64))
def column_classes(table, classes, first, hashes):  # type: ignore[no-untyped-def]
    """Number the columns of a table, equal ones alike, in the order of the first: how many numbers.

    classes: int32[columns], set to the number of each. first: int32[columns], set to the first
    column of each number. hashes: int64[columns], scratch.
    """
    rows, columns = table.shape
    hashes[:] = 0
    for row in range(rows):
        for column in range(columns):
            h = (hashes[column] ^ table[row, column]) * 1099511628211
            hashes[column] = h ^ ((h >> 31) & 0x1FFFFFFFF)
    count = numba.int64(0)
    for column in range(columns):
        number = numba.int64(0)
        while number < count:
            other, row = numba.int64(first[number]), numba.int64(0)
            if hashes[other] == hashes[column]:
                while row < rows and table[row, other] == table[row, column]:
                    row += 1
                if row == rows:
                    break
            number += 1
        if number == count:
            first[count] = column
            count += 1
        classes[column] = number
    return count


@lean(INT(I32_2, I64, I64, I32, I32))
def refined(nexts, number, fresh, first, slots):  # type: ignore[no-untyped-def]
    """The minimal DFA that tells apart states with different numbers (E. Moore): how many states.

    nexts: int32[states, classes], -1 dead. number: int64[states], the kind of each state at first,
    then its number in the minimal DFA, in the order in which they are met. fresh: int64[states],
    scratch. first: int32[states], set to the first state with each number. slots: int32[s],
    scratch, s a power of two, s > 2 states.
    """
    states, last = nexts.shape[0], slots.shape[0] - 1
    count = numba.int64(0)
    while True:
        slots[:] = -1
        found = numba.int64(0)
        for state in range(states):
            h = number[state] * 1000003
            for byte_class in range(nexts.shape[1]):
                after = nexts[state, byte_class]
                h = (h ^ (-1 if after < 0 else number[after])) * 1099511628211
                h ^= (h >> 31) & 0x1FFFFFFFF
            slot = h & last
            while True:
                other = slots[slot]
                if other < 0:
                    slots[slot] = first[found] = state
                    fresh[state] = found
                    found += 1
                    break
                same = number[other] == number[state]
                byte_class = 0
                while same and byte_class < nexts.shape[1]:
                    one, two = nexts[state, byte_class], nexts[other, byte_class]
                    same = one == two or (one >= 0 and two >= 0 and number[one] == number[two])
                    byte_class += 1
                if same:
                    fresh[state] = fresh[other]
                    break
                slot = (slot + 1) & last
        for state in range(states):
            number[state] = fresh[state]
        if found == count:
            return count
        count = found


@lean(INT(I32_2, I32, I32, I32, I32, I32_2))
def with_conditions(nexts, ends, longers, number, pairs, table):  # type: ignore[no-untyped-def]
    """Set the lookahead DFA of a terminal's two conditions: how many states follow for the second.

    nexts: int32[n, classes]; ends, longers: int32[n], 1 where a text or a longer one ends. table:
    int32[2 + n + p, classes], set to the sinks, then the state of "no longer match follows" for
    each state, then that of "there is no match" for each pair of a state and whether there has been
    a match, in the order in which bytes lead to them. A text of the longer language that is no
    match undoes a shorter match. pairs: int32[p], set to 2 * state + match; p = 0 if these are not
    wanted, else 2 n. number: int32[2 n], -1 at first, set to the place of each pair.
    """
    n, classes = nexts.shape
    table[SATISFIED, :] = SATISFIED
    table[VIOLATED, :] = VIOLATED
    for state in range(n):
        for byte_class in range(classes):
            after = nexts[state, byte_class]
            found = after + SINKS
            if after < 0:
                found = SATISFIED
            elif longers[after] == 1:
                found = VIOLATED
            table[SINKS + state, byte_class] = found
    if pairs.shape[0] == 0:
        return numba.int64(0)
    pairs[0] = number[0] = 0
    count, place = numba.int64(1), numba.int64(0)
    while place < count:
        state, match = pairs[place] >> 1, pairs[place] & 1
        for byte_class in range(classes):
            after = nexts[state, byte_class]
            if after < 0:
                table[SINKS + n + place, byte_class] = VIOLATED if match else SATISFIED
                continue
            matched = match
            if ends[after] == 1:
                matched = 1
            elif longers[after] == 1:
                matched = 0
            pair = 2 * after + matched
            if number[pair] < 0:
                number[pair] = count
                pairs[count] = pair
                count += 1
            table[SINKS + n + place, byte_class] = SINKS + n + number[pair]
        place += 1
    return count


@lean(INT(I32_2, I32, I32))
def in_order(nexts, order, place):  # type: ignore[no-untyped-def]
    """List the states that state 0 leads to, as bytes lead to them, breadth first: how many.

    nexts: int32[states, 256], -1 dead. order: int32[states], set to the states listed. place:
    int32[states], -1 at first, set to the place of each in `order`.
    """
    order[0] = place[0] = 0
    count, at = numba.int64(1), numba.int64(0)
    while at < count:
        for byte in range(nexts.shape[1]):
            after = numba.int64(nexts[order[at], byte])
            if after >= 0 and place[after] < 0:
                place[after] = count
                order[count] = after
                count += 1
        at += 1
    return count


@lean(INT(I32_2, I32, I32, I32))
def shared(lookahead, violated, number, slots):  # type: ignore[no-untyped-def]
    """Let lookahead states from which the same follows be one, in linear time: how many stay.

    lookahead: int32[n, classes], the first rows set to the states that stay; violated: int32[n],
    too. A state that leads to itself or to one before it, as in a loop, stays for itself. number:
    int32[n], set to the new number of each state. slots: int32[s], -1 at first, s a power of two, s
    > 2 n.
    """
    last = slots.shape[0] - 1
    for state in range(lookahead.shape[0] - 1, -1, -1):  # what it leads to has been looked at
        number[state] = state
        h, loops = numba.int64(violated[state]), state < SINKS
        for byte_class in range(lookahead.shape[1]):
            after = lookahead[state, byte_class]
            loops = loops or SINKS <= after <= state
            if after > state:
                lookahead[state, byte_class] = number[after]
            h = (h ^ lookahead[state, byte_class]) * 1099511628211
            h ^= (h >> 31) & 0x1FFFFFFFF
        slot = h & last
        while not loops and slots[slot] >= 0:
            other = slots[slot]
            same = violated[other] == violated[state]
            for byte_class in range(lookahead.shape[1]):
                same = same and lookahead[other, byte_class] == lookahead[state, byte_class]
            if same:
                number[state] = other
                break
            slot = (slot + 1) & last
        if not loops and number[state] == state:
            slots[slot] = state
    count = numba.int64(0)
    for state in range(lookahead.shape[0]):  # the numbers of those that stay, below zero at first
        if number[state] == state:
            number[state] = -1 - count
            count += 1
    for state in range(lookahead.shape[0]):
        if number[state] >= 0:
            number[state] = number[number[state]]
    count = numba.int64(0)
    for state in range(lookahead.shape[0]):
        number[state] = -1 - number[state]
    for state in range(lookahead.shape[0]):
        if number[state] == count:  # the row is that of all with this number
            violated[count] = violated[state]
            for byte_class in range(lookahead.shape[1]):
                lookahead[count, byte_class] = number[lookahead[state, byte_class]]
            count += 1
    return count
