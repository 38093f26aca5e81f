"""A subschema while its keywords are read: their values, checked, and the normal form so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from structgen.errors import BudgetError, SpecError
from structgen.regular.numbers.language import to_fraction
from structgen.schema.keywords.subschemas import Subschemas
from structgen.schema.normal_form.combination import Where, conjunction
from structgen.schema.normal_form.expressions import Atom, Expr
from structgen.schema.normal_form.forms import ANYTHING, NormalForm, ObjectAlt
from structgen.schema.values import dumps
from structgen.util.json_pointer import location, pointer_to

_FREE = {name: getattr(ANYTHING, name) for name in NormalForm.__dataclass_fields__}


class Subschema:
    """One subschema, and the conjuncts that its keywords have added.

    The argument of every keyword function: they read `schema`, and call `require` or `only`.
    """

    def __init__(self, schemas: Subschemas, atom: Atom) -> None:
        self.schemas = schemas
        self.atom = atom
        self.dialect = schemas.place(atom).dialect
        self.schema: dict[str, Any] = self.dialect.effective(atom.value)
        self.draft = self.dialect.draft
        self.conjuncts: list[NormalForm] = []  # conjuncts, left to right

    def get(self, keyword: str) -> Any:
        """A sibling keyword's value, or None."""
        return self.schema.get(keyword)

    def at(self, *path: str | int) -> str:
        """The location of something below this subschema."""
        return location(self.atom.location) + pointer_to(path)

    def where(self, *path: str | int) -> Where:
        """What says that location, for errors that are raised later or never."""
        return partial(self.at, *path)

    def child(self, schema: Any, *path: str | int) -> Expr:
        """The expression of a subschema below this one."""
        return self.schemas.child(schema, self.atom, *path)

    def children(self, keyword: str) -> Mapping[str, Expr]:
        """The expressions of the subschemas in the object that is the value of a keyword."""
        return self.schemas.children(self.members(keyword), self.atom, keyword)

    def normal_form(self, schema: Any, *path: str | int) -> NormalForm:
        """The normal form of a subschema that applies to the same value."""
        return self.schemas.normal_form(self.child(schema, *path))

    def negated_form(
        self, form: NormalForm, keyword: str, telling: Sequence[str] = ()
    ) -> NormalForm:
        """The negation of a normal form that belongs to `keyword` (see `logic.negated`)."""
        return self.schemas.negated_form(form, self.where(keyword), tuple(telling))

    def broken(self, keyword: str, expected: str) -> SpecError:
        """The error for a keyword with a value that it cannot have."""
        try:
            value = dumps(self.schema[keyword])
        except TypeError:
            value = str(self.schema[keyword])
        shown = value if len(value) <= 60 else value[:57] + "..."
        return SpecError(f"'{keyword}' is {shown}", location=self.at(keyword), expected=expected)

    def require(self, form: NormalForm) -> None:
        """Add a conjunct."""
        self.conjuncts.append(form)

    def only(self, **parts: Any) -> None:
        """Add a conjunct that restricts the given JSON types and leaves the others alone."""
        self.conjuncts.append(NormalForm(**(_FREE | parts)))

    def conjunction(self) -> NormalForm:
        """The normal form of all keywords so far."""
        form = ANYTHING
        try:
            for part in self.conjuncts:
                form = conjunction(form, part, self.at)
        except BudgetError as error:
            error.location = error.location or self.at()
            raise
        return form

    def sole_objects(self) -> list[ObjectAlt]:
        """The alternatives of objects that all keywords so far demand in any case."""
        sole = [form.objects for form in self.conjuncts if isinstance(form.objects, tuple)]
        return [objects[0] for objects in sole if len(objects) == 1]

    def count(self, keyword: str) -> int | None:
        """The value of a keyword that is a non-negative integer, None if absent."""
        value = self.get(keyword)
        if value is None and keyword not in self.schema:
            return None
        if type(value) is int and value >= 0:  # as nearly all are
            return value
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        count = to_fraction(value, location=self.at(keyword)) if is_number else None
        if count is None or count.denominator > 1 or count < 0:
            raise self.broken(keyword, "a non-negative integer")
        return count.numerator

    def number(self, keyword: str) -> Fraction | None:
        """The value of a keyword that is a number, None if absent."""
        if keyword not in self.schema:
            return None
        value = self.schema[keyword]
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise self.broken(keyword, "a number")
        return to_fraction(value)

    def members(self, keyword: str) -> dict[str, Any]:
        """The value of a keyword that is an object, {} if absent."""
        value = self.schema.get(keyword, {})
        if not isinstance(value, dict):
            raise self.broken(keyword, "an object")
        return value

    def listed(self, keyword: str) -> list[Any]:
        """The value of a keyword that is a non-empty list of schemas."""
        value = self.schema[keyword]
        if not isinstance(value, list) or not value:
            raise self.broken(keyword, "a non-empty array of schemas")
        return value
