"""A key whose value is one of some constants, and what each of them does to clauses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from structgen.regular.regex import matches
from structgen.schema.normal_form.expressions import FALSE, Expr, conjoin
from structgen.schema.normal_form.finite_values import FiniteValues
from structgen.schema.normal_form.forms import Clause, Exists, ForAll, Literal
from structgen.schema.values import Value

ABSENT = object()  # for the value of a key that does not come


class Tag:
    """Such a key, of the members still to come."""

    def __init__(
        self,
        key: str,
        values: frozenset[Value],
        costs: FiniteValues,
        fitting: Callable[[Expr], frozenset[Value] | None],
        *,
        required: bool,
    ) -> None:
        """fitting: which of the values fit an expression, where that is seen easily."""
        self._key, self._costs, self._fitting = key, costs, fitting
        self._values: list[Value] = [*values] if required else [*values, ABSENT]
        #: by literal, the values with which it holds
        self._held: dict[Literal, frozenset[Value]] = {}

    def cases(self) -> Iterator[tuple[Clause, Callable[[Clause], Clause | None]]]:
        """For each value, the clause that says it is this one, and what it leaves of others.

        None is left of those that it satisfies.
        """
        for value in self._values:
            if value is ABSENT:
                only: Literal = ForAll(self._key, FALSE)
            else:
                only = Exists(self._key, self._costs.one_of(frozenset((value,))))
            yield Clause((only,)), partial(self._left, value)

    def _left(self, value: Value, clause: Clause) -> Clause | None:
        about = clause.by_key.get(self._key, ())
        if any(value in self._holds_for(clause[i]) for i in about):
            return None
        return Clause(x for i, x in enumerate(clause) if i not in about) if about else clause

    def _holds_for(self, literal: Literal) -> frozenset[Value]:
        found = self._held.get(literal)
        if found is None:
            absent = (ABSENT,) if isinstance(literal, ForAll) else ()
            fits = self._fits(literal.child)
            found = frozenset((*absent, *(x for x in self._values if x is not ABSENT and fits(x))))
            self._held[literal] = found
        return found

    def _fits(self, expr: Expr) -> Callable[[Value], bool]:
        """Which of the values fit an expression."""
        known = self._fitting(expr)
        if known is not None:
            return known.__contains__
        form, costs = self._costs.normal_form_of(expr), self._costs

        def fits(value: Value) -> bool:
            if isinstance(value, str):
                return matches(form.string, value)
            return costs.satisfiable(conjoin(costs.one_of(frozenset((value,))), expr))

        return fits
