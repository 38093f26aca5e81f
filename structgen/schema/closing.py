"""Close the objects of a schema that its author left open: only keys that are named may come.

An object that names keys (`properties`, `patternProperties`) and says nothing of others gets
`additionalProperties: false`. Where keys come from several places (`allOf`, `$ref` beside other
keywords, ...) the outermost of these gets `unevaluatedProperties: false`, which drafts have from
2019-09 on. The branches of an `anyOf` or `oneOf` by itself are closed one by one. Objects that name
no keys stay open, as do schemas that only test (`not`, `if`, `contains`, `propertyNames`), and
those that such a place refers to by `$ref`, other than definitions. A value may fit one closed
branch of a `oneOf` and two open ones: then it does not fit the schema as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from structgen.errors import UnsupportedSchemaError
from structgen.schema.references.resources import target_within
from structgen.schema.references.vocabularies import stated_draft
from structgen.util.json_pointer import location, pointer_to

Path = tuple[str | int, ...]

_NAMES = ("properties", "patternProperties")
_OTHERS = ("additionalProperties", "unevaluatedProperties")  # what says which other keys may come
_BRANCHES = ("anyOf", "oneOf")
_BESIDE = ("allOf", *_BRANCHES, "if", "then", "else", "dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_CHILDREN = (
    "additionalProperties", "unevaluatedProperties", "items", "additionalItems", "prefixItems",
    "unevaluatedItems",
)  # fmt: skip
_DEFINITIONS = ("$defs", "definitions")


def closed(schema: Any) -> Any:
    """The same schema with its objects closed; a copy, where anything changes.

    Raises UnsupportedSchemaError for keys from several places in a draft before 2019-09.
    """
    return _Closer(schema).value(schema, ()) if isinstance(schema, dict) else schema


class _Closer:
    """Closes the subschemas of one document."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._is_old = stated_draft(root) < 2019
        #: definitions that others add keys to: they stay open, and are closed where they are used
        self._open: set[int] = set()
        for part in _within(root):
            if _is_joint(part):
                for other in _beside(part):
                    self._leave_open(other)

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
            todo += [*_beside(part), *self._targets(part)]

    def _targets(self, schema: dict[str, Any]) -> list[Any]:
        """What the references of a subschema lead to within the document."""
        found = (schema.get(name) for name in _REFERENCES)
        return [target_within(self._root, text) for text in found if isinstance(text, str)]

    def value(self, schema: Any, path: Path) -> Any:
        """A subschema that a whole value must fit."""
        if not isinstance(schema, dict):
            return schema
        only_branches = not _is_joint(schema) and any(name in schema for name in _BRANCHES)
        found = self._parts(schema, path, branches=only_branches)
        if any(name in schema for name in _OTHERS) or id(schema) in self._open or only_branches:
            return found
        stays_open = any(id(part) in self._open for part in self._targets(schema))
        if not _is_joint(schema) and not stays_open:
            names = any(name in schema for name in _NAMES)
            return found | {"additionalProperties": False} if names else found
        if not any(name in part for part in self._reached(schema) for name in _NAMES):
            return found
        if self._is_old:
            raise UnsupportedSchemaError(
                "the keys of an object come from several places, which this draft cannot close",
                location=location(pointer_to(path)),
                hint='say "$schema": "https://json-schema.org/draft/2020-12/schema"',
            )
        return found | {"unevaluatedProperties": False}

    def _parts(self, schema: dict[str, Any], path: Path, *, branches: bool) -> dict[str, Any]:
        """A copy whose members and items are closed, and branches where they are values."""
        found = dict(schema)
        for name in (*_NAMES, *_DEFINITIONS):
            if isinstance(schema.get(name), dict):
                found[name] = {k: self.value(v, (*path, name, k)) for k, v in schema[name].items()}
        for name in _CHILDREN:
            if name in schema:
                found[name] = self._listed(schema[name], (*path, name))
        for name in _BESIDE:
            part = schema.get(name)
            close = self.value if branches else self._joined
            if isinstance(part, list):
                found[name] = [close(x, (*path, name, i)) for i, x in enumerate(part)]
            elif name in ("then", "else"):
                found[name] = self._joined(part, (*path, name)) if part is not None else part
            elif isinstance(part, dict) and name.startswith("depend"):
                found[name] = {k: self._joined(v, (*path, name, k)) for k, v in part.items()}
        return {name: value for name, value in found.items() if name in schema}

    def _joined(self, schema: Any, path: Path) -> Any:
        """A subschema that others add keys to: only what is below it is closed."""
        return self._parts(schema, path, branches=False) if isinstance(schema, dict) else schema

    def _listed(self, value: Any, path: Path) -> Any:
        if isinstance(value, list):
            return [self.value(part, (*path, i)) for i, part in enumerate(value)]
        return self.value(value, path)


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
