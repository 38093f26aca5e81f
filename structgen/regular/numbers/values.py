"""Decide whether a formula over ranges of numbers, and multiples, has a value, by trying values.

What such a formula says of a number depends, outside all bounds, on the remainders by its divisors
alone. So the multiples of the finest unit from below the least bound to above the greatest, as many
more as it takes until the remainders repeat, stand for all numbers, with those between them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.regular.expressions.base import Regex
from structgen.regular.expressions.nodes import Alt, And, Not
from structgen.regular.numbers.language import (
    NumberConstraints,
    constraints_of,
    number_alternatives,
    spelled,
)

MOST = 200_000  # numbers that are tried
FEW = 100  # the same of numbers that do not fit 64 bits
BY_SPELLING = ("decimal", "integer")  # ranges that do not have all texts of a value
FARTHEST = 1 << 61  # units from zero, so that 64 bits are enough

Leaves = dict[Regex, NumberConstraints]
Flags = npt.NDArray[np.bool_]


def has_value(language: Regex) -> bool | None:
    """Whether some number is in a language; None if that is not known, or takes too many."""
    leaves: Leaves = {}
    if not _collect(language, leaves):
        return None
    steps = {one: Fraction(c.modulus, 10**c.scale) for one, c in leaves.items() if c.modulus}
    ends = [end for c in leaves.values() for end in c.ends[::2] if isinstance(end, Fraction)]
    unit = Fraction(1, math.lcm(*(x.denominator for x in (*ends, *steps.values()))))
    period = math.lcm(*(int(step / unit) for step in steps.values()))
    first = math.floor(min(ends, default=0) / unit) - period - 1
    last = math.ceil(max(ends, default=0) / unit) + period + 1
    step = 1
    for part in language.parts if isinstance(language, And) else ():
        if part in leaves:  # it holds of all
            low, _, high, _ = leaves[part].ends
            first = first if low is None else max(first, int(low / unit))
            last = last if high is None else min(last, int(high / unit))
            step = max(step, int(steps.get(part, 0) / unit))
    first = -(-first // step) * step
    far = max(-first, last, period) >= FARTHEST
    end = min(last, first + (FEW if far else MOST) * step)
    tried = (
        np.array(range(first, end + 1, step), object) if far else np.arange(first, end + 1, step)
    )
    for between in (False, True):
        held = {x: _fitting(c, unit, tried, between=between) for x, c in leaves.items()}
        if len(tried) and _holds(language, held).any():
            return True
    by_value = all(c.spelling not in BY_SPELLING for c in leaves.values())
    return False if by_value and end == last else None


def _collect(node: Regex, leaves: Leaves) -> bool:
    """Add the ranges that a formula is made of; whether it has no other parts."""
    constraints = constraints_of(node)
    if constraints is None and node in {spelled(1), spelled(2)}:
        constraints = constraints_of(spelled(0))
    if constraints is not None:
        leaves[node] = constraints
        return True
    return bool(_operands(node)) and all(_collect(part, leaves) for part in _operands(node))


def _operands(node: Regex) -> tuple[Regex, ...]:
    """What a formula joins; () for all else."""
    if isinstance(node, Not):
        return (node.body,)
    if isinstance(node, And):
        return node.parts
    if not isinstance(node, Alt) or node.plain:
        return ()
    apart = number_alternatives(node)
    return tuple(apart) if len(apart) > 1 else node.parts


def _fitting(
    c: NumberConstraints, unit: Fraction, tried: npt.NDArray[Any], *, between: bool
) -> Flags:
    """Which numbers, in units, meet constraints; between: of those a little greater than they."""
    low, low_open, high, high_open = c.ends
    found = np.full(len(tried), not (between and c.modulus))
    if low is not None:
        found &= tried > int(low / unit) if low_open and not between else tried >= int(low / unit)
    if high is not None:
        found &= tried < int(high / unit) if high_open or between else tried <= int(high / unit)
    if c.modulus:
        found &= tried % int(Fraction(c.modulus, 10**c.scale) / unit) == 0
    return found


def _holds(node: Regex, held: dict[Regex, Flags]) -> Flags:
    """Which numbers are in a language, given for each range which it has."""
    if node in held:
        return held[node]
    parts = [_holds(part, held) for part in _operands(node)]
    if isinstance(node, Not):
        return ~parts[0]
    found: Flags = (np.logical_and if isinstance(node, And) else np.logical_or).reduce(parts)
    return found
