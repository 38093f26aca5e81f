"""In: digits of a number, one after the other. Out: how they compare with those of an end."""

from __future__ import annotations

import numba

from structgen.kernels.build.decorators import inlined
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
