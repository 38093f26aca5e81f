"""Intersections and complements of number languages, by value rather than by spelling.

Listed texts are numbers as somebody wrote them (`1.50`, `1e3`): each stands for its value, and is
kept where the value fits, whatever spellings the other languages have.
Unions are right as `regex.alt` makes them; `number_union` leaves out what adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from structgen.errors import BudgetError
from structgen.regular.expressions.base import EMPTY, Regex
from structgen.regular.expressions.build import concat, words
from structgen.regular.expressions.logic import alt, complement, intersect
from structgen.regular.expressions.nodes import (
    ANY,
    Alt,
    And,
    Chars,
    Concat,
    Not,
    SubAutomaton,
    matches,
    texts_of,
)
from structgen.regular.numbers.digits import Decimal as DecimalState
from structgen.regular.numbers.exponents import Scientific
from structgen.regular.numbers.language import (
    JSON_NUMBER,
    PLAIN_NUMBER,
    Ends,
    NumberConstraints,
    conjunction,
    constraints_of,
    equal_to,
    is_single,
    language_for,
    number_alternatives,
    spelled,
)
from structgen.regular.numbers.range import Range
from structgen.regular.numbers.values import has_value

_WIDER = {  # spellings that have all of one
    "any": ("any",),
    "natural": ("any", "natural"),
    "decimal": ("any", "decimal"),
    "integer": ("any", "decimal", "integer"),
    "digits": ("any", "natural", "digits"),
}
MOST_PIECES = 64  # ranges that one language is known to be the union of

Pieces = list[NumberConstraints]
ALL = NumberConstraints((None, False, None, False), 0, 0, "any")


def number_intersection(*languages: Regex) -> Regex:
    """The intersection of number languages; `EMPTY` where they have no value in common.

    Languages whose constraints are known become one language with all constraints. Whether a value
    is left beside complements is searched among plain decimals: every value has one, and the search
    is shorter.
    """
    for place, language in enumerate(languages):
        listed, rest = _split(language)
        if listed:
            beside = languages[:place] + languages[place + 1 :]
            kept = words(_spellings_within(listed, [*map(_any_spelling, beside)]))
            return kept if rest is EMPTY else alt(kept, number_intersection(rest, *beside))
    parts = [part for of in languages for part in (of.parts if isinstance(of, And) else (of,))]
    if any(isinstance(part, Not) and _is_spelling(part.body) for part in parts):
        parts = [_any_spelling(part) for part in parts]
    pieces: Pieces | None = None  # what is known of the intersection as a union of ranges
    others: list[Regex] = []
    for part in parts:
        known = _ranges(part)
        joint = known if pieces is None or known is None else _conjunctions(pieces, known)
        if joint is None:
            others.append(part)
        else:
            pieces = joint
    if pieces is not None:
        pieces, others = _without_ranges(pieces, others)
    if pieces is not None and len(pieces) != 1:
        return alt(*(number_intersection(language_for(piece), *others) for piece in pieces))
    constraints = None if pieces is None else pieces[0]
    whole = ANY if constraints is None else language_for(constraints)
    if whole is JSON_NUMBER and any(map(_has_numbers_alone, others)):
        whole = ANY
    found = intersect(whole, *others)
    if not isinstance(found, And) or found in languages:
        return found
    decided = has_value(found)
    if decided is not None:
        found._nonempty = decided
        single = constraints is not None and is_single(constraints)
        return EMPTY if not decided else whole if single else found
    try:
        return EMPTY if intersect(_without_exponents(found), PLAIN_NUMBER).is_empty() else found
    except BudgetError:
        return found  # whoever needs to know will look again, and say where


def _has_numbers_alone(language: Regex) -> bool:
    """Whether a language is plainly within that of all numbers, as those of this module are.

    Not a complement by itself: `_beside` leaves such alternatives.
    """
    if isinstance(language, Alt):
        return all(map(_has_numbers_alone, language.parts))
    if isinstance(language, And):
        return any(map(_has_numbers_alone, language.parts))
    return language is not ANY and not isinstance(language, Not)


def number_union(*languages: Regex) -> Regex:
    """The union of number languages, without multiples of what is among them anyway."""
    if JSON_NUMBER in languages:
        return JSON_NUMBER
    known = {x: c for x in languages if (c := constraints_of(x)) is not None and c.modulus > 1}
    if len(known) < 2:
        return alt(*languages)
    added: list[Regex] = []
    for one, constraints in sorted(known.items(), key=lambda pair: _narrowness(pair[1])):
        step = _step(constraints)
        fewer = [known[x] for x in added if not step % _step(known[x])]
        if not any(conjunction(constraints, other) == constraints for other in fewer):
            added.append(one)
    return alt(*(x for x in languages if x in added or x not in known))


@lru_cache(maxsize=4096)
def tells_apart(other: Regex, numbers: Regex) -> bool:
    """Whether a language has the texts of some numbers whose values it has, as is seen easily."""
    if EMPTY in (other, numbers) or other is JSON_NUMBER:
        return True
    theirs, ours = _ranges(other), _ranges(numbers)
    if theirs is None or ours is None:
        return False
    return all(_has_spellings(x, one) for x in theirs for one in ours)


def told_apart_alike(language: Regex) -> Hashable:
    """What `tells_apart` looks at of a language: the same of languages that it treats alike."""
    ranges = _ranges(language)
    if language in (EMPTY, JSON_NUMBER) or ranges is None:
        return language
    return frozenset((one.spelling, _strictness_of(one)) for one in ranges)


def _has_spellings(other: NumberConstraints, one: NumberConstraints) -> bool:
    """Whether a range has all spellings that another one has of a value in both."""
    if other.spelling not in _WIDER[one.spelling]:
        return False
    without_exponents = one.spelling not in {"any", "natural"}
    return without_exponents or _strictness_of(one) >= _strictness_of(other)


def _strictness_of(constraints: NumberConstraints) -> int:
    return 2 if constraints.modulus else int(_has_ends(constraints))


def _narrowness(constraints: NumberConstraints) -> tuple[Fraction, int]:
    """To sort by: ranges that contain others mostly come before these."""
    return _step(constraints), sum(end is not None for end in constraints.ends[::2])


def _split(language: Regex) -> tuple[list[str], Regex]:
    """The listed texts of a language, and the rest of it."""
    listed: list[str] = []
    rest: list[Regex] = []
    for part in language.parts if isinstance(language, Alt) else (language,):
        texts = texts_of(part)
        if isinstance(part, Chars):
            texts = [chr(c) for lo, hi in part.chars.ranges for c in range(lo, hi + 1)]
        if texts is None:
            rest.append(part)
        else:
            listed += texts
    return listed, language if not listed else alt(*rest)


def _spellings_within(listed: list[str], languages: list[Regex]) -> Iterator[str]:
    """For each listed value that fits, its text; plain digits where languages want these.

    They do where the text is beyond `spellings`, or for integers as draft 4 has them.
    """
    for text in listed:
        whole, point, fraction = format(Decimal(text), "f").partition(".")
        for spelled_so in (text, (whole + point + fraction.rstrip("0")).rstrip(".")):
            if all(matches(language, spelled_so) for language in languages):
                yield spelled_so
                break


def _ranges(language: Regex) -> Pieces | None:
    """The constraints of the ranges of which a language is the union; None if it is none."""
    found: list[Regex] = []
    for part in number_alternatives(language):
        others = isinstance(part, Alt) and constraints_of(part) is None
        found += part.parts if isinstance(part, Alt) and others else (part,)
    constraints = [constraints_of(part) for part in found]
    return None if None in constraints else [one for one in constraints if one is not None]


def _conjunctions(some: Pieces, others: Pieces) -> Pieces | None:
    """The ranges that two unions of ranges have in common; None where they would be many."""
    if min(len(some), len(others)) > 1 and len(some) * len(others) > MOST_PIECES:
        return None
    joint = [conjunction(one, other) for one in some for other in others]
    known = [one for one in joint if one is not None and language_for(one) is not EMPTY]
    return None if None in joint else known


def _without_ranges(pieces: Pieces, others: list[Regex]) -> tuple[Pieces, list[Regex]]:
    """Cut from ranges those that others rule out, and drop these, and what holds anyway.

    That is exact where what is ruled out are all values between two ends that the ranges may have.
    """
    left = []
    for other in others:
        ruled_out = _ranges(other.body) if isinstance(other, Not) else None
        cut = None if ruled_out is None else _cut(pieces, ruled_out)
        if cut is None:
            left.append(other)
        else:
            pieces = cut
    strict = min(map(_strictness_of, pieces), default=2)
    wider = [*map(spelled, range(strict + 1))]  # they have all spellings of such ranges
    return pieces, [_beside(wider, other) for other in left if other not in wider]


def _beside(wider: list[Regex], node: Regex) -> Regex:
    """A language with ANY for those that have all texts of what stands beside it anyway."""
    if node in wider:
        return ANY
    if isinstance(node, Not):
        return complement(_beside(wider, node.body))
    if isinstance(node, And):
        return intersect(*(_beside(wider, part) for part in node.parts))
    if isinstance(node, Alt) and any(isinstance(part, And | Not) for part in node.parts):
        return alt(*(_beside(wider, part) for part in node.parts))
    return node


def _cut(pieces: Pieces, ruled_out: Pieces) -> Pieces | None:
    """Ranges without the values in others; None where these are not ranges again, or many."""
    for other in ruled_out:
        (low, low_open, high, high_open), step = other.ends, _step(other)
        if step and not all(one.modulus and not _step(one) % step for one in pieces):
            return None
        if other.spelling != "any":
            return None
        if not all(_has_ends(one) or one.modulus or _has_ends(other) for one in pieces):
            return None
        sides = []
        if low is not None:
            sides.append(ALL._replace(ends=(None, False, low, not low_open)))
        if high is not None:
            sides.append(ALL._replace(ends=(high, not high_open, None, False)))
        cut = _conjunctions(pieces, sides) if sides else []
        if cut is None or len(cut) > max(MOST_PIECES, len(pieces)):
            return None
        pieces = cut
    return pieces


def _step(constraints: NumberConstraints) -> Fraction:
    """The distance of the multiples that a range has; 0 where it has all numbers."""
    return Fraction(constraints.modulus, 10**constraints.scale)


def _has_ends(constraints: NumberConstraints) -> bool:
    """Whether a range has ends near which only some spellings differ (`spelled`)."""
    low, low_open, high, high_open = constraints.ends
    return bool(low or high or low_open or high_open)


def number_complement(language: Regex) -> Regex:
    """The JSON number texts whose value is none of those that a language stands for.

    `language` is made of languages of this module by unions, intersections and this function. All
    of them are exact on the spellings of the strictest kind of constraint in it, and those are
    the spellings of the complement, so no value has texts in both.
    """
    if language is EMPTY or language is JSON_NUMBER:
        return EMPTY if language is JSON_NUMBER else JSON_NUMBER
    widened = _any_spelling(language)
    ranges = _ranges(widened)
    if ranges is not None and all(map(_has_ends, ranges)):
        left = _cut([ALL], ranges)
        if left is not None:
            return alt(*map(language_for, left))
    return intersect(spelled(_strictness(widened)), complement(widened))


def has_infinitely_many_values(language: Regex) -> bool:
    """Whether a language plainly has infinitely many values."""
    constraints = constraints_of(language)
    if constraints is None:
        return False
    low, _, high, _ = constraints.ends
    return low is None or high is None or (not constraints.modulus and low < high)


def has_single_values(node: Regex) -> bool:
    """Whether a number language, or what is left of one, has or excludes single values."""
    if isinstance(node, Not):
        return has_single_values(node.body)
    if isinstance(node, Alt | And):
        return any(map(has_single_values, node.parts))
    rule = _rule_of(node.tail if isinstance(node, Concat) else node)
    return rule is not None and rule.low == rule.high


def multiples(language: Regex) -> Iterator[Decimal] | None:
    """The ascending values of a language of multiples between two ends; None of others."""
    constraints = constraints_of(language)
    if constraints is None or not constraints.modulus:
        return None
    low, low_open, high, high_open = constraints.ends
    if low is None or high is None:
        return None
    step = Fraction(constraints.modulus, 10**constraints.scale)
    first, last = math.ceil(low / step), math.floor(high / step)
    first += low_open and first * step == low
    last -= high_open and last * step == high
    places = range(first, last + 1)
    return (Decimal(f"{place * constraints.modulus}E-{constraints.scale}") for place in places)


def _is_spelling(node: Regex) -> bool:
    """Whether a language restricts how values are spelled (natural spellings do not count)."""
    if isinstance(node, Alt | And):
        return any(map(_is_spelling, node.parts))
    if isinstance(node, Concat):
        return _is_spelling(node.tail)
    rule = _rule_of(node)
    return rule is not None and not rule.point and not rule.natural


def _any_spelling(node: Regex) -> Regex:
    """A language with all spellings of its values in place of the natural ones."""
    constraints = constraints_of(node)
    if constraints is not None:
        natural = constraints.spelling in {"natural", "digits"}
        return language_for(constraints._replace(spelling="any")) if natural else node
    if node in {spelled(1), spelled(2)}:
        return node
    listed, rest = _split(node)
    if listed:
        return alt(*(equal_to(Fraction(text)) for text in listed), _any_spelling(rest))
    if isinstance(node, And):
        return intersect(*map(_any_spelling, node.parts))
    if isinstance(node, Alt):
        parts = number_alternatives(node)
        return alt(*map(_any_spelling, parts if len(parts) > 1 else node.parts))
    if isinstance(node, Concat) and isinstance(node.tail, Alt) and not node.plain:
        return alt(*(_any_spelling(concat(node.head, part)) for part in node.tail.parts))
    of, negative = (node.tail, True) if isinstance(node, Concat) else (node, False)
    rule = _rule_of(of)
    if rule is None or not rule.natural:
        return node
    ends: Ends = (rule.low, rule.low_open, rule.high, rule.high_open)
    if negative:
        high = None if rule.high is None else -rule.high
        ends = (high, rule.high_open, -rule.low, rule.low_open)
    return language_for(NumberConstraints(ends, rule.modulus, rule.scale, "any"))


def _strictness(node: Regex) -> int:
    """The strictness of a language's spellings, see `language.spelled`."""
    if isinstance(node, Alt | And):
        return max(map(_strictness, node.parts))
    if isinstance(node, Not):
        return _strictness(node.body)
    if isinstance(node, Concat):
        return max(_strictness(node.head), _strictness(node.tail))
    rule = _rule_of(node)
    return 0 if rule is None or not rule.point else 2 if rule.modulus else 1


def _without_exponents(node: Regex) -> Regex:
    """A language without its automata that read exponents."""
    if isinstance(node, Alt | And):
        parts = [_without_exponents(part) for part in node.parts]
        return alt(*parts) if isinstance(node, Alt) else intersect(*parts)
    if isinstance(node, Not):
        return complement(_without_exponents(node.body))
    if isinstance(node, Concat):
        return concat(_without_exponents(node.head), _without_exponents(node.tail))
    return EMPTY if isinstance(node, SubAutomaton) and isinstance(node.state, Scientific) else node


def _rule_of(node: Regex) -> Range | None:
    """The range that a number automaton was made for."""
    state = node.state if isinstance(node, SubAutomaton) else None
    if isinstance(state, Scientific):
        return state.rule.rule
    return state.rule if isinstance(state, DecimalState) else None
