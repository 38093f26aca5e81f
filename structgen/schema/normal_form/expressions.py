"""In: subschemas as atoms. Out: expressions, conjunctions of atoms, and what is plain about them.

An expression names what a child must fit without expanding it, so recursive schemas stay finite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.schema.values import Value

if TYPE_CHECKING:
    from structgen.schema.references.references import Place


Values = frozenset[Value] | None
Allowed = Values | Callable[[], Values]


class Atom:
    """One subschema (or another condition) that a value must fit; compared by identity."""

    __slots__ = ("_allowed", "denied", "opposite", "place", "value")

    def __init__(self, value: Any, place: Place | str, allowed: Allowed = None) -> None:
        self.value = value  #: what `Schemas` needs to expand it
        self.place = place  #: where a subschema stands; of other conditions the JSON Pointer alone
        self.opposite: Atom | None = None  #: fits exactly the values that this one does not
        self._allowed = allowed
        self.denied: frozenset[Value] = frozenset()  #: these values do not fit

    @property
    def allowed(self) -> Values:
        """Where they are listed, the values without which none fit. Few ask, so that can wait."""
        if callable(self._allowed):
            self._allowed = self._allowed()
        return self._allowed

    @property
    def location(self) -> str:
        """The JSON Pointer, for errors."""
        return self.place if isinstance(self.place, str) else self.place.pointer

    def __repr__(self) -> str:
        return f"Atom({self.location or '#'})"


Expr = tuple[Atom, ...]  # all must hold; left to right as the document has them, no duplicates
TRUE: Expr = ()


class OneOf(NamedTuple):
    """JSON values of which a child must equal one (from `enum`, `const`, or items read)."""

    values: tuple[Any, ...]


class Refused:
    """The value of the atom that no value fits."""


FALSE: Expr = (Atom(Refused, ""),)


class Children(Mapping[str, Expr]):
    """The expressions of subschemas by name, each made when somebody asks for it.

    easy: whether it can be seen at a glance that a text can have each of them, with some value.
    """

    __slots__ = ("_made", "_make", "_plain", "_schemas", "easy")

    def __init__(
        self,
        schemas: Mapping[str, Any],
        make: Callable[[str, Any], Expr],
        plain: Callable[[Any], bool],
        easy: bool,
    ) -> None:
        """make: the expression of a subschema; plain: whether it is plain that some value fits."""
        self._schemas, self._make, self._plain, self.easy = schemas, make, plain, easy
        self._made: dict[str, Expr] = {}

    def __getitem__(self, name: str) -> Expr:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._make(name, self._schemas[name])
        return found

    def and_others(self, others: Mapping[str, Expr]) -> Children:
        """The same with others, or these in their place; of which it is not plain that any fits."""
        schemas = {**self._schemas, **dict.fromkeys(others, False)}
        found = Children(schemas, self._make, self._plain, easy=False)
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

    def is_plain(self, name: str) -> bool:
        """Whether it is plain that some value fits a subschema."""
        return name in self._schemas and self._plain(self._schemas[name])


def conjoin(*parts: Expr) -> Expr:
    """All atoms of all parts."""
    if len(parts) == 1:
        return parts[0]
    return tuple(dict.fromkeys(atom for part in parts for atom in part))


def contradictory(expr: Expr) -> bool:
    """Whether an expression needs no expansion to be seen to fit nothing."""
    if any(atom is FALSE[0] or atom.opposite in expr for atom in expr):
        return True
    left = allowed(expr)
    return left is not None and not left


def allowed(expr: Expr) -> frozenset[Value] | None:
    """All values that may fit, if constants limit them."""
    found: frozenset[Value] | None = None
    for atom in expr:
        if atom.allowed is not None:
            found = atom.allowed if found is None else found & atom.allowed
    if found is not None:
        found = found.difference(*(atom.denied for atom in expr))
    return found


def implied(known: Expr, expr: Expr) -> bool:
    """Whether an expression needs no expansion to be seen to follow from another."""
    return all(atom in known or _excludes(known, atom) for atom in expr)


def _excludes(known: Expr, atom: Atom) -> bool:
    """Whether `known` plainly excludes the opposite of `atom`."""
    left = allowed(known)
    if left is None:
        return False
    if atom.denied:
        return left.isdisjoint(atom.denied)
    opposite = atom.opposite
    return opposite is not None and left <= opposite.denied
