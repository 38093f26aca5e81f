"""Clauses that are decided by which of some constants a value equals, as by the tag of a union.

Conditions on a tag are clauses such as "the tag is not 'a', or ...". If all that pending clauses
ask of a value is to be, or not to be, one of some constants, then each constant has one outcome,
and so have all other values together. So there are no more outcomes than constants and one.

Other conditions on scalars, as bounds of a version or beginnings of a name, mostly cut the values
into few parts as well (`parted`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from structgen.regular.numbers.set_operations import multiples
from structgen.regular.regex import EMPTY
from structgen.schema.normal_form.costs import Costs
from structgen.schema.normal_form.expressions import TRUE, Expr, Values, allowed, conjoin
from structgen.schema.normal_form.forms import NormalForm
from structgen.schema.normal_form.listings import is_listing
from structgen.schema.values import Value, value_of

FEW_NUMBERS = 64  # that are looked at one by one
FEW_PARTS = 16  # into which a few conditions may cut the values

Outcome = tuple[int, ...]  # the indices of the clauses that are not satisfied


class Fitting(NamedTuple):
    """The values that fit an expression of constants: those listed (None: all), but for some."""

    listed: Values
    excluded: frozenset[Value]

    def has(self, value: Value) -> bool:
        """Whether a value fits."""
        return (self.listed is None or value in self.listed) and value not in self.excluded

    def among(self, values: frozenset[Value]) -> frozenset[Value]:
        """Those of some values that fit."""
        return (values if self.listed is None else values & self.listed) - self.excluded

    @property
    def mentioned(self) -> frozenset[Value]:
        """The constants."""
        return self.excluded if self.listed is None else self.listed | self.excluded


class DecidingValues:
    """For each pending clause, the constants that satisfy it."""

    def __init__(self, satisfiers: list[list[Fitting]], every: Values = None) -> None:
        """every: all values that may come, if they are few numbers."""
        self._satisfiers = satisfiers
        self._every = every
        self._mentioning: dict[Value, list[int]] = {}  # indices of clauses
        for i, fitting in enumerate(satisfiers):
            for value in frozenset().union(*(f.mentioned for f in fitting)):
                self._mentioning.setdefault(value, []).append(i)
        self.mentioned = frozenset(self._mentioning)

    def outcomes(self, child: Expr, costs: Costs) -> Iterator[tuple[Outcome, Expr]]:
        """Each outcome that a value which fits `child` may have, with what it must fit for that."""
        listed = allowed(child) if self._every is None else self._every
        own = fitting_values(child)
        exact = own is not None and own.listed is not None
        others = dict.fromkeys(
            i
            for i, fitting in enumerate(self._satisfiers)
            if all(f.listed is not None for f in fitting)
        )
        by_outcome: dict[Outcome, set[Value]] = {}
        for value in self.mentioned if listed is None else listed:
            left = others
            for i in self._mentioning.get(value, ()):
                satisfied = any(f.has(value) for f in self._satisfiers[i])
                if satisfied == (i in left):
                    left = others.copy() if left is others else left
                    left.update({i: None}) if not satisfied else left.pop(i)
            by_outcome.setdefault(tuple(sorted(left)), set()).add(value)
        if listed is None:
            none_of_them = costs.negation(costs.one_of(self.mentioned)) if self.mentioned else TRUE
            yield tuple(others), conjoin(child, none_of_them)
        for outcome, values in by_outcome.items():
            fitting = costs.one_of(frozenset(values))
            yield outcome, fitting if exact else conjoin(child, fitting)


def parted(
    child: Expr, conditions: Sequence[Expr], costs: Costs
) -> list[tuple[Expr, frozenset[Expr]]] | None:
    """The parts into which conditions cut the values that fit `child`, each with those that hold.

    None where they are not about scalars only, or the parts are many more than the conditions.
    """
    if not all(costs.normal_form_of(x).is_about_scalars for x in (child, *conditions)):
        return None
    parts: list[tuple[Expr, frozenset[Expr]]] = [(child, frozenset())]
    for x in conditions:
        halves = []
        for values, held in parts:
            inside, outside = conjoin(values, x), conjoin(values, costs.negation(x))
            if not costs.satisfiable(inside):
                halves.append((values, held))
            elif not costs.satisfiable(outside):
                halves.append((values, held | {x}))
            else:
                halves += [(inside, held | {x}), (outside, held)]
        parts = halves
        if len(parts) > 2 * len(conditions) + FEW_PARTS:
            return None
    return parts


def few_numbers(form: NormalForm) -> Values:
    """The values that fit a normal form if they are a few multiples between two ends, or none."""
    if form.null or form.true or form.false or form.string is not EMPTY or form.arrays:
        return None
    if form.objects != ():
        return None
    if form.number is EMPTY:
        return frozenset()
    listed = multiples(form.number)
    found = None if listed is None else [*islice(listed, FEW_NUMBERS + 1)]
    return None if found is None or len(found) > FEW_NUMBERS else frozenset(map(value_of, found))


def fitting_values(expr: Expr) -> Fitting | None:
    """The values that fit, if the expression has nothing but constants."""
    listed: Values = None
    excluded: frozenset[Value] = frozenset()
    for atom in expr:
        if atom.excluded_values:
            excluded |= atom.excluded_values
        elif atom.allowed is not None and is_listing(atom.value):
            listed = atom.allowed if listed is None else listed & atom.allowed
        else:
            return None
    return Fitting(listed, excluded)
