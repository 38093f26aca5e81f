"""The matchers of all alternatives, each made once, with the costs of their children.

A matcher asks for costs, and costs are found by asking matchers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from structgen.schema.arrays.contains import ContainsMatcher
from structgen.schema.arrays.matcher import ArrayMatcher
from structgen.schema.arrays.unique_items import RepeatedItemsMatcher, UniqueItemsMatcher
from structgen.schema.normal_form.combination import branches_of
from structgen.schema.normal_form.costs import Expressions
from structgen.schema.normal_form.finite_values import FiniteValues
from structgen.schema.normal_form.forms import (
    ANY_ARRAY,
    ANY_OBJECT,
    ArrayAlt,
    NormalForm,
    ObjectAlt,
)
from structgen.schema.objects.clause_matcher import ClauseMatcher
from structgen.schema.objects.counting import CountingMatcher
from structgen.schema.objects.matcher import ObjectMatcher


class Matchers(FiniteValues):
    """Costs of normal forms and matchers of alternatives, for one property order and gap length."""

    def __init__(
        self,
        expressions: Expressions,
        declared: bool,
        gap: int,
        shortest_value: Callable[[Matchers, NormalForm], object],
        missing: frozenset[ArrayAlt] = frozenset(),
        free: Matchers | None = None,
    ) -> None:
        """missing: alternatives taken to be empty. free: has matchers that are shared."""
        super().__init__(expressions, gap, missing)
        self._declared = declared
        self._shortest_value = shortest_value
        self._by_missing: dict[frozenset[ArrayAlt], Matchers] = {}  # by `missing`, shared
        self._objects: dict[ObjectAlt, ObjectMatcher] = {}
        self._siblings: dict[Hashable, list[ObjectMatcher]] = {}  # that differ in clauses only
        self._counting: dict[NormalForm, ObjectMatcher] = {}
        self._arrays: dict[ArrayAlt, ArrayMatcher] = {}
        if free is not None:
            self._objects[ANY_OBJECT] = free.object_matcher(ANY_OBJECT)
            self._arrays[ANY_ARRAY] = free.array_matcher(ANY_ARRAY)
        self._some_objects: dict[NormalForm, list[ObjectMatcher]] = {}
        self._some_arrays: dict[NormalForm, list[ArrayMatcher]] = {}

    def shortest_value(self, form: NormalForm) -> object:
        """See `FiniteValues.shortest_value`."""
        return self._shortest_value(self, form)

    def without(self, alt: ArrayAlt) -> Matchers:
        """See `FiniteValues.without`."""
        missing = self._missing | {alt}
        if missing not in self._by_missing:
            others = Matchers(
                self._expressions, self._declared, self.gap, self._shortest_value, missing
            )
            others._by_missing = self._by_missing
            self._by_missing[missing] = others
        return self._by_missing[missing]

    def objects(self, form: NormalForm) -> list[ObjectMatcher]:
        """See `Costs.objects`."""
        if form not in self._some_objects:
            matchers = self.object_matchers(form)
            self._some_objects[form] = [p for p in matchers if p.is_satisfiable()]
        return self._some_objects[form]

    def arrays(self, form: NormalForm) -> list[ArrayMatcher]:
        """See `Costs.arrays`."""
        if form not in self._some_arrays:
            matchers = (self.array_matcher(alt) for alt in form.arrays if alt not in self._missing)
            self._some_arrays[form] = [p for p in matchers if p.is_satisfiable()]
        return self._some_arrays[form]

    def object_matchers(self, form: NormalForm) -> Iterable[ObjectMatcher]:
        """See `Costs.object_matchers`."""
        branches = branches_of(form.objects)
        if branches is None:
            return map(self.object_matcher, form.objects)
        if form not in self._counting:
            declared = self._declared and bool(branches.order)
            self._counting[form] = CountingMatcher(branches, self, declared)
        return (self._counting[form],)

    def object_matcher(self, alt: ObjectAlt) -> ObjectMatcher:
        """The matcher of an alternative of objects."""
        if alt not in self._objects:
            siblings = self._siblings.setdefault(_without_clauses(alt), [])
            made = (
                ClauseMatcher(alt, self, self._declared, siblings)
                if alt.clauses
                else ObjectMatcher(alt, self, self._declared)
            )
            self._objects[alt] = made
            siblings.append(made)
        return self._objects[alt]

    def array_matcher(self, alt: ArrayAlt) -> ArrayMatcher:
        """See `Costs.array_matcher`."""
        if alt not in self._arrays:
            kind: type[ArrayMatcher] = ContainsMatcher if alt.contains else ArrayMatcher
            kind = (
                UniqueItemsMatcher if alt.unique else RepeatedItemsMatcher if alt.repeated else kind
            )
            self._arrays[alt] = kind(alt, self)
        return self._arrays[alt]


def _without_clauses(alt: ObjectAlt) -> Hashable:
    """All of an alternative but its clauses, to look it up by."""
    return alt.groups, alt.required, alt.least, alt.most
