"""Resolves `$ref`, `$dynamicRef` and `$recursiveRef`.

A `Place` is what a reference is resolved against: where it is in a document (its `Spot`: the
resource, to whose URI references are relative, and the dialect) and the dynamic scope, reduced to
what a `$dynamicRef` or `$recursiveRef` could notice: for each name the outermost resource that has
it. So recursion through dynamic references meets finitely many places. Documents come from the
registry; nothing is fetched.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from structgen.errors import DanglingReferenceError
from structgen.schema.references.documents import Documents
from structgen.schema.references.resources import (
    Path,
    Resource,
    Spot,
    has_identity,
    resolve,
    start_of,
)
from structgen.schema.references.vocabularies import Dialect
from structgen.util.json_pointer import location, pointer_to, unescape_pointer

if TYPE_CHECKING:
    from referencing import Registry

_OF_OTHER_DRAFTS = {"/definitions": "/$defs", "/$defs": "/definitions"}
RECURSION = ""  # the name under which a scope has the outermost `$recursiveAnchor`

Scope = tuple[tuple[str, Resource], ...]  # by name; without the names of the current resource


class Place(NamedTuple):
    """Where a subschema is, and the dynamic scope that it is used in."""

    spot: Spot
    scope: Scope = ()

    @property
    def dialect(self) -> Dialect:
        """The draft that the subschema is written for, and the keywords that count."""
        return self.spot.dialect

    @property
    def draft(self) -> int:
        """The draft alone."""
        return self.spot.dialect.draft

    @property
    def pointer(self) -> str:
        """The JSON Pointer, for errors."""
        return self.spot.pointer

    def below(self, path: Path) -> Place:
        """The place at a path below this one, before any `$id` there."""
        return Place(self.spot.below(path), self.scope)


class References:
    """The places that a schema's references lead to."""

    def __init__(self, schema: Any, registry: Registry[Any] | None) -> None:
        self._documents = Documents(schema, registry)
        self._followed: dict[tuple[Resource, Scope, str, str], tuple[Any, Place]] = {}
        self.root = Place(start_of(self._documents.root))  #: where the whole schema stands

    @property
    def retrieved(self) -> list[Any]:
        """The documents that only the registry's own function knew, in order."""
        return self._documents.retrieved

    def enter(self, schema: dict[str, Any], place: Place) -> Place:
        """The place of a subschema, its own `$id` and `$schema` taken into account."""
        if not has_identity(schema):
            return place
        return self._at(place, self._documents.inside(schema, place.spot))

    def follow(self, place: Place, reference: str, keyword: str) -> tuple[Any, Place]:
        """The schema that a reference leads to, and its place (inside its own `$id`)."""
        inside = reference.startswith("#")  # where only the document and the scope matter
        key = (place.spot.resource, place.scope, reference, keyword)
        found = self._followed.get(key)
        if found is None:
            found = self._leads_to(place, reference, keyword)
            if inside:
                self._followed[key] = found
        return found

    def _leads_to(self, place: Place, reference: str, keyword: str) -> tuple[Any, Place]:
        """See `follow`."""
        resource = place.spot.resource
        if keyword == "$recursiveRef" and reference == "#" and resource.is_recursive:
            resource = dict(place.scope).get(RECURSION, resource)
            return resource.contents, self._at(place, start_of(resource))
        resource, fragment = self._locate(place, reference, keyword)
        if not fragment:
            return resource.contents, self._at(place, start_of(resource))
        if fragment.startswith("/"):
            walked = self._documents.walk(resource, fragment)
            if walked is not None:
                return walked[0], self._at(place, walked[1])
        else:
            anchor = self._documents.anchors(resource).get(fragment)
            if anchor is not None and anchor.dynamic and keyword == "$dynamicRef":
                outermost = dict(self._scope(place)).get(fragment, resource)
                anchor = self._documents.anchors(outermost)[fragment]
            if anchor is not None:
                return anchor.contents, self._at(place, anchor.spot)
        hint = "a reference is relative to the nearest `$id` around it"
        meant = self._meant(resource, fragment)
        if meant is not None:
            uri = reference.partition("#")[0]
            hint = f"did you mean {f'{uri}#{meant}'!r}?"
        raise DanglingReferenceError(
            f"the reference {reference!r} leads nowhere",
            location=f"{location(place.pointer)}/{keyword}",
            expected=f"a place in {location(resource.pointer)}",
            hint=hint,
        )

    def _meant(self, resource: Resource, fragment: str) -> str | None:
        """A fragment that leads somewhere and is like one that does not; None if there is none."""
        if not fragment.startswith("/"):
            pointer = f"/{fragment}"
            if self._documents.walk(resource, pointer) is not None:
                return pointer
            anchors = get_close_matches(fragment, self._documents.anchors(resource), 1)
            return anchors[0] if anchors else None
        if fragment == "/":
            return ""  # a pointer to all of the document has no slash
        above, _, token = fragment.rpartition("/")
        renamed = _OF_OTHER_DRAFTS.get(above)
        if renamed and self._documents.walk(resource, f"{renamed}/{token}") is not None:
            return f"{renamed}/{token}"
        walked = self._documents.walk(resource, above) if above else (resource.contents, None)
        names = walked[0] if walked is not None and isinstance(walked[0], dict) else ()
        close = get_close_matches(unescape_pointer(token), names, 1)
        return f"{above}{pointer_to(close)}" if close else None

    def _at(self, place: Place, spot: Spot) -> Place:
        """The place of a spot that is reached from `place`."""
        return Place(spot, self._scope(place, spot.resource))

    def _locate(self, place: Place, reference: str, keyword: str) -> tuple[Resource, str]:
        """The resource that a reference names, and the fragment in it."""
        at = f"{place.pointer}/{keyword}"
        if reference.startswith("#"):
            return place.spot.resource, unquote(reference[1:])
        uri, fragment = resolve(place.spot.resource.uri, reference, at)
        if uri == place.spot.resource.uri:
            return place.spot.resource, unquote(fragment)
        found = self._documents.find(uri, place.dialect)
        if found is None:
            raise DanglingReferenceError(
                f"no document is known as {uri!r}",
                location=location(at),
                expected="an `$id` in this document, or a document given through `registry`",
                hint="nothing is fetched; pass registry=referencing.Registry().with_resource"
                f"({uri!r}, referencing.Resource.from_contents(document)), on the command line "
                "--documents FOLDER",
            )
        return found, unquote(fragment)

    def _scope(self, place: Place, target: Resource | None = None) -> Scope:
        """The scope in `target` when it is entered from `place`: the outermost of each name."""
        if target is place.spot.resource:
            return place.scope
        names = self._names(place.spot.resource)
        if not names and not place.scope:
            return ()
        scope = dict.fromkeys(names, place.spot.resource) | dict(place.scope)
        outer = {name: resource for name, resource in scope.items() if resource is not target}
        return tuple(sorted(outer.items()))

    def _names(self, resource: Resource) -> list[str]:
        """What a resource has that dynamic references look for."""
        if resource.dialect.draft < 2020:
            return [RECURSION] * resource.is_recursive
        anchors = self._documents.anchors(resource)
        return [name for name, anchor in anchors.items() if anchor.dynamic]
