"""The machine that reads a JSON value of any kind; all others share its matchers and frames.

Most schemas let some values be anything (those of keys that they do not name, say), and what may
happen inside such a value does not depend on the schema around it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NoReturn

from structgen.automata.lexer.json_lexemes import Layout
from structgen.automata.pushdown.machine import NOTHING_PREPARED, Prepared
from structgen.errors import BudgetError
from structgen.schema.machine.machine import JsonMachine
from structgen.schema.matchers import Matchers
from structgen.schema.normal_form.expressions import TRUE, Expr
from structgen.schema.normal_form.forms import ANYTHING, NormalForm
from structgen.schema.values import Value


class _Anything:
    """An `Expressions` that knows only TRUE, the expression that every value fits."""

    surrogates = False  # of all values none is listed

    def normal_form(self, _expr: Expr) -> NormalForm:
        return ANYTHING

    def surely_satisfiable(self, expr: Expr) -> bool:
        return expr == TRUE

    def negation(self, _expr: Expr) -> NoReturn:
        _only_one()

    def one_of(self, _values: frozenset[Value]) -> NoReturn:
        _only_one()

    def union(self, _exprs: tuple[Expr, ...]) -> NoReturn:
        _only_one()


def _no_value(_matchers: Matchers, _form: NormalForm) -> NoReturn:
    _only_one()


def _only_one() -> NoReturn:
    raise BudgetError("a value of any kind was restricted", hint="please report this schema")


@lru_cache(maxsize=64)
def free_costs(declared: bool, gap: int) -> Matchers:
    """The costs of values of any kind, and their matchers."""
    return Matchers(_Anything(), declared, gap, _no_value)


@lru_cache(maxsize=64)
def free_machine(
    layout: Layout, declared: bool, gap: int, prepared: Prepared = NOTHING_PREPARED
) -> JsonMachine:
    """The machine that reads a value of any kind; its frames are the same whatever is prepared."""
    free = None if prepared is NOTHING_PREPARED else free_machine(layout, declared, gap)
    costs = free_costs(declared, gap)
    return JsonMachine(ANYTHING, costs.normal_form_of, costs, layout, prepared=prepared, free=free)
