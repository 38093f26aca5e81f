"""In: how far a number has been read, a character. Out: how far it has been read then.

A state is a row of small numbers: which sign was read, and how far three readings of the text have
come that go on side by side, as a plain decimal, in scientific notation, and as zero with some
exponent. It says the same as a set of states of `automaton.number_digits` and
`automaton.number_exponents`, whose names for phases and comparisons it has, of ranges whose numbers
are either all multiples of 1 or any.
"""

from __future__ import annotations

import numba
from numba import types

from structgen.kernels.flags import inlined, inner
from structgen.kernels.tables import I64

# Columns of a state. SIDE: 0 before a sign, then the row of `rules`, 1 for numbers without one.
SIDE = 0
PLAIN, LOW, HIGH = 1, 2, 3  #: as a decimal: the phase (-1: it is none), and both comparisons
TENS, ORDER, OVER, UNDER, PLACES, ZEROS = range(4, 10)  #: the same in scientific notation
NOUGHT = 10  #: how much of a zero with an exponent has been read, -1 if it is none
EXPONENT, FIRST, LAST, POWER, MORE, LESS = range(11, 17)  #: an exponent from FIRST to LAST
WIDTH = 17

# Columns of `rules`, for both sides. Lengths are those of the digits in `digits`.
SOME = 0  #: whether some number is wanted
WHOLE_LOW, PART_LOW, OPEN_LOW = 1, 2, 3  #: digits before and after the point; whether excluded
WHOLE_HIGH, PART_HIGH, OPEN_HIGH = 4, 5, 6  #: the first is -1 where there is no upper end
MULTIPLES = 7  #: 1 if only multiples of 1 are wanted: then ends are included, without a point
POINT = 8  #: whether a fraction may follow
SCIENTIFIC = 9  #: whether scientific notation may be used
FAR_LOW, DIGITS_LOW, FAR_HIGH, DIGITS_HIGH = 10, 11, 12, 13  #: power of ten of the first digit, ...
SHIFT = 14  #: how far the point may be from the first digit before an exponent
ZERO = 15  #: whether zero may have any exponent
BEYOND_LOW, BEYOND_HIGH = 16, 17  #: whether digits as those of an end are not yet beyond it
MOST_PLACES = 18  #: digits behind the first before an exponent, where these are counted

# What stands in `digits` for each side.
OF_WHOLE_LOW, OF_PART_LOW, OF_WHOLE_HIGH, OF_PART_HIGH, OF_LOW, OF_HIGH = range(6)

START, PADDING, AFTER_ZERO, WHOLE, AFTER_POINT, FRACTION = range(6)  # phases of decimals
S_START, S_ZERO, S_SMALL, S_WHOLE, S_POINT, S_FRACTION = range(6)  # of scientific notation
N_START, N_ZERO, N_POINT, N_ZEROS, N_E, N_SIGN, N_POWER = range(7)  # of zero with an exponent
FREE = -1  # in a fraction: above the lower end, or below the upper one, whatever follows
BELOW, ABOVE = -2, -1  # how digits compare with those of an end
ANY_NUMBER = 1 << 18  # of digits that may follow
PASSED = 1 << 19  # an upper end
DOT, E, PLUS, MINUS = 10, 11, 12, 13  # kinds of characters beside the digits

DIGITS = types.uint8[:, ::1]


@inlined
def more_needed(digit, low, bound):  # type: ignore[no-untyped-def]
    """How a whole number compares with a lower end after one more digit.

    low: at least 0, how many more digits it needs; or else ~r, where it is as the end so far, of
    which r digits are left. bound: the next digit of the end.
    """
    if low >= 0:
        return max(low - 1, 0)
    left = ~low
    if left == 0:
        return numba.int64(0)
    if digit == bound:
        return ~(left - 1)
    return left - 1 if digit > bound else left


