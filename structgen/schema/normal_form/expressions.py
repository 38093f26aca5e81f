"""Expressions: conjunctions of subschemas by reference, and cheap sound tests on them.

An expression (`Expr`) names what a child must fit without expanding it, so that recursive schemas
stay finite. It is a tuple of `Atom`s, one per subschema, negation, union or set of constants;
`Schemas.normal_form` expands it. The tests here need no expansion: they compare atoms by identity
and use the sets of constants that `enum` and `const` list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.schema.values import Value
from structgen.util.json_pointer import location

if TYPE_CHECKING:
    from structgen.schema.references.references import Place


Values = frozenset[Value] | None
Allowed = Values | Callable[[], Values]


class Atom:
    """One condition that a value must fit, such as a subschema; compared by identity."""

    __slots__ = ("_allowed", "excluded_values", "negation", "place", "value")

    def __init__(self, value: Any, place: Place | str, allowed: Allowed = None) -> None:
        self.value = value  #: what `Schemas` needs to expand it
        self.place = place  #: where a subschema stands; a JSON Pointer for other conditions
        self.negation: Atom | None = (
            None  #: the atom of the values that do not fit, if there is one
        )
        self._allowed = allowed
        self.excluded_values: frozenset[Value] = (
            frozenset()
        )  #: values that do not fit, known without expansion

    @property
    def allowed(self) -> Values:
        """The values that may fit if `enum` or `const` list them, else None; found on first use."""
        if callable(self._allowed):
            self._allowed = self._allowed()
        return self._allowed

    @property
    def location(self) -> str:
        """The JSON Pointer, for errors."""
        return self.place if isinstance(self.place, str) else self.place.pointer

    def where(self) -> str:
        """The same as errors say it."""
        return location(self.location)

    def __repr__(self) -> str:
        return f"Atom({self.location or '#'})"


Expr = tuple[Atom, ...]  # all must hold; left to right as the document has them, no duplicates
TRUE: Expr = ()


class OneOf(NamedTuple):
    """JSON values of which a child must equal one (from `enum`, `const`, or items read)."""

    values: tuple[Any, ...]
    is_plain: bool = False  # whether numbers among them are written as the schema has them


class Unsatisfiable:
    """Marks the atom that no value fits."""


FALSE: Expr = (Atom(Unsatisfiable, ""),)


class Children(Mapping[str, Expr]):
    """The expressions of subschemas by name, each made on first use.

    all_satisfiable: whether it is seen at a glance that each name may come, with some value.
    """

    __slots__ = ("_is_satisfiable", "_made", "_make", "_schemas", "all_satisfiable")

    def __init__(
        self,
        schemas: Mapping[str, Any],
        make: Callable[[str, Any], Expr],
        is_satisfiable: Callable[[Any], bool],
        all_satisfiable: bool,
    ) -> None:
        """make: the expression of a subschema; is_satisfiable: whether some value surely fits."""
        self._schemas, self._make, self._is_satisfiable = schemas, make, is_satisfiable
        self.all_satisfiable = all_satisfiable
        self._made: dict[str, Expr] = {}

    def __getitem__(self, name: str) -> Expr:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._make(name, self._schemas[name])
        return found

    def and_others(self, others: Mapping[str, Expr]) -> Children:
        """The same with others added or replaced, of which nothing is known at a glance."""
        schemas = {**self._schemas, **dict.fromkeys(others, False)}
        found = Children(schemas, self._make, self._is_satisfiable, all_satisfiable=False)
        found._made = {**self._made, **others}
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """As a dictionary has it."""
        return self[name] if name in self._schemas else default

    def __contains__(self, name: object) -> bool:
        return name in self._schemas

    def __iter__(self) -> Iterator[str]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    def surely_satisfiable(self, name: str) -> bool:
        """Whether some value certainly fits a subschema, as is seen without expanding it."""
        return name in self._schemas and self._is_satisfiable(self._schemas[name])


def conjoin(*parts: Expr) -> Expr:
    """The conjunction: all atoms of all parts, each once, in order."""
    if len(parts) == 1:
        return parts[0]
    return tuple(dict.fromkeys(atom for part in parts for atom in part))


def is_one_of(expr: Expr) -> bool:
    """Whether an expression is just a list of values."""
    return len(expr) == 1 and isinstance(expr[0].value, OneOf)


def contradictory(expr: Expr) -> bool:
    """Whether nothing fits an expression, as far as is seen without expanding it."""
    if any(atom is FALSE[0] or atom.negation in expr for atom in expr):
        return True
    left = allowed(expr)
    return left is not None and not left


def allowed(expr: Expr) -> frozenset[Value] | None:
    """All values that may fit, if constants limit them; else None."""
    found: frozenset[Value] | None = None
    for atom in expr:
        values = atom.allowed
        if values is not None:
            found = values if found is None else found & values
    if found is not None:
        excluded = [atom.excluded_values for atom in expr if atom.excluded_values]
        found = found.difference(*excluded) if excluded else found  # without a copy if none are
    return found


def implied(known: Expr, expr: Expr) -> bool:
    """Whether `known` implies `expr`, as far as is seen without expanding them."""
    return all(atom in known or _excludes(known, atom) for atom in expr)


def _excludes(known: Expr, atom: Atom) -> bool:
    """Whether `known` excludes the negation of `atom`, as their constants show."""
    left = allowed(known)
    if left is None:
        return False
    if atom.excluded_values:
        return left.isdisjoint(atom.excluded_values)
    negation = atom.negation
    return negation is not None and left <= negation.excluded_values
