"""Splits a subschema into cases: conjunctions of subschemas that have no branches any more.

This is a disjunctive normal form that keeps the keywords as they were written, for reports and
exports: `allOf` and references join, `anyOf` and `oneOf` choose. Other combinations (`not`, `if`,
...) stay in the subschemas, where whoever writes a case finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from structgen.errors import DanglingReferenceError, StructgenError
from structgen.regular.numbers.language import to_fraction
from structgen.schema.keywords.schemas import Schemas
from structgen.schema.keywords.subschemas import Union
from structgen.schema.normal_form.combination import conjunction
from structgen.schema.normal_form.expressions import Atom, Expr, Unsatisfiable
from structgen.util.json_pointer import location, pointer_to

MAX_CASES = 64  # of one subschema; unions that would give more are left out

Case = tuple[Atom, ...]
Effect = Literal["looser", "stricter", "both", "same"]
Side = Literal["minimum", "maximum"]
Lose = Callable[[Atom, str, Effect, str], None]  # where, keyword, effect, message
Members = list[tuple[Atom, dict[str, Any]]]  # the subschemas of a case with what counts of each

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class Bound(NamedTuple):
    """One end of a range: its value, as it was written, and whether it is exclusive."""

    value: Fraction
    written: float | Decimal
    strict: bool
    atom: Atom
    keyword: str


def pointer_of(atom: Atom, *path: str | int) -> str:
    """The place of something below a subschema, as errors and reports name it."""
    return location(atom.location) + pointer_to(path)


def tightest(members: Members, side: Side) -> Bound | None:
    """The bound on one side that implies all others."""
    sign = 1 if side == "minimum" else -1
    bounds = [bound for atom, schema in members for bound in _bounds(atom, schema, side)]
    return max(bounds, key=lambda b: (sign * b.value, b.strict), default=None)


def _bounds(atom: Atom, schema: dict[str, Any], side: str) -> Iterator[Bound]:
    exclusive = "exclusive" + side.capitalize()
    strict, limit = schema.get(exclusive), schema.get(side)
    if limit is not None:  # in draft 4 the exclusive keyword is a boolean
        yield Bound(to_fraction(limit), limit, strict is True, atom, side)
    if strict is not None and not isinstance(strict, bool):
        yield Bound(to_fraction(strict), strict, True, atom, exclusive)


class Cases:
    """Splits the subschemas of one document into cases."""

    def __init__(self, schemas: Schemas, lose: Lose) -> None:
        self._schemas = schemas
        self._lose = lose

    def effective(self, atom: Atom) -> dict[str, Any]:
        """The keywords of a subschema that count; up to draft 7 a `$ref` turns off all others."""
        if not isinstance(atom.value, dict):
            return {}
        schema: dict[str, Any] = atom.value
        if "$ref" in schema and self._schemas.place(atom).draft <= 7:
            return {"$ref": schema["$ref"]}
        return schema

    def follow(self, expr: Expr) -> tuple[Expr, bool]:
        """What an expression of nothing but a reference leads to, and whether it was one."""
        seen: set[Expr] = set()
        while len(expr) == 1 and isinstance(expr[0].value, dict) and expr not in seen:
            seen.add(expr)
            schema = self.effective(expr[0])
            if "$ref" not in schema or any(not k.startswith("$") for k in schema):
                break
            expr = self._schemas.refer(expr[0], schema["$ref"], "$ref")
        return expr, len(seen) > 1

    def of(self, expr: Expr, inside: tuple[Atom, ...] = ()) -> list[Case]:
        """The cases of an expression; none when nothing fits it. inside: the atoms around."""
        found: list[Case] = [()]
        for atom in expr:
            found = _product(found, self._of_atom(atom, inside))
        return found

    def _of_atom(self, atom: Atom, inside: tuple[Atom, ...]) -> list[Case]:
        if atom.value is Unsatisfiable:
            return []
        if isinstance(atom.value, Union):
            return [case for expr in atom.value.exprs for case in self.of(expr, inside)]
        if atom in inside:
            raise DanglingReferenceError(
                "a reference leads back to itself without entering a value",
                location=pointer_of(atom),
                expected="recursion through properties or items",
                hint="remove the loop",
            )
        inside = (*inside, atom)
        schema = self.effective(atom)
        found: list[Case] = [(atom,)]
        for keyword in REFERENCES:
            if isinstance(schema.get(keyword), str):
                target = self._schemas.refer(atom, schema[keyword], keyword)
                found = _product(found, self.of(target, inside))
        for branch in self._branches(atom, schema, "allOf"):
            found = _product(found, self.of(branch, inside))
        for keyword in ("anyOf", "oneOf"):
            branches = self._branches(atom, schema, keyword)
            if not branches:
                continue
            union = [case for branch in branches for case in self.of(branch, inside)]
            if len(union) * len(found) > MAX_CASES:
                text = f"combining its branches with others gives over {MAX_CASES} cases"
                self._lose(atom, keyword, "looser", text)
                continue
            if keyword == "oneOf" and not self._exclusive(branches):
                self._lose(atom, keyword, "looser", "values that fit several branches are let in")
            found = _product(found, union)
        return found

    def _branches(self, atom: Atom, schema: dict[str, Any], keyword: str) -> list[Expr]:
        listed = schema.get(keyword, [])
        return [self._schemas.child(branch, atom, keyword, i) for i, branch in enumerate(listed)]

    def _exclusive(self, branches: list[Expr]) -> bool:
        """Whether it is certain that no value fits two branches."""
        try:
            forms = [self._schemas.normal_form(branch) for branch in branches]
            return all(
                self._schemas.costs.of_form(conjunction(a, b)) is None
                for i, a in enumerate(forms)
                for b in forms[:i]
            )
        except StructgenError:
            return False


def _product(left: list[Case], right: list[Case]) -> list[Case]:
    """All conjunctions of a case of one list and a case of the other, each once."""
    return list(dict.fromkeys(tuple(dict.fromkeys((*a, *b))) for a in left for b in right))
