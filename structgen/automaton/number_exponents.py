"""In: a range and a modulus for positive numbers. Out: an automaton over scientific notation.

`Scientific` states read `d.ddd` with a first digit other than 0, then `e` or `E` and an exponent.
The exponent is then the order of magnitude, so bounds compare exponents first and digits after:
the digits leave one interval of exponents open, which `Exponent` states read. A multiple of
`modulus / 10**scale` needs an exponent from some least value on, which depends on how many
fraction digits were written: only a bounded number of them (`MAX_FRACTION`) can be told apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from structgen.automaton.charset import CharSet
from structgen.automaton.number_digits import Decimal, Moves, State, grouped
from structgen.automaton.number_range import Range, split_off

MAX_FRACTION = 17  # fraction digits before an exponent, where multiples count; doubles need 16

_LESS, _GREATER = -2, -1  # how the digits read so far compare with those of a bound
_START, _LEAD, _POINT, _FRACTION = range(4)
_SIGNS = (CharSet.chars("+"), CharSet.chars("-"))
_DOT, _E = CharSet.chars("."), CharSet.chars("eE")


@dataclass(frozen=True, slots=True)
class Exponent:
    """The state after `e`: an integer from `first` to `last` (None: no end) is to be read."""

    first: int | None
    last: int | None
    live: ClassVar[bool] = True
    nullable: ClassVar[bool] = False

    @property
    def shortest(self) -> int:
        """A lower bound on the number of characters still to come."""
        return 1

    def moves(self) -> Moves:
        """Disjoint character sets, each with the live state it leads to."""
        found: list[tuple[CharSet, State]] = []
        if self.last is None or self.last >= 0:
            plus = Decimal.start(_exponents(max(self.first or 0, 0), self.last))
            found.append((_SIGNS[0], plus))
            found.extend(plus.moves())
        if self.first is None or self.first <= 0:
            last = None if self.first is None else -self.first
            least = 0 if self.last is None else max(-self.last, 0)
            minus = Decimal.start(_exponents(least, last))
            found.append((_SIGNS[1], minus))
        return tuple(found)


def _exponents(least: int, last: int | None) -> Range:
    high = None if last is None else Fraction(last)
    return Range(Fraction(least), False, high, False, modulus=1, point=False, padded=True)


@dataclass(frozen=True)
class Magnitudes:
    """A `Range` as digits and exponents: what `Scientific` states compare with.

    With `places` fraction digits the ends are the integers `low_units` and `high_units`.
    `core` is `modulus` without factors of ten, of which it has `tens`; `odd` is it without
    any factor 2 or 5.
    """

    rule: Range
    low_digits: str = field(init=False, compare=False, repr=False)
    low_exponent: int | None = field(init=False, compare=False, repr=False)
    high_digits: str = field(init=False, compare=False, repr=False)
    high_exponent: int | None = field(init=False, compare=False, repr=False)
    places: int = field(init=False, compare=False, repr=False)
    low_units: int = field(init=False, compare=False, repr=False)
    high_units: int = field(init=False, compare=False, repr=False)
    core: int = field(init=False, compare=False, repr=False)
    odd: int = field(init=False, compare=False, repr=False)
    tens: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        rule = self.rule
        digits, exponent = _leading(rule.low_whole, rule.low_part)
        put(self, "low_digits", digits)
        put(self, "low_exponent", exponent)
        digits, exponent = _leading(rule.high_whole, rule.high_part)
        put(self, "high_digits", digits)
        put(self, "high_exponent", exponent)
        places = max(len(rule.low_part), len(rule.high_part), rule.scale)
        put(self, "places", places)
        put(self, "low_units", int(rule.low * 10**places))
        put(self, "high_units", int((rule.high or 0) * 10**places))
        tens, core = split_off(rule.modulus, 10) if rule.modulus else (0, 0)
        put(self, "core", core)
        odd = split_off(split_off(core or 1, 2)[1], 5)[1]
        put(self, "odd", odd)
        put(self, "tens", tens)

    def __hash__(self) -> int:
        return self.rule.hashed

    def exponents(self) -> tuple[int, ...]:
        """Exponents of which one fits some continuation of a live prefix, whatever the prefix.

        If some number fits with an exponent, the same digits fit with a greater one as long as
        the upper end is not reached: so only the greatest two exponents need a look.
        """
        if self.high_exponent is not None:
            return (self.high_exponent, self.high_exponent - 1)
        most = MAX_FRACTION + self.rule.modulus.bit_length() + self.rule.scale
        return (most + max(0, (self.low_exponent or 0) + 1),)


def _leading(whole: str, part: str) -> tuple[str, int | None]:
    """The digits from the first to the last that is not 0, and the first one's power of ten."""
    digits = (whole + part).strip("0")
    if not digits:
        return "", None
    if whole:
        return digits, len(whole) - 1
    return digits, -1 - (len(part) - len(part.lstrip("0")))


