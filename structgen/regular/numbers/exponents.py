"""An automaton that reads scientific notation, for a range and multiples in it.

`Scientific` states read digits with a point anywhere, then `e` or `E` and an exponent. The `order`
of a state is the power of ten that its first non-zero digit stands for before the exponent;
exponent and order give the magnitude. So bounds compare magnitudes first and digits second: the
digits read leave one interval of exponents, which `Exponent` states read. A multiple of `modulus /
10**scale` needs an exponent of at least some value, which depends on how many digits were written.
A finite automaton can tell only boundedly many orders (`MAX_SHIFT`) and digits (`MAX_FRACTION`)
apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from structgen.regular.charset import CharSet
from structgen.regular.numbers.digits import (
    READS,
    Decimal,
    Moves,
    NumberState,
    cuts_at,
    digit_set,
    grouped,
    runs,
)
from structgen.regular.numbers.range import Range, split_off

MAX_FRACTION = 17  # digits after the first, before an exponent, with multiples; doubles need 16
MAX_SHIFT = 2  # how far from the first digit other than 0 the point before an exponent may be

# Exact values that doubles hold as well: beyond, `1e400` is infinite and `1e-400` zero to readers.
LEAST = Fraction(5, 10**324)
GREATEST = Fraction(17976931348623157 * 10**292)

_LESS, _GREATER = -2, -1  # how the digits read so far compare with those of a bound
_START, _ZERO, _SMALL, _WHOLE, _POINT, _FRACTION = range(6)
_SIGNS = (CharSet.chars("+"), CharSet.chars("-"))
_NOUGHT = CharSet.chars("0")
_DOT, _E = CharSet.chars("."), CharSet.chars("eE")


@dataclass(frozen=True, slots=True)
class Exponent:
    """The state after `e`: an integer from `first` to `last` is to be read."""

    first: int
    last: int
    live: ClassVar[bool] = True
    reads: ClassVar[tuple[CharSet, ...]] = READS
    nullable: ClassVar[bool] = False

    @property
    def shortest(self) -> int:
        """A lower bound on the number of characters still to come."""
        return 1

    def moves(self) -> Moves:
        """Disjoint character sets, each with the live state it leads to."""
        found: list[tuple[CharSet, NumberState]] = []
        if self.last >= 0:
            plus = Decimal.start(_exponents(max(self.first, 0), self.last))
            found.append((_SIGNS[0], plus))
            found.extend(plus.moves())
        if self.first <= 0:
            minus = Decimal.start(_exponents(max(-self.last, 0), -self.first))
            found.append((_SIGNS[1], minus))
        return tuple(found)


@lru_cache(maxsize=1024)
def _exponents(least: int, last: int) -> Range:
    return Range(Fraction(least), high=Fraction(last), modulus=1, point=False, padded=True)


@dataclass(frozen=True)
class Magnitudes:
    """A `Range` as digits and exponents: what `Scientific` states compare with.

    `core` is `modulus` without factors of ten, of which it has `tens`; `odd` is it without
    any factor 2 or 5.
    """

    rule: Range
    low_digits: str = field(init=False, compare=False, repr=False)
    low_exponent: int = field(init=False, compare=False, repr=False)
    high_digits: str = field(init=False, compare=False, repr=False)
    high_exponent: int = field(init=False, compare=False, repr=False)
    core: int = field(init=False, compare=False, repr=False)
    odd: int = field(init=False, compare=False, repr=False)
    tens: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        rule = self.rule
        digits, exponent = leading(rule.low_whole, rule.low_part)
        put(self, "low_digits", digits)
        put(self, "low_exponent", exponent)
        digits, exponent = leading(rule.high_whole, rule.high_part)
        put(self, "high_digits", digits)
        put(self, "high_exponent", exponent)
        tens, core = split_off(rule.modulus, 10) if rule.modulus else (0, 0)
        put(self, "core", core)
        put(self, "odd", split_off(split_off(core or 1, 2)[1], 5)[1])
        put(self, "tens", tens)

    def __hash__(self) -> int:
        return self.rule.hashed

    @cached_property
    def shift(self) -> int:
        """How far the point may be from the first non-zero digit."""
        return 0 if self.rule.natural else MAX_SHIFT

    @cached_property
    def wide(self) -> bool:
        """Whether some exponent suits any digits at all."""
        if not self.rule.modulus:
            return self.high_exponent > self.low_exponent + 1
        least = self.tens + self.core.bit_length() + MAX_FRACTION - self.rule.scale
        return self.odd == 1 and self.high_exponent > max(self.low_exponent + 1, least)

    @cached_property
    def _ways(self) -> dict[tuple[int, int, int], list[tuple[CharSet, int, int, int]]]:
        return {}

    def ways(self, low: int, high: int, first: int) -> list[tuple[CharSet, int, int, int]]:
        """The digits from `first` on, grouped by the state they lead to; for a `core` below 2.

        Each group: its characters, one of its digits, and `low` and `high` after it.
        """
        found = self._ways.get((low, high, first))
        if found is None:
            cuts = {1}  # whether it is 0 always matters
            for met, digits in ((low, self.low_digits), (high, self.high_digits)):
                if met >= 0:
                    cuts |= cuts_at(digits[met:])
            groups: dict[tuple[int, int, bool], list[int]] = {}
            for run in runs(first, cuts):
                after = self.compared(low, high, run[0])
                groups.setdefault((*after, run[0] == 0), []).extend(run)
            found = [(digit_set(tuple(run)), run[0], *after[:2]) for after, run in groups.items()]
            self._ways[low, high, first] = found
        return found

    def compared(self, low: int, high: int, digit: int) -> tuple[int, int]:
        """How the digits compare with those of both bounds after one more digit."""
        rule = self.rule
        return (
            _compared(low, digit, self.low_digits, rule.low_open),
            _compared(high, digit, self.high_digits, not rule.high_open),
        )

    @cached_property
    def units(self) -> tuple[int, int, int]:
        """A number of fraction digits, and both ends as integers when they have so many."""
        rule = self.rule
        places = max(len(rule.low_part), len(rule.high_part), rule.scale)
        return places, int(rule.low * 10**places), int((rule.high or 0) * 10**places)


def leading(whole: str, part: str) -> tuple[str, int]:
    """The digits from the first to the last that is not 0, and the first one's power of ten."""
    digits = (whole + part).strip("0")
    if whole:
        return digits, len(whole) - 1
    return digits, -1 - (len(part) - len(part.lstrip("0")))


