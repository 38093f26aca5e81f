"""In: nodes in normal form. Out: the fewest bytes of a value that fits each, None when none does.

One least fixpoint answers two questions. A recursive schema without a finite instance, a required
child that cannot exist, a count that cannot be met: all show as a node without a cost (Knuth 1977,
a generalization of Dijkstra's algorithm, section 2).
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Protocol

from structgen.automata.lexer.lexer import LexState, Row, Text
from structgen.automata.lexer.shortest_paths import ends
from structgen.errors import BudgetError
from structgen.regular.regex import Regex, matches, shortest
from structgen.schema.arrays.items import ItemsPlan
from structgen.schema.arrays.plans import ArrayPlan
from structgen.schema.arrays.unique_items import RepeatedPlan, UniquePlan
from structgen.schema.machine.lexemes import Scalar
from structgen.schema.normal_form.domains import distinct_values, has_many
from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.nodes import (
    ANY_ARRAY,
    ANY_OBJECT,
    ArrayAlt,
    Clause,
    Node,
    ObjectAlt,
    children_of,
)
from structgen.schema.objects.members import MembersPlan
from structgen.schema.objects.plans import ObjectPlan
from structgen.schema.values import Value
from structgen.util.json_pointer import location

MAX_NESTED = 20  # nodes within one another of which it is seen at once that something fits
MAX_REACHED = 2000  # nodes looked at for an alternative
SHORTEST = 2  # bytes of an empty array or object without a gap in it


class Expressions(Protocol):
    """What makes expressions, and knows their nodes."""

    def node(self, expr: Expr) -> Node:
        """The normal form of an expression."""

    def negation(self, expr: Expr) -> Expr:
        """The expression that exactly the values fit that do not fit `expr`."""

    def one_of(self, values: frozenset[Value]) -> Expr:
        """The expression that exactly these values fit."""

    def union(self, exprs: tuple[Expr, ...]) -> Expr:
        """The expression that the values fit that fit at least one of `exprs`."""

    def is_possible(self, expr: Expr) -> bool:
        """Whether it is plain that some value fits."""


class Costs:
    """Costs of nodes and plans of alternatives, under one property order and gap length."""

    def __init__(
        self,
        expressions: Expressions,
        declared: bool,
        gap: int,
        missing: frozenset[ArrayAlt] = frozenset(),
        free: Costs | None = None,
    ) -> None:
        """missing: alternatives that are left out. free: of whom to take plans for any value."""
        self.gap = gap  #: fewest bytes of a gap between lexemes
        self.node_of = expressions.node
        self.negation = expressions.negation
        self._expressions = expressions
        self._declared = declared
        self._missing = missing
        self._lacking: dict[frozenset[ArrayAlt], Costs] = {}  # by what they leave out, shared
        self._solved: dict[Node, int | None] = {}
        self._scalars: dict[Node, int | None] = {}
        self._objects: dict[ObjectAlt, ObjectPlan] = {}
        self._kin: dict[Hashable, list[ObjectPlan]] = {}  # those that differ in clauses only
        self._arrays: dict[ArrayAlt, ArrayPlan] = {}
        if free is not None:
            self._objects[ANY_OBJECT] = free._object(ANY_OBJECT)
            self._arrays[ANY_ARRAY] = free._array(ANY_ARRAY)
        self._some_objects: dict[Node, list[ObjectPlan]] = {}
        self._some_arrays: dict[Node, list[ArrayPlan]] = {}
        #: all values of an expression, None if they are at least as many as the number beside
        self._domains: dict[Expr, tuple[int, list[Value] | None]] = {}
        self._many: dict[Node, bool] = {}
        self._looked_at: set[Node] = set()  # nodes of which it is being seen whether something fits
        self._plainly: set[Node] = set()  # those of which that was plain
        self._listing: set[Expr] = set()  # expressions whose values are being listed

    def of(self, expr: Expr) -> int | None:
        """Fewest bytes of a value that fits an expression."""
        try:
            return self.of_node(self.node_of(expr))
        except BudgetError as error:
            _locate(error, expr)
            raise

    def is_plain(self, expr: Expr) -> bool:
        """Whether it is plain that some value fits an expression."""
        return self._expressions.is_possible(expr)

    def possible(self, expr: Expr) -> bool:
        """Whether some value fits an expression."""
        if self.is_plain(expr):
            return True
        try:
            node = self.node_of(expr)
            plain = _has_scalar(node) or self._is_plainly_possible(node)
            return plain or self.of_node(node) is not None
        except BudgetError as error:
            _locate(error, expr)
            raise

    def _is_plainly_possible(self, node: Node) -> bool:
        """Whether some array or object fits, and to see that takes no search for a shortest one."""
        if node in self._plainly:  # else those that ask for it twice double what there is to do
            return True
        if node in self._solved or node in self._looked_at or len(self._looked_at) >= MAX_NESTED:
            return False
        self._looked_at.add(node)
        try:
            found = self._may_be_empty(node) or any(
                plan.is_plainly_possible() for plan in map(self._object, node.objects)
            )
        finally:
            self._looked_at.discard(node)
        if found:
            self._plainly.add(node)
        return found

    def of_node(self, node: Node) -> int | None:
        """Fewest bytes of a value that fits a node."""
        if not self._is_known(node):
            self._solve(node)
        return self._solved[node]

    def _is_known(self, node: Node) -> bool:
        """Whether the cost of a node is known now, without that of others."""
        if node in self._solved:
            return True
        best = self._at_once(node)
        least = best is not None and best <= SHORTEST + self.gap
        known = least or not (node.arrays or node.objects)
        if known:
            self._solved[node] = best
        return known

    def union(self, exprs: tuple[Expr, ...]) -> Expr:
        """The expression that the values fit that fit at least one of `exprs`."""
        return self._expressions.union(exprs)

    def one_of(self, values: frozenset[Value]) -> Expr:
        """The expression that exactly these values fit."""
        return self._expressions.one_of(values)

    def domain(self, expr: Expr, wanted: int) -> list[Value] | None:
        """All values that fit an expression, None if they are at least `wanted`.

        A value that fits and holds another one that does can be nested as deep as one likes.
        """
        if expr in self._listing:
            return None
        asked, found = self._domains.get(expr, (0, None))
        if found is None and wanted > asked:
            self._listing.add(expr)
            try:
                found = distinct_values(self, expr, wanted)
            finally:
                self._listing.discard(expr)
            self._domains[expr] = wanted, found
        return found if found is not None and len(found) < wanted else None

    def has_many(self, node: Node) -> bool:
        """Whether infinitely many values plainly fit a node."""
        if node not in self._many:
            self._many[node] = has_many(self, node)
        return self._many[node]

    def reaches(self, expr: Expr, alt: ArrayAlt) -> bool:
        """Whether a value that fits may have an array of `alt` inside, or is one."""
        seen = {self.node_of(expr)}
        todo = list(seen)
        while todo and len(seen) <= MAX_REACHED:
            node = todo.pop()
            if alt in node.arrays:
                return True
            fresh = {self.node_of(child) for child in children_of(node)} - seen
            seen |= fresh
            todo += fresh
        return bool(todo)

    def without(self, alt: ArrayAlt) -> Costs:
        """The costs that there would be if no array fitted `alt`."""
        missing = self._missing | {alt}
        if missing not in self._lacking:
            costs = Costs(self._expressions, self._declared, self.gap, missing)
            costs._lacking = self._lacking
            self._lacking[missing] = costs
        return self._lacking[missing]

    def objects(self, node: Node) -> list[ObjectPlan]:
        """The plans of the object alternatives that some object fits."""
        if node not in self._some_objects:
            plans = map(self._object, node.objects)
            self._some_objects[node] = [p for p in plans if p.is_possible()]
        return self._some_objects[node]

    def arrays(self, node: Node) -> list[ArrayPlan]:
        """The plans of the array alternatives that some array fits."""
        if node not in self._some_arrays:
            plans = (self._array(alt) for alt in node.arrays if alt not in self._missing)
            self._some_arrays[node] = [p for p in plans if p.minimum(self.of) is not None]
        return self._some_arrays[node]

    def _object(self, alt: ObjectAlt) -> ObjectPlan:
        if alt not in self._objects:
            kind = MembersPlan if alt.clauses else ObjectPlan
            self._objects[alt] = kind(alt, self, self._declared)
            self._kin.setdefault(_kin(alt), []).append(self._objects[alt])
        return self._objects[alt]

    def lesser(self, alt: ObjectAlt, wanted: frozenset[Clause]) -> ObjectPlan | None:
        """The first plan made that differs in nothing but clauses, and has those that are left."""
        for plan in self._kin.get(_kin(alt), ()):
            if wanted.issubset(plan.alt.clauses):
                return plan
        return None

    def _array(self, alt: ArrayAlt) -> ArrayPlan:
        if alt not in self._arrays:
            kind: type[ArrayPlan] = ItemsPlan if alt.counted else ArrayPlan
            kind = UniquePlan if alt.unique else RepeatedPlan if alt.repeated else kind
            self._arrays[alt] = kind(alt, self)
        return self._arrays[alt]

    def _plans(self, node: Node) -> Iterator[ObjectPlan | ArrayPlan]:
        yield from (self._array(alt) for alt in node.arrays if alt not in self._missing)
        yield from map(self._object, node.objects)

    def _solve(self, first: Node) -> None:
        """Cost nodes as far as `first` asks; a node is costed again when a child costs less."""
        values: dict[Node, int | None] = {first: None}
        asked_by: dict[Node, dict[Node, None]] = {}
        fresh, stale = [first], dict[Node, None]()
        while fresh or stale:
            node = fresh.pop() if fresh else _popped(stale)

            def cost_of(expr: Expr, node: Node = node) -> int | None:
                child = self.node_of(expr)
                if self._is_known(child):
                    return self._solved[child]
                if child not in values:
                    values[child] = None
                    fresh.append(child)
                asked_by.setdefault(child, {})[node] = None
                return values[child]

            best = self._at_once(node)
            for plan in self._plans(node):
                if best is not None and best <= SHORTEST + self.gap:
                    break
                size = plan.minimum(cost_of)
                best = size if best is None or (size is not None and size < best) else best
            known = values[node]
            if best is not None and (known is None or best < known):
                values[node] = best
                stale.update(asked_by.get(node, {}))
        self._solved.update(values)

    def _at_once(self, node: Node) -> int | None:
        """Fewest bytes of a scalar that fits, or of an empty container; no plan has to be made."""
        if node not in self._scalars:
            sizes = [4] * (node.null or node.true) + [5] * node.false
            sizes += [size for size in (_digits(node.number), _quoted(node.string)) if size]
            if self._may_be_empty(node):
                sizes.append(SHORTEST + self.gap)
            self._scalars[node] = min(sizes, default=None)
        return self._scalars[node]

    def _may_be_empty(self, node: Node) -> bool:
        """Whether it is plain that an array or object with nothing in it fits."""
        arrays = (alt for alt in node.arrays if alt not in self._missing)
        return any(map(_may_be_empty, node.objects)) or any(map(_may_hold_nothing, arrays))


def _kin(alt: ObjectAlt) -> Hashable:
    """All of an alternative but its clauses."""
    return alt.groups, alt.required, alt.least, alt.most


def _locate(error: BudgetError, expr: Expr) -> None:
    """Say where an expression stands of which something takes too long to find out."""
    if not error.location and expr:
        error.location = location(expr[0].location)


def _has_scalar(node: Node) -> bool:
    """Whether a scalar fits, found out without looking for a shortest one."""
    if node.null or node.true or node.false:
        return True
    return not (node.string.is_empty() and node.number.is_empty())


def _popped(queue: dict[Node, None]) -> Node:
    """The node that has waited longest, taken out of the queue."""
    node = next(iter(queue))
    del queue[node]
    return node


def required(size: int | None) -> int:
    """A cost that must exist, because plans offer only what some value fits."""
    if size is None:
        raise BudgetError("a value that nothing fits was offered", hint="please report this schema")
    return size


def _may_be_empty(alt: ObjectAlt) -> bool:
    """Whether it is plain that an object without members fits."""
    return not (alt.required or alt.least or alt.clauses)


def _may_hold_nothing(alt: ArrayAlt) -> bool:
    """Whether it is plain that an array without items fits."""
    return not (alt.least or alt.counted or alt.repeated)


@lru_cache(maxsize=4096)
def _digits(language: Regex) -> int | None:
    """Characters of the shortest number of a language."""
    number = "0" if matches(language, "0") else shortest(language)
    return None if number is None else len(number)


@lru_cache(maxsize=4096)
def _quoted(language: Regex) -> int | None:
    """Bytes of the shortest JSON string whose content is in the language."""
    word = shortest(language)
    if word is None:
        return None
    size = len(json.dumps(word, ensure_ascii=False).encode())
    if size == len(word) + 2:
        return size  # one byte for each of the fewest characters
    start = Text((language,), Scalar(quoted=True))
    return 1 + next(len(e.path) for e in ends(start, _row) if e.label is not None)


def _row(state: LexState) -> Row:
    return state.row(_row)
