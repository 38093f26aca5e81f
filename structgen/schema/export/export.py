"""Exports a schema to the JSON Schema dialect of a provider, and lists what is lost.

Each subschema is split into cases (`report.cases`) and written anew, type by type, with the
keywords of the dialect; what it cannot express is left out and listed as a `Loss`. The result is
checked against the rules of the dialect (`export.rules`) before it is returned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from structgen.errors import (
    SpecError,
    StructgenError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)
from structgen.schema.export import containers
from structgen.schema.export import scalars as dialect_scalars
from structgen.schema.export.dialects import NUMBER_TYPES, Loss, ProviderDialect, dialect
from structgen.schema.export.readings import Export
from structgen.schema.export.rules import DEFINITION, violations
from structgen.schema.export.writer import Exported, Writer
from structgen.schema.keywords.constants import constants
from structgen.schema.keywords.keywords import KEYWORDS, TYPES
from structgen.schema.normal_form.combination import conjunction
from structgen.schema.normal_form.expressions import Atom, Expr
from structgen.schema.references.metaschemas import DEFINITIONS
from structgen.schema.references.vocabularies import CLOSES
from structgen.schema.report.advice import TYPE_OF
from structgen.schema.report.cases import Case, Members, pointer_of
from structgen.schema.report.slips import COMPANIONS
from structgen.schema.values import rounded
from structgen.util.arguments import check_kind
from structgen.util.json_pointer import escape_pointer, unescape_pointer

WRAPPER_KEY = "value"  # the key of the value where the root has to be an object

# The keywords that are written, by `cases` and by type; all others are listed as losses.
WRITTEN = frozenset(TYPE_OF) - {
    "contains", "minContains", "maxContains", "uniqueItems",
    "dependentRequired", "dependentSchemas", "dependencies",
    "unevaluatedItems", "unevaluatedProperties", CLOSES,
} | {
    "type", "enum", "const", "allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "$recursiveRef",
}  # fmt: skip

_BASIC = set(TYPES) - {"integer"}


def export_schema(
    schema: Any, to: str | ProviderDialect, **options: Any
) -> tuple[Exported, tuple[Loss, ...]]:
    """The nearest schema that a provider accepts, and what was lost.

    schema: whatever `compile` takes for JSON; options: those of `JsonSchema`, where it is none
    yet. to: "openai", "anthropic", "gemini" or "gemini-openapi". Where no loss is "stricter" or
    "both", every value that fits `schema` fits the result; where none is "looser" or "both",
    nothing else does (1.0 counts as an integer, as all drafts but 4 have it).

    Raises UnsupportedSchemaError for what a dialect has no way to come near to: recursion where it
    has none, sizes beyond its limits.
    """
    found = export(schema, to, **options)
    return found.schema, found.losses


def export(schema: Any, to: str | ProviderDialect, **options: Any) -> Export:
    """The same, with what is needed to read answers back (`export.readings`)."""
    from structgen.schema.coerce import coerce
    from structgen.schema.json_schema import JsonSchema

    if isinstance(schema, str | bytes | dict | bool):
        schema = JsonSchema(schema, **options)
    spec = coerce(schema).portable()
    if not isinstance(spec, JsonSchema):
        raise SpecError(f"{type(spec).__name__} is no JSON Schema", expected="a JSON Schema")
    spec = replace(spec, schema=rounded(spec.schema))  # providers read numbers as doubles
    if isinstance(to, str):
        to = dialect(to)
    check_kind("to", to, ProviderDialect, "the name of a provider", error=SpecError)
    exporter = Exporter(spec, to)
    body = exporter.root()
    key = WRAPPER_KEY if exporter.wrapped else ""
    return Export(body, tuple(exporter.losses), key, frozenset(exporter.null_if_absent))


class Exporter(Writer):
    """Writes one schema in one dialect. wrapped: whether its value stands in an object."""

    def __init__(self, spec: Any, to: ProviderDialect) -> None:
        super().__init__(spec, to)
        self._names: dict[frozenset[Atom], str] = {}
        self._definitions: dict[str, Exported] = {}
        self._open: set[frozenset[Atom]] = set()
        self.wrapped = False

    # -- the whole ------------------------------------------------------------------------------

    def root(self) -> Exported:
        """The whole schema, checked against the rules of the dialect."""
        expr, _ = self.cases.follow(self.schemas.root)
        key = frozenset(expr)
        self._open.add(key)
        body = self._write(expr)
        if body is None:
            raise UnsatisfiableSchemaError(
                "no JSON value fits the schema", location="#", expected="at least one value"
            )
        if key in self._names:
            self._definitions[self._names[key]] = body
        if self.dialect.object_root and body.get("type") != "object":
            text = f"the root must be an object: the value stands under its key {WRAPPER_KEY!r}"
            self.losses[Loss("#", "type", "both", text)] = None
            body = containers.closed_object({WRAPPER_KEY: body}, self.dialect)
            self.wrapped = True
        if self._definitions:
            body = body | {"$defs": self._definitions}
        for pointer, keyword, message in violations(body, self.dialect):
            raise UnsupportedSchemaError(
                f"the {self.dialect.name} dialect cannot say it: {message}",
                keyword=keyword,
                location=pointer,
                expected=f"what {self.dialect.name} took in {self.dialect.as_of}",
                hint="make the schema smaller" if pointer == "#" else "make a key on it optional",
            )
        return body

    def write(self, expr: Expr, at: str) -> Exported | None:
        """See `Writer.write`: by reference where the expression has a name."""
        expr, referred = self.cases.follow(expr)
        if not expr:
            return self._anything(at)
        key = frozenset(expr)
        if key in self._open:
            if self.dialect.recursion == "nowhere":
                raise UnsupportedSchemaError(
                    f"the {self.dialect.name} dialect has no recursive schemas",
                    keyword="$ref",
                    location=at,
                    expected="a schema of limited depth",
                    hint="write the levels out",
                )
            return {"$ref": self._reference(expr)}
        if key in self._names:
            return {"$ref": self._reference(expr)}
        self._open.add(key)
        body = self._write(expr)
        self._open.discard(key)
        if body is None or not (key in self._names or (referred and self.dialect.references)):
            return body
        reference = self._reference(expr)
        self._definitions[self._names[key]] = body
        return {"$ref": reference}

    def _reference(self, expr: Expr) -> str:
        key = frozenset(expr)
        if key not in self._names:
            token = expr[0].location.rpartition("/")[2].lstrip("#")
            stem = unescape_pointer(token) or "root"
            taken = set(self._names.values())
            name, number = stem, 2
            while name in taken:
                name, number = f"{stem}_{number}", number + 1
            self._names[key] = name
        return DEFINITION + escape_pointer(self._names[key])

    # -- one subschema --------------------------------------------------------------------------

    def _write(self, expr: Expr) -> Exported | None:
        cases = self.cases.of(expr)
        common = [a for a in cases[0] if all(a in case for case in cases)] if cases else []
        whole = self.union([part for case in cases if (part := self._case(case, common))])
        return None if whole is None else self._notes(common) | whole

    def _case(self, case: Case, common: list[Atom]) -> Exported | None:
        members = [(atom, self.cases.effective(atom)) for atom in case]
        found = self._values(case, members)
        if found is None:
            said = self._stated_types(members)
            implied = {} if said is not None else self._implied_types(members)
            types = said if said is not None else set(implied) or _BASIC
            found = self._of_types(types, members)
            if found and implied:
                text = "values of types that no keyword is about fit, too; they are left out"
                self.lose(*next(iter(implied.values())), "stricter", text)
            elif implied:
                types = _BASIC - set(implied)
                found = self._of_types(types, members)
            self._list_losses(members, types)
        self._list_annotations(members)
        whole = self.union(found)
        own = [atom for atom in case if atom not in common]
        return None if whole is None else self._notes(own) | whole

    @staticmethod
    def _stated_types(members: Members) -> set[str] | None:
        """The JSON types that the `type` keywords leave, None where there are none."""
        said = [schema["type"] for _, schema in members if "type" in schema]
        if not said:
            return None
        names = [{t} if isinstance(t, str) else set(t) for t in said]
        common = set.intersection(*(n | {"integer"} if "number" in n else n for n in names))
        return common - {"integer"} if "number" in common else common

    def _implied_types(self, members: Members) -> dict[str, tuple[Atom, str]]:
        """The JSON types that keywords are about, each with the first such keyword."""
        implied: dict[str, tuple[Atom, str]] = {}
        for atom, schema in members:
            for keyword in schema:
                if keyword in TYPE_OF and self._restricts(atom, keyword):
                    implied.setdefault(TYPE_OF[keyword], (atom, keyword))
        return implied

    def _of_types(self, types: set[str], members: Members) -> list[Exported]:
        if types == _BASIC:
            return [self._anything(pointer_of(members[0][0]) if members else "#")]
        return [part for t in TYPES if t in types for part in self._of_type(t, members)]

    def _of_type(self, type_: str, members: Members) -> list[Exported]:
        if type_ == "array":
            array = containers.array(self, members)
            return [] if array is None else [array]
        if type_ == "object":
            object_ = containers.object_(self, members)
            return [] if object_ is None else [object_]
        schema: Exported = {"type": type_}
        if type_ in NUMBER_TYPES:
            return [schema | dialect_scalars.number(type_, members, self.dialect, self.lose)]
        if type_ == "string":
            enforced = self._restricts
            return [schema | dialect_scalars.string(members, self.dialect, self.lose, enforced)]
        return [schema]

    def _anything(self, pointer: str) -> Exported:
        """The nearest to a schema that every value fits: dialects demand types."""
        text = "every value fits; of arrays only flat ones are left"
        text += ", of objects only empty ones" if self.dialect.closed else ""
        self.losses[Loss(pointer, "type", "stricter", text)] = None
        scalars = [{"type": t} for t in ("string", "number", "boolean", "null")]
        empty = containers.closed_object({}, self.dialect)
        objects = empty if self.dialect.closed else {"type": "object"}
        found = self.union(
            [*scalars, {"type": "array", "items": self.union(list(scalars))}, objects]
        )
        return found or {"type": "null"}

    # -- values ---------------------------------------------------------------------------------

    def _values(self, case: Case, members: Members) -> list[Exported] | None:
        """The schemas of the values that `enum` and `const` leave, None where there is neither."""
        listing = next(
            ((a, k, s) for a, s in members for k in ("const", "enum") if self._lists(a, s, k)), None
        )
        if listing is None:
            return None
        atom, keyword, schema = listing
        values = [schema["const"]] if keyword == "const" else schema["enum"]
        return dialect_scalars.Values(self.dialect, atom, keyword, self.lose).listed(
            [value for value in values if self._fits(value, case)]
        )

    def _lists(self, atom: Atom, schema: Exported, keyword: str) -> bool:
        return keyword in schema and self._restricts(atom, keyword)

    def _fits(self, value: Any, case: Case) -> bool:
        """Whether a value may fit all subschemas of a case; certain unless something is refused."""
        try:
            exact = constants(self.schemas, [value], lambda: "#")
            return (
                self.schemas.costs.of_form(conjunction(exact, self.schemas.normal_form(case)))
                is not None
            )
        except StructgenError:
            atom = case[0]
            self.lose(atom, next(iter(atom.value)), "looser", "values could not be checked")
            return True

    # -- losses and notes -----------------------------------------------------------------------

    def _restricts(self, atom: Atom, keyword: str) -> bool:
        """Whether a keyword of a subschema restricts anything."""
        visit = self.inspection.by_schema.get(id(atom.value))
        if visit is None:  # in another document
            return self.inspection.has_function(keyword, self.schemas.place(atom).draft)
        return keyword in visit.enforced

    def _list_losses(self, members: Members, types: set[str]) -> None:
        """Note the constraints that no writer of a type has dealt with."""
        kinds = {"number" if t == "integer" else t for t in types}
        for atom, schema in members:
            for keyword in schema:
                written = keyword in WRITTEN or keyword in COMPANIONS
                if written or self._is_said(keyword, schema, members):
                    continue
                if TYPE_OF.get(keyword) in {None, *kinds} and self._restricts(atom, keyword):
                    self.lose(atom, keyword, "looser", "the dialect has no such keyword")

    def _list_annotations(self, members: Members) -> None:
        """Note the annotations that the dialect does not take."""
        kept = {*DEFINITIONS, *self.dialect.common, *KEYWORDS, *COMPANIONS}
        for atom, schema in members:
            for keyword in schema:
                if not keyword.startswith("$") and keyword not in kept:
                    self.lose(atom, keyword, "same", "an annotation is left out")

    def _is_said(self, keyword: str, schema: Exported, members: Members) -> bool:
        if keyword in ("unevaluatedProperties", CLOSES):
            return containers.applies_to_all_other_keys(self, members, schema)
        return keyword == "unevaluatedItems" and containers.acts_as_items(schema)

    def _notes(self, atoms: list[Atom]) -> Exported:
        """Title, description and the like: of the first subschema that has them."""
        found: Exported = {}
        for atom in atoms:
            schema = self.cases.effective(atom)
            for keyword in schema:
                if keyword in self.dialect.common and keyword != "nullable":
                    found.setdefault(keyword, schema[keyword])
        return found
