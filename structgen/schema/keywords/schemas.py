"""All subschemas of a document, expanded into normal forms on demand; references are resolved.

`Schemas` owns the atoms (one per subschema and dynamic scope) and expands each atom once
(`keywords.build`). Recursion is fine through properties and items, where children are only named by
expressions; a reference that leads back to itself without entering a value is an error.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.errors import (
    BudgetError,
    DanglingReferenceError,
    PatternError,
    SpecError,
    UnsupportedSchemaError,
)
from structgen.regular.lazy_dfa.automaton import explore_ahead, explore_vector_ahead
from structgen.regular.regex import EMPTY, Regex
from structgen.regular.syntax.dialects import AUTO
from structgen.regular.syntax.pattern import parse
from structgen.regular.words import is_spellable
from structgen.schema.formats.formats import format_language
from structgen.schema.keywords import keywords, simple
from structgen.schema.keywords.constants import constants, listed
from structgen.schema.keywords.copies import Copies
from structgen.schema.keywords.listings import excludes_listing, is_listing
from structgen.schema.machine.any_value import free_costs
from structgen.schema.machine.shortest_value import shortest_value
from structgen.schema.normal_form.combination import Where, conjunction, disjunction
from structgen.schema.normal_form.costs import Costs
from structgen.schema.normal_form.expressions import (
    FALSE,
    TRUE,
    Atom,
    Children,
    Expr,
    OneOf,
    Unsatisfiable,
)
from structgen.schema.normal_form.forms import (
    ANYTHING,
    NOTHING,
    NormalForm,
    ObjectAlt,
    children_of,
)
from structgen.schema.normal_form.logic import negated, object_child
from structgen.schema.references.references import Place, References, Scope
from structgen.schema.references.resources import Path, Resource
from structgen.schema.values import Value, data_of, value_of
from structgen.util.cancellation import allow, checkpoint
from structgen.util.json_pointer import location

if TYPE_CHECKING:
    from referencing import Registry


WORK_EACH = 20  # units of work that each subschema adds to what a schema may take
MAX_EXPLORED = 4  # alternatives of an object whose key patterns are explored a little
FEW_PATTERNS = 4  # key patterns that cannot take long beside each other
MAX_SCALARS = 1024  # normal forms of simple scalar schemas that the process remembers

# by `simple.scalar_key` and options; the oldest are dropped first
_scalars: OrderedDict[tuple[Any, ...], NormalForm] = OrderedDict()
Located = tuple[dict[str, Any], Place]  # a subschema, and where it is


def kind_of(value: Any) -> str:
    """The JSON type of a value, in words."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), f"{value!r}")