@dataclass(frozen=True, slots=True)
class Scientific:
    """A state: the digits of `d.ddd` that were read, as far as they matter for what follows.

    `low`, `high`: how many digits of the bound were met exactly, or less / greater than it.
    With a modulus: `places` fraction digits so far, the last `zeros` digits are 0, and `rest` is
    the number without these zeros, modulo `core`. `number` (with `shown` fraction digits) is one
    of the numbers that lead to this state; any of them gives the same answers.
    """

    rule: Magnitudes
    phase: int = _START
    low: int = _GREATER
    high: int = _LESS
    places: int = 0
    zeros: int = 0
    rest: int = 0
    number: int = field(default=0, compare=False)
    shown: int = field(default=0, compare=False)
    live: ClassVar[bool] = True
    nullable: ClassVar[bool] = False

    @staticmethod
    def start(rule: Range) -> Scientific | None:
        """The state before the first digit, the one that may be dead; None if `rule` has only 0."""
        if rule.high == 0:
            return None
        bounds = Magnitudes(rule)
        low = _GREATER if bounds.low_exponent is None else 0
        high = _LESS if bounds.high_exponent is None else 0
        return Scientific(bounds, _START, low, high)

    @property
    def shortest(self) -> int:
        """A lower bound on the number of characters still to come."""
        if self.phase == _START or self.rule.core < 2:
            return 2 + (self.phase in {_START, _POINT})
        digits, power, rest = 0, 1, self.rest * 10**self.zeros % self.rule.odd
        while -rest % self.rule.odd >= power:
            digits, power, rest = digits + 1, power * 10, rest * 10 % self.rule.odd
        return digits + 2 + (digits > 0 and self.phase == _LEAD)

    def moves(self) -> Moves:
        """Disjoint character sets, each with the live state it leads to."""
        if self.phase == _START:
            return tuple(self._digits(1))
        found: list[tuple[CharSet, State]] = []
        if self.phase == _LEAD:
            found.append((_DOT, replace(self, phase=_POINT)))  # live, as a zero may follow
        elif not self.rule.rule.modulus or self.places < MAX_FRACTION:
            found.extend(self._digits(0))
        if self.phase != _POINT:
            exponent = self._exponent()
            if exponent is not None:
                found.append((_E, exponent))
        return tuple(found)

    def _digits(self, first: int) -> Iterable[tuple[CharSet, Scientific]]:
        """Where the digits from `first` on lead, if that is live."""
        moves = grouped((d, self._digit(d)) for d in range(first, 10))
        return (move for move in moves if move[1]._live())

    def _digit(self, digit: int) -> Scientific:
        """The state after one more digit; it may be dead."""
        bounds = self.rule
        low = _compared(self.low, digit, bounds.low_digits)
        high = _compared(self.high, digit, bounds.high_digits)
        phase = _LEAD if self.phase == _START else _FRACTION
        shown = self.shown + (phase == _FRACTION)
        number = 10 * self.number + digit
        if not bounds.rule.modulus:
            settled = low == self.low and high == self.high and phase == self.phase
            if settled:
                return self
            return Scientific(bounds, phase, low, high, number=number, shown=shown)
        zeros, rest = self.zeros + 1, self.rest
        if digit:
            zeros, rest = 0, (rest * 10**zeros + digit) % bounds.core
        return Scientific(bounds, phase, low, high, shown, zeros, rest, number, shown)

    def _live(self) -> bool:
        """Can more digits and some exponent spell a wanted value?"""
        bounds = self.rule
        if bounds.high_exponent is None and bounds.odd == 1:
            return True
        return any(map(self._reaches, bounds.exponents()))

    def _reaches(self, exponent: int) -> bool:
        """Can more digits and then this exponent spell a wanted value?"""
        bounds, rule = self.rule, self.rule.rule
        shift = max(bounds.places, MAX_FRACTION - exponent, self.shown - exponent)
        size = 10 ** (exponent - self.shown + shift)
        block = self.number * size
        end = block + size
        low = bounds.low_units * 10 ** (shift - bounds.places)
        high = None
        if rule.high is not None:
            high = bounds.high_units * 10 ** (shift - bounds.places)
        if not rule.modulus:
            if low >= end or (high is not None and high < block):
                return False
            return high is None or block < high or not rule.high_open
        least = rule.modulus * 10 ** (shift - rule.scale)
        grid = math.lcm(least, 10 ** (exponent - MAX_FRACTION + shift))
        first = max(block, low + rule.low_open)
        if high is not None:
            end = min(end, high + 1 - rule.high_open)
        return bool(-(-first // grid) * grid < end)

    def _exponent(self) -> Exponent | None:
        """The state after `e`: which exponents suit the digits."""
        bounds, rule = self.rule, self.rule.rule
        first, last = bounds.low_exponent, bounds.high_exponent
        if first is not None and self.low != _GREATER:
            reached = self.low == len(bounds.low_digits) and not rule.low_open
            first += not reached
        if last is not None and self.high != _LESS:
            over = self.high == _GREATER
            over = over or (self.high == len(bounds.high_digits) and rule.high_open)
            last -= over
        if rule.modulus:
            least = self._least_exponent()
            if least is None:
                return None
            first = least if first is None else max(first, least)
        if first is not None and last is not None and first > last:
            return None
        return Exponent(first, last)

    def _least_exponent(self) -> int | None:
        """The least exponent that makes the digits a multiple; None if there is none."""
        core, rest = self.rule.core, self.rest
        tens = self.rule.tens
        while rest % core:
            fewer = math.gcd(rest * 10, core)
            if fewer == math.gcd(rest, core):
                return None
            rest, tens = rest * 10 % core, tens + 1
        return tens + self.places - self.zeros - self.rule.rule.scale


def _compared(before: int, digit: int, bound: str) -> int:
    """How the digits compare with those of a bound after one more digit."""
    if before < 0:
        return before
    expected = int(bound[before]) if before < len(bound) else 0
    if digit != expected:
        return _LESS if digit < expected else _GREATER
    return min(before + 1, len(bound))
