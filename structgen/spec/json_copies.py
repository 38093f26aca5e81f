"""In: atoms of subschemas. Out: for each the first that says the same, word for word.

Branches of a `oneOf` are often copies of each other in most of what they say. A value that must fit
one copy and must not fit another is seen to be impossible at once, if copies have one opposite.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

from structgen.spec.json_exprs import Atom
from structgen.spec.json_resources import IDENTITY

ANNOTATIONS = frozenset(("title", "description", "$comment", "default", "examples"))
MAX_DEEP = 50  # subschemas within one another that are compared
MAX_ALIKE = 16  # subschemas that are compared with each one that has the same outline

Schema = dict[str, Any]
Outline = tuple[str, list[Schema]]  # what a subschema says but for those below it, and these

_SILENT = ANNOTATIONS | {"definitions", "$defs"}
_NAMING = IDENTITY | {"$anchor", "$dynamicAnchor", "$recursiveAnchor"}


class Copies:
    """What the subschemas of one document say."""

    def __init__(self) -> None:
        self._outlines: dict[int, Outline | None] = {}  # by the ids of subschemas
        self._firsts: dict[Hashable, list[Atom]] = {}  # by what can be seen at a glance

    def first(self, atom: Atom) -> Atom:
        """The first atom asked about that says what `atom` says."""
        place, outline = atom.place, self._outline(atom.value)
        if isinstance(place, str) or outline is None:
            return atom
        spot = place.spot
        seen = outline[0], spot.resource, spot.dialect, place.scope
        alike = self._firsts.setdefault(seen, [])
        for other in alike:
            if self._are_same(atom.value, other.value, MAX_DEEP):
                return other
        if len(alike) < MAX_ALIKE:
            alike.append(atom)
        return atom

    def _are_same(self, a: Schema, b: Schema, deep: int) -> bool:
        if a is b:
            return True
        one, other = self._outline(a), self._outline(b)
        if one is None or other is None or one[0] != other[0] or not deep:
            return False
        pairs = zip(one[1], other[1], strict=True)
        return all(self._are_same(x, y, deep - 1) for x, y in pairs)

    def _outline(self, schema: Any) -> Outline | None:
        """None for what has a name of its own, or is no subschema."""
        if not isinstance(schema, dict):
            return None
        if id(schema) not in self._outlines:
            self._outlines[id(schema)] = _outlined(schema)
        return self._outlines[id(schema)]


def _outlined(schema: Schema) -> Outline | None:
    if not _NAMING.isdisjoint(schema):
        return None
    said: dict[str, Any] = {}
    below: list[Schema] = []
    try:
        for keyword in sorted(schema.keys() - _SILENT):
            hold, value = _HOLDERS.get(keyword), schema[keyword]
            said[keyword] = value if hold is None else hold(value, below)
        return json.dumps(said, sort_keys=True), below
    except TypeError:  # not as from a text
        return None


def _one(value: Any, below: list[Schema]) -> Any:
    """What stands for a subschema in an outline."""
    if not isinstance(value, dict):
        return value
    below.append(value)
    return {}


def _some(value: Any, below: list[Schema]) -> Any:
    return [_one(x, below) for x in value] if isinstance(value, list) else _one(value, below)


def _named(value: Any, below: list[Schema]) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _one(value[name], below) for name in sorted(value)}


_HOLDERS = {
    **dict.fromkeys(("additionalItems", "additionalProperties", "contains", "not"), _one),
    **dict.fromkeys(("propertyNames", "if", "then", "else"), _one),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), _one),
    **dict.fromkeys(("items", "prefixItems", "allOf", "anyOf", "oneOf"), _some),
    **dict.fromkeys(("properties", "patternProperties"), _named),
    **dict.fromkeys(("dependencies", "dependentSchemas"), _named),
}
