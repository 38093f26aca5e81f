"""Tables of the JSON Schema dialects that providers accept.

The tables hold what the providers' own documentation said on the date of `as_of`; code elsewhere
reads them and knows no provider. Where a page is silent, the stricter reading is in the table.

    openai         Structured Outputs, "Supported schemas": strict response formats and tools
    anthropic      Structured outputs, "JSON Schema limitations": output_config.format, strict tools
    gemini         generateContent, `responseJsonSchema`: the JSON Schema subset
    gemini-openapi generateContent, `responseSchema`: the OpenAPI 3.0 subset, without references
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from structgen.errors import SpecError
from structgen.schema.report.cases import Effect

NUMBER_TYPES = ("number", "integer")


@dataclass(frozen=True)
class Loss:
    """Something that the exported schema does not demand as the original did.

    pointer, keyword: where in the original. effect: "looser" (values fit that did not), "stricter"
    (values that did fit no longer do), "both", or "same" (only an annotation is gone).
    """

    pointer: str
    keyword: str
    effect: Effect
    message: str


@dataclass(frozen=True)
class Limits:
    """Sizes that a schema may have as a whole; None where the provider states none.

    depth: objects inside objects. characters: of all names, definitions, enum and const texts.
    long_enum: (values, characters): from so many values on, one enum of strings may have so many
    characters. optional: keys that are not required. unions: schemas with `anyOf` or type lists.
    """

    properties: int | None = None
    depth: int | None = None
    characters: int | None = None
    enum_values: int | None = None
    long_enum: tuple[int, int] | None = None
    optional: int | None = None
    unions: int | None = None


@dataclass(frozen=True)
class ProviderDialect:
    """What one provider accepts.

    keywords: per JSON type those that a schema of that type may have beside `type`; common: those
    that every schema may have. formats: of strings. values: keywords that may only have some
    values. pattern_without: what patterns must not contain, as a regular expression, "" for
    nothing. in_enum: the JSON types of the values of `enum`. constants: whether there is `const`.
    closed: objects must say `additionalProperties: false`. all_required: every key of `properties`
    must be required. object_root: the root must be an object, no union and no reference.
    references: `$ref` (without siblings) and `$defs` exist; recursion: where they may lead back,
    "anywhere", below "optional" keys, or "nowhere". null: how null joins another type, by a "type"
    list or the keyword "nullable". ordering: `propertyOrdering` says the order of keys.
    """

    name: str
    as_of: str
    keywords: dict[str, frozenset[str]]
    common: frozenset[str]
    formats: frozenset[str]
    in_enum: frozenset[str]
    values: dict[str, frozenset[int]] = field(default_factory=dict)
    pattern_without: str = ""
    constants: bool = False
    closed: bool = False
    all_required: bool = False
    object_root: bool = False
    references: bool = True
    recursion: Literal["anywhere", "optional", "nowhere"] = "nowhere"
    null: Literal["type", "nullable"] = "type"
    ordering: bool = False
    limits: Limits = Limits()

    def takes(self, type_: str, keyword: str) -> bool:
        """Whether a schema of that type may have the keyword."""
        return keyword in self.keywords.get(type_, ())


def _table(number: str, string: str, array: str, object_: str) -> dict[str, frozenset[str]]:
    """Keywords per type, from lists separated by blanks; integers take those of numbers."""
    numeric = frozenset(number.split())
    return {
        "number": numeric,
        "integer": numeric,
        "string": frozenset(string.split()),
        "array": frozenset(array.split()),
        "object": frozenset(object_.split()),
    }


_RANGE = "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"
_SCALARS = frozenset(("null", "boolean", "number", "string"))

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        ProviderDialect(
            name="openai",
            as_of="2026-02",
            keywords=_table(
                _RANGE,
                "pattern format",
                "items minItems maxItems",
                "properties required additionalProperties",
            ),
            common=frozenset(("title", "description")),
            formats=frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split()),
            in_enum=_SCALARS,
            pattern_without=r"\(\?<?[=!]|\\[1-9]|\\k<",
            constants=True,
            closed=True,
            all_required=True,
            object_root=True,
            recursion="anywhere",
            limits=Limits(
                properties=5000,
                depth=10,
                characters=120_000,
                enum_values=1000,
                long_enum=(250, 15_000),
            ),
        ),
        ProviderDialect(
            name="anthropic",
            as_of="2026-07",
            keywords=_table(
                "",
                "pattern format",
                "items minItems",
                "properties required additionalProperties",
            ),
            common=frozenset(("title", "description", "default")),
            formats=frozenset(
                "date-time time date duration email hostname uri ipv4 ipv6 uuid".split()
            ),
            in_enum=_SCALARS,
            values={"minItems": frozenset((0, 1))},
            pattern_without=r"\(\?|\\[1-9bB]|\\k<|\\[pP]\{|\{\d{3,}|\{\d*,\d{3,}",
            constants=True,
            closed=True,
            object_root=True,
            limits=Limits(optional=24, unions=16),
        ),
        ProviderDialect(
            name="gemini",
            as_of="2026-02",
            keywords=_table(
                "minimum maximum",
                "format",
                "items prefixItems minItems maxItems",
                "properties required additionalProperties propertyOrdering",
            ),
            common=frozenset(("title", "description")),
            formats=frozenset(("date-time", "date", "time")),
            in_enum=frozenset(("number", "string")),
            recursion="optional",
            ordering=True,
        ),
        ProviderDialect(
            name="gemini-openapi",
            as_of="2026-02",
            keywords=_table(
                "minimum maximum",
                "minLength maxLength pattern format",
                "items minItems maxItems",
                "properties required minProperties maxProperties propertyOrdering",
            ),
            common=frozenset(("title", "description", "default", "nullable")),
            formats=frozenset(("date-time", "date", "time")),
            in_enum=frozenset(("string",)),
            pattern_without=r"\(\?|\\[1-9]|\\k<",
            references=False,
            null="nullable",
            ordering=True,
        ),
    )
}


def dialect(name: str) -> ProviderDialect:
    """The dialect of that name. Raises SpecError for an unknown one."""
    if name not in DIALECTS:
        raise SpecError(
            f"there is no dialect {name!r}", location="dialect", expected=", ".join(DIALECTS)
        )
    return DIALECTS[name]