@inlined
def fewer_allowed(digit, high, bound):  # type: ignore[no-untyped-def]
    """The same for an upper end: at least 0, how many more digits may follow; or else ~r.

    Returns PASSED where it is passed.
    """
    if high >= ANY_NUMBER:
        return high
    if high >= 0:
        return high - 1 if high > 0 else numba.int64(PASSED)
    left = ~high
    if left == 0:
        return numba.int64(PASSED)
    if digit == bound:
        return ~(left - 1)
    after = left - 1 - (1 if digit > bound else 0)
    return after if after >= 0 else numba.int64(PASSED)


@inlined
def compared(before, digit, ends, count, over):  # type: ignore[no-untyped-def]
    """How digits compare with those of an end after one more: see `number_exponents._compared`."""
    if before < 0:
        return before
    expected = numba.int64(ends[before]) if before < count else numba.int64(0)
    if digit != expected:
        return numba.int64(BELOW if digit < expected else ABOVE)
    if before + 1 >= count:
        return count if over else numba.int64(ABOVE)
    return before + 1


@inlined
def reaches(rule, digits, low, high):  # type: ignore[no-untyped-def]
    """Whether some wanted number begins with such whole digits."""
    if high >= ANY_NUMBER:
        return True
    need = low if low >= 0 else ~low
    most = high if high >= 0 else ~high
    if rule[MULTIPLES] != 0 or high >= 0:
        return need <= most
    for size in (most, most - 1, need):
        if size < 0 or not need <= size <= most:
            continue
        if low == ~size or size != most or rule[OPEN_HIGH] == 0 or rule[PART_HIGH] > 0:
            return True
        for k in range(rule[WHOLE_HIGH] - size, rule[WHOLE_HIGH]):
            if digits[OF_WHOLE_HIGH, k] != 0:
                return True
    return False


@inlined
def whole_ends(rule, low, high):  # type: ignore[no-untyped-def]
    """Whether a number may end behind such whole digits."""
    if low != 0 and (low != ~0 or rule[OPEN_LOW] != 0 or rule[PART_LOW] > 0):
        return False
    return high != ~0 or rule[PART_HIGH] > 0 or rule[OPEN_HIGH] == 0


@inlined
def takes_point(rule, low, high):  # type: ignore[no-untyped-def]
    """Whether a point may follow such whole digits."""
    if rule[POINT] == 0 or low > 0 or low < ~0:
        return False
    passed = high == ~0 and rule[PART_HIGH] == 0 and rule[OPEN_HIGH] != 0
    return rule[MULTIPLES] != 0 or not passed


@inner(types.void(I64, DIGITS, I64, types.int64, I64))
def after_plain(rule, digits, at, kind, to):  # type: ignore[no-untyped-def]
    """Read a character as part of a plain decimal."""
    phase, low, high = at[PLAIN], at[LOW], at[HIGH]
    if kind == DOT:
        if (phase == WHOLE or phase == AFTER_ZERO) and takes_point(rule, low, high):
            free = rule[MULTIPLES] != 0
            to[PLAIN] = AFTER_POINT
            to[LOW] = 0 if low == ~0 and not free else FREE
            to[HIGH] = 0 if high == ~0 and not free else FREE
        return
    if kind > 9:
        return
    if phase == AFTER_POINT or phase == FRACTION:
        if rule[MULTIPLES] != 0 and kind > 0:
            return
        if low != FREE:
            bound = numba.int64(digits[OF_PART_LOW, low]) if low < rule[PART_LOW] else 0
            if kind < bound:
                return
            low = FREE if kind > bound else min(low + 1, rule[PART_LOW])
        if high != FREE:
            bound = numba.int64(digits[OF_PART_HIGH, high]) if high < rule[PART_HIGH] else 0
            if kind > bound:
                return
            high = FREE if kind < bound else min(high + 1, rule[PART_HIGH])
            if high == rule[PART_HIGH] and rule[OPEN_HIGH] != 0:
                return
        to[PLAIN], to[LOW], to[HIGH] = FRACTION, low, high
    elif phase == START and kind == 0:
        if rule[WHOLE_LOW] > 0:
            return
        high = 0 if rule[WHOLE_HIGH] > 0 else high
        if whole_ends(rule, low, high) or takes_point(rule, low, high):
            to[PLAIN], to[LOW], to[HIGH] = AFTER_ZERO, low, high
    elif phase == START or phase == WHOLE:
        bound = numba.int64(digits[OF_WHOLE_LOW, rule[WHOLE_LOW] - ~low]) if low < ~0 else 0
        low = more_needed(kind, low, bound)
        bound = numba.int64(digits[OF_WHOLE_HIGH, rule[WHOLE_HIGH] - ~high]) if high < ~0 else 0
        high = fewer_allowed(kind, high, bound)
        if high != PASSED and reaches(rule, digits, low, high):
            to[PLAIN], to[LOW], to[HIGH] = WHOLE, low, high


