"""Long lists of numbers in any spelling, read by their digits all at once.

A number of a list (`enum`) is a union of two automata: of its plain spellings, and of those with an
exponent. Side by side, these take work for each number. Here the same texts are sorted by what
stands behind the digits: whether a point was among them, and the exponent that is needed. There are
few such endings, and the digits in front of each are a list of words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from structgen.regular.charset import CharSet
from structgen.regular.expressions.base import EPSILON, Regex
from structgen.regular.expressions.build import chars, concat, literal, repeat, words
from structgen.regular.expressions.logic import alt, alternatives_of
from structgen.regular.expressions.nodes import Concat, SubAutomaton
from structgen.regular.numbers.digits import Decimal
from structgen.regular.numbers.exponents import MAX_SHIFT, Scientific, leading
from structgen.regular.numbers.range import Range

MANY = 16  # automata of single numbers from which on they are a list

_MINUS = literal("-")
_ZEROS = repeat(literal("0"), 0)
_FRACTION_OF_ZEROS = concat(literal("."), repeat(literal("0"), 1))
_E = chars(CharSet.chars("eE"))
_PLUS = alt(literal("+"), EPSILON)

#: whether a point was among the digits, and the exponent behind them (None: there is none)
Ending = tuple[bool, int | None]


@lru_cache(maxsize=1024)
def listed(language: Regex) -> Regex:
    """The same language; where many single numbers are in it, these are read by their digits."""
    above: list[Regex] = []
    below: list[Regex] = []
    for part in alternatives_of(language):
        if isinstance(part, Concat) and part.head is _MINUS:
            below += alternatives_of(part.tail)
        else:
            above.append(part)
    if sum(map(_is_single, (*above, *below))) < MANY:
        return language
    return alt(_by_digits(above), concat(_MINUS, _by_digits(below)))


def _is_single(part: Regex) -> bool:
    """Whether a language is one of the two that have the spellings of a single number."""
    state = part.state if isinstance(part, SubAutomaton) else None
    if isinstance(state, Decimal):
        return _is_value(state.rule) and state == Decimal.start(state.rule)
    if isinstance(state, Scientific):
        return _is_value(state.rule.rule) and state == Scientific.start(state.rule.rule)
    return False


def _is_value(rule: Range) -> bool:
    """Whether a range is a single value above zero in any spelling."""
    plain = rule.point and not (rule.natural or rule.padded or rule.modulus)
    ends = rule.low == rule.high and not (rule.low_open or rule.high_open)
    return plain and ends and rule.low > 0


def _by_digits(parts: Iterable[Regex]) -> Regex:
    """The union of some languages, of which those of single numbers are joined."""
    before: dict[Ending, list[str]] = {}
    others = []
    for part in parts:
        if _is_single(part):
            for digits, ending in _spellings(part.state):  # type: ignore[attr-defined]
                before.setdefault(ending, []).append(digits)
        else:
            others.append(part)
    joined = (concat(words(digits), _ending(*ending)) for ending, digits in before.items())
    return alt(*others, *joined)


def _spellings(state: Decimal | Scientific) -> Iterator[tuple[str, Ending]]:
    """The digits of a single number, with a point or without, and what must follow."""
    if isinstance(state, Decimal):
        rule = state.rule
        whole = rule.low_whole or "0"
        if rule.low_part:
            yield f"{whole}.{rule.low_part}", (True, None)
        else:
            yield whole, (False, None)
        return
    digits, power = leading(state.rule.rule.low_whole, state.rule.rule.low_part)
    for order in range(-MAX_SHIFT, MAX_SHIFT + 1):  # the power of ten of the first digit
        exponent = power - order
        if order < 0:
            yield f"0.{'0' * (-order - 1)}{digits}", (True, exponent)
        elif len(digits) > order + 1:
            yield f"{digits[: order + 1]}.{digits[order + 1 :]}", (True, exponent)
        else:
            yield digits.ljust(order + 1, "0"), (False, exponent)


def _ending(point: bool, exponent: int | None) -> Regex:
    """More zeros of a fraction, and an exponent, perhaps with leading zeros."""
    zeros = _ZEROS if point else alt(EPSILON, _FRACTION_OF_ZEROS)
    if exponent is None:
        return zeros
    signs = _PLUS if exponent > 0 else literal("-") if exponent < 0 else alt(_PLUS, literal("-"))
    power = concat(_ZEROS, literal(str(abs(exponent)))) if exponent else repeat(literal("0"), 1)
    return concat(zeros, _E, signs, power)
