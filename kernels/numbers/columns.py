"""Name the columns of number states and of the rules of their ranges.

A number automaton accepts the JSON numbers between two ends, or multiples of a number, in all
spellings. Its states are rows of small numbers, and a rule says what one side (numbers with a sign,
and numbers without) must meet.
"""

from __future__ import annotations

# Columns of a state. SIDE: 0 before a sign, then the row of `rules`, 1 for numbers without one.
SIDE = 0
DECIMAL, LOW, HIGH = 1, 2, 3  #: as a decimal: the phase (-1: it is none), and both comparisons
MANTISSA, ORDER, OVER, UNDER, PLACES, ZEROS = range(4, 10)  #: the same in scientific notation
ZERO_STAGE = 10  #: how much of a zero with an exponent has been read, -1 if it is none
EXPONENT, FIRST, LAST, POWER, MORE, LESS = range(11, 17)  #: an exponent from FIRST to LAST
NEED = 17  #: of a decimal: after so many more digits it can be a multiple ...
REMAINDER = 18  #: ... if they are this number
CORE_REMAINDER = 19  #: in scientific notation: the digits without ZEROS, modulo CORE
WIDTH = 20

# Columns of `rules`, for both sides. Lengths are those of the digits in `digits`.
EXISTS = 0  #: whether some number is wanted
WHOLE_LOW, PART_LOW, OPEN_LOW = 1, 2, 3  #: digits before and after the point; whether excluded
WHOLE_HIGH, PART_HIGH, OPEN_HIGH = 4, 5, 6  #: the first is -1 where there is no upper end
MULTIPLES = 7  #: 0, 1 for those of 1 alone, or OTHERS, then the ends are such, and included; or ALL
POINT = 8  #: whether a fraction may follow
SCIENTIFIC = 9  #: whether scientific notation may be used
FAR_LOW, DIGITS_LOW, FAR_HIGH, DIGITS_HIGH = 10, 11, 12, 13  #: power of ten of the first digit, ...
SHIFT = 14  #: how far the point may be from the first digit before an exponent
ZERO = 15  #: whether zero may have any exponent
BEYOND_LOW, BEYOND_HIGH = 16, 17  #: whether digits as those of an end are not yet beyond it
MOST_PLACES = 18  #: digits behind the first before an exponent, where these are counted
MODULUS, SCALE = 19, 20  #: 1 and 0 with multiples of 1
UNITS_LOW, UNITS_HIGH = 21, 22  #: how many 10 ** -SCALE the ends are
CORE, SHIFTED = 23, 24  #: MODULUS without factors of ten; how many these are, less SCALE
LEAST, MOST = 25, 26  #: the digits of the ends, followed by zeros, as numbers with MOST_PLACES + 1

# What stands in `digits` for each side.
OF_WHOLE_LOW, OF_PART_LOW, OF_WHOLE_HIGH, OF_PART_HIGH, OF_LOW, OF_HIGH = range(6)

# Phases: of decimals (and START, PADDING and WHOLE of exponents), of scientific notation, of zero.
START, PADDING, AFTER_ZERO, WHOLE, AFTER_POINT, FRACTION = range(6)
S_START, S_ZERO, S_SMALL, S_WHOLE, S_POINT, S_FRACTION = range(6)
N_START, N_ZERO, N_POINT, N_ZEROS, N_E, N_SIGN, N_POWER = range(7)
FREE = -1  # in a fraction: above the lower end, or below the upper one, whatever follows
BELOW, ABOVE = -2, -1  # how digits compare with those of an end
ANY_NUMBER = 1 << 18  # of digits that may follow
PASSED = 1 << 19  # an upper end
DOT, E, PLUS, MINUS = 10, 11, 12, 13  # kinds of characters beside the digits
OTHERS = 2  # only multiples of MODULUS / 10 ** SCALE are wanted
ALL = 3  # all numbers, with as few digits before an exponent as multiples have
IN_WHOLE, IN_FRACTION, OUT_OF_IT = 1, 2, 3  # kinds of states on which digits have little effect
