"""The documents that references may lead to, and the schema resources and anchors inside them.

Documents are read when something asks for them: those in use first, then those of the registry,
then the metaschemas, then whatever the registry's own `retrieve` finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from structgen.errors import SpecError, StructgenError
from structgen.schema.references.draft3 import as_draft_4, is_draft_3
from structgen.schema.references.openapi import with_null
from structgen.schema.references.resources import (
    Anchor,
    Resource,
    Spot,
    anchors_of,
    has_identity,
    identifier,
    resolve,
    start_of,
)
from structgen.schema.references.vocabularies import (
    DEFAULT_DIALECT,
    DRAFTS,
    Dialect,
    dialect_of,
    dialect_of_draft,
    openapi_dialect,
)
from structgen.util.json_pointer import location, unescape_pointer

if TYPE_CHECKING:
    import referencing

ROOT_URI = "urn:structgen:root"
REFERENCES = ("$ref", "$dynamicRef")


class Documents:
    """The schema resources of the root schema and of the documents that it may refer to, by URI."""

    def __init__(self, schema: Any, registry: referencing.Registry[Any] | None) -> None:
        self._registry = registry
        self._known: dict[str, Resource] = {}  # by URI
        self._resources: dict[tuple[int, str], Resource] = {}  # by schema object and URI
        self._read: list[Resource] = []
        self._searched = False  # whether all of the registry has been read
        self.retrieved: list[Any] = []  #: documents that the registry's `retrieve` has found
        self.root = self._document(ROOT_URI, schema, DEFAULT_DIALECT, "")

    # -- resources ------------------------------------------------------------------------------

    def _document(self, uri: str, schema: Any, inherited: Dialect, pointer: str) -> Resource:
        dialect = dialect_of(schema, inherited, self._metaschema, pointer)
        base, _ = resolve(uri, identifier(schema, dialect.draft), pointer)
        resource = self._resource(base, schema, dialect, pointer)
        self._known.setdefault(uri, resource)
        self._read.append(resource)
        return resource

    def _resource(self, uri: str, schema: Any, dialect: Dialect, pointer: str) -> Resource:
        key = id(schema), uri
        if key not in self._resources:
            resource = self._resources[key] = Resource(uri, schema, dialect, pointer)
            self._known.setdefault(uri, resource)
        return self._resources[key]

    def inside(self, schema: Any, around: Spot) -> Spot:
        """The spot of a subschema at `around`, its own `$id` and `$schema` taken into account.

        A `$schema` counts without an `$id`, too, though the drafts do not ask for that: who pastes
        a schema into another one means the draft that it names.
        """
        if not has_identity(schema):
            return around
        resource, dialect, pointer = around.resource, around.dialect, around.pointer
        uri, _ = resolve(resource.uri, identifier(schema, dialect.draft), pointer)
        dialect = dialect_of(schema, dialect, self._metaschema, pointer)
        if uri != resource.uri:
            resource = self._resource(uri, schema, dialect, pointer)
        return Spot(resource, dialect, pointer)

    def anchors(self, resource: Resource) -> dict[str, Anchor]:
        """The anchors of a resource; found together with those of the resources inside it."""
        if resource.anchors is None:
            resource.anchors = {}
            todo = [(resource.contents, start_of(resource))]
            while todo:
                schema, spot = todo.pop()
                found = spot.resource.anchors or {}
                spot.resource.anchors = {**anchors_of(schema, spot), **found}
                todo += self._subschemas(schema, spot)
        return resource.anchors

    def _subschemas(self, schema: Any, spot: Spot) -> Iterator[tuple[Any, Spot]]:
        from structgen.schema.references.metaschemas import subschemas

        below = subschemas(schema, spot.dialect.draft) if isinstance(schema, dict) else ()
        for path, child in below:
            if isinstance(child, dict):
                with suppress(StructgenError):  # of its `$schema` or `$id`: raised where it is used
                    yield child, self.inside(child, spot.below(path))

    def walk(self, resource: Resource, fragment: str) -> tuple[Any, Spot] | None:
        """What a JSON Pointer leads to, and the spot where that is; None if nothing is there.

        Resources on the way are entered, but not where the draft knows of no subschema.
        """
        value, spot = resource.contents, start_of(resource)
        path: tuple[str | int, ...] = ()  # from the resource
        for token in fragment[1:].split("/"):
            key = unescape_pointer(token)
            step = int(key) if isinstance(value, list) and _is_index(key) else key
            try:
                value = value[step]
            except (LookupError, TypeError):
                return None
            path, spot = (*path, step), spot.below((step,))
            if has_identity(value) and _is_subschema(spot, path):
                inner = self.inside(value, spot)
                path = path if inner.resource is spot.resource else ()
                spot = inner
        return value, spot

    # -- documents ------------------------------------------------------------------------------

    def find(self, uri: str, dialect: Dialect) -> Resource | None:
        """The resource of a URI; a document without a `$schema` gets this dialect."""
        if uri not in self._known:
            self._look_inside()
        if uri not in self._known:
            found = self._known_document(uri)
            if found is not None:
                self._document(uri, *_given(found, dialect, uri), f"{uri}#")
        if uri not in self._known and not self._searched:
            self._searched = True
            self._read_registry(dialect)
            self._look_inside()
        if uri not in self._known:
            found = self._retrieved_document(uri)
            if found is not None:
                self.retrieved.append(found.contents)
                self._document(uri, *_given(found, dialect, uri), f"{uri}#")
        return self._known.get(uri)

    def _look_inside(self) -> None:
        """Find the subschemas with an `$id` in all documents that have been read."""
        for document in self._read:
            self.anchors(document)

    def _read_registry(self, dialect: Dialect) -> None:
        """Read all documents of the registry, for one of them may hold the subschema sought."""
        for uri in self._registry or ():
            found = self._known_document(uri)
            if found is not None and uri not in self._known:
                with suppress(StructgenError):  # of its `$schema` or `$id`: nothing refers to it
                    self._document(uri, *_given(found, dialect, uri), f"{uri}#")

    def _metaschema(self, uri: str) -> Any:
        found = self._known_document(uri.rstrip("#")) or self._retrieved_document(uri.rstrip("#"))
        return None if found is None else found.contents

    def _known_document(self, uri: str) -> referencing.Resource[Any] | None:
        """The document of a URI, from the registry or the metaschemas."""
        from jsonschema_specifications import REGISTRY

        found = None if self._registry is None else self._registry.get(uri)
        return found or REGISTRY.get(uri)

    def _retrieved_document(self, uri: str) -> referencing.Resource[Any] | None:
        """The document that the registry's `retrieve` finds, if it has one."""
        from referencing.exceptions import CannotDetermineSpecification

        if self._registry is None:
            return None
        try:
            return self._registry.get_or_retrieve(uri).value
        except (LookupError, CannotDetermineSpecification):
            return None
        except (AttributeError, TypeError):  # it searched something that is no schema
            return None


