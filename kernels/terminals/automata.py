"""The automata of terminals, put together from their DFAs: what may follow, and the least states.

See `grammar.terminals.automata`. Tables are int32[states, classes] over classes of bytes, -1 dead.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inner, lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.tables import FAR, I32, I32_2, I64_2, INT
from structgen.kernels.terminals.minimal import (
    SATISFIED,
    SINKS,
    VIOLATED,
    refined,
    with_conditions,
)

# Rows of `of`, for each state of a terminal.
ACCEPTS = 0  #: 1 where the text so far is one of the terminal
NO_LONGER, NO_MATCH = 1, 2  #: lookahead states
DISTANCE = 3  #: the fewest bytes to an accepting state, FAR where there is none
OF_ROWS = 4


@lean(INT(I32_2, I32_2, I32_2, I32_2, I32_2, I32_2, I64_2, I32_2, I32))
def look_ahead(nexts, kinds, pairs, product, of, lookahead, numbers, firsts, slots):  # type: ignore[no-untyped-def]
    """Set the least lookahead DFA of a terminal's two conditions, and the states beside it.

    nexts: int32[n, classes]. kinds: int32[3, n], 1 where a text and where a longer one ends, and
    the distance. product: int32[p, classes], p = 2 n, or 0 where terminals have no order, set to
    the states with one bit, whether there has been a match; of: int32[OF_ROWS, max(n, p)], set for
    each of these, or of `nexts`. lookahead: int32[w, classes], w = 2 + n + p. firsts: int32[2, w],
    the second row set to 1 for lookahead states that are violated where the text ends. pairs:
    int32[2, p], -1 at first, numbers: int64[2, w], slots: int32[s], s a power of two, s > 2 w:
    scratch. Returns how many lookahead states there are << 32 | of the product's.
    """
    n, classes = nexts.shape
    is_ordered = product.shape[0] > 0
    count = with_conditions(nexts, kinds[0], kinds[1], pairs[0], pairs[1], lookahead)
    for place in range(count):
        for byte_class in range(classes):
            after = lookahead[SINKS + n + place, byte_class] - SINKS - n
            product[place, byte_class] = max(after, -1)
    whole = SINKS + n + count
    number, first = numbers[0, :whole], firsts[0, :whole]
    for state in range(whole):
        number[state] = 1 if state == VIOLATED else 0
        if state >= SINKS + n:
            number[state] = pairs[1, state - SINKS - n] & 1
        firsts[1, state] = number[state]
    least = refined(lookahead[:whole], number, numbers[1, :whole], first, slots)
    for state in range(least):  # each is where the first of its kind was, or before that
        firsts[1, state] = firsts[1, first[state]]
        for byte_class in range(classes):
            lookahead[state, byte_class] = number[lookahead[first[state], byte_class]]
    for place in range(count if is_ordered else n):
        state = pairs[1, place] >> 1 if is_ordered else place
        of[ACCEPTS, place], of[DISTANCE, place] = kinds[0, state], kinds[2, state]
        of[NO_LONGER, place] = number[SINKS + state]
        of[NO_MATCH, place] = number[SINKS + n + place] if is_ordered else SATISFIED
    return (numba.int64(least) << 32) | count


@inner(INT(I32_2, I32_2, I32, I64_2))
def equal_columns(nexts, others, classes, hashes):  # type: ignore[no-untyped-def]
    """Number columns, alike where they are equal in both tables, in the order of the first: 0.

    classes: int32[columns], set to the numbers. hashes: int64[2, columns], scratch.
    """
    columns, count = classes.shape[0], numba.int64(0)
    hashes[0, :] = 0
    for table in (nexts, others):
        for row in range(table.shape[0]):
            for column in range(columns):
                h = (hashes[0, column] ^ table[row, column]) * 1099511628211
                hashes[0, column] = h ^ ((h >> 31) & 0x1FFFFFFFF)
    for column in range(columns):
        number = numba.int64(0)
        while number < count:
            other = hashes[1, number]
            same = hashes[0, other] == hashes[0, column]
            for table in (nexts, others):
                row = 0
                while same and row < table.shape[0]:
                    same = table[row, other] == table[row, column]
                    row += 1
            if same:
                break
            number += 1
        if number == count:
            hashes[1, count] = column
            count += 1
        classes[column] = number
    return numba.int64(0)


@lean(INT(I32_2, I32_2, I32_2, I64_2, I32, I32, I32, I64_2))
def put_together(nexts, of, lookahead, numbers, first, slots, classes, hashes):  # type: ignore[no-untyped-def]
    """Set the least states of a terminal, without those from which nothing follows: how many.

    nexts: int32[n, classes], of: int32[OF_ROWS, n] (see above), set to the states that stay.
    lookahead: int32[w, classes]. classes: int32[classes], set to numbers of classes, alike where
    what stays and `lookahead` are. numbers: int64[3, n], first: int32[n], slots: int32[s], s a
    power of two, s > 2 n, hashes: int64[2, classes]: scratch.
    """
    n = nexts.shape[0]
    number, place = numbers[0], numbers[2]
    for state in range(n):
        dead = of[DISTANCE, state] >= FAR and of[NO_MATCH, state] <= VIOLATED  # and what follows it
        kind = numba.int64(of[NO_LONGER, state]) * lookahead.shape[0] + of[NO_MATCH, state]
        place[state] = 1 if dead else 0
        number[state] = 4 * kind + 2 * of[ACCEPTS, state] + place[state]
    for state in range(n):
        for column in range(nexts.shape[1]):
            after = nexts[state, column]
            if after >= 0 and place[after] == 1:
                nexts[state, column] = -1
    least, count = refined(nexts, number, numbers[1], first, slots), numba.int64(0)
    for state in range(least):  # the place of each that stays; dead ones go, except for the start
        dead = place[first[state]] == 1 and state > 0
        numbers[1, state] = -1 if dead else count
        count += 0 if dead else 1
    for state in range(least):
        to = numbers[1, state]
        if to < 0:
            continue
        for column in range(nexts.shape[1]):
            after = nexts[first[state], column]
            nexts[to, column] = -1 if after < 0 else numbers[1, number[after]]
        for row in range(OF_ROWS):
            of[row, to] = of[row, first[state]]
    equal_columns(nexts[:count], lookahead, classes, hashes)
    return count


@lean(INT(INT, I32_2, I32_2, I32_2, I32_2))
def text_ends(count, behind, nexts, lookahead, of):  # type: ignore[no-untyped-def]
    """Set what may follow a text that is read place by place, by states 0 to `count`: 0.

    behind: int32[3 k, 256], of the k states of one character that must not follow, the first
    between characters: the state behind each byte, 0 for none; the same from SINKS on, or else
    whether a byte ends such a character; or else whether it is none. nexts: int32[n, 256], the
    states of the text, -1 at first for those within that character, which come behind them where
    terminals have an order. lookahead: int32[w, 256], set to the states for each state of the text
    (where terminals have an order), of the character, and of the character again. of:
    int32[OF_ROWS, n], its distances set already.
    """
    k, n = behind.shape[0] // 3, nexts.shape[0]
    is_ordered = lookahead.shape[0] > SINKS + k
    first = SINKS + count if is_ordered else numba.int64(SINKS)
    again = first + k
    lookahead[SATISFIED, :], lookahead[VIOLATED, :] = SATISFIED, VIOLATED
    for state in range(n):
        of[ACCEPTS, state], of[NO_LONGER, state], of[NO_MATCH, state] = 0, SATISFIED, SATISFIED
    of[ACCEPTS, count] = 1
    if k > 0:
        of[NO_LONGER, count] = first
    if is_ordered:
        of[NO_MATCH, count] = again if k > 0 else VIOLATED
        for state in range(count):
            of[NO_MATCH, state] = SINKS + state
        for state in range(count + 1, n):
            of[NO_MATCH, state] = again + state - count
        for state in range(count):
            for byte in range(256):
                after = nexts[state, byte]
                lookahead[SINKS + state, byte] = SATISFIED if after < 0 else of[NO_MATCH, after]
    for state in range(k):
        for byte in range(256):
            ends, none = behind[k + state, byte], behind[2 * k + state, byte]
            lookahead[first + state, byte] = ends if ends < SINKS else ends - SINKS + first
            if is_ordered:
                lookahead[again + state, byte] = none if none < SINKS else none - SINKS + again
                after = behind[state, byte]
                nexts[count + state, byte] = after + count if after > 0 else -1
    return numba.int64(0)
