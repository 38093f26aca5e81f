"""Visits all subschemas and runs the function of each keyword, to see what becomes of it.

Every subschema is visited, also where compiling would have stopped at an earlier error, and each
function that enforces a keyword is run on its own, so that errors are found keyword by keyword.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.errors import StructgenError, UnsatisfiableSchemaError, UnsupportedSchemaError
from structgen.regular.regex import EMPTY, Regex, words
from structgen.schema.keywords.keywords import KEYWORDS, LAST, Keyword
from structgen.schema.keywords.schemas import Schemas
from structgen.schema.keywords.subschema import Subschema
from structgen.schema.normal_form.combination import cases_of
from structgen.schema.normal_form.expressions import Atom
from structgen.schema.normal_form.forms import NormalForm
from structgen.schema.references import metaschemas
from structgen.schema.references.metaschemas import DEFINITIONS
from structgen.schema.references.vocabularies import DEFAULT_DRAFT
from structgen.schema.report.slips import COMPANIONS
from structgen.util.json_pointer import location, pointer_to

if TYPE_CHECKING:
    from structgen.schema.json_schema import JsonSchema

MAX_STATES = 512  # counted per language
MAX_STEPS = 20_000  # derivatives taken for one report

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
DYNAMIC = frozenset(("$dynamicRef", "$recursiveRef"))
DYNAMIC_TARGETS = frozenset(("$dynamicAnchor", "$recursiveAnchor"))


class Problem(NamedTuple):
    """Why a keyword is refused or broken."""

    error: StructgenError

    @property
    def reason(self) -> str:
        """What is wrong and what to do, without the place."""
        return f"{self.error.problem}; {self.error.hint}" if self.error.hint else self.error.problem


@dataclass(eq=False)
class Visit:
    """One subschema of the document: where it is, and what became of its keywords."""

    pointer: str
    schema: dict[str, Any]
    atom: Atom
    draft: int
    parent: Visit | None = None
    path: tuple[str | int, ...] = ()  # from the parent
    children: list[Visit] = field(default_factory=list)
    problems: dict[str, Problem] = field(default_factory=dict)  # keyword -> why
    enforced: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)

    @property
    def keyword(self) -> str:
        """The keyword of the parent by which this subschema applies, "" at the root."""
        return str(self.path[0]) if self.path else ""

    def at(self, *path: str | int) -> str:
        """The pointer of something below."""
        return self.pointer + pointer_to(path)


class Inspection:
    """All subschemas of a spec, visited."""

    def __init__(self, spec: JsonSchema) -> None:
        self.spec = spec
        self._refused_draft: StructgenError | None = None
        try:
            self.schemas = _schemas(spec, spec.schema)
        except UnsupportedSchemaError as refused:  # of `$schema`: read it as the default draft
            self._refused_draft = refused
            bare = {k: v for k, v in spec.schema.items() if k != "$schema"}
            self.schemas = _schemas(spec, bare)
        self._steps = MAX_STEPS
        self._counts: dict[Regex, tuple[int, bool]] = {}
        self.visits = list(self._walk())
        self.by_pointer = {visit.pointer: visit for visit in self.visits}
        self.by_schema = {id(visit.schema): visit for visit in self.visits}
        self.draft = self.visits[0].draft if self.visits else DEFAULT_DRAFT
        foreign = [error for visit in self.visits for error in self._judge(visit)]
        for error in foreign:
            self.attribute(error)

    # -- the walk -------------------------------------------------------------------------------

    def _walk(self) -> Iterator[Visit]:
        """The schema and all below it; then what references lead to beside that."""
        if not self.schemas.root or isinstance(self.spec.schema, bool):
            return
        seen: set[str | int] = set()  # pointers, and ids of schemas
        todo = [(self.schemas.root[0], self.spec.schema)]
        for atom, schema in todo:  # which grows
            if {id(schema), location(self.schemas.place(atom).pointer)} & seen:
                continue
            found = list(self._walk_below(atom, schema, seen))
            yield from found
            todo += [
                (to, to.value)
                for visit in found
                for to in self._referred(visit)
                if self._is_given(to)
            ]

    def _walk_below(
        self, atom: Atom, schema: dict[str, Any], seen: set[str | int]
    ) -> Iterator[Visit]:
        """A schema and those below it that were not seen before."""
        place = self.schemas.place(atom)
        todo = [Visit(location(place.pointer), schema, atom, place.draft)]
        while todo:
            visit = todo.pop()
            seen |= {visit.pointer, id(visit.schema)}
            yield visit
            for path, child in metaschemas.subschemas(visit.schema, visit.draft):
                fresh = isinstance(child, dict) and visit.at(*path) not in seen
                below = self._atom(visit, child, path) if fresh else None
                if below is not None:
                    draft = self.schemas.place(below).draft
                    visit.children.append(Visit(visit.at(*path), child, below, draft, visit, path))
            todo += reversed(visit.children)

    def _is_given(self, atom: Atom) -> bool:
        """Whether it is an object of this document or of the registry, and no metaschema."""
        if not isinstance(atom.value, dict):
            return False
        document = location(self.schemas.place(atom).pointer).partition("#")[0]
        return not document or (self.spec.registry is not None and document in self.spec.registry)

    def _referred(self, visit: Visit) -> Iterator[Atom]:
        """What references of a subschema lead to, in this document or one that was given."""
        for keyword in REFERENCES:
            reference = visit.schema.get(keyword)
            if isinstance(reference, str):
                try:
                    yield from self.schemas.refer(visit.atom, reference, keyword)
                except StructgenError:
                    continue

    def _atom(
        self, visit: Visit, schema: dict[str, Any], path: tuple[str | int, ...]
    ) -> Atom | None:
        try:
            return self.schemas.child(schema, visit.atom, *path)[0]
        except StructgenError as error:  # of a `$schema` or `$id` of its own
            visit.problems.setdefault(str(path[0]), Problem(error))
            return None

    # -- problems -------------------------------------------------------------------------------

    def has_function(self, keyword: str, draft: int) -> bool:
        """Whether something enforces the keyword in that draft."""
        leader = COMPANIONS.get(keyword, keyword)
        function, first, last = KEYWORDS.get(keyword) or KEYWORDS.get(leader) or (None, 0, 0)
        return function is not None and first <= draft <= last

    @staticmethod
    def drafts_of(keyword: str) -> tuple[int, ...]:
        """The drafts whose metaschema knows the keyword."""
        return metaschemas.drafts_of().get(keyword, ())

    def is_foreign(self, keyword: str, draft: int) -> bool:
        """Whether other drafts know the keyword and this one does not.

        A keyword of both an earlier and a later draft is known (`$ref` in draft 4), and so is one
        that is only deprecated, and enforced all the same.
        """
        drafts = self.drafts_of(keyword)
        if not drafts or draft in drafts or min(drafts) < draft < max(drafts):
            return False
        kept = keyword in metaschemas.deprecated_in(draft)
        return not (kept and self.has_function(keyword, draft))

    def _judge(self, visit: Visit) -> Iterator[StructgenError]:
        """Run each keyword's function; yields the errors that belong to other subschemas."""
        subschema = Subschema(self.schemas, visit.atom)
        visit.ignored.update(k for k in visit.schema if k in KEYWORDS and k not in subschema.schema)
        if "$ref" in visit.schema and visit.draft <= 7:
            visit.ignored.update(k for k in visit.schema if k != "$ref" and k in KEYWORDS)
        functions: dict[Keyword, list[str]] = {}
        for keyword in sorted(visit.schema, key=LAST.__contains__):
            function, first, last = KEYWORDS.get(keyword, (None, 0, 0))
            if function and first <= visit.draft <= last and keyword not in visit.ignored:
                functions.setdefault(function, []).append(keyword)
        for function, keywords in functions.items():
            before = list(subschema.conjuncts)
            try:
                function(subschema)
            except StructgenError as error:
                owner, keyword = self._owner(error)
                visit.enforced.update(keywords)
                if owner not in (None, visit):
                    yield error
                    continue
                culprit = keyword if owner is visit and keyword in visit.schema else keywords[0]
                visit.problems.setdefault(culprit, Problem(error))
            else:
                if subschema.conjuncts != before:
                    visit.enforced.update(
                        k for k in keywords if not self.is_foreign(k, visit.draft)
                    )
        for keyword, leader in COMPANIONS.items():
            if keyword in visit.schema and keyword not in KEYWORDS and leader in visit.enforced:
                visit.enforced.add(keyword)

    def _owner(self, error: StructgenError) -> tuple[Visit | None, str]:
        """The innermost visited subschema that an error lies in, and its keyword there."""
        parts = error.location.split("/")
        for count in range(len(parts), 0, -1):
            visit = self.by_pointer.get("/".join(parts[:count]))
            if visit is not None and count < len(parts):
                return visit, parts[count]
            if visit is not None and visit.path == (getattr(error, "keyword", ""),):
                return visit.parent, visit.keyword  # the keyword itself, not the schema it holds
            if visit is not None:
                return visit, ""
        return None, ""

    def attribute(self, error: StructgenError) -> None:
        """Note an error at the keyword it names; at any, where it names none and none is noted."""
        visit, keyword = self._owner(error)
        if visit is None or isinstance(error, UnsatisfiableSchemaError):
            return
        if keyword in visit.schema:
            visit.problems.setdefault(keyword, Problem(error))
        elif not visit.problems:
            guess = "$ref" if "$ref" in visit.schema else next(iter(visit.schema), "")
            visit.problems[guess] = Problem(error)

    def compile_problem(self) -> StructgenError | None:
        """The error that compiling the schema raises, if any."""
        if self._refused_draft is not None:
            return self._refused_draft
        try:
            self.spec.machine()
        except StructgenError as error:
            return error
        return None

    # -- references -----------------------------------------------------------------------------

    def targets(self, visit: Visit) -> Iterator[Visit]:
        """The subschemas of this document that the references in a subschema lead to."""
        for atom in self._referred(visit):
            if id(atom.value) in self.by_schema:
                yield self.by_schema[id(atom.value)]
        if DYNAMIC & visit.schema.keys():
            yield from (v for v in self.visits if DYNAMIC_TARGETS & v.schema.keys())

    @cached_property
    def _used(self) -> set[Visit]:
        """The subschemas that apply to some value, or that references may lead to."""
        used: set[Visit] = set()
        todo = self.visits[:1]
        while todo:
            visit = todo.pop()
            if visit not in used:
                used.add(visit)
                todo += (child for child in visit.children if child.keyword not in DEFINITIONS)
                todo += self.targets(visit)
        return used

    def is_used(self, visit: Visit) -> bool:
        """Whether the subschema, or one inside it, is reached from the root."""
        todo = [visit]
        while todo:
            at = todo.pop()
            if at in self._used:
                return True
            todo += at.children
        return False

    # -- normal forms ---------------------------------------------------------------------------

    def normal_form(self, visit: Visit) -> NormalForm | None:
        """The normal form of a subschema, None where something in it is refused."""
        try:
            return self.schemas.normal_form((visit.atom,))
        except StructgenError:
            return None

    def never(self, form: NormalForm) -> bool:
        """Whether it is certain that no value fits."""
        try:
            return self.schemas.costs.of_form(form) is None
        except StructgenError:
            return False

    @staticmethod
    def empty(*languages: Regex) -> bool:
        """Whether it is certain that one of the languages has no member."""
        try:
            return any(language.is_empty() for language in languages)
        except StructgenError:
            return False

    def count_states(self, form: NormalForm) -> tuple[int, bool]:
        """States of the automata of strings, numbers and keys, and whether there are more."""
        groups = [group for alternative in cases_of(form.objects) for group in alternative.groups]
        names = sorted({name for group in groups for name in group.named})
        languages = {form.string, form.number, words(names)} | {
            language for group in groups for language, _ in group.patterns
        }
        counts = [self._count(language) for language in languages - {EMPTY}]
        return sum(count for count, _ in counts), any(capped for _, capped in counts)

    def _count(self, language: Regex) -> tuple[int, bool]:
        if language in self._counts:
            return self._counts[language]
        seen = {language}
        todo = [language]
        while todo and len(seen) < MAX_STATES and self._steps > 0:
            self._steps -= 1
            for _, target in todo.pop().steps():
                if target is not EMPTY and target not in seen:
                    seen.add(target)
                    todo.append(target)
        self._counts[language] = min(len(seen), MAX_STATES), bool(todo)
        return self._counts[language]


def _schemas(spec: JsonSchema, schema: Any) -> Schemas:
    return Schemas(
        schema,
        assert_formats=spec.formats == "assert",
        declared=spec.property_order == "declared",
        gap=0,
        natural=spec.natural,
        patterns=spec.patterns,
        registry=spec.registry,
    )
