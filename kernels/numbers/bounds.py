"""Compare the digits of a number, read one after the other, with those of an end of its range.

How many digits will come is not known. So a state says either that it is decided by length (so many
more digits), or that the number is equal to the end so far (~r, r digits of the end are left).
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined
from structgen.kernels.build.language import numba
from structgen.kernels.numbers.columns import ABOVE, ANY_NUMBER, BELOW, PASSED


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
    # A greater digit: as many digits as the end has will do. A smaller one: one more is needed.
    return left - 1 if digit > bound else left


@inlined
def fewer_allowed(digit, high, bound):  # type: ignore[no-untyped-def]
    """How a whole number compares with an upper end after one more digit.

    At least 0, how many more digits may follow; or else ~r. PASSED where the end is passed.
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
    """How digits compare with those of an end after one more: BELOW, ABOVE, or how many are equal.

    over: whether digits as those of the end, and more of them, are still as the end (see
    BEYOND_LOW).
    """
    if before < 0:
        return before
    expected = numba.int64(ends[before]) if before < count else numba.int64(0)
    if digit != expected:
        return numba.int64(BELOW if digit < expected else ABOVE)
    if before + 1 >= count:
        return count if over else numba.int64(ABOVE)
    return before + 1
