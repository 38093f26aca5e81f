"""Decide whether digits that were read can become a multiple of a number (multipleOf).

For rules whose multiples are not just integers, see `kernels.numbers.columns`. A decimal N with l
more digits to come is a multiple iff these are a number w with N * 10 ** (l + SCALE) + w = 0 modulo
MODULUS: the least l for which there is one, and the least w for it, say which others there are. In
scientific notation a state has the digits modulo CORE, and how many zeros stand behind them.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined
from structgen.kernels.build.language import numba
from structgen.kernels.numbers.columns import (
    ABOVE,
    BELOW,
    CORE,
    DIGITS_HIGH,
    DIGITS_LOW,
    FAR_HIGH,
    FAR_LOW,
    FREE,
    LEAST,
    MODULUS,
    MOST,
    MOST_PLACES,
    OF_HIGH,
    OF_LOW,
    SCALE,
    SHIFTED,
    UNITS_HIGH,
    UNITS_LOW,
)

GREATEST = 9 * 10**18  # a number that none of MOST_PLACES + 1 digits exceeds


@inlined
def power_of_ten(exponent):  # type: ignore[no-untyped-def]
    """10 ** exponent, for 0 to 18."""
    power = numba.int64(1)
    for _ in range(exponent):
        power *= 10
    return power


@inlined
def shifted(remainder, places, modulus):  # type: ignore[no-untyped-def]
    """rest * 10 ** places modulo a number below 10 ** 9."""
    remainder %= modulus
    for _ in range(places):
        remainder = remainder * 10 % modulus
    return remainder


@inlined
def is_met(first, last, remainder, modulus):  # type: ignore[no-untyped-def]
    """Whether one of the numbers from `first` to `last` is `remainder` modulo another."""
    return first + (remainder - first) % modulus <= last


@inlined
def after_whole_digit(rule, digit, need, remainder):  # type: ignore[no-untyped-def]
    """NEED and REMAINDER after one more digit before the point.

    NEED more digits make it a multiple if they are the number REMAINDER.
    """
    modulus = rule[MODULUS]
    if need > 0:
        need -= 1
    else:
        remainder = remainder * 10 % modulus
    power = power_of_ten(need + rule[SCALE])
    # The least number of digits for which some number below 10 ** digits completes a multiple.
    while True:
        found = (remainder - digit * power) % modulus
        if found < power:
            return need, found
        need, power, remainder = need + 1, power * 10, remainder * 10 % modulus


@inlined
def reaches_multiple(rule, low, high, need, remainder):  # type: ignore[no-untyped-def]
    """Whether some wanted number begins with such whole digits, and has an upper end.

    If one has l more of them, and neither l nor l + 1 is where an end must be met digit by digit,
    then another one has l + 1 (append a zero): so few lengths need a look.
    """
    least = low if low >= 0 else ~low
    most = high if high >= 0 else ~high
    for length in (most, most - 1, least):
        if length < max(least, need) or length > most:
            continue
        power = power_of_ten(length + rule[SCALE])
        first = rule[UNITS_LOW] % power if low == ~length else numba.int64(0)
        last = rule[UNITS_HIGH] % power if high == ~length else power - 1
        if is_met(first, last, remainder * power_of_ten(length - need), rule[MODULUS]):
            return True
    return False


@inlined
def reaches_in_part(rule, low, high, need, remainder):  # type: ignore[no-untyped-def]
    """Whether some wanted number has such digits up to where `need` are left behind the point.

    low, high: whether they are those of an end so far, or FREE.
    """
    power = power_of_ten(need)
    if remainder >= power:
        return False
    first = rule[UNITS_LOW] % power if low != FREE else numba.int64(0)
    last = rule[UNITS_HIGH] % power if high != FREE else power - 1
    return is_met(first, last, remainder, rule[MODULUS])


@inlined
def multiples_at(rule, order):  # type: ignore[no-untyped-def]
    """Of which c (no factor of ten) and which 10 ** tens the digits of a number are multiples.

    That is, the MOST_PLACES + 1 digits, the first of which stands for 10 ** order, as a whole
    number.
    """
    left = order - rule[MOST_PLACES] + rule[SCALE]
    tens = max(-left, 0)
    of = rule[MODULUS]
    while left > 0 and (of % 2 == 0 or of % 5 == 0):
        of = of // 2 if of % 2 == 0 else of
        of = of // 5 if of % 5 == 0 else of
        left -= 1
    while of % 10 == 0:
        of //= 10
        tens += 1
    return of, tens


@inlined
def can_have_order(rule, digits, order, over, under, places, zeros, remainder):  # type: ignore[no-untyped-def]
    """Whether digits, and more of them, can spell a wanted number of this order of magnitude.

    over, under: how they compare with those of the ends; places: how many stand behind the first,
    the last `zeros` of which are 0; remainder: the digits without these, modulo CORE.
    """
    at_low, at_high = order == rule[FAR_LOW], order == rule[FAR_HIGH]
    if order < rule[FAR_LOW] or (at_low and over == BELOW) or (at_high and under == ABOVE):
        return False
    of, tens = multiples_at(rule, order)
    left = rule[MOST_PLACES] - places
    # Equal to an end so far: its digits are known, and a range of numbers is left.
    if (at_low and over >= 0) or (at_high and under >= 0):  # then it is known what they are
        if tens > 18 or of > GREATEST // power_of_ten(tens):
            return False
        end = OF_LOW if at_low and over >= 0 else OF_HIGH
        count = rule[DIGITS_LOW] if end == OF_LOW else rule[DIGITS_HIGH]
        first = numba.int64(0)
        for k in range(places + 1):
            first = first * 10 + (digits[end, k] if k < count else 0)
        size = power_of_ten(left)
        first *= size
        last = first + size - 1
        first = max(first, rule[LEAST]) if at_low and over >= 0 else first
        last = min(last, rule[MOST]) if at_high and under >= 0 else last
        return is_met(first, last, numba.int64(0), of * power_of_ten(tens))
    # Otherwise any digits may follow. More factors of ten than digits to come: read zeros must have
    # them.
    if tens > left:
        more = tens - left
        return zeros >= more and shifted(remainder, zeros - more, of) == 0
    free = left - tens
    return free > 9 or (of - shifted(remainder, zeros + free, of)) % of < power_of_ten(free)


@inlined
def after_core_digit(rule, digit, zeros, remainder):  # type: ignore[no-untyped-def]
    """CORE_REMAINDER after one more digit, which is not 0. zeros: how many stand before it."""
    core = rule[CORE]
    return (shifted(remainder, zeros + 1, core) + digit) % core


@inlined
def least_order(rule, places, zeros, remainder):  # type: ignore[no-untyped-def]
    """The least power of ten that the first digit may stand for; GREATEST where there is none."""
    core, order = rule[CORE], rule[SHIFTED] + places - zeros
    while remainder % core != 0:
        if shared(remainder * 10, core) == shared(remainder, core):  # ten more factors do not help
            return numba.int64(GREATEST)
        remainder = remainder * 10 % core
        order += 1
    return order


@inlined
def shared(one, other):  # type: ignore[no-untyped-def]
    """The greatest common divisor (Euclid)."""
    while other != 0:
        one, other = other, one % other
    return one
