"""The values of an expression, listed if they are few; whether they are infinitely many.

`uniqueItems` asks for them: whether an array can be finished depends on how many different values
its items may still have.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from structgen.errors import BudgetError
from structgen.regular.infinite import has_words, is_infinite
from structgen.regular.lone_surrogates import with_stand_ins, with_surrogates
from structgen.regular.numbers.language import equal_to, to_fraction
from structgen.regular.numbers.set_operations import (
    has_infinitely_many_values,
    multiples,
    number_complement,
    number_intersection,
)
from structgen.regular.regex import (
    EMPTY,
    complement,
    intersect,
    shortest,
    words,
)
from structgen.regular.words import is_spellable
from structgen.schema.normal_form.costs import Costs, Expressions
from structgen.schema.normal_form.expressions import Expr, allowed, conjoin
from structgen.schema.normal_form.forms import ArrayAlt, NormalForm
from structgen.schema.normal_form.listings import is_listing
from structgen.schema.values import Boolean, Members, Value, data_of, scalar, value_of
from structgen.schema.values import members as members_of
from structgen.util.cancellation import checkpoint

MAX_VALUES = 2000  # listed of one expression
MAX_NESTED = 8  # questions of `surely_infinite` that lead to each other


class FiniteValues(Costs):
    """Costs of normal forms, and their values where these are few."""

    def __init__(
        self, expressions: Expressions, gap: int, missing: frozenset[ArrayAlt] = frozenset()
    ) -> None:
        super().__init__(expressions, gap, missing)
        #: by expression: a number, and all values if these are fewer, else None
        self._domains: dict[Expr, tuple[int, list[Value] | None]] = {}
        self._infinite: dict[NormalForm, bool] = {}
        self._being_counted: set[NormalForm] = set()  # by `surely_infinite`
        self._listing: set[Expr] = set()  # expressions whose values are being listed

    @property
    def has_surrogates(self) -> bool:
        """Whether strings may have unpaired surrogates."""
        return self._expressions.surrogates

    def can_write(self, text: str) -> bool:
        """Whether there is a JSON string of a text."""
        return with_stand_ins(text) is not None if self.has_surrogates else is_spellable(text)

    @abstractmethod
    def shortest_value(self, form: NormalForm) -> object:
        """A value that fits a normal form, with the shortest text."""

    @abstractmethod
    def without(self, alt: ArrayAlt) -> FiniteValues:
        """The costs that there would be if no array fitted the alternative `alt`."""

    def satisfiable(self, expr: Expr) -> bool:
        """See `Costs.satisfiable`; of infinitely many values some are left without a few."""
        whole = tuple([atom for atom in expr if not atom.excluded_values])
        if len(whole) < len(expr) and self.surely_infinite(self.normal_form_of(whole)):
            return True
        return super().satisfiable(expr)

    def domain(self, expr: Expr, wanted: int) -> list[Value] | None:
        """All values that fit an expression, None if they are at least `wanted`.

        None as well for an expression whose values are just being listed: a value that contains
        another one that fits can be nested ever deeper.
        """
        if expr in self._listing:
            return None
        asked, found = self._domains.get(expr, (0, None))
        if found is None and wanted > asked:
            self._listing.add(expr)
            try:
                found = _distinct_values(self, expr, wanted)
            finally:
                self._listing.discard(expr)
            self._domains[expr] = wanted, found
        return found if found is not None and len(found) < wanted else None

    def surely_infinite(self, form: NormalForm) -> bool:
        """Whether infinitely many values certainly fit a normal form.

        Where it is asked while that is being found out, or too deep within such questions, no.
        """
        if form in self._infinite:
            return self._infinite[form]
        if form in self._being_counted or len(self._being_counted) >= MAX_NESTED:
            return False
        self._being_counted.add(form)
        try:
            found = self._infinite[form] = _surely_infinite(self, form)
        finally:
            self._being_counted.discard(form)
        return found


def _distinct_values(costs: FiniteValues, expr: Expr, wanted: int) -> list[Value] | None:
    """All values that fit, None if they are at least `wanted`."""
    if wanted > MAX_VALUES:
        raise BudgetError(
            f"more than {MAX_VALUES} different items are asked for",
            hint="lower minItems, or give the items more room",
        )
    form = costs.normal_form_of(expr)
    if costs.surely_infinite(form) or has_words(form.string, wanted):
        return None
    constants = _constants(costs, expr, form)
    if constants is not None:
        return constants if len(constants) < wanted else None
    if _has_member_of_many(costs, form, wanted):
        return None
    found: list[Value] = []
    for value in _values(costs, expr, wanted):
        found.append(value)
        if len(found) >= wanted:
            return None
    return found


def _surely_infinite(
    costs: FiniteValues, form: NormalForm, within: frozenset[NormalForm] = frozenset()
) -> bool:
    """Whether infinitely many values certainly fit a normal form.

    They do where a value that fits may contain others that do: those can be nested ever deeper.
    within: the normal forms around it.
    """
    if has_infinitely_many_values(form.number) or is_infinite(form.string):
        return True
    if costs.of_form(form) is None:
        return False
    if form in within:
        return True
    inside = within | {form}

    def child_is_infinite(child: Expr) -> bool:
        return _surely_infinite(costs, costs.normal_form_of(child), inside)

    arrays, objects = costs.arrays(form), costs.objects(form)
    return any(a.surely_infinite(child_is_infinite) for a in arrays) or any(
        o.surely_infinite(child_is_infinite) for o in objects
    )


def _constants(costs: FiniteValues, expr: Expr, form: NormalForm) -> list[Value] | None:
    """All values that fit, if constants list them and none is an array or object."""
    for atom in expr:
        if not atom.excluded_values and (atom.allowed is None or not is_listing(atom.value)):
            return None
    values = allowed(expr)
    if values is None or any(isinstance(value, tuple | Members) for value in values):
        return None
    return [value for value in values if _fits(costs, form, value)]


def _fits(costs: FiniteValues, form: NormalForm, value: Value) -> bool:
    """Whether a scalar that constants allow can be written."""
    if value is None:
        return form.null
    if isinstance(value, Boolean):
        return form.true if value.value else form.false
    if isinstance(value, str):
        return form.string is not EMPTY and costs.can_write(value)
    return form.number is not EMPTY


def _values(costs: FiniteValues, expr: Expr, wanted: int) -> Iterator[Value]:
    """All values that fit, each found as the shortest of those that are left.

    Objects by their members, if each has less than `wanted` values.
    """
    form = costs.normal_form_of(expr)
    if form.null:
        yield None
    for literal in (False, True):
        if form.true if literal else form.false:
            yield Boolean(literal)
    number, listed = form.number, multiples(form.number)
    if listed is not None:
        yield from map(value_of, listed)
        number = EMPTY
    while (text := shortest(number)) is not None:
        value = scalar(text.encode())
        yield value
        apart = number_complement(equal_to(to_fraction(data_of(value))))
        number = number_intersection(number, apart)
    strings, taken = form.string, []
    while (word := shortest(strings)) is not None:
        yield with_surrogates(word) if costs.has_surrogates else word
        taken.append(word)
        strings = intersect(form.string, complement(words(taken)))
    listed = None if form.arrays else _objects_by_member(costs, form, wanted)
    if listed is not None:
        yield from listed
    elif form.arrays or form.objects:
        yield from _containers(costs, expr)


def _has_member_of_many(costs: FiniteValues, form: NormalForm, wanted: int) -> bool:
    """Whether some object may have a member with so many values, whatever else it has."""
    return any(
        costs.domain(child, wanted) is None
        for matcher in costs.objects(form)
        for child, _ in (matcher.listed_members or {}).values()
    )


def _objects_by_member(
    costs: FiniteValues, form: NormalForm, wanted: int
) -> Iterator[Value] | None:
    """All objects that fit; None if other things than the values of named members decide."""
    choices: list[list[list[tuple[str, Value] | None]]] = []
    for matcher in costs.objects(form):
        children = matcher.listed_members
        if children is None:
            return None
        choices.append([])
        for name, (child, required) in children.items():
            values = costs.domain(child, wanted)
            if values is None:
                return None
            absent = [] if required else [None]
            choices[-1].append([*absent, *((name, value) for value in values)])
    return _joined_members(choices)


def _joined_members(choices: list[list[list[tuple[str, Value] | None]]]) -> Iterator[Value]:
    """The objects with one of the possible members for each name, each once; None: it is absent."""
    seen: set[Value] = set()
    for members in choices:
        for way in product(*members):
            found = members_of(member for member in way if member is not None)
            if found not in seen:
                seen.add(found)
                yield found


def _containers(costs: FiniteValues, expr: Expr) -> Iterator[Value]:
    """The arrays and objects that fit: a shortest one, then a shortest that differs, and so on."""
    found: list[Value] = []
    while True:
        others = costs.negation(costs.one_of(frozenset(found))) if found else ()
        form = costs.normal_form_of(conjoin(expr, others))
        form = replace(form, null=False, true=False, false=False, number=EMPTY, string=EMPTY)
        if costs.of_form(form) is None:
            return
        found.append(value_of(costs.shortest_value(form)))
        yield found[-1]


def has_perfect_matching(domains: list[list[Value]]) -> bool:
    """Whether each domain can give a value that no other gives: a bipartite matching.

    Kuhn's algorithm of augmenting paths, found breadth first; O(domains^2 x values).
    """
    giver: dict[Value, int] = {}  # by value, the index of the domain that gives it
    given: dict[int, Value] = {}  # and the other way round
    return all(_gives_too(i, domains, giver, given) for i in range(len(domains)))


def _gives_too(
    first: int, domains: list[list[Value]], giver: dict[Value, int], given: dict[int, Value]
) -> bool:
    """Whether one more domain can give a value, where others may have to give another one."""
    wanted_by: dict[Value, int] = {}
    todo = [first]
    for i in todo:  # which grows
        checkpoint()
        for value in domains[i]:
            if value in wanted_by:
                continue
            wanted_by[value] = i
            if value in giver:
                todo.append(giver[value])
                continue
            while True:  # null is a value as any other
                i = wanted_by[value]
                before = given.get(i)
                giver[value], given[i] = i, value
                if i == first:
                    return True
                value = before
    return False