@inlined
def has_order(rule, behind, under, places, zeros):  # type: ignore[no-untyped-def]
    """Whether there is a power of ten that the first of some digits may stand for."""
    return first_order(rule, behind, places, zeros) <= last_order(rule, under)


@inlined
def first_order(rule, behind, places, zeros):  # type: ignore[no-untyped-def]
    """The least such power. behind: whether the digits are too small for that of the lower end.

    places: how many stand behind the first, the last `zeros` of which are 0.
    """
    first = rule[FAR_LOW] + (1 if behind else 0)
    return max(first, places - zeros) if rule[MULTIPLES] != 0 else first


@inlined
def last_order(rule, under):  # type: ignore[no-untyped-def]
    """The greatest such power."""
    return rule[FAR_HIGH] - (1 if under == ABOVE else 0)


@inlined
def read_on(at, to):  # type: ignore[no-untyped-def]
    """Go on with the digits of a number in scientific notation as they are."""
    for column in range(TENS, ZEROS + 1):
        to[column] = at[column]


@inlined
def after_digit(rule, digits, at, digit, to):  # type: ignore[no-untyped-def]
    """Read a digit of a number in scientific notation; whether it is one of a wanted number."""
    phase = at[TENS]
    over = compared(at[OVER], digit, digits[OF_LOW], rule[DIGITS_LOW], rule[BEYOND_LOW] != 0)
    under = compared(at[UNDER], digit, digits[OF_HIGH], rule[DIGITS_HIGH], rule[BEYOND_HIGH] != 0)
    places, zeros = numba.int64(0), numba.int64(0)
    if rule[MULTIPLES] != 0:
        places = at[PLACES] + (1 if phase > S_SMALL else 0)
        zeros = at[ZEROS] + 1 if digit == 0 else numba.int64(0)
    if not has_order(rule, over == BELOW, under, places, zeros):
        return False
    to[TENS] = S_WHOLE if phase == S_START or phase == S_WHOLE else S_FRACTION
    to[ORDER] = at[ORDER] + (1 if phase == S_WHOLE else 0)
    to[OVER], to[UNDER], to[PLACES], to[ZEROS] = over, under, places, zeros
    return True


@inner(types.void(I64, DIGITS, I64, types.int64, I64))
def after_scientific(rule, digits, at, kind, to):  # type: ignore[no-untyped-def]
    """Read a character as part of a number in scientific notation."""
    phase, order = at[TENS], at[ORDER]
    if phase == S_ZERO:
        if kind == DOT:
            read_on(at, to)
            to[TENS], to[ORDER] = S_SMALL, -1
    elif phase <= S_SMALL and kind == 0:
        found = False
        for digit in range(1, 10 if order > -rule[SHIFT] else 1):
            found = found or after_digit(rule, digits, at, digit, to)
        if found:
            read_on(at, to)
            to[TENS] = S_ZERO if phase == S_START else S_SMALL
            to[ORDER] = 0 if phase == S_START else order - 1
    elif phase <= S_SMALL:
        if kind <= 9:
            after_digit(rule, digits, at, kind, to)
    elif kind == E:
        first = first_order(rule, at[OVER] != ABOVE, at[PLACES], at[ZEROS])
        last = last_order(rule, at[UNDER])
        if phase != S_POINT and first <= last:
            to[EXPONENT], to[FIRST], to[LAST] = 0, first - order, last - order
    elif at[PLACES] < rule[MOST_PLACES]:
        if kind == DOT and phase == S_WHOLE:
            read_on(at, to)
            to[TENS] = S_POINT
        elif kind <= 9 and (phase != S_WHOLE or order < rule[SHIFT]):
            after_digit(rule, digits, at, kind, to)


