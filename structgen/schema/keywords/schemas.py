"""All subschemas of a document, expanded into normal forms on demand.

`Schemas` expands each atom once (`keywords.build`). Recursion is fine through properties and items,
where children are only named by expressions; a reference that leads back to itself without entering
a value is an error.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

from structgen.errors import (
    BudgetError,
    DanglingReferenceError,
)
from structgen.regular.lazy_dfa.automaton import explore_ahead, explore_vector_ahead
from structgen.regular.regex import EMPTY, readable
from structgen.schema.formats.formats import format_language
from structgen.schema.keywords import keywords, simple
from structgen.schema.keywords.constants import constants
from structgen.schema.keywords.subschemas import Negation, Subschemas, Union
from structgen.schema.machine.any_value import free_costs
from structgen.schema.machine.shortest_value import shortest_value
from structgen.schema.matchers import Matchers
from structgen.schema.normal_form.combination import branches_of, children_of, disjunction
from structgen.schema.normal_form.expressions import (
    Atom,
    Children,
    Expr,
    OneOf,
    Unsatisfiable,
    is_one_of,
)
from structgen.schema.normal_form.forms import (
    NOTHING,
    NormalForm,
    ObjectAlt,
)
from structgen.schema.normal_form.logic import object_child
from structgen.schema.objects.clause_matcher import ClauseMatcher
from structgen.schema.references.references import Place
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import allow, checkpoint
from structgen.util.json_pointer import location

WORK_EACH = 20  # units of work that each subschema adds to what a schema may take
MAX_AHEAD = 20_000  # states of strings' languages that are explored ahead
MAX_EXPLORED = 4  # alternatives of an object whose key patterns are explored a little
MANY_CLAUSES = 16  # from which on keys are explored that they name
MANY_ENTANGLED = 300  # obligations of the alternatives of an object that is opened ahead
MAX_OPENED = 16  # objects that are opened ahead
MAX_FIRST = 4  # keys of listed objects that come first in what is explored
SOME_PATTERNS = 3  # key patterns of an object that is opened ahead
FEW_PATTERNS = 4  # key patterns that cannot take long beside each other
MAX_SCALARS = 1024  # normal forms of simple scalar schemas that the process remembers

# by `simple.scalar_key` and options; the oldest are dropped first
_scalars: OrderedDict[tuple[Any, ...], NormalForm] = OrderedDict()
Located = tuple[dict[str, Any], Place]  # a subschema, and where it is


class Schemas(Subschemas):
    """The subschemas of one document, each expanded when it is needed."""

    @cached_attribute
    def explored(self) -> list[tuple[NormalForm, str | None]]:
        """Objects to be opened ahead, with a key that comes first: see `JsonMachine.explore`."""
        return []

    @cached_attribute
    def costs(self) -> Matchers:
        """Costs and matchers."""
        free = free_costs(self.declared, self.gap)
        return Matchers(self, self.declared, self.gap, shortest_value, free=free)

    def children(self, schemas: dict[str, Any], parent: Atom, keyword: str) -> Mapping[str, Expr]:
        """See `Subschemas.children`."""
        place = self.place(parent)
        is_satisfiable = partial(simple.surely_satisfiable, dialect=place.dialect)

        def make(name: str, schema: Any) -> Expr:
            return self._expr(schema, place, (keyword, name))

        all_satisfiable = simple.are_trivially_satisfiable(schemas, place.dialect)
        if all_satisfiable or simple.are_anonymous(schemas):
            return Children(schemas, make, is_satisfiable, all_satisfiable)
        return {name: make(name, schema) for name, schema in schemas.items()}  # may be broken

    def surely_satisfiable(self, expr: Expr) -> bool:
        """Whether some value certainly fits, as the JSON of a simple subschema shows.

        Others may stand beside it that say nothing but the same type.
        """
        if len(expr) == 1 and isinstance(expr[0].value, OneOf):
            return any(map(simple.is_writable, expr[0].value.values))
        whole: dict[str, Any] | None = None
        for atom in expr:
            schema, place = atom.value, atom.place
            if isinstance(place, str) or not isinstance(schema, dict):
                return False
            dialect = place.spot.dialect
            if "$ref" in schema and simple.is_reference(schema, dialect):
                schema, place = self._follow(place, schema["$ref"], "$ref")
            if not isinstance(schema, dict) or place.spot.dialect.ignored:
                return False
            whole = schema if whole is None else simple.with_type(whole, schema)
            if whole is None:
                return False
        return whole is None or simple.surely_satisfiable(whole, dialect)

    def expand(self, atom: Atom) -> NormalForm:
        """See `Subschemas.expand`."""
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
            values, is_plain = value
            return constants(self, [*values], lambda: atom.location, is_plain=is_plain)
        if isinstance(value, Negation):
            return self.negated_form(self.normal_form(value.expr), atom.where)
        if isinstance(value, Union):
            return disjunction([self.normal_form(expr) for expr in value.exprs], atom.where)
        key = simple.scalar_key(value, self.place(atom).dialect)
        if key is None:
            return keywords.build(self, atom)
        options = self.natural, self.patterns, self.assert_formats, self.only_strings
        key = (*options, self.surrogates, *key)
        form = _scalars.get(key)
        if form is None:
            if len(_scalars) >= MAX_SCALARS:
                _scalars.popitem(last=False)
            form = _scalars[key] = keywords.build(self, atom)
        return form

    def restricts(self, atom: Atom) -> bool:
        """See `Subschemas.restricts`."""
        value = atom.value
        return not isinstance(value, dict) or not value.keys().isdisjoint(keywords.KEYWORDS)

    def expression_of(self, form: NormalForm) -> Expr | None:
        """An expression with this normal form, None if it is only part of one."""
        found = next((expr for expr, n in self._conjunctions.items() if n is form), None)
        if found is None:
            found = next(((atom,) for atom, n in self._normal_forms.items() if n is form), None)
        return found

    def complete(self) -> None:
        """Look at all subschemas that the root reaches, so that every error shows at compile time.

        Simple ones are checked (`keywords.simple`), all others expanded. Automata of formats, key
        patterns and tags are explored a little.
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
            if isinstance(entry.value, OneOf) and all(map(simple.is_constant, entry.value.values)):
                continue
            form = self.expand(entry)
            costly.append((entry, form))
            joined.update(dict.fromkeys(_shared_children(form)))
            # an item that is one too many has to fit a negation, as a member of a branch that fails
            limited = (c.child for a in form.arrays for c in a.contains if c.most is not None)
            branches = branches_of(form.objects)
            counted = () if branches is None else branches.expressions()
            for child in (*children_of(form), *map(self.negation, (*limited, *counted))):
                for atom in child:
                    if atom not in atoms:
                        atoms.add(atom)
                        todo.append(atom)

        # what is demanded at once of a key may be more than any part of it shows
        for expr in joined:
            alone = [self.expand(atom).objects for atom in expr]
            if sum(_patterns_of(o[0]) for o in alone if isinstance(o, tuple) and o) > FEW_PATTERNS:
                costly.append((expr[0], self.normal_form(expr)))
        explored = 0
        for atom, form in costly:
            try:
                if explored < MAX_AHEAD:
                    read = readable(form.string)
                    explored += explore_ahead(read, estimated=read is not form.string)
                explore_ahead(form.number)
                self._explore_keys(form)
            except BudgetError as error:
                error.location = error.location or location(atom.location)
                raise

    def _explore_keys(self, form: NormalForm) -> None:
        """Find the keys that may come in an object with many patterns, and explore a little.

        And which keys may come first in one with many conditions, and what their tags decide; in
        one with many alternatives that exclude each other, which keys may come first.
        """
        branches = branches_of(form.objects)
        if branches is not None:
            if len(self.explored) < MAX_OPENED:
                self.explored.append((form, branches.deciding))
            return
        alternatives = [*islice(form.objects, MAX_EXPLORED + 1)]
        if len(alternatives) > MAX_EXPLORED:
            obligations = sum(len(o.groups) + len(o.clauses) for o in form.objects)
            if obligations >= MANY_ENTANGLED and len(self.explored) < MAX_OPENED:
                is_listed = all(map(_is_constant, alternatives))
                first = alternatives[0].required if is_listed else _shared_keys(form.objects)
                self.explored += [(form, key) for key in first[:MAX_FIRST] or (None,)]
            return
        if not any(_patterns_of(o) or len(o.clauses) >= MANY_CLAUSES for o in alternatives):
            return
        for matcher in self.costs.objects(form):
            if isinstance(matcher, ClauseMatcher):
                keys = matcher.explore(MANY_CLAUSES)
                opened = (len(self.explored) < MAX_OPENED) * [(form, None)]
                self.explored += [(form, key) for key in keys] or opened
            elif matcher.key_rules is not None and matcher.key_classes:
                # as the lexer state of a key that is none of the names has it
                explore_vector_ahead((EMPTY, *matcher.key_rules.languages), of_keys=True)
                if len(self.explored) < MAX_OPENED:
                    self.explored.append((form, None))
            elif _patterns_of(matcher.alt) >= SOME_PATTERNS and len(self.explored) < MAX_OPENED:
                self.explored.append((form, None))

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


def _shared_keys(alternatives: Iterable[ObjectAlt]) -> tuple[str, ...]:
    """The keys that some alternatives all require, of whose values they ask many things."""
    o, *others = alternatives
    required = [key for key in o.required if all(key in other.required for other in others)]
    asked = {key: {object_child(other, key) for other in (o, *others)} for key in required}
    return tuple(key for key, children in asked.items() if len(children) > MAX_EXPLORED)


def _is_constant(o: ObjectAlt) -> bool:
    """Whether an alternative is a single object, as `enum` lists them."""
    children = [child for group in o.groups for child in group.named.values()]
    return bool(children) and all(map(is_one_of, children))


def _patterns_of(o: ObjectAlt) -> int:
    return sum(len(group.patterns) for group in o.groups)
