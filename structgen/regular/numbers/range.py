"""The values that a number may have: a range of non-negative decimals, and multiples in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache


@dataclass(frozen=True)
class Range:
    """A set of non-negative values, and how they are spelled.

    The values from `low` to `high` (None: no upper end), without the ends that are `open`, that are
    multiples of `modulus / 10**scale` (modulus 0: any value). `point`: a fraction may follow, else
    `scale` is 0 and `modulus` at least 1. `padded`: leading zeros may precede, as in exponents.
    `natural`: only the spelling that programs print. Derived: the digits of both ends before
    (`whole`) and after (`part`) the point; `least` and `greatest`, the ends in units of 10**-scale,
    rounded inwards; `hashed`, the hash, computed once.
    """

    low: Fraction = Fraction(0)
    low_open: bool = False
    high: Fraction | None = None
    high_open: bool = False
    modulus: int = 0
    scale: int = 0
    point: bool = True
    padded: bool = False
    natural: bool = False
    low_whole: str = field(init=False, compare=False, repr=False)
    low_part: str = field(init=False, compare=False, repr=False)
    high_whole: str = field(init=False, compare=False, repr=False)
    high_part: str = field(init=False, compare=False, repr=False)
    least: int = field(init=False, compare=False, repr=False)
    greatest: int = field(init=False, compare=False, repr=False)
    hashed: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        whole, part = digits_of(self.low)
        put(self, "low_whole", whole)
        put(self, "low_part", part)
        whole, part = digits_of(self.high or Fraction(0))
        put(self, "high_whole", whole)
        put(self, "high_part", part)
        unit = 10**self.scale
        scaled = self.low * unit
        least = -(-scaled.numerator // scaled.denominator)
        put(self, "least", least + (self.low_open and scaled == least))
        scaled = (self.high or Fraction(0)) * unit
        greatest = scaled.numerator // scaled.denominator
        put(self, "greatest", greatest - (self.high_open and scaled == greatest))
        values = (self.low, self.low_open, self.high, self.high_open)
        kind = (self.modulus, self.scale, self.point, self.padded, self.natural)
        put(self, "hashed", hash((values, kind)))

    def __hash__(self) -> int:
        return self.hashed

    @property
    def empty(self) -> bool:
        """True when no real number lies in the range (multiples are not looked at)."""
        if self.high is None or self.low < self.high:
            return False
        return self.low > self.high or self.low_open or self.high_open

    @property
    def is_plainly_met(self) -> bool:
        """Whether some number above zero is plainly in the set, in all its spellings."""
        if self.natural or self.modulus > 1 or self.scale:
            return False
        whole = self.high is None or self.greatest >= max(self.least, 1)
        return whole if self.modulus else not self.empty and self.high != 0

    @property
    def free_below(self) -> bool:
        """True when there is no lower end but zero."""
        return not self.low and not self.low_open

    def has(self, value: int) -> bool:
        """Is `value` in the range (multiples are not looked at)?"""
        if value < self.low or (self.low_open and value == self.low):
            return False
        return self.high is None or value < self.high or (value == self.high and not self.high_open)

    def without_low(self) -> Range:
        """The range without its lower end."""
        return self if self.free_below else _without_low(self)

    def without_high(self) -> Range:
        """The range without its upper end."""
        return self if self.high is None else _without_high(self)


@lru_cache(maxsize=1024)
def _without_low(rule: Range) -> Range:
    return replace(rule, low=Fraction(0), low_open=False)


@lru_cache(maxsize=1024)
def _without_high(rule: Range) -> Range:
    return replace(rule, high=None, high_open=False)


@lru_cache(maxsize=1024)
def digits_of(value: Fraction) -> tuple[str, str]:
    """Digits before and after the point of a finite decimal, without leading or trailing zeros.

    Raises ValueError for a value that has no finite decimal spelling.
    """
    places = decimal_places(value.denominator)
    whole, part = divmod(value.numerator * 10**places // value.denominator, 10**places)
    return (str(whole) if whole else "", str(part).rjust(places, "0") if places else "")


def decimal_places(denominator: int) -> int:
    """How many digits after the point `1 / denominator` has; ValueError if they never end."""
    twos, rest = split_off(denominator, 2)
    fives, rest = split_off(rest, 5)
    if rest != 1:
        raise ValueError("not a finite decimal")
    return max(twos, fives)


def split_off(number: int, prime: int) -> tuple[int, int]:
    """How often `prime` divides `number` (> 0), and what is left."""
    count = 0
    while number % prime == 0:
        number //= prime
        count += 1
    return count, number
