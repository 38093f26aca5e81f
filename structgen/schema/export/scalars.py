"""Writes what a case demands of numbers and strings, or its constants, in a dialect."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from structgen.schema.export.dialects import ProviderDialect
from structgen.schema.export.rules import type_of
from structgen.schema.normal_form.expressions import Atom
from structgen.schema.report.cases import Bound, Lose, Members, Side, tightest

Exported = dict[str, Any]


def number(type_: str, members: Members, dialect: ProviderDialect, lose: Lose) -> Exported:
    """The range and step of numbers of a type."""
    found: Exported = {}
    sides: tuple[tuple[Side, int], ...] = (("minimum", 1), ("maximum", -1))
    for side, sign in sides:
        bound = tightest(members, side)
        if bound is not None:
            _put_bound(found, side, sign, type_, bound, dialect, lose)
    steps = [(a, s["multipleOf"]) for a, s in members if "multipleOf" in s]
    for i, (atom, step) in enumerate(steps):
        if not dialect.takes(type_, "multipleOf"):
            lose(atom, "multipleOf", "looser", "the dialect has no such keyword")
        elif i and step != found["multipleOf"]:
            lose(atom, "multipleOf", "looser", "only one step can be said")
        else:
            found["multipleOf"] = step
    return found


def _put_bound(
    found: Exported,
    side: str,
    sign: int,
    type_: str,
    bound: Bound,
    dialect: ProviderDialect,
    lose: Lose,
) -> None:
    exclusive = "exclusive" + side.capitalize()
    if bound.strict and dialect.takes(type_, exclusive):
        found[exclusive] = bound.written
    elif not dialect.takes(type_, side):
        lose(bound.atom, bound.keyword, "looser", "the dialect has no such keyword")
    elif bound.strict and type_ == "integer":
        next_one = math.floor(sign * bound.value) + 1
        found[side] = sign * next_one
    else:
        found[side] = bound.written
        if bound.strict:
            lose(bound.atom, bound.keyword, "looser", "the bound itself is let in")


def string(
    members: Members, dialect: ProviderDialect, lose: Lose, enforced: Callable[[Atom, str], bool]
) -> Exported:
    """Lengths, pattern and format of strings. enforced: whether a keyword restricts anything."""
    found: Exported = {}
    for keyword, pick in (("minLength", max), ("maxLength", min)):
        said = [(schema[keyword], atom) for atom, schema in members if keyword in schema]
        if said and dialect.takes("string", keyword):
            found[keyword] = int(pick(limit for limit, _ in said))
        else:
            for limit, atom in said:
                if (keyword, limit) != ("minLength", 0):
                    lose(atom, keyword, "looser", "the dialect has no such keyword")
    for atom, schema in members:
        if "pattern" in schema:
            _put_pattern(found, atom, schema["pattern"], dialect, lose)
        if "format" in schema:
            _put_format(found, atom, schema["format"], enforced(atom, "format"), dialect, lose)
    return found


def _put_pattern(
    found: Exported, atom: Atom, pattern: str, dialect: ProviderDialect, lose: Lose
) -> None:
    without = dialect.pattern_without
    if not dialect.takes("string", "pattern"):
        lose(atom, "pattern", "looser", "the dialect has no such keyword")
    elif without and re.search(without, pattern):
        lose(atom, "pattern", "looser", f"the dialect does not take the pattern {pattern!r}")
    elif found.setdefault("pattern", pattern) != pattern:
        lose(atom, "pattern", "looser", "only one pattern can be said")


def _put_format(
    found: Exported, atom: Atom, name: str, asserted: bool, dialect: ProviderDialect, lose: Lose
) -> None:
    if not asserted:
        lose(atom, "format", "same", f"{name!r} is an annotation here")
    elif name not in dialect.formats or not dialect.takes("string", "format"):
        lose(atom, "format", "looser", f"the dialect does not have the format {name!r}")
    elif found.setdefault("format", name) != name:
        lose(atom, "format", "looser", "only one format can be said")


class Values:
    """Writes given values in a dialect; losses are those of the keyword that listed them."""

    def __init__(self, dialect: ProviderDialect, atom: Atom, keyword: str, lose: Lose) -> None:
        self._dialect = dialect
        self._place = atom, keyword
        self._lose = lose

    def _lost(self, text: str) -> None:
        self._lose(*self._place, "looser", text)

    def listed(self, values: list[Any]) -> list[Exported]:
        """Schemas that together fit exactly these values, as far as the dialect can express it."""
        by_type: dict[str, list[Any]] = {}
        for value in values:
            by_type.setdefault(type_of(value), []).append(value)
        found: list[Exported] = []
        for type_, some in by_type.items():
            if type_ in ("array", "object"):
                found += map(self._container, some)
            else:
                found.append(self._scalars(type_, some))
        return found

    def _scalars(self, type_: str, values: list[Any]) -> Exported:
        if type_ == "number" and all(value == int(value) for value in values):
            schema: Exported = {"type": "integer"}
        else:
            schema = {"type": type_}
        if type_ == "null" or (type_ == "boolean" and len(set(values)) == 2):
            return schema
        if len(values) == 1 and self._dialect.constants:
            return schema | {"const": values[0]}
        if type_ in self._dialect.in_enum:
            return schema | {"enum": values}
        self._lost(f"no {type_} may stand in an enum of the dialect")
        return schema

    def _container(self, value: Any) -> Exported:
        if isinstance(value, dict):
            properties = {key: self.listed([child])[0] for key, child in value.items()}
            schema: Exported = {"type": "object", "properties": properties}
            schema["required"] = list(value)
            if self._dialect.takes("object", "additionalProperties"):
                schema["additionalProperties"] = False
            else:
                self._lost("the dialect cannot forbid further keys")
            if self._dialect.ordering and value:
                schema["propertyOrdering"] = list(value)
            return schema
        return self._array(value)

    def _array(self, value: list[Any]) -> Exported:
        schema: Exported = {"type": "array"}
        if self._dialect.takes("array", "prefixItems") and value:
            schema["prefixItems"] = [self.listed([item])[0] for item in value]
        else:
            branches = self.listed(value) or [{"type": "null"}]
            schema["items"] = branches[0] if len(branches) == 1 else {"anyOf": branches}
            if len(value) > 1:
                self._lost("the dialect cannot say which item comes where")
        for keyword in ("minItems", "maxItems"):
            allowed = self._dialect.values.get(keyword)
            takes = self._dialect.takes("array", keyword)
            if takes and (allowed is None or len(value) in allowed):
                schema[keyword] = len(value)
            else:
                self._lost("the dialect cannot say how many items there are")
        return schema
