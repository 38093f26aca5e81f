"""In: a JSON Schema document and a registry. Out: where references lead, and under which dialect.

A `Place` is where a subschema stands: its resource, to whose URI references are relative, and its
dynamic scope, kept only as far as a `$dynamicRef` or `$recursiveRef` could tell: for each name the
outermost resource that has it. Documents come from the registry; nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from structgen.errors import DanglingReferenceError
from structgen.spec.json_documents import Documents
from structgen.spec.json_pointer import escape_pointer, location
from structgen.spec.json_resources import Resource, resolve
from structgen.spec.json_vocabularies import Dialect

if TYPE_CHECKING:
    from referencing import Registry

RECURSION = ""  # the name under which a scope has the outermost `$recursiveAnchor`

Scope = tuple[tuple[str, Resource], ...]  # sorted by name; without what the current resource says


class Place:
    """Where a subschema stands: its resource, its dynamic scope, its JSON Pointer."""

    __slots__ = ("pointer", "resource", "scope")

    def __init__(self, resource: Resource, scope: Scope, pointer: str) -> None:
        self.resource = resource
        self.scope = scope
        self.pointer = pointer

    @property
    def dialect(self) -> Dialect:
        """The draft that the subschema is written for, and the keywords that count."""
        return self.resource.dialect

    @property
    def draft(self) -> int:
        """The draft alone."""
        return self.resource.dialect.draft

    def below(self, path: Iterable[str | int]) -> Place:
        """The place at a path below this one, before any `$id` there."""
        pointer = self.pointer + "".join(f"/{escape_pointer(str(p))}" for p in path)
        return Place(self.resource, self.scope, pointer)


class References:
    """The places that a schema's references lead to."""

    def __init__(self, schema: Any, registry: Registry[Any] | None) -> None:
        self._documents = Documents(schema, registry)
        self.root = Place(self._documents.root, (), "")  #: where the whole schema stands

    def enter(self, schema: dict[str, Any], place: Place) -> Place:
        """The place of a subschema once its own `$id` is heeded."""
        resource = self._documents.inside(schema, place.resource, place.pointer)
        if resource is place.resource:
            return place
        return Place(resource, self._scope(place, resource), place.pointer)

    def follow(self, place: Place, reference: str, keyword: str) -> tuple[Any, Place]:
        """The schema that a reference leads to, and its place (inside its own `$id`)."""
        resource = place.resource
        if keyword == "$recursiveRef" and reference == "#" and resource.is_recursive:
            resource = dict(place.scope).get(RECURSION, resource)
            return self._at(place, resource, resource.contents, resource.pointer)
        found, fragment = self._locate(place, reference, keyword)
        if not fragment:
            return self._at(place, found, found.contents, found.pointer)
        if fragment.startswith("/"):
            walked = self._documents.walk(found, fragment)
            if walked is not None:
                return self._at(place, *walked)
        else:
            anchor = self._documents.anchors(found).get(fragment)
            if anchor is not None and anchor.dynamic and keyword == "$dynamicRef":
                found = dict(self._scope(place)).get(fragment, found)
                anchor = self._documents.anchors(found).get(fragment)
            if anchor is not None:
                return self._at(place, found, anchor.contents, anchor.pointer)
        raise DanglingReferenceError(
            f"'{keyword}': {reference!r} leads nowhere",
            location=f"{location(place.pointer)}/{keyword}",
            expected=f"a place in {location(found.pointer)}",
            hint="a reference is relative to the nearest `$id` around it",
        )

    def _at(self, place: Place, resource: Resource, schema: Any, pointer: str) -> tuple[Any, Place]:
        return schema, Place(resource, self._scope(place, resource), pointer)

    def _locate(self, place: Place, reference: str, keyword: str) -> tuple[Resource, str]:
        """The resource that a reference names, and the fragment in it."""
        at = f"{place.pointer}/{keyword}"
        if reference.startswith("#"):
            return place.resource, unquote(reference[1:])
        uri, fragment = resolve(place.resource.uri, reference, at)
        if uri == place.resource.uri:
            return place.resource, unquote(fragment)
        found = self._documents.find(uri, place.resource.dialect)
        if found is None:
            raise DanglingReferenceError(
                f"'{keyword}': no document is known as {uri!r}",
                location=location(at),
                expected="an `$id` in this document, or a document given through `registry`",
                hint="nothing is fetched; pass registry=referencing.Registry().with_resource"
                f"({uri!r}, referencing.Resource.from_contents(document))",
            )
        return found, unquote(fragment)

    def _scope(self, place: Place, target: Resource | None = None) -> Scope:
        """The scope in `target` when it is entered from `place`: the outermost of each name."""
        if target is place.resource:
            return place.scope
        names = self._names(place.resource)
        if not names and not place.scope:
            return ()
        scope = dict.fromkeys(names, place.resource) | dict(place.scope)
        outer = {name: resource for name, resource in scope.items() if resource is not target}
        return tuple(sorted(outer.items()))

    def _names(self, resource: Resource) -> list[str]:
        """What a resource has that dynamic references look for."""
        if resource.dialect.draft < 2020:
            return [RECURSION] * resource.is_recursive
        anchors = self._documents.anchors(resource)
        return [name for name, anchor in anchors.items() if anchor.dynamic]
