"""The automaton of a range of numbers, or of the multiples in one: a kernel computes its moves.

A state is how far a number has been read: the phase (sign, digits, point, exponent), how its digits
compare with both ends, and the remainder modulo the divisor. These are nearly all numbers that
schemas ask for; others are put together from sub-automata (`sub_automaton_table`).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.kernels.numbers.columns import ALL, MODULUS, SCALE
from structgen.regular.expressions.base import Regex
from structgen.regular.lazy_dfa.character_classes import classes_of
from structgen.regular.lazy_dfa.states import Array, TableAutomaton
from structgen.regular.numbers.digits import READS
from structgen.regular.numbers.exponents import (
    GREATEST,
    LEAST,
    MAX_FRACTION,
    MAX_SHIFT,
    leading,
)
from structgen.regular.numbers.language import by_sign, constraints_of, is_scientific, spelled
from structgen.regular.numbers.range import Range, digits_of, split_off

MAX_MODULUS = 10**8  # of the divisor, as a multiple of 10**-scale
MAX_SCALE = 8  # decimal places of the divisor, so that kernels can compute with 64 bits
_CLASSES = classes_of([None, *READS])
_KINDS = np.array(["0123456789.e+-".index(chr(x).lower()) for x in _CLASSES.letters], np.int8)
_NO_DIGITS = ~np.bitwise_or.reduce(np.uint64(1) << np.flatnonzero(_KINDS < 10).astype(np.uint64))
DIGITS = sum(1 << g for g, need in enumerate(_CLASSES.needs) if not need & _NO_DIGITS)


Row = tuple[list[int], list[str]]  # `kernels.numbers.columns` of a range, the digits of its ends


def kernel_rows(regex: Regex) -> list[Row] | None:
    """The ranges that make up a number language, as kernels take them.

    None for other languages, and where 64 bits are too few to compute with.
    """
    constraints = constraints_of(regex)
    counted = regex is spelled(2)
    if counted or regex is spelled(1):
        constraints = constraints_of(spelled(0))
    if constraints is None or constraints.modulus >= MAX_MODULUS or constraints.scale > MAX_SCALE:
        return None
    scientific = is_scientific(constraints.spelling)
    found = [_kernel_row(r, scientific=scientific, counted=counted) for r in by_sign(constraints)]
    rows = [row for row in found if row is not None]
    return rows if len(rows) == len(found) else None


class NumberAutomaton(TableAutomaton):
    """uint64[S, WIDTH]: states as a kernel packs them; see `kernels.numbers.states`."""

    def __init__(self, found: list[Row], *, ends: bool) -> None:
        """See `kernel_rows`."""
        self._rules = np.array([numbers for numbers, _ in found], np.int64)
        room = max(1, *(len(part) for _, parts in found for part in parts))
        spelled = "".join(part.ljust(room, "0") for _, parts in found for part in parts)
        self._digits = np.frombuffer(spelled.encode(), np.uint8).reshape(2, -1, room) - ord("0")
        self._k = kernels("numbers.states")
        self._room = np.zeros((2, self._k.WIDTH), np.int64)
        self._row = np.zeros(self._k.WIDTH, np.uint64)
        self._k.first_state(self._rules, self._room, self._row)
        super().__init__(self._row.copy(), _CLASSES, ends=ends)

    @property
    def step(self) -> Fraction:
        """The distance of the multiples that are wanted; 0 if all numbers are."""
        modulus, scale = self._rules[0, MODULUS], self._rules[0, SCALE]
        return Fraction(int(modulus), 10 ** int(scale))

    def _find(self, state: int, count: int) -> None:
        self._k.explore_numbers(
            self._rules,
            self._digits,
            _KINDS,
            self._room,
            self._row,
            self.states,
            self.search,
            state,
            count,
        )

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        ends = np.empty(end - begin, np.uint8)
        self._k.number_ends(self._rules, self._room, self.states, ends, begin)
        return ends.astype(np.bool_)

    def steady(self, states: Array) -> tuple[Array, Array, Array]:
        """Three times uint8[n], of some states: see `kernels.numbers.states.steady_on_digits`."""
        kinds, least, most = np.zeros((3, len(states)), np.uint8)
        self._k.steady_on_digits(self._rules, self._room, self.states, states, kinds, least, most)
        return kinds, least, most

    def _write_known_loops(self, order: Array) -> bool:
        given = self._rules, self._room, self.states, order, self.loops, self.often
        self._k.loop_on_digits(*given, DIGITS)
        return True


def _kernel_row(rule: Range, *, scientific: bool, counted: bool) -> Row | None:
    """A range as kernels take it; None where its ends have too many digits.

    With a divisor the ends are moved to multiples of it. counted: whether digits are limited as
    those of multiples are.
    """
    unit = Fraction(rule.modulus, 10**rule.scale)
    others = unit not in {0, 1}  # multiples of something else than 1
    low, low_open, high, high_open = rule.low, rule.low_open, rule.high, rule.high_open
    if unit:
        low, low_open = -(-rule.least // rule.modulus) * unit, False
        high, high_open = (None if high is None else rule.greatest // rule.modulus * unit), False
    some = not rule.empty and (high is None or low <= high)
    whole, part = digits_of(low)
    whole_high, part_high = digits_of(high or Fraction(0))
    least = max(low, unit or LEAST)
    greatest = GREATEST if high is None else min(high, GREATEST)
    opened = (low_open and least == low, high_open and greatest == high)
    far = least < greatest or (least == greatest and not any(opened))
    digits, power = leading(*digits_of(least)) if far else ("", 0)
    digits_high, power_high = leading(*digits_of(greatest)) if far else ("", 0)
    units = [int(end * 10**rule.scale) for end in (low, high or Fraction(0))] if others else [0, 0]
    if unit and max(len(digits), len(digits_high)) > MAX_FRACTION + 1:
        return None
    if max(units) >= 10 ** (MAX_FRACTION + 1):
        return None
    numbers = [
        some,
        len(whole), len(part), low_open,
        -1 if high is None else len(whole_high), len(part_high), high_open,
        ALL if counted else bool(unit) + others, rule.point, scientific and some and far,
        power, len(digits), power_high, len(digits_high),
        0 if rule.natural else MAX_SHIFT,
        scientific and some and rule.has(0),
        opened[0], not opened[1],
        MAX_FRACTION,
    ]  # fmt: skip
    numbers += _multiples(rule, units, [digits, digits_high])
    return numbers, [whole, part, whole_high, part_high, digits, digits_high]


def _multiples(rule: Range, units: list[int], digits: list[str]) -> list[int]:
    """The columns about multiples.

    units: both ends times 10**scale. digits: their leading digits.
    """
    size = MAX_FRACTION + 1
    tens, core = split_off(rule.modulus, 10) if rule.modulus else (0, 0)
    far = [int(text[:size].ljust(size, "0")) for text in digits]
    return [rule.modulus, rule.scale, *units, core, tens - rule.scale, *far]
