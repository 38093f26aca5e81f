"""Schemas of draft 3, rewritten as schemas of draft 4 that say the same.

Draft 3 (https://datatracker.ietf.org/doc/html/draft-zyp-json-schema-03) says `required` in the
schema of each property, and has `extends`, `disallow`, `divisibleBy`, schemas among types, and the
type "any". What draft 4 renamed or added is not in it: such a keyword beside its `$schema` is
refused, since its author hardly meant that it restricts nothing.
"""

from __future__ import annotations

from typing import Any

from structgen.errors import BudgetError, SpecError, UnsupportedSchemaError
from structgen.schema.references.vocabularies import DRAFTS, draft_named
from structgen.util.json_pointer import location, pointer_to

Path = tuple[str | int, ...]

DRAFT_4 = next(uri for uri, draft in DRAFTS.items() if draft == 4)
LATER = frozenset((
    "allOf", "anyOf", "oneOf", "not", "multipleOf", "minProperties", "maxProperties", "const",
    "contains", "propertyNames", "if", "then", "else",
))  # fmt: skip
FORMATS = {"host-name": "hostname", "ip-address": "ipv4", "time": "time of draft 3"}
_BY_NAME = ("properties", "patternProperties", "definitions", "dependencies")
_ALONE = ("items", "additionalItems", "additionalProperties", "extends")


def is_draft_3(schema: Any) -> bool:
    """Whether the `$schema` of a schema names draft 3."""
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    return isinstance(uri, str) and draft_named(uri) == 3


def as_draft_4(schema: dict[str, Any], pointer: str = "") -> dict[str, Any]:
    """A schema of draft 3 as one of draft 4.

    Subschemas of another draft, by a `$schema` of their own, stay as they are. pointer: where it
    stands, for errors. Raises SpecError for what draft 3 does not allow, UnsupportedSchemaError for
    keywords of later drafts, BudgetError for a schema that is nested too deeply.
    """
    try:
        return _Rewriter(pointer).schema(schema, ()) | {"$schema": DRAFT_4}
    except RecursionError as error:
        raise BudgetError("the schema is nested too deeply", location=location(pointer)) from error


class _Rewriter:
    """Rewrites one document."""

    def __init__(self, pointer: str) -> None:
        self._pointer = pointer

    def schema(self, schema: dict[str, Any], path: Path) -> dict[str, Any]:
        """A subschema as draft 4 has it."""
        later = sorted(LATER.intersection(schema))
        if later:
            raise UnsupportedSchemaError(
                f"draft 3 has no {later[0]!r}",
                keyword=later[0],
                location=self._at(path, later[0]),
                hint="state a later '$schema'",
            )
        found = {keyword: self._inside(v, (*path, keyword)) for keyword, v in schema.items()}
        if "$ref" in schema:
            found.pop("required", None)
            return found
        extends = found.pop("extends", [])
        all_of = [*extends] if isinstance(extends, list) else [extends]
        if "type" in schema:
            of_types = self._types(found.pop("type"), (*path, "type"))
            if "anyOf" in of_types:
                all_of.append(of_types)
            else:
                found |= of_types
        if "disallow" in schema:
            found["not"] = self._types(found.pop("disallow"), (*path, "disallow"))
        if "divisibleBy" in schema:
            found["multipleOf"] = found.pop("divisibleBy")
        if schema.get("format") in FORMATS:
            found["format"] = FORMATS[schema["format"]]
        self._require(schema, found, path)
        return found | ({"allOf": all_of} if all_of else {})

    def _inside(self, value: Any, path: Path) -> Any:
        """The value of a keyword, with the subschemas in it rewritten."""
        keyword = path[-1]
        if keyword in _BY_NAME and isinstance(value, dict):
            return {name: self._part(part, (*path, name)) for name, part in value.items()}
        if isinstance(value, list) and keyword in ("items", "extends", "type", "disallow"):
            return [self._part(part, (*path, i)) for i, part in enumerate(value)]
        return self._part(value, path) if keyword in (*_ALONE, "type", "disallow") else value

    def _part(self, value: Any, path: Path) -> Any:
        if not isinstance(value, dict) or ("$schema" in value and not is_draft_3(value)):
            return value
        found = self.schema(value, path)
        return found | {"$schema": DRAFT_4} if "$schema" in value else found

    def _types(self, given: Any, path: Path) -> dict[str, Any]:
        """What says that a value is of one of some types, which may be schemas."""
        listed = given if isinstance(given, list) else [given]
        names = [name for name in listed if isinstance(name, str)]
        schemas = [schema for schema in listed if isinstance(schema, dict)]
        if len(names) + len(schemas) < len(listed):
            raise SpecError(
                f"{path[-1]!r} is {given!r:.60}",
                location=self._at(path),
                expected="a type, or a list of types and schemas",
            )
        if "any" in names:
            return {}
        of_names: dict[str, Any] = {"type": given if isinstance(given, str) else names}
        if not schemas:
            return of_names
        return {"anyOf": [*([of_names] if names else []), *schemas]}

    def _require(self, schema: dict[str, Any], found: dict[str, Any], path: Path) -> None:
        """Say at the object which of its properties are required, and which keys by others."""
        if not isinstance(found.pop("required", False), bool):
            raise SpecError(
                f"'required' is {schema['required']!r:.60}",
                location=self._at(path, "required"),
                expected="true or false, in the schema of a property (later drafts have a list)",
            )
        properties = schema.get("properties")
        if isinstance(properties, dict):
            required = [
                name
                for name, part in properties.items()
                if isinstance(part, dict) and part.get("required") is True
            ]
            found |= {"required": required} if required else {}
        dependencies = found.get("dependencies")
        if isinstance(dependencies, dict):
            found["dependencies"] = {
                name: [needed] if isinstance(needed, str) else needed
                for name, needed in dependencies.items()
            }

    def _at(self, path: Path, *more: str) -> str:
        return location(self._pointer) + pointer_to((*path, *more))
