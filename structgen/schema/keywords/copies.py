"""Finds subschemas that are equal word for word, so that they share one negation.

Branches of a `oneOf` are often copies of each other in most of what they say. That a value must fit
one copy and must not fit another is contradictory (`expressions.contradictory`), which is seen at
once if all copies have the same negation.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from structgen.schema.normal_form.expressions import Atom
from structgen.schema.normal_form.listings import ANNOTATIONS
from structgen.schema.references.metaschemas import DEFINITIONS, depth_of
from structgen.schema.references.resources import IDENTITY
from structgen.schema.values import dumps

MAX_DEEP = 50  # levels of subschemas that are compared
MAX_ALIKE = 16  # subschemas with the same outline that one is compared with

Schema = dict[str, Any]
Outline = tuple[str, list[Schema]]  # a subschema as JSON without those below it, and these

_SILENT = ANNOTATIONS.union(DEFINITIONS)
_NAMING = IDENTITY | {"$anchor", "$dynamicAnchor", "$recursiveAnchor"}


class Copies:
    """The subschemas of one document, by their outlines."""

    def __init__(self) -> None:
        self._outlines: dict[tuple[int, int], Outline | None] = {}  # by id of schema, and draft
        self._firsts: dict[Hashable, list[Atom]] = {}  # by outline and place

    def first(self, atom: Atom) -> Atom:
        """The first atom ever passed here whose subschema equals that of `atom`."""
        if isinstance(atom.place, str):
            return atom
        spot, draft = atom.place.spot, atom.place.draft
        outline = self._outline(atom.value, draft)
        if outline is None:
            return atom
        seen = outline[0], spot.resource, spot.dialect, atom.place.scope
        alike = self._firsts.setdefault(seen, [])
        for other in alike:
            if self._are_same(atom.value, other.value, draft, MAX_DEEP):
                return other
        if len(alike) < MAX_ALIKE:
            alike.append(atom)
        return atom

    def _are_same(self, a: Schema, b: Schema, draft: int, deep: int) -> bool:
        if a is b:
            return True
        one, other = self._outline(a, draft), self._outline(b, draft)
        if one is None or other is None or one[0] != other[0] or not deep:
            return False
        pairs = zip(one[1], other[1], strict=True)
        return all(self._are_same(x, y, draft, deep - 1) for x, y in pairs)

    def _outline(self, schema: Any, draft: int) -> Outline | None:
        """The outline of a subschema; None for one with a name of its own, or no object."""
        if not isinstance(schema, dict):
            return None
        key = id(schema), draft
        if key not in self._outlines:
            self._outlines[key] = _outlined(schema, draft)
        return self._outlines[key]


def _outlined(schema: Schema, draft: int) -> Outline | None:
    if not _NAMING.isdisjoint(schema):
        return None
    said: dict[str, Any] = {}
    below: list[Schema] = []
    try:
        for keyword in sorted(schema.keys() - _SILENT):
            value = schema[keyword]
            said[keyword] = _shallow(value, depth_of(keyword, value, draft), below)
        return dumps(said, sort_keys=True), below
    except TypeError:  # not as JSON text has it
        return None


def _shallow(value: Any, depth: int, below: list[Schema]) -> Any:
    """A keyword's value in an outline, without its subschemas, which are added to `below`."""
    if depth == 2 and isinstance(value, list):
        return [_shallow(x, 1, below) for x in value]
    if depth == 2:
        return {name: _shallow(value[name], 1, below) for name in sorted(value)}
    if depth == 1 and isinstance(value, dict):
        below.append(value)
        return {}
    return value