@dataclass(unsafe_hash=True, slots=True)  # never changed; frozen ones take six times as long
class Scientific:
    """The digits read before an exponent, as far as they matter later.

    `phase`: nothing was read, `0`, `0.0` (any zeros), whole digits, `12.`, a fraction. `order` is
    the power of ten that the first non-zero digit stands for (before there is one: that of the next
    digit).
    `low`, `high`: how many digits of the bound were met exactly, or less / greater than it.
    With a modulus: `places` digits after the first, the last `zeros` digits are 0, and `rest` is
    the number without these zeros, modulo `core`. `number` (with `shown` digits after the first)
    is one of the numbers that lead to this state; any of them gives the same answers.
    """

    rule: Magnitudes
    phase: int = _START
    order: int = 0
    low: int = 0
    high: int = 0
    places: int = 0
    zeros: int = 0
    rest: int = 0
    number: int = field(default=0, compare=False)
    shown: int = field(default=0, compare=False)
    live: ClassVar[bool] = True
    reads: ClassVar[tuple[CharSet, ...]] = READS
    nullable: ClassVar[bool] = False

    @staticmethod
    def start(rule: Range) -> Scientific | None:
        """The state before the first digit, which may accept nothing; None for an empty range.

        Values that a double cannot hold are left out.
        """
        if rule.low < LEAST:
            rule = replace(rule, low=LEAST, low_open=False)
        if rule.high is None or rule.high > GREATEST:
            rule = replace(rule, high=GREATEST, high_open=False)
        return None if rule.empty else Scientific(Magnitudes(rule))

    @property
    def shortest(self) -> int:
        """A lower bound on the number of characters still to come."""
        if self.phase <= _SMALL or self.rule.core < 2:
            return 2 + (self.phase not in {_WHOLE, _FRACTION}) + (self.phase == _ZERO)
        digits, power, rest = 0, 1, self.rest * 10**self.zeros % self.rule.odd
        while -rest % self.rule.odd >= power:
            digits, power, rest = digits + 1, power * 10, rest * 10 % self.rule.odd
        return digits + 2

    def moves(self) -> Moves:
        """Disjoint character sets, each with the live state it leads to."""
        phase = self.phase
        found: list[tuple[CharSet, NumberState]] = []
        if phase == _ZERO:
            return ((_DOT, self._met(_SMALL, -1)),)
        if phase <= _SMALL:
            found.extend(self._digits(1))
            if found and self.order > -self.rule.shift:
                zero = (_ZERO, 0) if phase == _START else (_SMALL, self.order - 1)
                found.append((_NOUGHT, self._met(*zero)))
            return tuple(found)
        if not self.rule.rule.modulus or self.places < MAX_FRACTION:
            if phase == _WHOLE:
                found.append((_DOT, self._met(_POINT, self.order)))  # live, as a zero may follow
            if phase != _WHOLE or self.order < self.rule.shift:
                found.extend(self._digits(0))
        if phase != _POINT:
            exponent = self._exponent()
            if exponent is not None:
                found.append((_E, exponent))
        return tuple(found)

    def _met(self, phase: int, order: int) -> Scientific:
        """The state after a leading zero or a point."""
        read = (self.places, self.zeros, self.rest, self.number, self.shown)
        return Scientific(self.rule, phase, order, self.low, self.high, *read)

    def _digits(self, first: int) -> Iterable[tuple[CharSet, Scientific]]:
        """The non-empty states after the digits from `first` on."""
        bounds = self.rule
        if bounds.core < 2:
            ways = bounds.ways(self.low, self.high, first)
            moves = [(of, self._digit(digit, low, high)) for of, digit, low, high in ways]
        else:
            digits = range(first, 10)
            after = (self._digit(d, *bounds.compared(self.low, self.high, d)) for d in digits)
            moves = [*grouped(zip((range(d, d + 1) for d in digits), after, strict=True))]
        return (move for move in moves if bounds.wide or move[1]._live())

    def _digit(self, digit: int, low: int, high: int) -> Scientific:
        """The state after one more digit, with `low` and `high` after it; it may accept nothing."""
        bounds = self.rule
        begun = self.phase > _SMALL
        phase = _WHOLE if self.phase in {_START, _WHOLE} else _FRACTION
        order = self.order + (self.phase == _WHOLE)
        shown = self.shown + begun
        number = 10 * self.number + digit
        if not bounds.rule.modulus:
            loops_are_final = (
                low == self.low and high == self.high and phase == self.phase == _FRACTION
            )
            if loops_are_final:
                return self
            return Scientific(bounds, phase, order, low, high, number=number, shown=shown)
        zeros, rest = self.zeros + 1, self.rest
        if digit:
            zeros, rest = 0, (rest * 10**zeros + digit) % bounds.core
        return Scientific(bounds, phase, order, low, high, shown, zeros, rest, number, shown)

    def _live(self) -> bool:
        """Whether more digits and some exponent spell a value of the range.

        If some number fits with an exponent, the same digits fit with a greater one as long as
        the upper end is not reached: so only the greatest two exponents need a look.
        """
        bounds = self.rule
        most = bounds.high_exponent
        return bounds.wide or self._reaches(most) or self._reaches(most - 1)

    def _reaches(self, exponent: int) -> bool:
        """Whether more digits and then this exponent spell a value of the range."""
        size, low, high, grid = _measures(self.rule, exponent, self.shown)
        first = self.number * size
        end = min(first + size, high)
        first = max(first, low)
        return -(-first // grid) * grid < end

    def _exponent(self) -> Exponent | None:
        """The state after `e`: the interval of exponents that suit the digits; None if empty."""
        bounds = self.rule
        first = bounds.low_exponent + (self.low != _GREATER)
        last = bounds.high_exponent - (self.high == _GREATER)
        if bounds.rule.modulus:
            least = self._least_exponent()
            if least is None:
                return None
            first = max(first, least)
        return Exponent(first - self.order, last - self.order) if first <= last else None

    def _least_exponent(self) -> int | None:
        """The least magnitude at which the digits are a multiple; None if there is none."""
        core, rest = self.rule.core, self.rest
        tens = self.rule.tens
        while rest % core:
            fewer = math.gcd(rest * 10, core)
            if fewer == math.gcd(rest, core):
                return None
            rest, tens = rest * 10 % core, tens + 1
        return tens + self.places - self.zeros - self.rule.rule.scale


@lru_cache(maxsize=1024)
def _measures(bounds: Magnitudes, exponent: int, shown: int) -> tuple[int, int, int, int]:
    """In one common unit: the last digit's value, both ends, and a divisor of all values.

    For digits with `shown` of them after the first, before an exponent of this magnitude. The
    second end is exclusive; the divisor divides all values that are wanted and that can be spelled.
    """
    rule, (places, low, high) = bounds.rule, bounds.units
    shift = max(places, MAX_FRACTION - exponent, shown - exponent)
    scale = 10 ** (shift - places)
    size = 10 ** (exponent - shown + shift)
    low, high = low * scale, high * scale + 1 - rule.high_open
    if not rule.modulus:  # between two values there are always others
        return size, low, high, 1
    multiple, finest = rule.modulus * 10 ** (shift - rule.scale), exponent - MAX_FRACTION + shift
    return size, low + rule.low_open, high, math.lcm(multiple, 10**finest)


def _compared(before: int, digit: int, bound: str, over: bool) -> int:
    """How the digits compare with those of a bound after one more digit.

    If zeros may follow the digits of the bound and then it is met, `over` says that it is not yet
    passed; otherwise meeting it is as good as passing it.
    """
    if before < 0:
        return before
    expected = int(bound[before]) if before < len(bound) else 0
    if digit != expected:
        return _LESS if digit < expected else _GREATER
    met = before + 1 >= len(bound)
    return (len(bound) if over else _GREATER) if met else before + 1
