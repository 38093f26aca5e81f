"""The keywords of each draft, and which of them hold subschemas, as the metaschemas have it.

To read the metaschemas takes longer than to compile many schemas, so what they say of subschemas is
also a table, SUBSCHEMA_KEYWORDS, which is all that compiling needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urljoin

from structgen.schema.references.vocabularies import DRAFTS

DEFINITIONS = ("$defs", "definitions")  # hold subschemas that apply only where something refers


class Shape(NamedTuple):
    """What the value of a keyword may be: a subschema, a list of them, an object of them."""

    schema: bool = False
    listed: bool = False
    mapped: bool = False


_ONE, _MANY, _NAMED = Shape(schema=True), Shape(listed=True), Shape(mapped=True)
# The keywords that hold subschemas: how, and the first and the last draft that knows them.
SUBSCHEMA_KEYWORDS = (
    *((keyword, _ONE, 4, 2020) for keyword in ("additionalProperties", "not")),
    *((keyword, _ONE, 6, 2020) for keyword in ("contains", "propertyNames")),
    *((keyword, _ONE, 7, 2020) for keyword in ("if", "then", "else")),
    *((f"unevaluated{rest}", _ONE, 2019, 2020) for rest in ("Items", "Properties")),
    ("contentSchema", _ONE, 2019, 2020),
    ("additionalItems", _ONE, 4, 2019),
    *((keyword, _MANY, 4, 2020) for keyword in ("allOf", "anyOf", "oneOf")),
    ("prefixItems", _MANY, 2020, 2020),
    ("items", Shape(schema=True, listed=True), 4, 2019),
    ("items", _ONE, 2020, 2020),
    *((keyword, _NAMED, 4, 2020) for keyword in ("properties", "patternProperties")),
    *((keyword, _NAMED, 2019, 2020) for keyword in ("dependentSchemas", "$defs")),
    *((keyword, _NAMED, 4, 2019) for keyword in ("definitions", "dependencies")),
)
_LATER = frozenset(("prefixItems", "$dynamicRef", "$dynamicAnchor"))  # keywords of 2020-12 alone
MAX_SUBSCHEMAS = 1 << 16  # that are looked at; a schema may hold itself


@cache
def subschema_keywords(draft: int) -> dict[str, Shape]:
    """The keywords that hold subschemas in a draft; some count in every draft."""
    effective = dict.fromkeys((*DEFINITIONS, "dependencies"), _NAMED)
    return effective | {
        k: shape for k, shape, first, last in SUBSCHEMA_KEYWORDS if first <= draft <= last
    }


@cache
def keywords_of(draft: int) -> dict[str, Shape]:
    """The keywords that a draft's metaschema knows, those it calls deprecated left out."""
    return {k: _shape(v, document) for k, v, document in _properties(draft) if not _deprecated(v)}


@cache
def deprecated_in(draft: int) -> frozenset[str]:
    """The keywords of earlier drafts that a draft's metaschema still mentions."""
    return frozenset(keyword for keyword, v, _ in _properties(draft) if _deprecated(v))


def _deprecated(value: Any) -> bool:
    return isinstance(value, dict) and value.get("deprecated") is True


def _properties(draft: int) -> Iterator[tuple[str, Any, Any]]:
    """Each property of a draft's metaschema, its schema, and the document it is in."""
    from jsonschema_specifications import REGISTRY

    uri = next(u for u, number in DRAFTS.items() if number == draft)
    top = REGISTRY[uri].contents
    documents = [top, *(REGISTRY[urljoin(uri, d["$ref"])].contents for d in top.get("allOf", []))]
    for document in documents:
        for keyword, value in document.get("properties", {}).items():
            yield keyword, value, document


@cache
def drafts_of() -> dict[str, tuple[int, ...]]:
    """Every keyword of any draft, with the drafts that know it."""
    found: dict[str, list[int]] = {}
    for draft in dict.fromkeys(DRAFTS.values()):
        for keyword in keywords_of(draft):
            found.setdefault(keyword, []).append(draft)
    return {keyword: tuple(drafts) for keyword, drafts in found.items()}


def subschemas(schema: dict[str, Any], draft: int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The subschemas directly below a schema, each with the path that leads to it."""
    for keyword, value in schema.items():
        depth = depth_of(keyword, value, draft)
        if depth == 1:
            yield (keyword,), value
        elif depth == 2:
            inner = enumerate(value) if isinstance(value, list) else value.items()
            yield from (((keyword, step), v) for step, v in inner if _is_schema(v))


def lists_items(schema: Any) -> bool:
    """Whether a schema that names no draft has a list in `items`, as drafts up to 2019-09 have.

    Not where it has a keyword that only draft 2020-12 knows.
    """
    shapes = subschema_keywords(2019)
    todo, found = [schema], False
    for at in islice(todo, MAX_SUBSCHEMAS):  # which grows
        if not isinstance(at, dict) or "$schema" in at:
            continue
        if not _LATER.isdisjoint(at):
            return False
        for keyword, value in at.items():
            shape = shapes.get(keyword)
            if shape is None:
                continue
            if isinstance(value, list):
                found = found or keyword == "items"
                todo += value if shape.listed else ()
            elif isinstance(value, dict):
                todo += value.values() if shape.mapped else (value,)
    return found


def depth_of(keyword: str, value: Any, draft: int) -> int:
    """Whether a keyword's value is a subschema (1), or holds some (2), or neither (0)."""
    shape = subschema_keywords(draft).get(keyword)
    if shape is None:
        return 0
    if isinstance(value, list):
        return 2 if shape.listed else 0
    if shape.mapped and isinstance(value, dict):
        return 2
    return 1 if shape.schema and _is_schema(value) else 0


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _shape(value: Any, document: Any) -> Shape:
    """What a metaschema's property says about the value of a keyword."""
    if not isinstance(value, dict):
        return Shape()
    if _is_any_schema(value):
        return Shape(schema=True)
    reference = value.get("$ref", "")
    if reference.startswith("#/"):
        target = document
        for part in reference[2:].split("/"):
            target = target[part]
        return _shape(target, document)
    branches = [_shape(branch, document) for branch in value.get("anyOf", [])]
    return Shape(
        any(b.schema for b in branches),
        any(b.listed for b in branches) or _shape(value.get("items"), document).schema,
        any(b.mapped for b in branches)
        or _shape(value.get("additionalProperties"), document).schema,
    )


def _is_any_schema(value: dict[str, Any]) -> bool:
    return value.get("$ref") == "#" or "$dynamicRef" in value or "$recursiveRef" in value
