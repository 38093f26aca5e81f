"""In: an expression. Out: the distinct values that fit it, if they are few.

`uniqueItems` asks for them: whether an array can be finished depends on how many different values
its items may still have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from structgen.errors import BudgetError
from structgen.regular.infinite import is_infinite, least_count
from structgen.regular.numbers.language import equal_to, to_fraction
from structgen.regular.numbers.sets import (
    is_endless,
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
from structgen.schema.keywords.constants import is_listing
from structgen.schema.normal_form.expressions import Expr, allowed, conjoin
from structgen.schema.normal_form.nodes import Node
from structgen.schema.values import Boolean, Members, Value, data_of, scalar, value_of

if TYPE_CHECKING:
    from structgen.schema.normal_form.costs import Costs

MAX_VALUES = 2000  # listed of one expression


def distinct_values(costs: Costs, expr: Expr, wanted: int) -> list[Value] | None:
    """All values that fit, None if they are at least `wanted`."""
    if wanted > MAX_VALUES:
        raise BudgetError(
            f"more than {MAX_VALUES} different items are asked for",
            hint="lower minItems, or give the items more room",
        )
    node = costs.node_of(expr)
    if costs.has_many(node) or least_count(node.string) >= wanted:
        return None
    constants = _constants(expr, node)
    if constants is not None:
        return constants if len(constants) < wanted else None
    found: list[Value] = []
    for value in _values(costs, expr):
        found.append(value)
        if len(found) >= wanted:
            return None
    return found


def has_many(costs: Costs, node: Node, within: frozenset[Node] = frozenset()) -> bool:
    """Whether infinitely many values plainly fit a node.

    They do where a value that fits may hold others that do: those can be nested ever deeper.
    """
    if is_endless(node.number) or is_infinite(node.string):
        return True
    if costs.of_node(node) is None:
        return False
    if node in within:
        return True
    inside = within | {node}

    def many(child: Expr) -> bool:
        return has_many(costs, costs.node_of(child), inside)

    arrays, objects = costs.arrays(node), costs.objects(node)
    return any(a.has_many(many) for a in arrays) or any(o.has_many(many) for o in objects)


def _constants(expr: Expr, node: Node) -> list[Value] | None:
    """All values that fit, if constants say that and none is an array or object."""
    for atom in expr:
        if not atom.denied and (atom.allowed is None or not is_listing(atom.value)):
            return None
    values = allowed(expr)
    if values is None or any(isinstance(value, tuple | Members) for value in values):
        return None
    return [value for value in values if _fits(node, value)]


def _fits(node: Node, value: Value) -> bool:
    """Whether a scalar that constants allow has a text."""
    if value is None:
        return node.null
    if isinstance(value, Boolean):
        return node.true if value.value else node.false
    if isinstance(value, str):
        return node.string is not EMPTY and is_spellable(value)
    return node.number is not EMPTY


def _values(costs: Costs, expr: Expr) -> Iterator[Value]:
    node = costs.node_of(expr)
    if node.null:
        yield None
    for literal in (False, True):
        if node.true if literal else node.false:
            yield Boolean(literal)
    number, listed = node.number, multiples(node.number)
    if listed is not None:
        yield from map(value_of, listed)
        number = EMPTY
    while (text := shortest(number)) is not None:
        value = scalar(text.encode())
        yield value
        apart = number_complement(equal_to(to_fraction(data_of(value))))
        number = number_intersection(number, apart)
    strings, taken = node.string, []
    while (word := shortest(strings)) is not None:
        yield word
        taken.append(word)
        strings = intersect(node.string, complement(words(taken)))
    if node.arrays or node.objects:
        yield from _containers(costs, expr)


def _containers(costs: Costs, expr: Expr) -> Iterator[Value]:
    """The arrays and objects that fit, short ones first: the shortest, then one that differs."""
    found: list[Value] = []
    while True:
        others = costs.negation(costs.one_of(frozenset(found))) if found else ()
        node = costs.node_of(conjoin(expr, others))
        node = replace(node, null=False, true=False, false=False, number=EMPTY, string=EMPTY)
        if costs.of_node(node) is None:
            return
        found.append(value_of(_shortest_value(costs, node)))
        yield found[-1]


def _shortest_value(costs: Costs, node: Node) -> object:
    from decimal import Decimal
    from json import loads

    from structgen.automata.pushdown.completion import Completions
    from structgen.automata.pushdown.engine import Engine
    from structgen.schema.machine.machine import JsonMachine
    from structgen.schema.machine.whitespace import layout_of

    layout, _ = layout_of("compact")
    engine = Engine(lambda: JsonMachine(node, costs.node_of, costs, layout))
    text = Completions(engine).shortest(engine.start)
    return loads(text, parse_int=Decimal, parse_float=Decimal)


def matched(domains: list[list[Value]]) -> bool:
    """Whether each domain can give a value that no other gives (Kuhn's augmenting paths)."""
    giver: dict[Value, int] = {}

    def give(i: int, tried: set[Value]) -> bool:
        for value in domains[i]:
            if value not in tried:
                tried.add(value)
                if value not in giver or give(giver[value], tried):
                    giver[value] = i
                    return True
        return False

    return all(give(i, set()) for i in range(len(domains)))