def _is_index(key: str) -> bool:
    return key == "0" or (key.isascii() and key.isdigit() and key[0] != "0")


def _is_subschema(spot: Spot, path: tuple[str | int, ...]) -> bool:
    """Whether all keywords on the path from the spot's resource are such that hold subschemas."""
    from structgen.schema.references.metaschemas import depth_of

    schema = spot.resource.contents
    while path:
        keyword = path[0]
        if not isinstance(schema, dict) or not isinstance(keyword, str):
            return False
        depth = depth_of(keyword, schema[keyword], spot.dialect.draft)
        if depth == 0 or depth > len(path):
            return False
        for step in path[:depth]:
            schema = schema[step]
        path = path[depth:]
    return True


def _given(
    resource: referencing.Resource[Any], referring: Dialect, uri: str
) -> tuple[Any, Dialect]:
    """The schema of a document, and its dialect where it has no `$schema`.

    That is the draft it is given with; one given as opaque, or with the same draft as what refers
    to it, is like that. Schemas of draft 3 and of OpenAPI 3.0 are of draft 4 and say the same.
    """
    contents, specified = resource.contents, _specified(resource)
    draft = referring.draft if specified is None else DRAFTS[specified]
    plain = isinstance(contents, dict) and "$schema" not in contents
    early = openapi_dialect(contents) or (referring if plain and specified is None else None)
    if early is not None and early.has_nullable:
        return with_null(contents), early
    if is_draft_3(contents) or (draft == 3 and plain):
        return as_draft_4(contents, f"{uri}#"), Dialect(4)
    same = draft == referring.draft
    return contents, referring if same else dialect_of_draft(draft, location(""))


def documents_of(schema: Any, registry: referencing.Registry[Any]) -> dict[str, Any]:
    """The documents of a registry, and those that it retrieves for references, by URI.

    Each with the draft that it is given with. What looks like a reference in a constant counts as
    one, so `retrieve` may be asked for more than compiling asks for.
    """
    from jsonschema_specifications import REGISTRY

    found = {uri: with_stated_draft(registry[uri]) for uri in registry}
    todo, tried, named = [(ROOT_URI, schema), *found.items()], set(REGISTRY), set(found)
    while todo:
        wanted: set[str] = set()
        for uri, document in todo:
            names, references = uris_in(document, uri)
            named, wanted = named | names, wanted | references
        todo = []
        for uri in sorted(wanted - named - tried):
            tried.add(uri)
            with suppress(LookupError, AttributeError, TypeError):  # see `_retrieved_document`
                found[uri] = with_stated_draft(registry.get_or_retrieve(uri).value)
                todo.append((uri, found[uri]))
    return found


def uris_in(document: Any, uri: str) -> tuple[set[str], set[str]]:
    """The URIs that schemas in a document have, and those that references lead to."""
    names, references = {uri}, set[str]()
    todo = [(document, uri)]
    while todo:
        value, base = todo.pop()
        if isinstance(value, dict):
            for keyword in ("$id", "id", *REFERENCES):
                if isinstance(value.get(keyword), str):
                    with suppress(SpecError):  # no URI at all, which matters where it is read
                        target, _ = resolve(base, value[keyword], "")
                        base = target if keyword not in REFERENCES else base
                        (references if keyword in REFERENCES else names).add(target)
            todo += [(inner, base) for inner in value.values()]
        elif isinstance(value, list):
            todo += [(inner, base) for inner in value]
    return names, references


def with_stated_draft(resource: referencing.Resource[Any]) -> Any:
    """The contents of a document, with the draft that it is given with as its `$schema`."""
    contents, uri = resource.contents, _specified(resource)
    if uri is None or not isinstance(contents, dict) or "$schema" in contents:
        return contents
    return {"$schema": uri, **contents}


def _specified(resource: referencing.Resource[Any]) -> str | None:
    """The URI of the draft that a document is given with, None for an opaque one."""
    from referencing.jsonschema import specification_with

    made = ((uri, specification_with(uri).create_resource(resource.contents)) for uri in DRAFTS)
    return next((uri for uri, same in made if same == resource), None)
