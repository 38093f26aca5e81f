"""The subschemas of a document as expressions, and the normal forms of these.

`Subschemas` owns the atoms (one per subschema and dynamic scope) and resolves references. It is
what keywords see of the schema around them; how an atom is expanded is for `Schemas`, which knows
the keywords.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.errors import (
    BudgetError,
    DanglingReferenceError,
    PatternError,
    SpecError,
    UnsupportedSchemaError,
)
from structgen.regular.lone_surrogates import WRITABLE, escaped, names_surrogates
from structgen.regular.regex import ANY, EMPTY, Regex, intersect
from structgen.regular.syntax.dialects import AUTO
from structgen.regular.syntax.pattern import parse
from structgen.schema.keywords.copies import Copies
from structgen.schema.machine.lexicon import prepare_fractional
from structgen.schema.normal_form.combination import Where, conjunction_of_atoms
from structgen.schema.normal_form.expressions import FALSE, TRUE, Atom, Expr, OneOf, is_one_of
from structgen.schema.normal_form.forms import ANYTHING, NormalForm
from structgen.schema.normal_form.listings import excludes_listing, is_listing, listed
from structgen.schema.normal_form.logic import negated
from structgen.schema.references.references import Place, References, Scope
from structgen.schema.references.resources import Path, Resource
from structgen.schema.references.vocabularies import UNEVALUATED
from structgen.schema.values import Value, data_of, value_of
from structgen.util.json_pointer import location

if TYPE_CHECKING:
    from referencing import Registry


class Negation(NamedTuple):
    """The value of an atom: all that does not fit an expression."""

    expr: Expr


class Union(NamedTuple):
    """The value of an atom: all that fits at least one of several expressions."""

    exprs: tuple[Expr, ...]


def _joined(exprs: tuple[Expr, ...]) -> Atom | None:
    """One list for several; None where one of them is something else, or spelled otherwise."""
    if not all(map(is_one_of, exprs)) or len({expr[0].value.is_plain for expr in exprs}) > 1:
        return None
    first = exprs[0][0]
    values = tuple(value for expr in exprs for value in expr[0].value.values)
    allowed = frozenset[Value]().union(*(expr[0].allowed or () for expr in exprs))
    return Atom(OneOf(values, first.value.is_plain), first.place, allowed)


class Subschemas(ABC):
    """The subschemas of one document, and the options that they are read with."""

    def __init__(
        self,
        schema: Any,
        *,
        assert_formats: bool,
        declared: bool,
        gap: int,
        natural: bool,
        patterns: str = AUTO,
        surrogates: bool = False,
        registry: Registry[Any] | None,
    ) -> None:
        self.assert_formats = assert_formats
        self.surrogates = surrogates  #: strings may have unpaired ones
        self.gap = gap  #: fewest bytes of a gap between lexemes
        self.patterns = patterns  #: their dialect
        self.natural = natural  #: spell integers in digits only
        self.declared = declared  #: names come in declared order, before other keys
        self._atoms: dict[tuple[int, Resource, Scope], Atom] = {}
        self._normal_forms: dict[Atom, NormalForm] = {}
        self._patterns: dict[tuple[str, bool], Regex] = {}  # and whether surrogates may come
        self._conjunctions: dict[Expr, NormalForm] = {TRUE: ANYTHING}
        self._expanding: list[Atom] = []
        self._too_costly: dict[Atom, BudgetError] = {}
        self.only_strings = False  #: skip keywords that do not restrict strings
        self._of_strings: Subschemas | None = None
        self._constants: dict[frozenset[Value], Expr] = {}
        self._texts: dict[str, Expr] = {}
        self._negations: dict[Expr, Expr] = {}
        self._copies = Copies()
        self._unions: dict[tuple[Expr, ...], Expr] = {}
        self._negated_forms: dict[tuple[NormalForm, tuple[str, ...]], NormalForm] = {}
        self._references = References(schema, registry)
        documents = [] if registry is None else [registry[uri].contents for uri in registry]
        #: whether alternatives are annotated with what they evaluate
        self.tracks_evaluation = any(map(_mentions, (schema, *documents)))
        self._arrived = 0  # documents retrieved later that `_mentions` has seen
        self.root: Expr = self._expr(schema, self._references.root, None)

    @abstractmethod
    def expand(self, atom: Atom) -> NormalForm:
        """The normal form of one atom, made on first use."""

    @abstractmethod
    def children(self, schemas: dict[str, Any], parent: Atom, keyword: str) -> Mapping[str, Expr]:
        """The expressions of the subschemas in the object that is a keyword's value in `parent`."""

    @abstractmethod
    def restricts(self, atom: Atom) -> bool:
        """Whether an atom may restrict anything; a subschema of annotations does not."""

    def atom(self, schema: Any, place: Place, entered: bool = False) -> Atom:
        """The atom of a subschema at `place` (the same object and scope give the same atom).

        `entered`: `place` is already inside the subschema's own `$id`.
        """
        if not isinstance(schema, dict):
            raise SpecError(
                f"a schema must be an object or a boolean, got {kind_of(schema)}",
                location=location(place.pointer),
                expected="an object, true or false",
            )
        at = place if entered else self._references.enter(schema, place)
        key = id(schema), at.spot.resource, at.scope
        atom = self._atoms.get(key)
        if atom is None:
            lists = "enum" in schema or "const" in schema
            values = partial(listed, schema, at.dialect) if lists else None
            atom = self._atoms[key] = Atom(schema, at, values)
            if excludes_listing(schema):
                atom.excluded_values = listed(schema["not"], at.dialect) or frozenset()
        return atom

    def _expr(self, schema: Any, place: Place, path: Path | None) -> Expr:
        """The expression of a subschema at a path below a place; None inside its own `$id`."""
        if schema is True or schema is False:
            return TRUE if schema else FALSE
        if path is None:
            return (self.atom(schema, place, entered=True),)
        return (self.atom(schema, place.below(path)),)

    def child(self, schema: Any, parent: Atom, *path: str | int) -> Expr:
        """The expression of a subschema of `parent` at the given path below it."""
        return self._expr(schema, self.place(parent), path)

    def place(self, atom: Atom) -> Place:
        """Where the subschema of `atom` is."""
        if isinstance(atom.place, str):
            raise TypeError(f"{atom!r} is no subschema")
        return atom.place

    def refer(self, atom: Atom, reference: str, keyword: str) -> Expr:
        """The expression that a reference inside `atom` leads to."""
        target, place = self._follow(self.place(atom), reference, keyword)
        return self._expr(target, place, None)

    def _follow(self, at: Place, reference: str, keyword: str) -> tuple[Any, Place]:
        """See `References.follow`; what has been retrieved may ask for evaluation to be tracked."""
        found = self._references.follow(at, reference, keyword)
        arrived = self._references.retrieved[self._arrived :]
        self._arrived += len(arrived)
        if not self.tracks_evaluation and any(map(_mentions, arrived)):
            self.tracks_evaluation = True
            for untracked in (self._normal_forms, self._conjunctions, self._negated_forms):
                untracked.clear()
        return found

    def normal_form(self, expr: Expr) -> NormalForm:
        """The normal form of a conjunction of atoms."""
        form = self._conjunctions.get(expr)
        if form is None:
            tracked = self.tracks_evaluation
            begun = self._conjunctions.get(
                expr[:-1]
            )  # as where `uniqueItems` excludes one more value
            fresh = expr if begun is None else expr[-1:]
            forms = [self.expand(atom) for atom in fresh]
            where = expr[-1].where if expr else str
            form = conjunction_of_atoms(forms if begun is None else [begun, *forms], where)
            if self.tracks_evaluation == tracked:
                self._conjunctions[expr] = form
        return form

    def expressions_of(self, form: NormalForm) -> list[Expr]:
        """The expressions, of those looked at so far, that have a normal form."""
        return [expr for expr, found in self._conjunctions.items() if found is form]

    def strings(self, expr: Expr) -> Regex:
        """The strings that fit; keywords about other types are not looked at.

        So `propertyNames` may refer to the schema around it.
        """
        if self._of_strings is None:
            self._of_strings = strings = copy(self)
            strings.only_strings, strings.tracks_evaluation = True, False
            strings.surrogates = False  # in keys
            strings._normal_forms, strings._conjunctions, strings._expanding = (
                {},
                {TRUE: ANYTHING},
                [],
            )
        return self._of_strings.normal_form(expr).string

    def constant(self, value: Any, location: str, *, is_plain: bool = False) -> Expr:
        """The expression of one value; is_plain: see `OneOf`."""
        if not isinstance(value, str):
            return self._constant(value, location, is_plain)
        found = self._texts.get(value)  # the same text often comes again
        if found is None:
            found = self._texts[value] = self._constant(value, location, is_plain)
        return found

    def _constant(self, value: Any, location: str, is_plain: bool) -> Expr:
        return (Atom(OneOf((value,), is_plain), location, lambda: frozenset((value_of(value),))),)

    def one_of(self, values: frozenset[Value]) -> Expr:
        """The expression of exactly these values."""
        if values not in self._constants:
            listed = tuple(data_of(value) for value in values)
            self._constants[values] = (Atom(OneOf(listed), "", values),)
        return self._constants[values]

    def negation(self, expr: Expr) -> Expr:
        """The expression of the values that do not fit `expr`."""
        if expr in {TRUE, FALSE}:
            return FALSE if expr == TRUE else TRUE
        if len(expr) == 1 and expr[0].negation is not None:
            return (expr[0].negation,)
        if not any(map(self.restricts, expr)):
            return FALSE
        if expr not in self._negations:
            self._negations[expr] = (self._negation_atom(expr),)
        return self._negations[expr]

    def _negation_atom(self, expr: Expr) -> Atom:
        """The atom that negates `expr`; subschemas that are equal word for word share one."""
        if len(expr) > 1:
            return Atom(Negation(expr), expr[0].location)
        first = self._copies.first(expr[0])
        negation = first.negation
        if negation is None:
            excluded = first.excluded_values
            constants = self.one_of(excluded)[0] if excluded else None
            negation = first.negation = constants or Atom(Negation((first,)), first.location)
            negation.negation = first
            if is_listing(first.value):
                negation.excluded_values = first.allowed or frozenset()
        expr[0].negation = negation
        return negation

    def union(self, exprs: tuple[Expr, ...]) -> Expr:
        """The expression of the values that fit at least one of `exprs`."""
        if TRUE in exprs:
            return TRUE
        some = tuple(dict.fromkeys(expr for expr in exprs if expr != FALSE))
        if len(some) < 2:
            return some[0] if some else FALSE
        if some not in self._unions:
            self._unions[some] = (_joined(some) or Atom(Union(some), some[0][0].location),)
        return self._unions[some]

    def negated_form(
        self, form: NormalForm, location: Where, telling: tuple[str, ...] = ()
    ) -> NormalForm:
        """See `logic.negated`. Raises BudgetError with this location."""
        found = self._negated_forms.get((form, telling))
        if found is None:
            found = negated(form, self.negation, location, telling)
            if self.surrogates and form.string not in (ANY, EMPTY):
                found = replace(found, string=intersect(found.string, WRITABLE))
            prepare_fractional(found.number)  # here, not in the middle of a text
            self._negated_forms[form, telling] = found
        return found

    def peek(self, expr: Expr) -> NormalForm | None:
        """The normal form of an expression; None while one of its atoms is being expanded."""
        try:
            return self.normal_form(expr)
        except DanglingReferenceError:  # perhaps only because of what is being expanded
            return None

    def pattern(self, text: Any, location: str, *, of_keys: bool = False) -> Regex:
        """The language of the strings, or keys, in which a pattern matches somewhere."""
        if not isinstance(text, str):
            raise SpecError("a pattern must be a string", location=location)
        surrogates = self.surrogates and not of_keys
        found = self._patterns.get((text, surrogates))
        if found is None:
            try:
                found = self._parsed(text) if surrogates else parse(text, dialect=self.patterns)
            except (PatternError, UnsupportedSchemaError) as error:
                error.location = location
                raise
            self._patterns[text, surrogates] = found
        return found

    def _parsed(self, text: str) -> Regex:
        """The language of a pattern for strings that may have unpaired surrogates."""
        found = parse(escaped(text), dialect=self.patterns, surrogates=True)
        return intersect(found, WRITABLE) if names_surrogates(text) else found


def kind_of(value: Any) -> str:
    """The JSON type of a value, in words."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), f"{value!r}")


def _mentions(schema: Any) -> bool:
    """Whether a keyword about what others evaluate is anywhere in a document."""
    todo: list[Iterable[Any]] = [[schema]]
    while todo:
        for value in todo.pop():
            if isinstance(value, dict):
                if not value.keys().isdisjoint(UNEVALUATED):
                    return True
                todo.append(value.values())
            elif isinstance(value, list):
                todo.append(value)
    return False
