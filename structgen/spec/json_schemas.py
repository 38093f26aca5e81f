"""In: a JSON Schema document. Out: nodes in normal form for its subschemas, references resolved.

`Schemas` owns the atoms (subschemas by identity), and expands each atom once. Recursion is fine
through properties and items; a reference that leads back to itself without entering a value is an
error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from structgen.automaton.regex import Regex
from structgen.automaton.regex_syntax import parse
from structgen.errors import (
    DanglingReferenceError,
    PatternError,
    SpecError,
    UnsupportedSchemaError,
)
from structgen.spec.json_costs import Costs
from structgen.spec.json_nodes import (
    ANYTHING,
    FALSE,
    NOTHING,
    TRUE,
    Atom,
    Expr,
    Node,
    Refused,
    both,
)
from structgen.spec.json_references import Place, References

if TYPE_CHECKING:
    from referencing import Registry


def kind_of(value: Any) -> str:
    """The JSON type of a value, in words."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), f"{value!r}")


class Schemas:
    """All subschemas of one document that anything has asked for."""

    def __init__(
        self,
        schema: Any,
        *,
        assert_formats: bool,
        declared: bool,
        gap: int,
        natural: bool,
        registry: Registry[Any] | None,
    ) -> None:
        self.assert_formats = assert_formats
        self.natural = natural  #: spell integers in digits only
        self._atoms: dict[int, Atom] = {}
        self._places: dict[Atom, Place] = {}
        self._nodes: dict[Atom, Node] = {}
        self._patterns: dict[str, Regex] = {}
        self._conjunctions: dict[Expr, Node] = {TRUE: ANYTHING}
        self._expanding: list[Atom] = []
        self._exclusive: list[tuple[str, list[Node]]] = []
        self.costs = Costs(self.node, declared, gap)
        self._references = References(schema, registry)
        self.root: Expr = self._expr(schema, self._references.root, entered=True)

    def atom(self, schema: Any, place: Place, entered: bool = False) -> Atom:
        """The atom of a subschema that stands at `place` (the same object gives the same atom).

        `entered`: the resolver of `place` is already inside the subschema's own `$id`.
        """
        if not isinstance(schema, dict):
            raise SpecError(
                f"a schema must be an object or a boolean, got {kind_of(schema)}",
                location=f"#{place.pointer}",
                expected="an object, true or false",
            )
        atom = self._atoms.get(id(schema))
        if atom is None:
            atom = Atom(schema, place.pointer)
            self._atoms[id(schema)] = atom
            self._places[atom] = place if entered else self._references.enter(schema, place)
        return atom

    def _expr(self, schema: Any, place: Place, entered: bool = False) -> Expr:
        if schema is True:
            return TRUE
        return FALSE if schema is False else (self.atom(schema, place, entered),)

    def child(self, schema: Any, parent: Atom, *path: str | int) -> Expr:
        """The expression of a subschema of `parent` at the given path below it."""
        return self._expr(schema, self._places[parent].below(path))

    def place(self, atom: Atom) -> Place:
        """Where the subschema of `atom` stands."""
        return self._places[atom]

    def refer(self, atom: Atom, reference: str, keyword: str) -> Expr:
        """The expression that a reference inside `atom` leads to."""
        target, place = self._references.follow(self._places[atom], reference, keyword)
        return self._expr(target, place, entered=True)

    def node(self, expr: Expr) -> Node:
        """The normal form of a conjunction of atoms."""
        node = self._conjunctions.get(expr)
        if node is None:
            node = ANYTHING
            for atom in expr:
                node = both(node, self.expand(atom), f"#{atom.location}")
            self._conjunctions[expr] = node
        return node

    def expand(self, atom: Atom) -> Node:
        """The normal form of one atom, made on first use."""
        node = self._nodes.get(atom)
        if node is not None:
            return node
        if atom in self._expanding:
            raise DanglingReferenceError(
                "a reference leads back to itself without entering a value",
                location=f"#{atom.location}",
                expected="recursion through properties or items",
                hint="remove the loop",
            )
        self._expanding.append(atom)
        try:
            node = self._expand(atom)
        finally:
            self._expanding.pop()
        self._nodes[atom] = node
        return node

    def _expand(self, atom: Atom) -> Node:
        from structgen.spec import json_keywords
        from structgen.spec.json_constants import constants

        if atom.value is Refused:
            return NOTHING
        if isinstance(atom.value, Constant):
            return constants(self, [atom.value.value], atom.location)
        return json_keywords.build(self, atom)

    def constant(self, value: Any, location: str) -> Expr:
        """The expression that only `value` fits."""
        return (Atom(Constant(value), location),)

    def pattern(self, text: Any, location: str) -> Regex:
        """The language of a pattern, searched for as JSON Schema means it."""
        if not isinstance(text, str):
            raise SpecError("a pattern must be a string", location=location)
        if text not in self._patterns:
            try:
                self._patterns[text] = parse(text)
            except (PatternError, UnsupportedSchemaError) as error:
                error.location = location
                raise
        return self._patterns[text]

    def check_exclusive(self, location: str, nodes: list[Node]) -> None:
        """Remember that no value may fit two of `nodes`."""
        self._exclusive.append((location, nodes))

    def complete(self) -> None:
        """Expand everything that the root reaches, so that every error shows at compile time."""
        todo = list(self.root)
        seen = set(todo)
        while todo:
            for child in _children(self.expand(todo.pop())):
                fresh = [atom for atom in child if atom not in seen]
                seen.update(fresh)
                todo += fresh
        for location, nodes in self._exclusive:
            self._check_exclusive(location, nodes)

    def _check_exclusive(self, location: str, nodes: list[Node]) -> None:
        for i, first in enumerate(nodes):
            for j in range(i + 1, len(nodes)):
                if self.costs.of_node(both(first, nodes[j], location)) is not None:
                    raise UnsupportedSchemaError(
                        f"branches {i} and {j} of 'oneOf' have values in common",
                        keyword="oneOf",
                        location=location,
                        expected="branches that exclude each other",
                        hint="make them differ in type or in a required constant, or use anyOf",
                    )


def _children(node: Node) -> Iterator[Expr]:
    for array in node.arrays:
        for prefix, tail in array.lists:
            yield from (*prefix, tail)
    for object_ in node.objects:
        for group in object_.groups:
            yield from group.named.values()
            yield from (child for _, child in group.patterns)
            yield group.rest


class Constant:
    """A JSON value that a child must equal (from `enum` or `const`)."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