@inlined
def digits_in(number):  # type: ignore[no-untyped-def]
    """How many digits a number has, none for 0."""
    count = numba.int64(0)
    while number > 0:
        count += 1
        number //= 10
    return count


@inlined
def digit_of(number, left):  # type: ignore[no-untyped-def]
    """The digit of a number that has `left` digits from it on."""
    for _ in range(left - 1):
        number //= 10
    return number % 10


@inner(types.void(I64, types.int64, I64))
def after_exponent(at, kind, to):  # type: ignore[no-untyped-def]
    """Read a character as part of an exponent."""
    first, last, power, low, high = at[FIRST], at[LAST], at[POWER], at[MORE], at[LESS]
    if at[EXPONENT] == 0:
        if (
            kind == DOT
            or kind == E
            or (kind == MINUS and first > 0)
            or (kind != MINUS and last < 0)
        ):
            return
        if kind == MINUS:
            first, last = max(-last, 0), -first
        first = max(first, 0)
        power = numba.int64(START)
        low = numba.int64(0) if first == 0 else ~digits_in(first)
        high = ~digits_in(last)
    elif kind > 9:
        return
    if kind == 0 and power <= PADDING:
        power = numba.int64(PADDING)
    elif kind <= 9:
        low = more_needed(kind, low, digit_of(first, ~low) if low < ~0 else 0)
        high = fewer_allowed(kind, high, digit_of(last, ~high) if high < ~0 else 0)
        need, most = low if low >= 0 else ~low, high if high >= 0 else ~high
        if high == PASSED or need > most:
            return
        power = numba.int64(WHOLE)
    to[EXPONENT], to[LAST], to[POWER], to[MORE], to[LESS] = 1, last, power, low, high
    to[FIRST] = 0 if low == 0 else first  # then it does not matter any more


@inlined
def after_zero(stage, kind):  # type: ignore[no-untyped-def]
    """Read a character as part of zero with some exponent."""
    after = numba.int64(-1)
    if kind <= 9 and stage >= N_E:
        after = numba.int64(N_POWER)
    elif kind == 0 and stage != N_ZERO:
        after = numba.int64(N_ZERO if stage == N_START else N_ZEROS)
    elif kind == DOT and stage == N_ZERO:
        after = numba.int64(N_POINT)
    elif kind == E and (stage == N_ZERO or stage == N_ZEROS):
        after = numba.int64(N_E)
    elif kind >= PLUS and stage == N_E:
        after = numba.int64(N_SIGN)
    return after


@inlined
def ends_plain(rule, at):  # type: ignore[no-untyped-def]
    """Whether a plain decimal may end."""
    phase, low, high = at[PLAIN], at[LOW], at[HIGH]
    if phase == AFTER_ZERO or phase == WHOLE:
        return whole_ends(rule, low, high)
    if phase != FRACTION:
        return False
    if low != FREE and (rule[OPEN_LOW] != 0 or low < rule[PART_LOW]):
        return False
    return high == FREE or rule[OPEN_HIGH] == 0 or high < rule[PART_HIGH]


@inlined
def ends_exponent(at):  # type: ignore[no-untyped-def]
    """Whether an exponent may end."""
    if at[EXPONENT] != 1:
        return False
    if at[POWER] == PADDING:
        return at[FIRST] == 0
    return at[POWER] == WHOLE and (at[MORE] == 0 or at[MORE] == ~0)
