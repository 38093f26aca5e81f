"""Fast checks of simple subschemas, which need no expansion into a normal form.

Most subschemas have nothing but a type, bounds and simple subschemas, and keyword values that are
as they should be. That nothing is wrong with them, and that some value fits, is seen from their
JSON, which saves most of the time to compile a large schema. All checks are conservative: they say
yes only where expanding would find the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from structgen.regular.words import is_spellable
from structgen.schema.keywords.keywords import KEYWORDS, TYPES
from structgen.schema.references.resources import IDENTITY, Path
from structgen.schema.references.vocabularies import Dialect

Child = tuple[Path, dict[str, Any]]  # a subschema that is an object, and the path to it
Check = Callable[[Any], bool]

MANY_NUMBERS = 64  # constants whose languages take milliseconds to make, if they are numbers

_SCHEMA = (dict, bool)
_GREATEST = sys.float_info.max
_LISTED = frozenset((str, int, float, bool, type(None)))  # types of constants that are scalars


def children(schema: dict[str, Any], dialect: Dialect) -> list[Child] | None:
    """The subschemas directly below a simple schema; None if it has to be expanded.

    A `$ref` counts as an annotation here: the caller has to follow it.
    """
    if dialect.ignored or dialect.asserts_formats:
        return None
    found: list[Child] = []
    for keyword, value in schema.items():
        check = _CHECKS.get(keyword)
        if check is None:
            continue
        if not check(value):
            return None
        if keyword in _HOLDERS:
            found += _HOLDERS[keyword](keyword, value)
    if "format" in schema and not _BESIDE_FORMAT.isdisjoint(schema):
        return None
    constants = schema.get("enum", ())
    if len(constants) >= MANY_NUMBERS and str not in map(type, constants[:MANY_NUMBERS]):
        return None
    return found


def complex_below(
    schema: dict[str, Any], dialect: Dialect, seen: set[int], formats: set[str]
) -> list[Child] | None:
    """The subschemas below a schema that are not simple, or that say where they or others are.

    Looks below simple ones. seen: ids of subschemas that need not be looked at again. formats: the
    formats of the simple ones are added. None if the schema itself is not simple.
    """
    below = children(schema, dialect)
    if below is None:
        return None
    found: list[Child] = []
    formats.add(schema.get("format", ""))
    todo: list[tuple[Path, list[Child]]] = [((), below)]
    while todo:
        path, below = todo.pop()
        for step, child in below:
            if id(child) in seen:
                continue
            seen.add(id(child))
            inner = children(child, dialect) if _LOCATING.isdisjoint(child) else None
            if inner is None:
                found.append((path + step, child))
                continue
            if "format" in child:
                formats.add(child["format"])
            if inner:
                todo.append((path + step, inner))
    return found


def are_anonymous(schemas: dict[str, Any]) -> bool:
    """Whether all of some values are schemas without an identifier of their own."""
    kinds = set(map(type, schemas.values()))
    if not kinds <= {dict, bool}:
        return False
    return all(map(IDENTITY.isdisjoint, [x for x in schemas.values() if x is not True and x]))


def are_trivially_satisfiable(schemas: dict[str, Any], dialect: Dialect) -> bool:
    """Whether all of some schemas by name are so simple that each name can have some value.

    They are anonymous, too.
    """
    found = schemas.values()
    if dialect.ignored or set(map(type, found)) != {dict} or not "".join(schemas).isascii():
        return False
    return all(map(_TRIVIAL.issuperset, found)) and [] not in [x.get("type") for x in found]


def surely_satisfiable(schema: dict[str, Any] | bool, dialect: Dialect) -> bool:
    """Whether some value certainly fits a schema that is not broken.

    Of objects only the required members are looked at.
    """
    if isinstance(schema, bool):
        return schema
    if _TRIVIAL.issuperset(schema):
        return schema.get("type") != [] and not dialect.ignored
    seen = {id(schema)}
    todo = [schema]
    for at in todo:
        said = _CHECKED.intersection(at)
        if at.get("type") == [] or not (
            said <= _MAY_HAVE_VALUES or (said <= _ENUM_ONLY and _lists_string(at))
        ):
            return False
        for child in _needed(at) if "required" in said else ():
            if child is False or (child is not True and not _LOCATING.isdisjoint(child)):
                return False
            if child is not True and id(child) not in seen:
                seen.add(id(child))
                todo.append(child)
    return not dialect.ignored


def is_writable(constant: Any) -> bool:
    """Whether a constant is a scalar that certainly can be written."""
    if isinstance(constant, str):
        return is_spellable(constant)
    return constant is None or isinstance(constant, int)


def with_type(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any] | None:
    """Two schemas as one, if one of them says nothing but a type that the other leaves as it is."""
    if not (said := _SAID.intersection(other)) <= {"type"}:
        one, other = other, one
        said = _SAID.intersection(other)
    if not said <= {"type"} or ("type" in said and one.get("type", other["type"]) != other["type"]):
        return None
    return {**other, **one}


def _needed(schema: dict[str, Any]) -> list[Any]:
    """The subschemas of the required members; False for one that cannot come."""
    named, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    required = schema["required"]
    if not (_are_names(required) and _are_schemas(named) and _is_schema(rest)):
        return [False]
    return [named.get(name, rest) if is_spellable(name) else False for name in required]


def _lists_string(schema: dict[str, Any]) -> bool:
    """Whether a string is in the `enum`, and `type` allows strings only."""
    values = schema.get("enum")
    texts = isinstance(values, list) and any(isinstance(x, str) and x.isascii() for x in values)
    return texts and schema.get("type", "string") == "string"


def is_reference(schema: dict[str, Any], dialect: Dialect) -> bool:
    """Whether a schema has nothing but a `$ref` and annotations."""
    if not isinstance(schema.get("$ref"), str):
        return False
    return dialect.draft <= 7 or all(k == "$ref" or k not in _CHECKS for k in schema)


def scalar_key(schema: dict[str, Any], dialect: Dialect) -> tuple[Any, ...] | None:
    """A cache key for the normal form of a schema that says nothing of members or items.

    None for others.
    Keyword values are strings and integers only: 1, 1.0 and true would be equal as keys.
    """
    if dialect.ignored or dialect.asserts_formats:
        return None
    said: list[Any] = [dialect.draft]
    for keyword, value in schema.items():
        if keyword not in _CHECKS:
            continue
        if keyword not in _SCALAR or type(value) not in (str, int):
            return None
        said += (keyword, value)
    return tuple(said)


def _never(_value: Any) -> bool:
    return False


def _is_type(value: Any) -> bool:
    return value in TYPES if isinstance(value, str) else _is_list_of_types(value)


def _is_list_of_types(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(x, str) and x in TYPES for x in value)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -_GREATEST <= value <= _GREATEST


def _is_bound(value: Any) -> bool:
    return isinstance(value, bool) or _is_number(value)


def _is_step(value: Any) -> bool:
    return _is_number(value) and value > 0


def is_constant(value: Any) -> bool:
    """Whether a value is a scalar that can certainly be read."""
    return type(value) in _LISTED and (type(value) not in (int, float) or _is_number(value))


def _are_constants(value: Any) -> bool:
    # many are read when a schema is compiled, and not in the middle of a text
    return isinstance(value, list) and len(value) <= MANY and all(map(is_constant, value))


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_schema(value: Any) -> bool:
    return isinstance(value, _SCHEMA)


def _are_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(x, _SCHEMA) for x in value.values())


def _itself(keyword: str, value: Any) -> Iterator[Child]:
    if isinstance(value, dict):
        yield (keyword,), value


def _values(keyword: str, value: Any) -> Iterator[Child]:
    return (((keyword, key), x) for key, x in value.items() if isinstance(x, dict))


MANY = 1000  # constants of a schema that is not simple any more
_LOCATING = IDENTITY | {"$ref"}  # keywords that say where this or another schema is
_MAY_HAVE_VALUES = frozenset((
    "type", "format", "properties", "items", "additionalProperties", "required",
))  # fmt: skip
_BESIDE_FORMAT = frozenset(("enum", "const", "minLength", "maxLength"))
_ENUM_ONLY = frozenset(("type", "enum"))
_TRIVIAL = (_MAY_HAVE_VALUES - {"required"}) | {
    "title",
    "description",
    "default",
    "examples",
    "$comment",
}
# For each keyword, whether expanding it certainly cannot fail with this value.
_CHECKS: dict[str, Check] = dict.fromkeys(KEYWORDS, _never) | {
    "type": _is_type,
    "enum": _are_constants,
    "const": is_constant,
    **dict.fromkeys(("minimum", "maximum"), _is_number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _is_bound),
    "multipleOf": _is_step,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties"), _is_count),
    "format": lambda value: isinstance(value, str),
    "uniqueItems": lambda value: isinstance(value, bool),
    "required": _are_names,
    "properties": _are_schemas,
    **dict.fromkeys(("items", "additionalProperties"), _is_schema),
}
_CHECKED = frozenset(_CHECKS)
_SAID = _CHECKED | _LOCATING
_SCALAR = frozenset((
    "type", "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "minLength", "maxLength",
))  # fmt: skip
_HOLDERS = {"properties": _values, "items": _itself, "additionalProperties": _itself}
