"""In: pieces of schemas. Out: their normal form, one entry per JSON type, closed under conjunction.

A `Node` says for each JSON type which values fit: two regular languages for strings (over decoded
content) and numbers (over their text), and for arrays and objects a tuple of *alternatives*, each a
conjunction. A value fits if one alternative does. Children are named by expressions, lists of atoms
all of which must hold, so recursive schemas stay finite; the empty list accepts every value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from structgen.automaton.numbers import JSON_NUMBER
from structgen.automaton.regex import ANY, EMPTY, Regex, alt, intersect
from structgen.errors import BudgetError

MAX_ALTERNATIVES = 4096  # per JSON type of one node


class Atom:
    """One subschema (or one constant) that a value must fit; compared by identity."""

    __slots__ = ("location", "value")

    def __init__(self, value: Any, location: str) -> None:
        self.value = value  #: what `Schemas` needs to expand it
        self.location = location  #: JSON Pointer, for errors

    def __repr__(self) -> str:
        return f"Atom({self.location or '#'})"


Expr = tuple[Atom, ...]  # all must hold; left to right as the document has them, no duplicates
TRUE: Expr = ()


def conjoin(*parts: Expr) -> Expr:
    """All atoms of all parts."""
    if len(parts) == 1:
        return parts[0]
    return tuple(dict.fromkeys(atom for part in parts for atom in part))


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """`properties`, `patternProperties`, `additionalProperties`, `propertyNames` of one schema."""

    named: dict[str, Expr] = field(default_factory=dict)
    patterns: tuple[tuple[Regex, Expr], ...] = ()
    rest: Expr = TRUE
    keys: Regex = ANY


@dataclass(frozen=True, eq=False, slots=True)
class ObjectAlt:
    """A conjunction of groups, required keys (in order), and bounds on the number of keys."""

    groups: tuple[Group, ...] = ()
    required: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class ArrayAlt:
    """A conjunction of (prefix, tail) lists, and bounds on the number of items."""

    lists: tuple[tuple[tuple[Expr, ...], Expr], ...] = ()
    least: int = 0
    most: int | None = None

    def child(self, index: int) -> Expr:
        """What item `index` must fit."""
        return conjoin(*(p[index] if index < len(p) else tail for p, tail in self.lists))

    @property
    def prefix(self) -> int:
        """Items from here on all have the same child."""
        return max((len(p) for p, _ in self.lists), default=0)


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """The values that fit, type by type."""

    null: bool = False
    true: bool = False
    false: bool = False
    number: Regex = EMPTY
    string: Regex = EMPTY
    arrays: tuple[ArrayAlt, ...] = ()
    objects: tuple[ObjectAlt, ...] = ()


ANYTHING = Node(True, True, True, JSON_NUMBER, ANY, (ArrayAlt(),), (ObjectAlt(),))
NOTHING = Node()


AltT = TypeVar("AltT", ArrayAlt, ObjectAlt)


def both(a: Node, b: Node, location: str = "") -> Node:
    """Values that fit `a` and `b`."""
    if a is ANYTHING:
        return b
    if b is ANYTHING:
        return a
    return Node(
        a.null and b.null,
        a.true and b.true,
        a.false and b.false,
        intersect(a.number, b.number),
        intersect(a.string, b.string),
        tuple(_both_arrays(a.arrays, b.arrays, location)),
        tuple(_both_objects(a.objects, b.objects, location)),
    )


def either(nodes: list[Node], location: str = "") -> Node:
    """Values that fit at least one of `nodes`."""
    if any(n is ANYTHING for n in nodes):
        return ANYTHING
    arrays = tuple(dict.fromkeys(a for n in nodes for a in n.arrays))
    objects = tuple(dict.fromkeys(o for n in nodes for o in n.objects))
    _check_count(max(len(arrays), len(objects)), location)
    return Node(
        any(n.null for n in nodes),
        any(n.true for n in nodes),
        any(n.false for n in nodes),
        alt(*(n.number for n in nodes)),
        alt(*(n.string for n in nodes)),
        arrays,
        objects,
    )


def _check_count(count: int, location: str) -> None:
    if count > MAX_ALTERNATIVES:
        raise BudgetError(
            f"combining alternatives gives {count} cases",
            location=location,
            expected=f"at most {MAX_ALTERNATIVES}",
            hint="merge branches of anyOf, or use fewer of them together in allOf",
        )


def _most(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _conjunctions(
    left: tuple[AltT, ...], right: tuple[AltT, ...], free: Callable[[AltT], bool], location: str
) -> Iterator[tuple[AltT, AltT | None]]:
    """The pairs of alternatives to merge; (a, None) where one of the two says it all."""
    _check_count(len(left) * len(right), location)
    for a in left:
        for b in right:
            if free(a) or a is b:
                yield b, None
            else:
                yield a, None if free(b) else b


def _both_arrays(
    left: tuple[ArrayAlt, ...], right: tuple[ArrayAlt, ...], location: str
) -> Iterator[ArrayAlt]:
    for a, b in _conjunctions(left, right, _is_free_array, location):
        if b is None:
            yield a
            continue
        merged = ArrayAlt(a.lists + b.lists, max(a.least, b.least), _most(a.most, b.most))
        if merged.most is None or merged.least <= merged.most:
            yield merged


def _both_objects(
    left: tuple[ObjectAlt, ...], right: tuple[ObjectAlt, ...], location: str
) -> Iterator[ObjectAlt]:
    for a, b in _conjunctions(left, right, _is_free_object, location):
        yield (
            a
            if b is None
            else ObjectAlt(
                tuple(dict.fromkeys(a.groups + b.groups)),
                tuple(dict.fromkeys(a.required + b.required)),
                max(a.least, b.least),
                _most(a.most, b.most),
            )
        )


def _is_free_array(a: ArrayAlt) -> bool:
    return not a.lists and a.least == 0 and a.most is None


def _is_free_object(a: ObjectAlt) -> bool:
    return not a.groups and not a.required and a.least == 0 and a.most is None


class Refused:
    """The value of the atom that no value fits."""


FALSE: Expr = (Atom(Refused, ""),)
