"""Schema resources: parts of a document with a URI of their own, and their anchors.

A resource is a schema that has a URI of its own: a whole document, or a subschema with an `$id`.
What looks like an `$id` inside a constant, or under a keyword that a draft does not know, is none.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urldefrag, urljoin

from structgen.errors import SpecError
from structgen.schema.references.vocabularies import Dialect
from structgen.util.json_pointer import location, pointer_to, unescape_pointer

IDENTITY = frozenset(("$id", "id", "$schema"))  #: keywords by which a schema may name itself
Path = tuple[str | int, ...]
Trail = str | tuple["Trail", Path]  # a JSON Pointer, or what leads on from one


def target_within(document: Any, reference: str) -> Any:
    """What a JSON Pointer as a reference (`#/...`) leads to; None if it is none, or leads nowhere.

    Resources on the way are not entered, as `Documents.walk` does.
    """
    root, *tokens = reference.split("/")
    at = document if root == "#" else None
    for key in map(unescape_pointer, tokens):
        if isinstance(at, list):
            at = at[int(key)] if key.isdecimal() and int(key) < len(at) else None
        else:
            at = at.get(key) if isinstance(at, dict) else None
    return at


class Resource:
    """A schema that has a URI of its own; compared by identity."""

    __slots__ = ("anchors", "contents", "dialect", "pointer", "uri")

    def __init__(self, uri: str, contents: Any, dialect: Dialect, pointer: str) -> None:
        self.uri = uri  #: without a fragment; what references inside are relative to
        self.contents = contents
        self.dialect = dialect
        self.pointer = pointer
        self.anchors: dict[str, Anchor] | None = None  #: by name; None until they are first needed

    @property
    def is_recursive(self) -> bool:
        """Whether a `$recursiveRef` to this resource goes to the outermost one of its kind."""
        schema = self.contents
        recursive = isinstance(schema, dict) and schema.get("$recursiveAnchor") is True
        return recursive and self.dialect.draft == 2019


class Spot(NamedTuple):
    """Where a subschema is in a document."""

    resource: Resource
    dialect: Dialect  # the resource's, unless a `$schema` in between says another
    trail: Trail

    @property
    def pointer(self) -> str:
        """The JSON Pointer, for errors."""
        paths: list[Path] = []
        at = self.trail
        while not isinstance(at, str):
            at, path = at
            paths.append(path)
        return at + pointer_to(step for path in reversed(paths) for step in path)

    def below(self, path: Path) -> Spot:
        """The spot at a path below this one, before any `$id` or `$schema` there."""
        return Spot(self.resource, self.dialect, (self.trail, path))


def start_of(resource: Resource) -> Spot:
    """The spot of a whole resource."""
    return Spot(resource, resource.dialect, resource.pointer)


class Anchor(NamedTuple):
    """A subschema with a plain name, which dynamic references may find, too."""

    contents: dict[str, Any]
    spot: Spot
    dynamic: bool


def identifier(schema: Any, draft: int) -> str:
    """The URI reference that a schema identifies itself by, "" if none.

    Up to draft 7 a `$ref` beside it switches it off.
    """
    if not isinstance(schema, dict) or (draft <= 7 and "$ref" in schema):
        return ""
    given = schema.get("id" if draft <= 4 else "$id")
    return given if isinstance(given, str) else ""


def has_identity(schema: Any) -> bool:
    """Whether a schema may name itself, or the draft that it is written for."""
    return isinstance(schema, dict) and not IDENTITY.isdisjoint(schema)


def resolve(base: str, reference: str, pointer: str) -> tuple[str, str]:
    """The absolute URI and the fragment of a URI reference; pointer: where it is, for errors."""
    if not reference or reference.startswith("#"):  # whatever the scheme of the base
        return base, reference[1:]
    try:
        uri, fragment = urldefrag(urljoin(base, reference))
    except ValueError as error:  # an IPv6 address without its end, and the like
        raise SpecError(
            f"{reference!r} is not a URI reference", location=location(pointer), expected="a URI"
        ) from error
    return uri, fragment


def anchors_of(schema: Any, spot: Spot) -> dict[str, Anchor]:
    """The plain names that a schema gives itself; up to draft 7 by the fragment of its `$id`."""
    draft = spot.dialect.draft
    if not isinstance(schema, dict):
        return {}
    if draft <= 7:
        name = identifier(schema, draft).partition("#")[2]
        plain = name and not name.startswith("/")
        return {name: Anchor(schema, spot, dynamic=False)} if plain else {}
    names = [("$anchor", False)] + [("$dynamicAnchor", True)] * (draft >= 2020)
    return {
        schema[keyword]: Anchor(schema, spot, dynamic)
        for keyword, dynamic in names
        if isinstance(schema.get(keyword), str)
    }
