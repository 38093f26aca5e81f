"""Read a number a character further: the transitions of the number automaton.

A state is a row of small numbers: which sign was read, and how far three readings of the text have
come that go on side by side: as a plain decimal, in scientific notation, and as zero with some
exponent. It says the same as a set of states of the nondeterministic automata in `regular.numbers`,
whose names for phases and comparisons it has. Multiples other than integers are what
`kernels.numbers.multiples` is about.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined, inner
from structgen.kernels.build.language import numba, types
from structgen.kernels.numbers.bounds import compared, fewer_allowed, more_needed
from structgen.kernels.numbers.columns import (
    ABOVE,
    AFTER_POINT,
    AFTER_ZERO,
    ANY_NUMBER,
    BELOW,
    BEYOND_HIGH,
    BEYOND_LOW,
    CORE,
    CORE_REMAINDER,
    DECIMAL,
    DIGITS_HIGH,
    DIGITS_LOW,
    DOT,
    EXPONENT,
    FAR_HIGH,
    FAR_LOW,
    FIRST,
    FRACTION,
    FREE,
    HIGH,
    LAST,
    LESS,
    LOW,
    MANTISSA,
    MINUS,
    MODULUS,
    MORE,
    MOST_PLACES,
    MULTIPLES,
    N_E,
    N_POINT,
    N_POWER,
    N_SIGN,
    N_START,
    N_ZERO,
    N_ZEROS,
    NEED,
    OF_HIGH,
    OF_LOW,
    OF_PART_HIGH,
    OF_PART_LOW,
    OF_WHOLE_HIGH,
    OF_WHOLE_LOW,
    OPEN_HIGH,
    OPEN_LOW,
    ORDER,
    OTHERS,
    OVER,
    PADDING,
    PART_HIGH,
    PART_LOW,
    PASSED,
    PLACES,
    PLUS,
    POINT,
    POWER,
    REMAINDER,
    S_FRACTION,
    S_POINT,
    S_SMALL,
    S_START,
    S_WHOLE,
    S_ZERO,
    SCALE,
    SHIFT,
    START,
    UNDER,
    WHOLE,
    WHOLE_HIGH,
    WHOLE_LOW,
    ZEROS,
    E,
)
from structgen.kernels.numbers.multiples import (
    after_core_digit,
    after_whole_digit,
    can_have_order,
    least_order,
    power_of_ten,
    reaches_in_part,
    reaches_multiple,
)
from structgen.kernels.tables import I64

DIGITS = types.uint8[:, ::1]


@inlined
def has_steps(rule):  # type: ignore[no-untyped-def]
    """Whether only multiples of something are wanted."""
    return rule[MULTIPLES] == 1 or rule[MULTIPLES] == OTHERS


@inlined
def reaches(rule, digits, low, high, need, remainder):  # type: ignore[no-untyped-def]
    """Whether some wanted number begins with such whole digits."""
    if high >= ANY_NUMBER:
        return True
    if rule[MULTIPLES] == OTHERS:
        return reaches_multiple(rule, low, high, need, remainder)
    least = low if low >= 0 else ~low
    most = high if high >= 0 else ~high
    if has_steps(rule) or high >= 0:
        return least <= most
    # As many digits as the upper end has, one fewer, or as few as the lower end needs: if any
    # length works, one of these does.
    for size in (most, most - 1, least):
        if size < 0 or not least <= size <= most:
            continue
        if low == ~size or size != most or rule[OPEN_HIGH] == 0 or rule[PART_HIGH] > 0:
            return True
        # An open upper end: anything below its digits, unless they are all 0.
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
def takes_point(rule, low, high, need, remainder):  # type: ignore[no-untyped-def]
    """Whether a point may follow such whole digits."""
    if rule[POINT] == 0 or low > 0 or low < ~0:
        return False
    if rule[MULTIPLES] == OTHERS:
        at_low, at_high = 0 if low == ~0 else FREE, 0 if high == ~0 else FREE
        return need == 0 and reaches_in_part(rule, at_low, at_high, rule[SCALE], remainder)
    passed = high == ~0 and rule[PART_HIGH] == 0 and rule[OPEN_HIGH] != 0
    return has_steps(rule) or not passed


@inner(types.void(I64, DIGITS, I64, types.int64, I64))
def after_plain(rule, digits, at, kind, to):  # type: ignore[no-untyped-def]
    """Read a character as part of a plain decimal; `to` stays none if it does not fit."""
    phase, low, high, need, remainder = at[DECIMAL], at[LOW], at[HIGH], at[NEED], at[REMAINDER]
    # The point: from now on digits are compared with those behind the point of the ends.
    if kind == DOT:
        if (phase == WHOLE or phase == AFTER_ZERO) and takes_point(
            rule, low, high, need, remainder
        ):
            free = has_steps(rule) and rule[SCALE] == 0
            to[DECIMAL], to[NEED], to[REMAINDER] = AFTER_POINT, rule[SCALE], remainder
            to[LOW] = 0 if low == ~0 and not free else FREE
            to[HIGH] = 0 if high == ~0 and not free else FREE
        return
    if kind > 9:
        return
    if phase == AFTER_POINT or phase == FRACTION:
        if has_steps(rule) and need == 0 and kind > 0:
            return
        # Below the digit of the lower end while equal to it so far: too small, whatever follows.
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
        if need > 0:
            need -= 1
            remainder = (remainder - kind * power_of_ten(need)) % rule[MODULUS]
            if not reaches_in_part(rule, low, high, need, remainder):
                return
            if need == 0:
                low = high = numba.int64(FREE)
        to[DECIMAL], to[LOW], to[HIGH] = FRACTION, low, high
        to[NEED], to[REMAINDER] = need, remainder
    # A zero is the whole part, by itself.
    elif phase == START and kind == 0:
        if rule[WHOLE_LOW] > 0:
            return
        high = 0 if rule[WHOLE_HIGH] > 0 else high
        if whole_ends(rule, low, high) or takes_point(rule, low, high, need, remainder):
            to[DECIMAL], to[LOW], to[HIGH] = AFTER_ZERO, low, high
    # A digit of the whole part.
    elif phase == START or phase == WHOLE:
        bound = numba.int64(digits[OF_WHOLE_LOW, rule[WHOLE_LOW] - ~low]) if low < ~0 else 0
        low = more_needed(kind, low, bound)
        bound = numba.int64(digits[OF_WHOLE_HIGH, rule[WHOLE_HIGH] - ~high]) if high < ~0 else 0
        high = fewer_allowed(kind, high, bound)
        if rule[MULTIPLES] == OTHERS:
            need, remainder = after_whole_digit(rule, kind, need, remainder)
        if high != PASSED and reaches(rule, digits, low, high, need, remainder):
            to[DECIMAL], to[LOW], to[HIGH] = WHOLE, low, high
            to[NEED], to[REMAINDER] = need, remainder


@inlined
def has_order(rule, digits, over, under, places, zeros, remainder):  # type: ignore[no-untyped-def]
    """Whether some wanted number has such digits, and more of them, for some power of ten.

    If one has, the next power suits the same digits until the upper end is reached: so only the
    greatest two need a look.
    """
    most = rule[FAR_HIGH]
    if rule[CORE] < 2:
        return first_order(rule, over == BELOW, places, zeros, remainder) <= last_order(rule, under)
    return can_have_order(
        rule, digits, most, over, under, places, zeros, remainder
    ) or can_have_order(rule, digits, most - 1, over, under, places, zeros, remainder)


@inlined
def first_order(rule, behind, places, zeros, remainder):  # type: ignore[no-untyped-def]
    """The least power of ten that the first of some digits, as they are, may stand for.

    behind: whether they are too small for that of the lower end. places: how many stand behind the
    first, the last `zeros` of which are 0. remainder: see CORE_REMAINDER.
    """
    first = rule[FAR_LOW] + (1 if behind else 0)
    return max(first, least_order(rule, places, zeros, remainder)) if has_steps(rule) else first


@inlined
def last_order(rule, under):  # type: ignore[no-untyped-def]
    """The greatest power of ten that the first of some digits may stand for."""
    return rule[FAR_HIGH] - (1 if under == ABOVE else 0)


@inlined
def read_on(at, to):  # type: ignore[no-untyped-def]
    """Go on with the digits of a number in scientific notation as they are."""
    for column in range(MANTISSA, ZEROS + 1):
        to[column] = at[column]
    to[CORE_REMAINDER] = at[CORE_REMAINDER]


@inlined
def after_digit(rule, digits, at, digit, to):  # type: ignore[no-untyped-def]
    """Read a digit of a number in scientific notation; whether it is one of a wanted number."""
    phase = at[MANTISSA]
    over = compared(at[OVER], digit, digits[OF_LOW], rule[DIGITS_LOW], rule[BEYOND_LOW] != 0)
    under = compared(at[UNDER], digit, digits[OF_HIGH], rule[DIGITS_HIGH], rule[BEYOND_HIGH] != 0)
    places, zeros, remainder = numba.int64(0), numba.int64(0), numba.int64(0)
    if rule[MULTIPLES] != 0:
        places = at[PLACES] + (1 if phase > S_SMALL else 0)
        zeros = at[ZEROS] + 1 if digit == 0 else numba.int64(0)
        remainder = at[CORE_REMAINDER]
        if rule[CORE] > 1 and digit > 0:
            remainder = after_core_digit(rule, digit, at[ZEROS], remainder)
    if not has_order(rule, digits, over, under, places, zeros, remainder):
        return False
    to[MANTISSA] = S_WHOLE if phase == S_START or phase == S_WHOLE else S_FRACTION
    to[ORDER] = at[ORDER] + (1 if phase == S_WHOLE else 0)
    to[OVER], to[UNDER], to[PLACES], to[ZEROS] = over, under, places, zeros
    to[CORE_REMAINDER] = remainder
    return True


@inner(types.void(I64, DIGITS, I64, types.int64, I64))
def after_scientific(rule, digits, at, kind, to):  # type: ignore[no-untyped-def]
    """Read a character as part of a number in scientific notation."""
    phase, order = at[MANTISSA], at[ORDER]
    # `0` was read: only a point can follow, and then the first digit that counts is behind it.
    if phase == S_ZERO:
        if kind == DOT:
            read_on(at, to)
            to[MANTISSA], to[ORDER] = S_SMALL, -1
    # A zero before the first digit that counts: some such digit must still fit.
    elif phase <= S_SMALL and kind == 0:
        found = False
        for digit in range(1, 10 if order > -rule[SHIFT] else 1):
            found = found or after_digit(rule, digits, at, digit, to)
        if found:
            read_on(at, to)
            to[MANTISSA] = S_ZERO if phase == S_START else S_SMALL
            to[ORDER] = 0 if phase == S_START else order - 1
    elif phase <= S_SMALL:
        if kind <= 9:
            after_digit(rule, digits, at, kind, to)
    # The exponent must bring the first digit to a wanted order of magnitude.
    elif kind == E:
        first = first_order(rule, at[OVER] != ABOVE, at[PLACES], at[ZEROS], at[CORE_REMAINDER])
        last = last_order(rule, at[UNDER])
        if phase != S_POINT and first <= last:
            to[EXPONENT], to[FIRST], to[LAST] = 0, first - order, last - order
    elif at[PLACES] < rule[MOST_PLACES]:
        if kind == DOT and phase == S_WHOLE:
            read_on(at, to)
            to[MANTISSA] = S_POINT
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
    """Read a character as part of an exponent, an integer from FIRST to LAST."""
    first, last, power, low, high = at[FIRST], at[LAST], at[POWER], at[MORE], at[LESS]
    # Its first character: a sign decides which side of zero the range is cut to.
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
    # Leading zeros are padding.
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
    phase, low, high = at[DECIMAL], at[LOW], at[HIGH]
    if phase == AFTER_ZERO or phase == WHOLE:
        return at[NEED] == 0 and at[REMAINDER] == 0 and whole_ends(rule, low, high)
    if phase != FRACTION or at[REMAINDER] != 0:
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
