"""Explore the automaton of a range of numbers, or of multiples, lazily.

Which sign was read says which rule the rest of a state, see `kernels.numbers.columns`, is about.
States are found breadth-first with `regular.glushkov.Search`, as those of expressions are.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.numbers.columns import (
    AFTER_POINT,
    ANY_NUMBER,
    DECIMAL,
    EXISTS,
    EXPONENT,
    FREE,
    HIGH,
    IN_FRACTION,
    IN_WHOLE,
    LESS,
    LOW,
    MANTISSA,
    MINUS,
    MORE,
    MULTIPLES,
    N_POWER,
    N_START,
    OPEN_LOW,
    OTHERS,
    OUT_OF_IT,
    PART_LOW,
    POWER,
    S_START,
    SCIENTIFIC,
    SIDE,
    START,
    WHOLE,
    WHOLE_HIGH,
    WHOLE_LOW,
    WIDTH,
    ZERO,
    ZERO_STAGE,
)
from structgen.kernels.numbers.reading import (
    after_exponent,
    after_plain,
    after_scientific,
    after_zero,
    ends_exponent,
    ends_plain,
    has_steps,
)
from structgen.kernels.regular.glushkov import (
    BITS,
    KNOWN,
    SEARCH,
    U64,
    behind,
    dropped,
    goes_on,
    queue_from,
    queued,
)
from structgen.kernels.tables import I32, I64, U8

MANY = numba.int64(254)  # digits: more are counted as this
BIAS = 1 << 20  # what is added to each number of a state, so that none is negative
RULES = types.int64[:, ::1]
DIGITS = types.uint8[:, :, ::1]
ROOM = types.int64[:, ::1]


@inlined
def cleared(to):  # type: ignore[no-untyped-def]
    """Make a row that of no state."""
    to[:] = 0
    to[DECIMAL] = to[MANTISSA] = to[ZERO_STAGE] = to[EXPONENT] = -1


@inlined
def begun(rule, to):  # type: ignore[no-untyped-def]
    """Begin to read a number of one side."""
    to[DECIMAL] = START
    to[LOW] = ~rule[WHOLE_LOW]
    if rule[WHOLE_LOW] == 0 and rule[PART_LOW] == 0 and rule[OPEN_LOW] == 0:
        to[LOW] = 0
    to[HIGH] = ~rule[WHOLE_HIGH] if rule[WHOLE_HIGH] >= 0 else ANY_NUMBER
    to[MANTISSA] = S_START if rule[SCIENTIFIC] != 0 else -1
    to[ZERO_STAGE] = N_START if rule[ZERO] != 0 else -1


@inlined
def is_alive(at):  # type: ignore[no-untyped-def]
    """Whether a row is that of a state."""
    return at[DECIMAL] >= 0 or at[MANTISSA] >= 0 or at[ZERO_STAGE] >= 0 or at[EXPONENT] >= 0


@inlined
def packed(to, row):  # type: ignore[no-untyped-def]
    """Write a row as states have it (unsigned)."""
    for column in range(WIDTH):
        row[column] = numba.uint64(to[column] + BIAS)


@inlined
def unpacked(row, at):  # type: ignore[no-untyped-def]
    """Read a row from how states have it."""
    for column in range(WIDTH):
        at[column] = numba.int64(row[column]) - BIAS


@inlined
def after(rules, digits, at, kind, to):  # type: ignore[no-untyped-def]
    """Read a character: all readings that are alive go on side by side."""
    cleared(to)
    side = at[SIDE]
    # A minus picks the rule of negative numbers; anything else that of the others.
    if side == 0:
        if kind == MINUS:
            if rules[1, EXISTS] != 0:
                to[SIDE] = 2
                begun(rules[1], to)
            return
        side = numba.int64(1)
    to[SIDE] = side
    rule, own = rules[side - 1], digits[side - 1]
    if at[DECIMAL] >= 0:
        after_plain(rule, own, at, kind, to)
    if at[MANTISSA] >= 0:
        after_scientific(rule, own, at, kind, to)
    if at[EXPONENT] >= 0:
        after_exponent(at, kind, to)
    if at[ZERO_STAGE] >= 0:
        to[ZERO_STAGE] = after_zero(at[ZERO_STAGE], kind)


@lean(types.void(RULES, ROOM, U64))
def first_state(rules, room, row):  # type: ignore[no-untyped-def]
    """Write the state before any character into `row`, uint64[WIDTH].

    rules: int64[2, n], see `kernels.numbers.columns.EXISTS`. room: int64[2, WIDTH], scratch.
    """
    to = room[0]
    cleared(to)
    if rules[0, EXISTS] != 0:
        begun(rules[0], to)
    packed(to, row)


@lean(types.void(RULES, DIGITS, types.int8[::1], ROOM, U64, BITS, SEARCH, *[types.int64] * 2))
def explore_numbers(rules, digits, kinds, room, row, states, search, start, count):  # type: ignore[no-untyped-def]
    """`regular.glushkov.explore` for numbers. digits: uint8[2, 6, n], see `columns.OF_WHOLE_LOW`.

    kinds: int8[C], what the characters of each class are: digits, or `columns.DOT` and those behind
    it. room, row: scratch, as in `first_state`. states: uint64[S, WIDTH].
    """
    end = search.sizes[KNOWN] + count
    tail = queue_from(states, search, start)
    while goes_on(search, end, tail):
        s = search.order[search.sizes[KNOWN]]
        unpacked(states[s], room[0])
        for k in range(kinds.shape[0]):
            after(rules, digits, room[0], numba.int64(kinds[k]), room[1])
            packed(room[1], row)
            search.moves[s, k] = behind(states, search, row, s, k) if is_alive(room[1]) else -1
        tail = queued(search, s, tail)
    dropped(search, tail)


@lean(types.void(RULES, ROOM, BITS, U8, types.int64))
def number_ends(rules, room, states, ends, begin):  # type: ignore[no-untyped-def]
    """Write down whether a number may end in states `begin` and those behind it: uint8[n]."""
    at = room[0]
    for i in range(ends.shape[0]):
        unpacked(states[begin + i], at)
        rule = rules[max(at[SIDE], 1) - 1]
        found = ends_plain(rule, at) or ends_exponent(at) or at[ZERO_STAGE] == N_POWER
        ends[i] = 1 if found else 0


@inlined
def free_digits(rule, at):  # type: ignore[no-untyped-def]
    """How many digits, whichever they are, may surely follow; 255 for any number."""
    whole = at[DECIMAL] == WHOLE and at[LOW] >= 0
    if whole and at[HIGH] >= ANY_NUMBER:
        return numba.int64(255)
    if not has_steps(rule) and at[DECIMAL] >= AFTER_POINT and at[LOW] == at[HIGH] == FREE:
        return numba.int64(255)
    found = numba.int64(0)
    if whole and at[HIGH] >= 0 and rule[MULTIPLES] != OTHERS:
        found = min(at[HIGH], MANY)
    if at[EXPONENT] == 1 and at[POWER] == WHOLE and at[MORE] >= 0 and at[LESS] >= 0:
        found = max(found, min(at[LESS], MANY))
    return found


@lean(types.void(RULES, ROOM, BITS, I64, U8, U8, U8))
def steady_on_digits(rules, room, states, which, kinds, least, most):  # type: ignore[no-untyped-def]
    """Write down of some states whether digits change only the remainder, and their number.

    kinds: uint8[n], IN_WHOLE or IN_FRACTION where digits are not compared with ends any more,
    OUT_OF_IT where it is no wanted number without an exponent, else 0. least, most: uint8[n], how
    many digits a wanted number has from here; 255 for any number.
    """
    at = room[0]
    for i in range(which.shape[0]):
        unpacked(states[which[i]], at)
        kinds[i], least[i], most[i] = 0, 0, 255
        if at[DECIMAL] < 0:
            kinds[i] = OUT_OF_IT
        elif at[DECIMAL] == WHOLE and at[LOW] >= ~0 and at[HIGH] >= 0:
            # All digits of a lower end, as they are: with any more it is passed.
            kinds[i], least[i] = IN_WHOLE, min(max(at[LOW], 0), MANY)
            most[i] = 255 if at[HIGH] >= ANY_NUMBER else min(at[HIGH], MANY)
        elif at[DECIMAL] >= AFTER_POINT and at[LOW] == at[HIGH] == FREE:
            steps = has_steps(rules[max(at[SIDE], 1) - 1])
            kinds[i] = 0 if steps else IN_FRACTION


@lean(types.void(RULES, ROOM, BITS, I32, I64, U8, types.int64))
def loop_on_digits(rules, room, states, order, loops, often, digits):  # type: ignore[no-untyped-def]
    """Write down what the states in `order` read again and again: `digits`, and how often."""
    at = room[0]
    for i in range(order.shape[0]):
        unpacked(states[order[i]], at)
        s = order[i]
        often[s] = free_digits(rules[max(at[SIDE], 1) - 1], at)
        loops[s] = digits if often[s] > 0 else 0
