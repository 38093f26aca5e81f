"""Checks a schema against the rules of a provider's dialect.

Independent of how schemas are exported: the exporter checks its own results with it, as tests do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from structgen.schema.export.dialects import ProviderDialect
from structgen.util.json_pointer import escape_pointer, unescape_pointer

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
DEFINITION = "#/$defs/"


class Violation(NamedTuple):
    """A rule that is broken: where in the exported schema, by which keyword, and how."""

    pointer: str
    keyword: str
    message: str


def violations(schema: Any, dialect: ProviderDialect) -> list[Violation]:
    """The rules of a dialect that a schema breaks, none for one that it accepts."""
    found = list(_root(schema, dialect))
    definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}
    found += _check(schema, dialect, "#", root=True)
    for name, definition in definitions.items():
        found += _check(definition, dialect, f"#/$defs/{escape_pointer(name)}")
    found += _cycles(schema, dialect)
    return found + list(_limits(schema, dialect))


def _root(schema: Any, dialect: ProviderDialect) -> Iterator[Violation]:
    if dialect.object_root and not (isinstance(schema, dict) and schema.get("type") == "object"):
        yield Violation("#", "type", "the root must be an object")
    if isinstance(schema, dict) and "$defs" in schema and not dialect.references:
        yield Violation("#/$defs", "$defs", "there are no references")


# -- one schema at a time -----------------------------------------------------------------------


def _check(
    schema: Any, dialect: ProviderDialect, at: str, *, root: bool = False
) -> Iterator[Violation]:
    if not isinstance(schema, dict):
        yield Violation(at, "", "a schema must be an object")
        return
    keywords = {k: v for k, v in schema.items() if k != "$defs" or not root}
    if "$ref" in keywords:
        if not dialect.references or not str(keywords["$ref"]).startswith(DEFINITION):
            yield Violation(f"{at}/$ref", "$ref", "not a reference that the dialect has")
        if len(keywords) > 1:
            yield Violation(f"{at}/$ref", "$ref", "keywords beside it")
        return
    if "anyOf" in keywords:
        allowed = {"anyOf", *dialect.common}
        for i, branch in enumerate(keywords["anyOf"]):
            yield from _check(branch, dialect, f"{at}/anyOf/{i}")
    else:
        types = keywords.get("type")
        names = [types] if isinstance(types, str) else types
        if not isinstance(names, list) or not names or any(n not in TYPES for n in names):
            yield Violation(f"{at}/type", "type", "each schema must have a type")
            return
        yield from _check_types(names, isinstance(types, list), dialect, at)
        of_types = (dialect.keywords.get(name, frozenset()) for name in names)
        allowed = {"type", "enum", *dialect.common}.union(*of_types)
        allowed |= {"const"} if dialect.constants else set()
    for keyword in keywords:
        if keyword not in allowed:
            yield Violation(f"{at}/{keyword}", keyword, "not a keyword of the dialect here")
    yield from _check_values(keywords, dialect, at)
    yield from _check_children(keywords, dialect, at)


def _check_types(
    names: list[str], listed: bool, dialect: ProviderDialect, at: str
) -> Iterator[Violation]:
    if listed and (dialect.null != "type" or len(names) != 2 or "null" not in names):
        yield Violation(f"{at}/type", "type", "not a list of types that the dialect has")


def _check_values(
    keywords: dict[str, Any], dialect: ProviderDialect, at: str
) -> Iterator[Violation]:
    for keyword, values in dialect.values.items():
        if keyword in keywords and keywords[keyword] not in values:
            yield Violation(f"{at}/{keyword}", keyword, "not a value that the dialect has")
    if "format" in keywords and keywords["format"] not in dialect.formats:
        yield Violation(f"{at}/format", "format", "not a format of the dialect")
    pattern = keywords.get("pattern", "")
    if dialect.pattern_without and re.search(dialect.pattern_without, pattern):
        yield Violation(f"{at}/pattern", "pattern", "not a pattern of the dialect")
    for value in keywords.get("enum", []):
        if type_of(value) not in dialect.in_enum:
            yield Violation(f"{at}/enum", "enum", f"no {type_of(value)} may stand in it")


def _check_children(
    keywords: dict[str, Any], dialect: ProviderDialect, at: str
) -> Iterator[Violation]:
    types = keywords.get("type", ())
    if "object" in types:
        properties = keywords.get("properties", {})
        if dialect.closed and keywords.get("additionalProperties") is not False:
            yield Violation(at, "additionalProperties", "it must be false")
        if dialect.all_required and set(keywords.get("required", ())) != set(properties):
            yield Violation(f"{at}/required", "required", "it must list every key")
        for name, child in properties.items():
            yield from _check(child, dialect, f"{at}/properties/{escape_pointer(name)}")
        rest = keywords.get("additionalProperties", False)
        if not isinstance(rest, bool):
            yield from _check(rest, dialect, f"{at}/additionalProperties")
    if "array" in types:
        if "items" not in keywords and "prefixItems" not in keywords:
            yield Violation(at, "items", "an array must say what its items are")
        if "items" in keywords:
            yield from _check(keywords["items"], dialect, f"{at}/items")
        for i, child in enumerate(keywords.get("prefixItems", [])):
            yield from _check(child, dialect, f"{at}/prefixItems/{i}")


def type_of(value: Any) -> str:
    """The JSON type of a value; integers are numbers."""
    kinds = {bool: "boolean", str: "string", list: "array", dict: "object"}
    return "null" if value is None else kinds.get(type(value), "number")


# -- the schema as a whole ----------------------------------------------------------------------


def _cycles(schema: Any, dialect: ProviderDialect) -> Iterator[Violation]:
    """References that lead back to themselves, where the dialect does not have them."""
    if dialect.recursion == "anywhere" or not isinstance(schema, dict):
        return
    passing = dialect.recursion == "optional"
    definitions = schema.get("$defs", {})
    edges = {name: set(_references(body, passing=passing)) for name, body in definitions.items()}
    for name, below in edges.items():
        reached: set[str] = set()
        todo = set(below)
        while todo:
            at = todo.pop()
            reached.add(at)
            todo |= edges.get(at, set()) - reached
        if name in reached:
            where = "outside optional keys" if passing else "at all"
            message = f"it leads back to itself, which the dialect does not take {where}"
            yield Violation(DEFINITION + escape_pointer(name), "$ref", message)


def _references(schema: Any, *, passing: bool) -> Iterator[str]:
    """The definitions that a schema refers to; `passing` leaves out those below optional keys."""
    if "$ref" in schema:
        yield unescape_pointer(schema["$ref"].removeprefix(DEFINITION))
    required = schema.get("required", ())
    for name, child in schema.get("properties", {}).items():
        if name in required or not passing:
            yield from _references(child, passing=passing)
    rest = schema.get("additionalProperties")
    below = [*schema.get("anyOf", []), *schema.get("prefixItems", []), schema.get("items"), rest]
    for child in below:
        if isinstance(child, dict):
            yield from _references(child, passing=passing)


def _limits(schema: Any, dialect: ProviderDialect) -> Iterator[Violation]:
    limits = dialect.limits
    parts = list(_parts(schema))
    enums = [part["enum"] for part in parts if "enum" in part]
    names = [name for part in parts for name in part.get("properties", {})]
    texts = [*names, *(schema.get("$defs", {}) if isinstance(schema, dict) else {})]
    texts += [v for values in enums for v in values if isinstance(v, str)]
    texts += [part["const"] for part in parts if isinstance(part.get("const"), str)]
    optional = (set(part.get("properties", {})) - set(part.get("required", ())) for part in parts)
    unions = [p for p in parts if "anyOf" in p or isinstance(p.get("type"), list)]
    for keyword, what, size, most in (
        ("properties", "keys", len(names), limits.properties),
        ("properties", "levels of objects", _depth(schema), limits.depth),
        ("properties", "characters of names", sum(map(len, texts)), limits.characters),
        ("enum", "values of enums", sum(map(len, enums)), limits.enum_values),
        ("required", "optional keys", sum(map(len, optional)), limits.optional),
        ("anyOf", "unions", len(unions), limits.unions),
    ):
        if most is not None and size > most:
            yield Violation("#", keyword, f"{size} {what}, of which {most} are allowed")
    if limits.long_enum is not None:
        values, characters = limits.long_enum
        for enum in enums:
            size = sum(len(v) for v in enum if isinstance(v, str))
            if len(enum) > values and size > characters:
                yield Violation(
                    "#", "enum", f"{size} characters in one enum, of which {characters} are allowed"
                )


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every subschema, the schema itself included."""
    todo = [schema]
    while todo:
        part = todo.pop()
        if not isinstance(part, dict):
            continue
        yield part
        todo += [*part.get("properties", {}).values(), *part.get("$defs", {}).values()]
        todo += [*part.get("anyOf", []), *part.get("prefixItems", [])]
        todo += [part.get("items"), part.get("additionalProperties")]


def _depth(schema: Any) -> int:
    """Objects inside objects, references not followed."""
    if not isinstance(schema, dict):
        return 0
    inside = [*schema.get("properties", {}).values(), schema.get("additionalProperties")]
    beside = [*schema.get("anyOf", []), *schema.get("prefixItems", []), schema.get("items")]
    beside += schema.get("$defs", {}).values()
    deeper = max((_depth(part) for part in inside), default=0) + ("properties" in schema)
    return max([deeper, *(_depth(part) for part in beside)])
