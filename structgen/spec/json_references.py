"""In: a JSON Schema document and a registry. Out: where references lead, and under which draft.

The `referencing` library resolves; nothing is fetched. A `Place` is where a subschema stands: what
its references are relative to, its draft, and its JSON Pointer for errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from structgen.errors import DanglingReferenceError, SpecError, UnsupportedSchemaError
from structgen.spec.json_pointer import escape_pointer

if TYPE_CHECKING:
    from referencing import Registry, Resource
    from referencing._core import Resolver

DEFAULT_DRAFT = 2020
DRAFTS = {
    "http://json-schema.org/draft-03/schema": 3,
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}
ROOT_URI = "urn:structgen:root"


class Place:
    """Where a subschema stands: its base for references, its draft, its JSON Pointer."""

    __slots__ = ("draft", "pointer", "resolver")

    def __init__(self, resolver: Resolver[Any], draft: int, pointer: str) -> None:
        self.resolver = resolver
        self.draft = draft
        self.pointer = pointer

    def below(self, path: tuple[str | int, ...]) -> Place:
        """The place at a path below this one, before any `$id` there."""
        pointer = self.pointer + "".join(f"/{escape_pointer(str(p))}" for p in path)
        return Place(self.resolver, self.draft, pointer)


class References:
    """The documents that a schema's references may lead to."""

    def __init__(self, schema: Any, registry: Registry[Any] | None) -> None:
        from jsonschema_specifications import REGISTRY

        self._registry = REGISTRY if registry is None else REGISTRY.combine(registry)
        draft = self._draft(schema, DEFAULT_DRAFT, "")
        resource = _resource(schema, draft)
        base = resource.id() or ROOT_URI if isinstance(schema, dict) else ROOT_URI
        resolver = self._registry.with_resource(base, resource).resolver(base)
        self.root = Place(resolver, draft, "")  #: where the whole document stands

    def _draft(self, schema: Any, inherited: int, pointer: str) -> int:
        uri = schema.get("$schema") if isinstance(schema, dict) else None
        if uri is None:
            return inherited
        if not isinstance(uri, str):
            raise SpecError("'$schema' is not a string", location=f"#{pointer}/$schema")
        draft = DRAFTS.get(uri.rstrip("#"), inherited)
        if uri.rstrip("#") not in DRAFTS and "$vocabulary" in self._metaschema(uri):
            raise UnsupportedSchemaError(
                f"the vocabularies of the metaschema {uri!r} are not read yet",
                keyword="$vocabulary",
                location=f"#{pointer}/$schema",
                expected="a draft of JSON Schema",
                hint="state the draft itself in '$schema'",
            )
        if draft < 4:
            raise UnsupportedSchemaError(
                "draft 3 of JSON Schema is not enforced",
                keyword="$schema",
                location=f"#{pointer}/$schema",
                expected="draft 4, 6, 7, 2019-09 or 2020-12",
                hint="rewrite the schema for a later draft",
            )
        return draft

    def _metaschema(self, uri: str) -> Any:
        """The document of an unknown `$schema`, {} when the registry does not have it."""
        found = self._registry.get(uri) or self._registry.get(uri.rstrip("#"))
        return found.contents if found is not None and isinstance(found.contents, dict) else {}

    def enter(self, schema: dict[str, Any], place: Place) -> Place:
        """The place of a subschema once its own `$id` is heeded."""
        key = "id" if place.draft <= 4 else "$id"
        if place.pointer and isinstance(schema.get(key), str):
            draft = self._draft(schema, place.draft, place.pointer)
            resolver = place.resolver.in_subresource(_resource(schema, draft))
            return Place(resolver, draft, place.pointer)
        return place

    def follow(self, place: Place, reference: str, keyword: str) -> tuple[Any, Place]:
        """The schema that a reference leads to, and its place (inside its own `$id`)."""
        from referencing.exceptions import Unresolvable

        try:
            found = place.resolver.lookup(reference)
        except (Unresolvable, ValueError) as error:
            raise DanglingReferenceError(
                f"'{keyword}': {reference!r} leads nowhere",
                location=f"#{place.pointer}/{keyword}",
                expected="a place in this document, or in one given through `registry`",
                hint="nothing is fetched; pass registry=referencing.Registry(...) with it",
            ) from error
        pointer = unquote(reference[1:]) if reference.startswith("#/") else reference
        if reference == "#":
            pointer = ""
        draft = self._draft(found.contents, place.draft, pointer)
        return found.contents, Place(found.resolver, draft, pointer)


def _resource(schema: Any, draft: int) -> Resource[Any]:
    from referencing.jsonschema import specification_with

    uri = next(u for u, d in DRAFTS.items() if d == draft)
    return specification_with(uri).create_resource(schema)
