"""The spec of JSON texts whose value is valid against a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from structgen.automata.pushdown.machine import Machine
from structgen.errors import BudgetError, SpecError, UnsatisfiableSchemaError
from structgen.regular.syntax.dialects import AUTO
from structgen.regular.syntax.dialects import NAMES as PATTERNS
from structgen.schema.closing import closed
from structgen.schema.references.draft3 import DRAFT_4, as_draft_4, is_draft_3
from structgen.schema.references.metaschemas import lists_items
from structgen.schema.references.openapi import with_null
from structgen.schema.references.vocabularies import DRAFTS, openapi_dialect
from structgen.schema.values import dumps, holds_written, loads
from structgen.spec.base import ANY_BYTE, MachineSpec
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import limited

if TYPE_CHECKING:
    from referencing import Registry

    from structgen.schema.keywords.schemas import Schemas
    from structgen.schema.machine.machine import JsonMachine
    from structgen.schema.normal_form.forms import NormalForm
    from structgen.spec.partial_json import PartialValue


MAX_WORK = 40_000  # units of work that a schema may take besides those of its subschemas
ORDERS = ("declared", "any")
BOUNDED = "bounded"  # white space by default
FORMATS = ("assert", "annotate")
SPELLINGS = ("auto", "natural", "any")
SURROGATES = ("refuse", "allow")
ESCAPES = ("auto", "needed", "any")
_OPTIONS = {
    "property_order": ORDERS,
    "formats": FORMATS,
    "spelling": SPELLINGS,
    "surrogates": SURROGATES,
    "escapes": ESCAPES,
    "patterns": PATTERNS,
}
_KINDS = (
    ("whitespace", str, '"bounded", "compact", "indented", "any", or a pattern'),
    ("closed", bool, "True or False"),
)
_DRAFT_2019 = next(uri for uri, draft in DRAFTS.items() if draft == 2019)
_LAYOUT = ("property_order", "whitespace", "spelling", "escapes")
_SPACE = frozenset(b" \t\n\r")
_CLOSING = {"object": b"}", "array": b"]", "string": b'"'}  # last bytes of values of a type


@dataclass(frozen=True)
class JsonSchema(MachineSpec):
    """The JSON texts whose value is valid against a schema.

    schema: an object, a boolean, or JSON text. property_order: "declared" writes the keys of
    `properties` as they appear, then other required keys, then any others; "any" leaves the order
    free. whitespace: "bounded" (at most a space, between lexemes), "compact" (none), "indented"
    (that space, or a line break with indentation), "any" (all that JSON allows), or a pattern for
    the gaps. formats: "assert" the formats of the specifications, or "annotate" all. registry:
    further documents that references may lead to; nothing is ever fetched. spelling: "natural"
    writes integers in digits (never 1.0 or 1e2), and numbers of `enum` and `const` as the schema
    does; "any" allows every spelling. surrogates: "refuse" unpaired surrogates such as \\ud800, or
    "allow" their escapes in values that are strings, where each is one character; constants and
    patterns cannot name U+10F800 to U+10FFFF, of private use, then, nor may items that are compared
    (`uniqueItems`) have them. escapes: "needed" writes
    each character of keys and strings as itself where JSON can hold it, else as a short escape
    (`\\n`), or as `\\u001b` in small digits where there is none; "any" allows every escape. For
    spelling and escapes "auto" is "any" where order and white space are both "any", else the first.
    patterns: the dialect of `pattern` and `patternProperties`, "ecma" (ECMA-262), "re2", "java" or
    "python" (`re` with flag ASCII); "auto" reads each as ECMA-262 where that has a meaning for it,
    else as the first of the others that has, which `support` reports. closed: whether objects that
    name keys, and say nothing of others, may have no others (see `schema.closing`).

    With property_order="any" and whitespace="any" the language is exactly the set of JSON texts
    (RFC 8259, without duplicate keys and unpaired surrogates) whose value is valid; of numbers with
    an exponent, under constraints, those whose point is near the first digit (see
    `regular.numbers.language`).
    """

    schema: Any
    property_order: str = "declared"
    whitespace: str = BOUNDED
    formats: str = "assert"
    spelling: str = "auto"
    registry: Registry[Any] | None = field(default=None, compare=False)
    surrogates: str = "refuse"
    escapes: str = "auto"
    patterns: str = AUTO
    closed: bool = False
    kind: ClassVar[str] = "json_schema"

    def __post_init__(self) -> None:
        for name, allowed in _OPTIONS.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in allowed:
                raise SpecError(f"{name} is {value!r:.80}", expected=" or ".join(allowed))
        for name, kind, expected in _KINDS:
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise SpecError(f"{name} is {value!r:.80}", expected=expected)
        if not (self.registry is None or hasattr(self.registry, "resolver")):
            raise SpecError(
                f"registry is {self.registry!r:.80}", expected="a `referencing.Registry`"
            )
        if isinstance(self.schema, str | bytes):
            object.__setattr__(self, "schema", load_json(self.schema))
        if is_draft_3(self.schema):
            object.__setattr__(self, "schema", as_draft_4(self.schema))
        early = openapi_dialect(self.schema)
        if early is not None and early.has_nullable and "$schema" not in self.schema:
            object.__setattr__(self, "schema", {"$schema": DRAFT_4, **with_null(self.schema)})
        elif lists_items(self.schema):
            object.__setattr__(self, "schema", {"$schema": _DRAFT_2019, **self.schema})
        if self.closed:
            object.__setattr__(self, "schema", closed(self.schema))

    @property
    def exact(self) -> bool:
        """Whether every order and all white space may come, and so every spelling by default."""
        return self.property_order == self.whitespace == "any"

    @property
    def natural(self) -> bool:
        """Whether numbers are spelled the usual way only."""
        return self.spelling == "natural" or (self.spelling == "auto" and not self.exact)

    @property
    def any_escapes(self) -> bool:
        """Whether strings may have escapes that they do not need."""
        return self.escapes == "any" or (self.escapes == "auto" and self.exact)

    def any_layout(self) -> JsonSchema:
        """The same, with any layout and spelling where these are at the defaults."""
        unset = [name for name in _LAYOUT if getattr(self, name) == getattr(JsonSchema, name)]
        free: dict[str, Any] = dict.fromkeys(unset, "any")
        return replace(self, **free)

    def as_read(self) -> JsonSchema:
        """See `Spec.as_read`: any escapes, and indented, where these are at the defaults."""
        space = "indented" if self.whitespace == BOUNDED else self.whitespace
        escapes = "any" if self.escapes == ESCAPES[0] else self.escapes
        return replace(self, whitespace=space, escapes=escapes)

    def machine(self) -> Machine[Any]:
        """See `MachineSpec.machine`."""
        return machine_of(self)[0]

    def parse(self, text: str) -> Any:
        """The JSON value."""
        return json.loads(text)

    def partial(self, text: str) -> PartialValue:
        """The JSON value so far."""
        from structgen.spec.partial_json import read_partial

        return read_partial(text)

    def last_bytes(self) -> frozenset[int]:
        """See `Spec.last_bytes`."""
        kind = str(self.schema.get("type")) if isinstance(self.schema, dict) else ""
        return _SPACE | frozenset(_CLOSING[kind]) if kind in _CLOSING else ANY_BYTE

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        exact = holds_written(self.schema)  # numbers that only a text has
        return {
            "schema": dumps(self.schema) if exact else self.schema,
            "property_order": self.property_order,
            "whitespace": self.whitespace,
            "formats": self.formats,
            "spelling": self.spelling,
            "surrogates": self.surrogates,
            "escapes": self.escapes,
            "patterns": self.patterns,
            "closed": self.closed,
            "documents": self._documents,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as it is saved: a registry may hold functions, which cannot be."""
        return JsonSchema.from_json, (self.to_json(),)

    @cached_attribute
    def _documents(self) -> dict[str, Any]:
        """The documents that references may lead to, by URI; retrieved once."""
        if self.registry is None:
            return {}
        from structgen.schema.references.documents import documents_of

        return documents_of(self.schema, self.registry)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> JsonSchema:
        """The spec that `to_json` described."""
        documents = data.pop("documents", {})
        registry = None
        if documents:
            from referencing import Registry, Specification

            registry = Registry[Any]().with_contents(
                documents.items(), default_specification=Specification.OPAQUE
            )
        return cls(**data, registry=registry)


