"""Close the objects of a schema that its author left open: only keys that are named may come.

An object that names keys (`properties`, `patternProperties`) and says nothing of others gets
`additionalProperties: false`. Where keys come from several places (`allOf`, `$ref` beside other
keywords, ...) the outermost of these gets `unevaluatedProperties: false`; drafts before 2019-09 do
not have that, and get `CLOSES`, a keyword of our own. The branches of an `anyOf` or `oneOf` by
itself are closed one by one. Objects that name no keys stay open, as do schemas that only test
(`not`, `if`, `contains`, `propertyNames`), and those that such a place refers to by `$ref`, other
than definitions. A value may fit one closed branch of a `oneOf` and two open ones: then it does not
fit the schema as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from structgen.schema.references.resources import target_within
from structgen.schema.references.vocabularies import CLOSES, stated_draft

_NAMES = ("properties", "patternProperties")
_BRANCHES = ("anyOf", "oneOf")
_BESIDE = ("allOf", *_BRANCHES, "if", "then", "else", "dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_CHILDREN = (
    "additionalProperties", "unevaluatedProperties", "items", "additionalItems", "prefixItems",
    "unevaluatedItems",
)  # fmt: skip
_DEFINITIONS = ("$defs", "definitions")
_STAY = ("$schema", "$id", "id", *_DEFINITIONS)  # what counts beside a `$ref` that hides the rest


def closed(schema: Any) -> Any:
    """The same schema with its objects closed; a copy, where anything changes."""
    return _Closer(schema).value(schema) if isinstance(schema, dict) else schema


class _Closer:
    """Closes the subschemas of one document."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        draft = stated_draft(root)
        self._ref_hides_others = draft <= 7
        self._closing = "unevaluatedProperties" if draft >= 2019 else CLOSES
        #: definitions that others add keys to: they stay open, and are closed where they are used
        self._open: set[int] = set()
        for part in _within(root):
            if _is_joint(self._read(part)):
                for other in _beside(part):
                    self._leave_open(other)

    def _read(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The keywords of a subschema that count."""
        hides = self._ref_hides_others and "$ref" in schema
        return {"$ref": schema["$ref"]} if hides else schema

    def _leave_open(self, schema: Any) -> None:
        for part in self._reached(schema):
            self._open.add(id(part))

    def _reached(self, schema: Any) -> Iterator[dict[str, Any]]:
        """A subschema, and all that its object must fit as well."""
        todo, seen = [schema], set()
        for part in todo:
            if not isinstance(part, dict) or id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            todo += [*_beside(self._read(part)), *self._targets(part)]

    def _targets(self, schema: dict[str, Any]) -> list[Any]:
        """What the references of a subschema lead to within the document."""
        found = (schema.get(name) for name in _REFERENCES)
        return [target_within(self._root, text) for text in found if isinstance(text, str)]

    def value(self, schema: Any) -> Any:
        """A subschema that a whole value must fit."""
        if not isinstance(schema, dict):
            return schema
        read = self._read(schema)
        is_joint = _is_joint(read)
        only_branches = not is_joint and any(name in read for name in _BRANCHES)
        found = self._parts(schema, branches=only_branches)
        says_others = "additionalProperties" in read or self._closing in read
        if says_others or id(schema) in self._open or only_branches:
            return found
        stays_open = any(id(part) in self._open for part in self._targets(schema))
        if not is_joint and not stays_open:
            names = any(name in read for name in _NAMES)
            return found | {"additionalProperties": False} if names else found
        if not any(name in self._read(part) for part in self._reached(schema) for name in _NAMES):
            return found
        if read is not schema:
            found = {name: found[name] for name in _STAY if name in found} | {"allOf": [read]}
        return found | {self._closing: False}

    def _parts(self, schema: dict[str, Any], *, branches: bool) -> dict[str, Any]:
        """A copy whose members and items are closed, and branches where they are values."""
        found = dict(schema)
        for name in (*_NAMES, *_DEFINITIONS):
            if isinstance(schema.get(name), dict):
                found[name] = {k: self.value(v) for k, v in schema[name].items()}
        for name in _CHILDREN:
            if name in schema:
                found[name] = self._listed(schema[name])
        for name in _BESIDE:
            part = schema.get(name)
            close = self.value if branches else self._joined
            if isinstance(part, list):
                found[name] = [close(x) for x in part]
            elif name in ("then", "else"):
                found[name] = self._joined(part) if part is not None else part
            elif isinstance(part, dict) and name.startswith("depend"):
                found[name] = {k: self._joined(v) for k, v in part.items()}
        return {name: value for name, value in found.items() if name in schema}

    def _joined(self, schema: Any) -> Any:
        """A subschema that others add keys to: only what is below it is closed."""
        return self._parts(schema, branches=False) if isinstance(schema, dict) else schema

    def _listed(self, value: Any) -> Any:
        parts = isinstance(value, list)
        return [self.value(part) for part in value] if parts else self.value(value)


def _is_joint(schema: dict[str, Any]) -> bool:
    """Whether the keys of an object come from several places."""
    places = [name for name in (*_BESIDE, *_REFERENCES) if name in schema]
    names = any(name in schema for name in _NAMES)
    if not places or (not names and places == ["$ref"]):
        return False
    return names or len(places) > 1 or places[0] not in _BRANCHES


def _beside(schema: dict[str, Any]) -> Iterator[Any]:
    """The subschemas that the same object must fit, or may have to."""
    for name in _BESIDE:
        part = schema.get(name)
        if isinstance(part, dict) and name.startswith("depend"):
            yield from part.values()
        elif isinstance(part, list):
            yield from part
        elif part is not None and name != "if":
            yield part


def _within(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema, and all subschemas whose objects may be closed."""
    todo = [schema]
    for part in todo:
        if not isinstance(part, dict):
            continue
        yield part
        for name in (*_NAMES, *_DEFINITIONS):
            todo += part[name].values() if isinstance(part.get(name), dict) else ()
        for name in _CHILDREN:
            found = part.get(name)
            todo += found if isinstance(found, list) else [found]
        todo += _beside(part)
