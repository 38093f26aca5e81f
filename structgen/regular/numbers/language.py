"""The regular language of the JSON numbers between two ends, and of the multiples among them.

A text belongs to `number_language(...)` iff it is one of the `spellings(...)` for the same
constraints and its exact decimal value satisfies all of them; nothing is rounded to a float.
A finite automaton cannot weigh an exponent against arbitrarily many digits, hence spellings:

- no constraint, or only `minimum` or `maximum` 0: all of RFC 8259, section 6;
- any other end: plain decimals of any length (`-0`, `1.000`, `0.5`); with an exponent, numbers
  whose first digit other than 0 is at most `MAX_SHIFT` places from the point, followed by any
  digits (`1e-05`, `1.50E+300`, `12e03`, `0.5e1`), as long as the value is between 5e-324 and the
  greatest double; and zero with any exponent (`0.0E-3`);
- a multiple or `integer`, with or without ends: the same, with at most `MAX_FRACTION` digits after
  the first before an exponent (the repr of a double needs 16; plain decimals stay unlimited).

So `1e400` is left out under such constraints, as readers take it for infinity, and digits without
end before an exponent; the repr of every double is in.
The spellings depend on the kind of constraint, never on its values, which makes complements exact:
what violates constraints c is `intersect(spellings(c), complement(number_language(c)))`, and
`set_operations` finds the same for any union or intersection of languages made here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal as DecimalValue
from fractions import Fraction
from functools import cache, lru_cache
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

from structgen.errors import BudgetError, SpecError
from structgen.regular.charset import CharSet
from structgen.regular.expressions.base import EMPTY, Regex
from structgen.regular.expressions.build import chars, concat, literal, repeat, sub_automaton
from structgen.regular.expressions.logic import alt
from structgen.regular.expressions.nodes import Alt, SubAutomatonState
from structgen.regular.numbers.digits import DIGITS, Decimal
from structgen.regular.numbers.exponents import MAX_FRACTION, Scientific
from structgen.regular.numbers.range import Range, split_off

__all__ = [
    "JSON_NUMBER", "MAX_DIGITS", "MAX_FRACTION", "PLAIN_NUMBER", "NumberConstraints", "Spelling",
    "by_sign", "conjunction", "constraints_of", "equal_to", "is_scientific", "language_for",
    "number_alternatives", "number_language", "spelled", "spellings", "to_fraction",
]  # fmt: skip

MAX_DIGITS = 2000  # digits a bound or multiple may have before and after its point
_LIMIT = 10**MAX_DIGITS
_FINEST = 400  # places: every number spelled with an exponent is a multiple of 10 ** -_FINEST
_DIGITS_ONLY = ("integer", "digits")
Spelling = Literal["any", "decimal", "integer", "natural"]
Number = Fraction | int


def _optional(body: Regex) -> Regex:
    return repeat(body, 0, 1)


_DIGIT = chars(CharSet.chars(DIGITS))
_NONZERO = chars(CharSet.chars(DIGITS[1:]))
_SIGN = _optional(literal("-"))
_DOT = literal(".")
_ZERO = concat(literal("0"), _optional(concat(_DOT, repeat(literal("0"), 1))))
_EXPONENT = concat(
    chars(CharSet.chars("eE")), _optional(chars(CharSet.chars("+-"))), repeat(_DIGIT, 1)
)
_WHOLE = alt(literal("0"), concat(_NONZERO, repeat(_DIGIT, 0)))
_PLAIN = concat(_WHOLE, _optional(concat(_DOT, repeat(_DIGIT, 1))))
_POSITIVE = alt(
    concat(_NONZERO, repeat(_DIGIT, 0), _optional(concat(_DOT, repeat(_DIGIT, 1)))),
    concat(literal("0."), repeat(literal("0"), 0), _NONZERO, repeat(_DIGIT, 0)),
)
_ANY_ZERO = concat(_ZERO, _optional(_EXPONENT))
_ANY_POSITIVE = concat(_POSITIVE, _optional(_EXPONENT))

PLAIN_NUMBER: Regex = concat(_SIGN, _PLAIN)
JSON_NUMBER: Regex = concat(_SIGN, _PLAIN, _optional(_EXPONENT))


def number_language(
    *,
    integer: bool = False,
    minimum: Number | None = None,
    exclusive_minimum: Number | None = None,
    maximum: Number | None = None,
    exclusive_maximum: Number | None = None,
    multiple_of: Sequence[Number] = (),
    spelling: Spelling = "any",
    location: str = "",
) -> Regex:
    """The number texts whose value satisfies all constraints, among `spellings` for them.

    `spelling` narrows them: "decimal" leaves exponents out, "integer" also fractions (`1.0`), as
    draft 4 defines integers; "natural" is how programs print: what must be an `integer` in digits,
    zero without a sign, other numbers with one digit before the point if an exponent follows.
    That is no constraint: `set_operations` looks at the values of such texts only.
    `location` is the JSON Pointer that errors name. `EMPTY` when no number fits.
    Raises `SpecError` for a multiple <= 0 or a bound without a finite decimal spelling,
    `BudgetError` for values with more than `MAX_DIGITS` digits.
    """
    low, low_open = _tighter(minimum, exclusive_minimum, 1)
    high, high_open = _tighter(maximum, exclusive_maximum, -1)
    moduli = [Fraction(1)] if integer or spelling == "integer" else []
    moduli += [Fraction(value) for value in multiple_of]
    if any(value <= 0 for value in moduli):
        raise SpecError(
            "a multiple must be greater than 0",
            location=location,
            expected="a positive number",
            hint="remove it or correct it",
        )
    for value in (low, high, *moduli):
        _check_size(value, location)
    try:
        ends = (low, low_open, high, high_open)
        kind = "digits" if integer and spelling == "natural" else spelling
        return language_for(NumberConstraints(ends, *_common_multiple(moduli), kind))
    except ValueError as error:
        raise SpecError(
            f"a bound is {error}", location=location, expected="a decimal number"
        ) from error


def spellings(
    *,
    integer: bool = False,
    minimum: Number | None = None,
    exclusive_minimum: Number | None = None,
    maximum: Number | None = None,
    exclusive_maximum: Number | None = None,
    multiple_of: Sequence[Number] = (),
    spelling: Literal["any", "decimal", "integer"] = "any",
) -> Regex:
    """All number texts that `number_language` tells apart exactly under such constraints."""
    if spelling in {"decimal", "integer"}:
        return concat(_SIGN, _WHOLE if spelling == "integer" else _PLAIN)
    if integer or multiple_of:
        return _spellings(multiples=True)
    excluded = exclusive_minimum is not None or exclusive_maximum is not None
    return _spellings(multiples=False) if minimum or maximum or excluded else JSON_NUMBER


def equal_to(value: Number, *, spelling: Spelling = "any", location: str = "") -> Regex:
    """All texts with exactly this value (`1`, `1.0`, `1e0`, ...), among the `spellings` of a bound.

    Raises `SpecError` and `BudgetError` as `number_language` does.
    """
    whole = spelling == "natural" and Fraction(value).denominator == 1
    return number_language(
        integer=whole, minimum=value, maximum=value, spelling=spelling, location=location
    )


def to_fraction(value: float | DecimalValue, *, location: str = "") -> Fraction:
    """The exact value of a JSON number as Python read it; a float stands for its shortest decimal.

    Raises `SpecError` for NaN and infinities (and booleans), `BudgetError` for exponents beyond
    `MAX_DIGITS`.
    """
    decimal = DecimalValue(repr(value)) if isinstance(value, float) else DecimalValue(value)
    if isinstance(value, bool) or not decimal.is_finite():
        raise SpecError(f"{value!r} is not a number", location=location, expected="a JSON number")
    if decimal and abs(decimal.adjusted()) > MAX_DIGITS:
        raise _too_long(location)
    return Fraction(decimal)


@cache
def _spellings(*, multiples: bool) -> Regex:
    every = Range()
    if multiples:
        every = Range(modulus=1, scale=_FINEST)
    scientific = _language_from(Scientific.start(every))
    return concat(_SIGN, alt(_PLAIN, concat(_ZERO, _EXPONENT), scientific))


def spelled(strictness: int) -> Regex:
    """The spellings by strictness: 0 without ends and multiples, 1 with ends, 2 with multiples."""
    return _spellings(multiples=strictness == 2) if strictness else JSON_NUMBER


def _tightest(one: End, other: End, sign: int) -> End:
    """The stronger of two lower (sign 1) or upper (sign -1) ends."""
    if one[0] is None or other[0] is None:
        return other if one[0] is None else one
    return other if (sign * (other[0] - one[0]), other[1]) > (Fraction(0), one[1]) else one


def _tighter(
    closed: Number | None, opened: Number | None, sign: int
) -> tuple[Fraction | None, bool]:
    """The stronger of two ends (lower: sign 1, upper: -1), and whether it is excluded."""
    if opened is None or (closed is not None and sign * (closed - opened) > 0):
        return (None if closed is None else Fraction(closed)), False
    return Fraction(opened), True


def _check_size(value: Fraction | None, location: str) -> None:
    if value is not None and (abs(value.numerator) >= _LIMIT or value.denominator >= _LIMIT):
        raise _too_long(location)


def _too_long(location: str) -> BudgetError:
    return BudgetError(
        f"a bound or multiple has more than {MAX_DIGITS} digits",
        location=location,
        hint="round it",
    )


def _common_multiple(moduli: list[Fraction]) -> tuple[int, int]:
    """`(modulus, scale)` whose multiples of modulus / 10**scale are the decimals wanted; or (0, 0).

    A finite decimal is a multiple of p / q iff it is one of p / (the twos and fives of q).
    """
    if not moduli:
        return 0, 0
    common = Fraction(
        math.lcm(*(value.numerator for value in moduli)),
        math.gcd(*(value.denominator for value in moduli)),
    )
    twos, rest = split_off(common.denominator, 2)
    fives, rest = split_off(rest, 5)
    scale = max(twos, fives)
    return common.numerator * 2 ** (scale - twos) * 5 ** (scale - fives), scale


End = tuple[Fraction | None, bool]
Ends = tuple[Fraction | None, bool, Fraction | None, bool]


class NumberConstraints(NamedTuple):
    """The constraints that a number language was made for.

    ends: low, whether it is excluded, high, whether it is excluded (None: no end). Multiples are
    those of modulus / 10**scale (modulus 0: any value). `spelling` is "digits" for natural
    integers.
    """

    ends: Ends
    modulus: int
    scale: int
    spelling: str


_constraints: WeakKeyDictionary[Regex, NumberConstraints] = WeakKeyDictionary()
#: for each alternative of a language, by its `id`, the one of these that was made last
_languages_by_part: WeakValueDictionary[int, Regex] = WeakValueDictionary()
_constraints[JSON_NUMBER] = NumberConstraints((None, False, None, False), 0, 0, "any")
_NARROWER = {"any": 0, "natural": 1, "decimal": 1, "digits": 2, "integer": 2}


def language_for(constraints: NumberConstraints) -> Regex:
    """The language for some constraints; `constraints_of` gives them back."""
    language = _language(*constraints)
    if language is not EMPTY:  # where a spelling narrows nothing, the widest is what holds
        known = _constraints.get(language)
        if known is None or _NARROWER[constraints.spelling] < _NARROWER[known.spelling]:
            _constraints[language] = constraints
    if isinstance(language, Alt):
        for part in language.parts:
            _languages_by_part[part.id] = language
    return language


def number_alternatives(language: Regex) -> list[Regex]:
    """Split a union into the languages that `language_for` made, and the union of the rest."""
    parts = dict.fromkeys(language.parts if isinstance(language, Alt) else (language,))
    left = parts.copy()
    found: list[Regex] = []
    for part in parts:
        whole = _languages_by_part.get(part.id)
        if part in left and isinstance(whole, Alt) and parts.keys() >= {*whole.parts}:
            found.append(whole)
            for one in whole.parts:
                left.pop(one, None)
    return [*found, alt(*left)] if left else found


def constraints_of(language: Regex) -> NumberConstraints | None:
    """The constraints of a language that `number_language` made; None for all others."""
    return _constraints.get(language)


def conjunction(one: NumberConstraints, other: NumberConstraints) -> NumberConstraints | None:
    """Both constraints at once; None where neither spelling is the narrower one."""
    narrow, wide = sorted((one.spelling, other.spelling), key=_NARROWER.__getitem__, reverse=True)
    if narrow != wide and _NARROWER[narrow] == _NARROWER[wide]:
        return None
    low = _tightest(one.ends[:2], other.ends[:2], 1)
    high = _tightest(one.ends[2:], other.ends[2:], -1)
    moduli = [Fraction(f.modulus, 10**f.scale) for f in (one, other) if f.modulus]
    both = NumberConstraints((*low, *high), *_common_multiple(moduli), narrow)
    for constraints in (one, other):  # keep the constraints of a single value as they were given
        if constraints.ends == both.ends and constraints.spelling == narrow and is_single(both):
            return constraints
    return both


def is_single(constraints: NumberConstraints) -> bool:
    """Whether constraints leave a single value."""
    low, low_open, high, high_open = constraints.ends
    if low is None or low != high or low_open or high_open:
        return False
    return not constraints.modulus or not low % Fraction(constraints.modulus, 10**constraints.scale)


@lru_cache(maxsize=1024)
def _language(ends: Ends, modulus: int, scale: int, spelling: str) -> Regex:
    low, low_open, high, high_open = ends
    excluded = low_open or high_open
    if not (modulus or low or high or excluded) and is_scientific(spelling):
        return _signs(low, high)
    above, below = by_sign(NumberConstraints(ends, modulus, scale, spelling))
    return alt(_magnitudes(above, spelling), concat(literal("-"), _magnitudes(below, spelling)))


def by_sign(constraints: NumberConstraints) -> tuple[Range, Range]:
    """The range of values without a minus sign, and the range of magnitudes after one."""
    (low, low_open, high, high_open), modulus, scale, spelling = constraints
    above = _side(low, low_open, high, high_open, modulus, scale, spelling)
    if spelling == "digits" and (high is None or high >= 0):
        high, high_open = Fraction(0), True  # a sign is for numbers below zero only
    mirrored = (_negated(high), high_open, _negated(low), low_open)
    return above, _side(*mirrored, modulus, scale, spelling)


@lru_cache(maxsize=1024)
def _side(
    low: Fraction | None,
    low_open: bool,
    high: Fraction | None,
    high_open: bool,
    modulus: int,
    scale: int,
    spelling: str,
) -> Range:
    """The range of the values between two ends that are not below zero."""
    if low is None or low < 0:
        low, low_open = Fraction(0), False
    point, natural = spelling not in _DIGITS_ONLY, spelling in {"natural", "digits"}
    return Range(low, low_open, high, high_open, modulus, scale, point=point, natural=natural)


def _negated(value: Fraction | None) -> Fraction | None:
    return None if value is None else -value


def _signs(low: Fraction | None, high: Fraction | None) -> Regex:
    """The language of constraints that only forbid a sign: any spelling will do."""
    if low is high is None:
        return JSON_NUMBER
    above = EMPTY if high is not None else _ANY_POSITIVE
    below = EMPTY if low is not None else concat(literal("-"), _ANY_POSITIVE)
    return alt(concat(_SIGN, _ANY_ZERO), above, below)


def _magnitudes(rule: Range, spelling: str) -> Regex:
    """The texts without a sign whose value is in a range."""
    if rule.empty:
        return EMPTY
    some = spelling == "any" and rule.is_plainly_met
    plain = _language_from(Decimal.start(rule), some=some)
    if not is_scientific(spelling):
        return plain
    zero = concat(_ZERO, _EXPONENT) if rule.has(0) else EMPTY
    return alt(plain, zero, _language_from(Scientific.start(rule), some=some))


def is_scientific(spelling: str) -> bool:
    """Whether numbers may have exponents."""
    return spelling in {"any", "natural"}


def _language_from(start: SubAutomatonState | None, *, some: bool = False) -> Regex:
    """The language of a start state; `some` says that it is known to be non-empty."""
    if start is None:
        return EMPTY
    node = sub_automaton(start)
    return node if some or node.steps() else EMPTY