def _schemas_of(spec: JsonSchema, schema: Any) -> Schemas:
    """The subschemas of a schema that is read as that of a spec is; nothing is combined yet."""
    from structgen.schema.keywords.schemas import Schemas
    from structgen.schema.machine.whitespace import layout_of

    _, gap = layout_of(spec.whitespace, spec.any_escapes, spec.surrogates == "allow")
    return Schemas(
        schema,
        assert_formats=spec.formats == "assert",
        declared=spec.property_order == "declared",
        gap=gap,
        natural=spec.natural,
        patterns=spec.patterns,
        surrogates=spec.surrogates == "allow",
        registry=spec.registry,
    )


def machine_of(spec: JsonSchema) -> tuple[JsonMachine, Schemas]:
    """The machine that reads the texts of a spec, and the subschemas that it is made from."""
    from structgen.schema.machine.any_value import free_machine
    from structgen.schema.machine.lexicon import prepared_json
    from structgen.schema.machine.machine import JsonMachine
    from structgen.schema.machine.whitespace import layout_of

    layout, gap = layout_of(spec.whitespace, spec.any_escapes, spec.surrogates == "allow")
    declared = spec.property_order == "declared"
    schemas = _schemas_of(spec, spec.schema)
    try:
        with limited(MAX_WORK, grows=True):
            schemas.complete()
            root = schemas.normal_form(schemas.root)
            possible = schemas.costs.satisfiable(schemas.root)
    except RecursionError as error:
        raise BudgetError(
            "the schema is nested too deeply", hint="nest subschemas less deeply"
        ) from error
    if not possible:
        from structgen.schema.report.conflict import conflict, in_words

        parts = conflict(spec.schema, partial(_is_satisfiable, spec))
        raise UnsatisfiableSchemaError(
            "no JSON value fits the schema",
            location="#",
            expected="at least one value",
            hint=in_words(parts) if parts else "look for constraints that exclude each other",
            conflict=tuple(parts),
        )

    def describe(forms: Iterable[NormalForm]) -> str:
        from structgen.schema.report.words import Words

        return Words(schemas).values(forms)

    prepared = prepared_json(layout, "natural" if spec.natural else "any", declared, gap)
    free = free_machine(layout, declared, gap)
    machine = JsonMachine(
        root, schemas.normal_form, schemas.costs, layout, describe, prepared, free
    )
    machine.explore(schemas.explored)
    return machine, schemas


def _is_satisfiable(spec: JsonSchema, weaker: Any) -> bool:
    """Whether some value fits another schema, read as that of the spec is."""
    schemas = _schemas_of(spec, weaker)
    schemas.complete()
    return schemas.costs.satisfiable(schemas.root)


def load_json(text: str | bytes) -> Any:
    """Parse JSON; SpecError with line and column when it is not."""
    try:
        return loads(text)
    except UnicodeDecodeError as error:
        raise SpecError("the schema is not UTF-8", location=f"byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise SpecError(
            f"the schema is not JSON: {error.msg}",
            location=f"line {error.lineno} column {error.colno}",
            expected="JSON text",
        ) from error
    except RecursionError as error:
        raise SpecError("the schema is nested too deeply to be read") from error