class Schemas:
    """The subschemas of one document, each expanded when it is needed."""

    def __init__(
        self,
        schema: Any,
        *,
        assert_formats: bool,
        declared: bool,
        gap: int,
        natural: bool,
        patterns: str = AUTO,
        registry: Registry[Any] | None,
    ) -> None:
        self.assert_formats = assert_formats
        self.patterns = patterns  #: their dialect
        self.natural = natural  #: spell integers in digits only
        self.declared = declared  #: names come in declared order, before other keys
        self._atoms: dict[tuple[int, Resource, Scope], Atom] = {}
        self._normal_forms: dict[Atom, NormalForm] = {}
        self._patterns: dict[str, Regex] = {}
        self._conjunctions: dict[Expr, NormalForm] = {TRUE: ANYTHING}
        self._expanding: list[Atom] = []
        self._too_costly: dict[Atom, BudgetError] = {}
        self.only_strings = False  #: skip keywords that do not restrict strings
        self._of_strings: Schemas | None = None
        self._constants: dict[frozenset[Value], Expr] = {}
        self._negations: dict[Expr, Expr] = {}
        self._copies = Copies()
        self._unions: dict[tuple[Expr, ...], Expr] = {}
        self._negated_forms: dict[tuple[NormalForm, tuple[str, ...]], NormalForm] = {}
        self.costs = Costs(self, declared, gap, free=free_costs(declared, gap))
        self._references = References(schema, registry)
        documents = [] if registry is None else [registry[uri].contents for uri in registry]
        #: whether alternatives are annotated with what they evaluate
        self.tracks_evaluation = any(map(_mentions, (schema, *documents)))
        self._arrived = 0  # documents retrieved later that `_mentions` has seen
        self.root: Expr = self._expr(schema, self._references.root, None)

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

    def children(self, schemas: dict[str, Any], parent: Atom, keyword: str) -> Mapping[str, Expr]:
        """The expressions of the subschemas in the object that is a keyword's value in `parent`."""
        place = self.place(parent)
        is_satisfiable = partial(simple.surely_satisfiable, dialect=place.dialect)

        def make(name: str, schema: Any) -> Expr:
            return self._expr(schema, place, (keyword, name))

        all_satisfiable = simple.are_trivially_satisfiable(schemas, place.dialect)
        if all_satisfiable or simple.are_anonymous(schemas):
            return Children(schemas, make, is_satisfiable, all_satisfiable)
        return {name: make(name, schema) for name, schema in schemas.items()}  # may be broken

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
            form = ANYTHING if begun is None else begun
            for atom in expr if begun is None else expr[-1:]:
                part = self.expand(atom)
                form = part if form is ANYTHING else conjunction(form, part, atom.where)
            if self.tracks_evaluation == tracked:
                self._conjunctions[expr] = form
        return form

    def strings(self, expr: Expr) -> Regex:
        """The strings that fit; keywords about other types are not looked at.

        So `propertyNames` may refer to the schema around it.
        """
        if self._of_strings is None:
            self._of_strings = strings = copy(self)
            strings.only_strings, strings.tracks_evaluation = True, False
            strings._normal_forms, strings._conjunctions, strings._expanding = (
                {},
                {TRUE: ANYTHING},
                [],
            )
        return self._of_strings.normal_form(expr).string

    def surely_satisfiable(self, expr: Expr) -> bool:
        """Whether some value certainly fits, as the JSON of a simple subschema shows.

        Others may stand beside it that say nothing but the same type.
        """
        if len(expr) == 1 and isinstance(expr[0].value, OneOf):
            return any(isinstance(x, str) and is_spellable(x) for x in expr[0].value.values)
        whole: dict[str, Any] = {}
        for atom in expr:
            schema, place = atom.value, atom.place
            if isinstance(place, str) or not isinstance(schema, dict):
                return False
            if simple.is_reference(schema, place.dialect):
                schema, place = self._follow(place, schema["$ref"], "$ref")
            joined = simple.with_type(whole, schema) if isinstance(schema, dict) else None
            if joined is None or place.dialect.ignored:
                return False
            whole = joined
        return expr == TRUE or simple.surely_satisfiable(whole, self.place(expr[-1]).dialect)

    def shortest_value(self, costs: Costs, form: NormalForm) -> object:
        """A value that fits a normal form, with the shortest text."""
        return shortest_value(costs, form)

    def expand(self, atom: Atom) -> NormalForm:
        """The normal form of one atom, made on first use."""
        form = self._normal_forms.get(atom)
        if form is not None:
            return form
        if atom in self._too_costly:  # reports ask again and again
            raise self._too_costly[atom]
        if atom in self._expanding:
            loop = (*self._expanding[self._expanding.index(atom) :], atom)
            route = " -> ".join(location(a.location) for a in loop)
            raise DanglingReferenceError(
                f"a reference leads back to itself without entering a value: {route}",
                location=location(atom.location),
                expected="recursion through properties or items",
                hint="remove the loop",
            )
        if isinstance(atom.value, dict | OneOf):  # and no union or negation that was made of others
            allow(WORK_EACH)
        checkpoint()
        tracked = self.tracks_evaluation
        self._expanding.append(atom)
        try:
            form = self._expand(atom)
        except BudgetError as error:
            error.location = error.location or location(atom.location)
            self._too_costly[atom] = error
            raise
        finally:
            self._expanding.pop()
        if self.tracks_evaluation == tracked:
            self._normal_forms[atom] = form
        return form

    def _expand(self, atom: Atom) -> NormalForm:
        """The normal form of one atom; those of simple scalar schemas are cached per process."""
        value = atom.value
        if value is Unsatisfiable:
            return NOTHING
        if isinstance(value, OneOf):
            return constants(self, list(value.values), lambda: atom.location)
        if isinstance(value, Negation):
            return self.negated_form(self.normal_form(value.expr), atom.where)
        if isinstance(value, Union):
            return disjunction([self.normal_form(expr) for expr in value.exprs], atom.where)
        key = simple.scalar_key(value, self.place(atom).dialect)
        if key is None:
            return keywords.build(self, atom)
        key = (self.natural, self.patterns, self.assert_formats, self.only_strings, *key)
        form = _scalars.get(key)
        if form is None:
            if len(_scalars) >= MAX_SCALARS:
                _scalars.popitem(last=False)
            form = _scalars[key] = keywords.build(self, atom)
        return form

    def constant(self, value: Any, location: str) -> Expr:
        """The expression of one value."""
        return (Atom(OneOf((value,)), location, frozenset((value_of(value),))),)

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
        if not any(map(self._restricts, expr)):
            return FALSE
        if expr not in self._negations:
            self._negations[expr] = (self._negation_atom(expr),)
        return self._negations[expr]

    def _restricts(self, atom: Atom) -> bool:
        """Whether an atom may restrict anything; a subschema of annotations does not."""
        value = atom.value
        return not isinstance(value, dict) or not value.keys().isdisjoint(keywords.KEYWORDS)

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
            self._unions[some] = (Atom(Union(some), some[0][0].location),)
        return self._unions[some]

    def negated_form(
        self, form: NormalForm, location: Where, telling: tuple[str, ...] = ()
    ) -> NormalForm:
        """See `logic.negated`. Raises BudgetError with this location."""
        found = self._negated_forms.get((form, telling))
        if found is None:
            found = negated(form, self.negation, location, telling)
            self._negated_forms[form, telling] = found
        return found

    def peek(self, expr: Expr) -> NormalForm | None:
        """The normal form of an expression; None while one of its atoms is being expanded."""
        try:
            return self.normal_form(expr)
        except DanglingReferenceError:  # perhaps only because of what is being expanded
            return None

    def expression_of(self, form: NormalForm) -> Expr | None:
        """An expression with this normal form, None if it is only part of one."""
        found = next((expr for expr, n in self._conjunctions.items() if n is form), None)
        if found is None:
            found = next(((atom,) for atom, n in self._normal_forms.items() if n is form), None)
        return found

    def pattern(self, text: Any, location: str) -> Regex:
        """The language of the strings in which a pattern matches somewhere."""
        if not isinstance(text, str):
            raise SpecError("a pattern must be a string", location=location)
        if text not in self._patterns:
            try:
                self._patterns[text] = parse(text, dialect=self.patterns)
            except (PatternError, UnsupportedSchemaError) as error:
                error.location = location
                raise
        return self._patterns[text]

    def complete(self) -> None:
        """Look at all subschemas that the root reaches, so that every error shows at compile time.

        Simple ones are checked (`keywords.simple`), all others expanded. Automata of formats are
        explored a little.
        """
        seen: dict[Any, set[int]] = {}  # by all of a place but its path
        atoms = set(self.root)
        todo: list[Atom | Located] = list(self.root)
        costly: list[tuple[Atom, NormalForm]] = []
        joined: dict[Expr, None] = {}
        while todo:
            entry = todo.pop()
            if isinstance(entry, Atom) and isinstance(entry.value, dict):
                entry = (entry.value, self.place(entry))
            if isinstance(entry, tuple):
                schema, place = entry
                spot, scope = place
                below = self._complex_below(
                    schema, place, seen.setdefault((spot.resource, scope, spot.dialect), set())
                )
                if below is not None:
                    todo += below
                    continue
                entry = self.atom(schema, place, entered=True)
            form = self.expand(entry)
            costly.append((entry, form))
            joined.update(dict.fromkeys(_shared_children(form)))
            for child in children_of(form):
                for atom in child:
                    if atom not in atoms:
                        atoms.add(atom)
                        todo.append(atom)

        # what is demanded at once of a key may be more than any part of it shows
        for expr in joined:
            alone = [self.expand(atom).objects for atom in expr]
            if sum(_patterns_of(o[0]) for o in alone if isinstance(o, tuple) and o) > FEW_PATTERNS:
                costly.append((expr[0], self.normal_form(expr)))
        for atom, form in costly:
            try:
                explore_ahead(form.string)
                explore_ahead(form.number)
                self._explore_keys(form)
            except BudgetError as error:
                error.location = error.location or location(atom.location)
                raise

    def _explore_keys(self, form: NormalForm) -> None:
        """Find the keys that may come in an object with many patterns, and explore a little."""
        alternatives = [*islice(form.objects, MAX_EXPLORED + 1)]
        if len(alternatives) > MAX_EXPLORED or not any(map(_patterns_of, alternatives)):
            return
        for matcher in self.costs.objects(form):
            if matcher.key_rules is not None and matcher.key_classes:
                # as the lexer state of a key that is none of the names has it
                explore_vector_ahead((EMPTY, *matcher.key_rules.languages))

    def _complex_below(
        self, schema: dict[str, Any], place: Place, seen: set[int]
    ) -> list[Located] | None:
        """What is to be looked at below a simple subschema; None if it has to be expanded."""
        if "$ref" not in schema:
            formats: set[str] = set()
            found = simple.complex_below(schema, place.dialect, seen, formats)
            if found is None:
                return None
            for name in formats if self.assert_formats else ():
                format_language(name)  # prepared here, not in the middle of a text
            enter = self._references.enter
            return [(child, enter(child, place.below(path))) for path, child in found]
        if not simple.is_reference(schema, place.dialect):
            return None
        target, at = self._follow(place, schema["$ref"], "$ref")
        if not isinstance(target, dict):
            return None
        if "$ref" in target or simple.children(target, at.dialect) is None:
            return None
        known = id(target) in seen and at == place
        return [] if known else [(target, at)]


def _shared_children(form: NormalForm) -> Iterator[Expr]:
    """What the values of keys must fit that several groups of properties name."""
    for o in form.objects if isinstance(form.objects, tuple) else ():
        names = Counter(name for group in o.groups for name in group.named) if o.groups[1:] else {}
        yield from (object_child(o, name) for name, count in names.items() if count > 1)


def _patterns_of(o: ObjectAlt) -> int:
    return sum(len(group.patterns) for group in o.groups)


def _mentions(schema: Any) -> bool:
    """Whether `unevaluatedProperties` or `unevaluatedItems` is anywhere in a document."""
    todo: list[Iterable[Any]] = [[schema]]
    while todo:
        for value in todo.pop():
            if isinstance(value, dict):
                if "unevaluatedProperties" in value or "unevaluatedItems" in value:
                    return True
                todo.append(value.values())
            elif isinstance(value, list):
                todo.append(value)
    return False


class Negation(NamedTuple):
    """The value of an atom: all that does not fit an expression."""

    expr: Expr


class Union(NamedTuple):
    """The value of an atom: all that fits at least one of several expressions."""

    exprs: tuple[Expr, ...]
