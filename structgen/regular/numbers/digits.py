"""An automaton that reads plain decimals digit by digit, for a range and multiples in it.

`Decimal` states read `120` or `0.250` from the left, and know after each digit whether the value
can still end in the range *and* on a multiple: every move leads to a non-empty state. A state is a
few integers; two prefixes with the same continuations get the same state wherever that is cheap to
see.

Bounds, without knowing the length yet: for each bound a state holds either how many more whole
digits the number must (may) have, or "equal to the bound so far, r digits of it left".

Multiples: every multiple of a decimal `m` is one of `modulus / 10**scale`. After a prefix N, with l
more whole digits and `scale` fraction digits to come, these digits w must satisfy N * 10**(l +
scale) + w = 0 (mod modulus). `need` is the least l for which such a w < 10**(l + scale) exists, and
`rest` the least w there. The pair determines the continuations of every length, so it is exactly
the Myhill-Nerode class of N.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar, Protocol, TypeVar

from structgen.regular.charset import CharSet
from structgen.regular.numbers.range import Range

DIGITS = "0123456789"
DIGIT_VALUES = range(10)
T = TypeVar("T")
Moves = tuple[tuple[CharSet, "NumberState"], ...]
#: the character classes of all number automata
READS = tuple(map(CharSet.chars, (*DIGITS, ".", "eE", "+", "-")))


class NumberState(Protocol):
    """What the number states of this module and of `exponents` offer as `SubAutomatonState`.

    `live` is always true: no search is needed to prove a language of these states non-empty.
    """

    live: ClassVar[bool]
    reads: ClassVar[tuple[CharSet, ...]]

    @property
    def nullable(self) -> bool:
        """May the text end here?"""
        ...

    @property
    def shortest(self) -> int:
        """A lower bound on the number of characters still to come."""
        ...

    def moves(self) -> Moves:
        """Disjoint character sets, each with the live state it leads to."""
        ...


START, PADDING, ZERO, WHOLE, POINT, FRACTION = range(6)
_FREE = -1  # in a fraction: strictly within this bound already, whatever follows


@dataclass(frozen=True, slots=True)
class Decimal:
    """The prefix of a plain decimal that was read, as far as it matters for what follows.

    Whole digits: `low` >= 0 is how many more digits are needed at least, `high` >= 0 how many may
    follow (None: any number); `~r` means "equal to that bound so far, r whole digits of it left".
    `need` and `rest` are described at the top of the module.
    Fraction: `low` and `high` are the number of the bound's fraction digits that were met exactly,
    or -1 for free; `need` counts the digits that may still be other than 0, `rest` is the least
    number they must spell.
    """

    rule: Range
    phase: int = START
    low: int = 0
    high: int | None = None
    need: int = 0
    rest: int = 0
    live: ClassVar[bool] = True
    reads: ClassVar[tuple[CharSet, ...]] = READS

    @staticmethod
    def start(rule: Range) -> Decimal:
        """The state before the first digit; it alone may accept nothing."""
        low = 0 if rule.free_below else ~len(rule.low_whole)
        high = None if rule.high is None else ~len(rule.high_whole)
        return Decimal(rule, START, low, high)

    @property
    def nullable(self) -> bool:
        """May the text end here?"""
        rule = self.rule
        if self.phase in {START, POINT}:
            return False
        if self.phase == PADDING:
            return rule.has(0)
        if self.phase == FRACTION:
            if self.rest:
                return False
            if self.low != _FREE and (rule.low_open or self.low < len(rule.low_part)):
                return False
            high = self.high or 0
            return high == _FREE or not rule.high_open or high < len(rule.high_part)
        if rule.modulus and (self.need or self.rest):
            return False
        if self.low and (self.low != ~0 or rule.low_open or rule.low_part):
            return False
        return self.high != ~0 or bool(rule.high_part) or not rule.high_open

    @property
    def shortest(self) -> int:
        """A lower bound on the number of characters still to come, 0 iff `nullable`."""
        if self.nullable:
            return 0
        if self.phase != WHOLE:
            return max(1, ~self.low)
        return max(1, self.need, self.low, ~self.low)

    @property
    def takes_any_digits(self) -> bool:
        """Whether any number of digits may follow, whichever they are."""
        return self.phase == WHOLE and self.high is None

    def moves(self) -> Moves:
        """Disjoint character sets, each with the live state it leads to."""
        phase = self.phase
        if phase in {POINT, FRACTION}:
            return grouped((run, self._part_digit(run[0])) for run in self._part_digits())
        found: list[tuple[CharSet, NumberState]] = []
        if phase != ZERO:
            first = 0 if phase == WHOLE else 1
            for of, state in self._whole_digits(first):
                if state._whole_live():
                    found.append((of, state))
        if phase in {START, PADDING}:
            zero = self._zero()
            if zero is not None:
                found.append((digit_set((0,)), zero))
        if phase in {ZERO, WHOLE}:
            after = self._point()
            if after is not None:
                found.append((_POINT, after))
        return tuple(found)

    def _whole_digits(self, first: int) -> Sequence[tuple[CharSet, Decimal]]:
        """The states after each whole digit from `first` on, dead ones included."""
        if self.low == 0 and self.high is None and self.rule.modulus < 2:
            return ((digit_set(tuple(range(first, 10))), Decimal(self.rule, WHOLE)),)
        rule, cuts = self.rule, set(DIGIT_VALUES) if self.rule.modulus > 1 else set[int]()
        for met, whole in ((self.low, rule.low_whole), (self.high, rule.high_whole)):
            if met is not None and met < ~0:
                cuts |= cuts_at(whole[met + 1 :])
        return grouped((run, self._whole_digit(run[0])) for run in runs(first, cuts))

    def _zero(self) -> Decimal | None:
        """The state after a first digit 0: the whole part is 0, or it is padding."""
        rule = self.rule
        if rule.padded:
            return replace(self, phase=PADDING)
        if rule.low_whole:
            return None
        high = 0 if rule.high_whole else self.high
        state = Decimal(rule, ZERO, self.low, high)
        return state if state.nullable or state._point() is not None else None

    def _whole_digit(self, digit: int) -> Decimal | None:
        """The state after one more whole digit; it may be dead."""
        rule, low, high = self.rule, self.low, self.high
        if low < 0:
            left = ~low
            if left == 0:
                low = 0
            else:
                bound = int(rule.low_whole[-left])
                low = left - (digit > bound) if digit != bound else ~(left - 1)
        elif low:
            low -= 1
        if high is not None:
            if high < 0:
                left = ~high
                if left == 0:
                    return None
                bound = int(rule.high_whole[-left])
                high = left - 1 - (digit > bound) if digit != bound else ~(left - 1)
                if digit != bound and high < 0:
                    return None
            elif high == 0:
                return None
            else:
                high -= 1
        need, rest = self._residue(digit) if rule.modulus > 1 else (0, 0)
        if low == 0:
            rule = rule.without_low()
        return Decimal(rule, WHOLE, low, high, need, rest)

    def _residue(self, digit: int) -> tuple[int, int]:
        """`need` and `rest` after one more whole digit."""
        modulus, scale = self.rule.modulus, self.rule.scale
        if self.need:
            length, rest = self.need - 1, self.rest
        else:
            length, rest = 0, 10 * self.rest % modulus
        # try ever longer suffixes: from some length on one fits
        power = 10 ** (length + scale)
        while True:
            found = (rest - digit * power) % modulus
            if found < power:
                return length, found
            length, power, rest = length + 1, power * 10, rest * 10 % modulus

    def _whole_live(self) -> bool:
        """Whether some number of further whole digits, and a fraction, reach a value of the set.

        If l further digits do it, and neither l nor l + 1 is where a bound must be met digit by
        digit, then l + 1 do it too (append a zero): so the greatest such l and those two suffice.
        """
        low, high = self.low, self.high
        if high is None:
            return True
        lengths = {high} if high >= 0 else {~high, ~high - 1}
        if low < 0:
            lengths.add(~low)
        return any(length >= 0 and self._length_live(length) for length in lengths)

    def _length_live(self, length: int) -> bool:
        """Whether the set has a value with exactly `length` more whole digits."""
        rule, low, high = self.rule, self.low, self.high
        if high is None or length < (low if low >= 0 else ~low):
            return False
        if length > (high if high >= 0 else ~high):
            return False
        at_low, at_high = low == ~length, high == ~length
        if not rule.modulus:
            if at_low or not at_high or not rule.high_open or rule.high_part:
                return True
            return bool(rule.high_whole[len(rule.high_whole) - length :].strip("0"))
        if length < self.need:
            return False
        power = 10 ** (length + rule.scale)
        first, last = 0, power - 1
        if at_low:
            start = rule.low_whole[: len(rule.low_whole) - length]
            first = max(first, rule.least - int(start or "0") * power)
        if at_high:
            start = rule.high_whole[: len(rule.high_whole) - length]
            last = min(last, rule.greatest - int(start or "0") * power)
        rest = self.rest * 10 ** (length - self.need)
        return bool(first + (rest - first) % rule.modulus <= last)

    def _point(self) -> Decimal | None:
        rule = self.rule
        if not rule.point or self.need or self.low > 0 or self.low < ~0:
            return None
        if self.rest >= 10**rule.scale:
            return None
        low = 0 if self.low == ~0 else _FREE
        high = 0 if self.high == ~0 else _FREE
        return self._part(POINT, low, high, rule.scale, self.rest)

    def _part_digits(self) -> Sequence[range]:
        """The digits that may follow in a fraction, in runs that lead to the same state."""
        rule, cuts = self.rule, set(DIGIT_VALUES) if self.need else set[int]()
        if rule.modulus and not self.need:
            return [range(1)]
        for met, part in ((self.low, rule.low_part), (self.high, rule.high_part)):
            if met is not None and met != _FREE:
                cuts |= cuts_at(part[met:])
        return runs(0, cuts)

    def _part_digit(self, digit: int) -> Decimal | None:
        rule, low, high = self.rule, self.low, self.high
        if low != _FREE:
            bound = int(rule.low_part[low]) if low < len(rule.low_part) else 0
            if digit < bound:
                return None
            low = _FREE if digit > bound else min(low + 1, len(rule.low_part))
        if high is not None and high != _FREE:
            bound = int(rule.high_part[high]) if high < len(rule.high_part) else 0
            if digit > bound:
                return None
            high = _FREE if digit < bound else min(high + 1, len(rule.high_part))
        need, rest = self.need, self.rest
        if rule.modulus and need:
            need -= 1
            rest = (rest - digit * 10**need) % rule.modulus
            if rest >= 10**need:
                return None
        return self._part(FRACTION, low, high, need, rest)

    def _part(self, phase: int, low: int, high: int | None, need: int, rest: int) -> Decimal | None:
        """The state with these fields, those reset that no longer matter; None if it is dead."""
        rule = self.rule
        if not rule.modulus:
            if high == len(rule.high_part) and rule.high_open:
                return None
        else:
            met, power = rule.scale - need, 10**need
            first, last = 0, power - 1
            if low != _FREE:
                first = max(first, rule.least - _prefix(rule.low_whole, rule.low_part, met) * power)
            if high != _FREE:
                start = _prefix(rule.high_whole, rule.high_part, met)
                last = min(last, rule.greatest - start * power)
            if first + (rest - first) % rule.modulus > last:
                return None
            if need == 0:
                low = high = _FREE
        if low == _FREE:
            rule = rule.without_low()
        if high == _FREE:
            rule = rule.without_high()
        return Decimal(rule, phase, low, high, need, rest)


def _prefix(whole: str, part: str, places: int) -> int:
    """A number cut off after `places` fraction digits, without its point."""
    return int(whole + part[:places].ljust(places, "0") or "0")


def cuts_at(rest: str) -> set[int]:
    """Where runs of digits begin that are compared with the next digit of a bound."""
    digit = int(rest[0]) if rest else 0
    return {digit, digit + 1}


def runs(first: int, cuts: Iterable[int]) -> Sequence[range]:
    """The digits from `first` on, in runs that begin at `cuts`."""
    begins = sorted({first, 10, *(cut for cut in cuts if first < cut < 10)})
    return [range(begin, end) for begin, end in pairwise(begins)]


def grouped(targets: Iterable[tuple[range, T | None]]) -> tuple[tuple[CharSet, T], ...]:
    """Moves by digits, joined where the target is the same, without dead ones (None)."""
    groups: dict[T, list[int]] = {}
    for digits, state in targets:
        if state is not None:
            groups.setdefault(state, []).extend(digits)
    return tuple((digit_set(tuple(digits)), state) for state, digits in groups.items())


@lru_cache(maxsize=1024)
def digit_set(digits: tuple[int, ...]) -> CharSet:
    """The characters of some digits."""
    return CharSet.chars("".join(DIGITS[d] for d in digits))


_POINT = CharSet.chars(".")
