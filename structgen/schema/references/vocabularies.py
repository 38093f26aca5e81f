"""Dialects: which draft and which keywords the `$schema` of a document selects.

A draft's own URI names all of its vocabularies. Any other URI names a metaschema, whose document
says by `$vocabulary` which of them its schemas use; the keywords of the others are annotations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from structgen.errors import SpecError, UnsupportedSchemaError
from structgen.util.json_pointer import location

DEFAULT_DRAFT = 2020
DRAFTS = {
    "http://json-schema.org/draft-03/schema": 3,
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}
CLOSES = "x-structgen-closed"  # our own, `unevaluatedProperties` of earlier drafts: see `closing`
UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems", CLOSES)
_NAMED = re.compile(r"https?://json-schema\.org/(.+)/(?:hyper-)?schema#?")
_NAMES = {found[1]: draft for uri, draft in DRAFTS.items() if (found := _NAMED.fullmatch(uri))}
FOLDERS = {
    2019: "https://json-schema.org/draft/2019-09/",
    2020: "https://json-schema.org/draft/2020-12/",
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """A draft, less the keywords of the vocabularies that a metaschema leaves out."""

    draft: int
    ignored: frozenset[str] = frozenset()
    asserts_formats: bool = False
    has_nullable: bool = False  # as OpenAPI 3.0 has (see `openapi`)

    def effective(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema without the keywords that do not count.

        Up to draft 7 those are the siblings of `$ref`, later those of unused vocabularies.
        """
        if self.draft <= 7 and "$ref" in schema:
            return {"$ref": schema["$ref"]}
        if not self.ignored:
            return schema
        return {keyword: value for keyword, value in schema.items() if keyword not in self.ignored}


DEFAULT_DIALECT = Dialect(DEFAULT_DRAFT)
OPENAPI_DIALECTS = {"3.0": Dialect(4, has_nullable=True), "2.0": Dialect(4)}  # by version


def dialect_of(
    schema: Any, inherited: Dialect, metaschema: Callable[[str], Any], pointer: str
) -> Dialect:
    """The dialect of a schema that has a URI of its own, `inherited` where it names none.

    `metaschema` finds the document of a URI, or gives None. A `$schema` that nobody knows is left
    to the user: it changes nothing.
    """
    if (of_openapi := openapi_dialect(schema)) is not None:
        return of_openapi
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    if uri is None:
        return inherited
    if not isinstance(uri, str):
        raise SpecError("'$schema' is not a string", location=f"{location(pointer)}/$schema")
    at = f"{location(pointer)}/$schema"
    seen: set[str] = set()
    while (draft := draft_named(uri)) is None:
        document = None if uri in seen else metaschema(uri)
        if not isinstance(document, dict):
            return inherited
        vocabularies = document.get("$vocabulary")
        for core, folder in FOLDERS.items():
            if isinstance(vocabularies, dict) and f"{folder}vocab/core" in vocabularies:
                return _dialect_with(vocabularies, core, uri, at)
        seen.add(uri)
        uri = document.get("$schema")
        if not isinstance(uri, str):
            return inherited
    return dialect_of_draft(draft, at)


def openapi_dialect(document: Any) -> Dialect | None:
    """The dialect of the schemas in an early OpenAPI document, None for anything else."""
    stated = document.get("openapi", document.get("swagger")) if isinstance(document, dict) else ""
    version = ".".join(stated.split(".")[:2]) if isinstance(stated, str) else ""
    return OPENAPI_DIALECTS.get(version)


def draft_named(uri: str) -> int | None:
    """The draft that a `$schema` names; http or https, and hyper-schemas are of their draft."""
    found = _NAMED.fullmatch(uri)
    return _NAMES.get(found[1]) if found else None


def stated_draft(schema: Any) -> int:
    """The draft that the `$schema` of a schema names; DEFAULT_DRAFT where it names none."""
    if (of_openapi := openapi_dialect(schema)) is not None:
        return of_openapi.draft
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    draft = draft_named(uri) if isinstance(uri, str) else None
    return DEFAULT_DRAFT if draft is None else draft


def dialect_of_draft(draft: int, at: str) -> Dialect:
    """A draft with all its vocabularies."""
    if draft < 4:
        raise UnsupportedSchemaError(
            "a subschema of draft 3 within a schema of another draft is not enforced",
            keyword="$schema",
            location=at,
            expected="draft 4, 6, 7, 2019-09 or 2020-12",
            hint="make it a document of its own, and refer to it",
        )
    return Dialect(draft)


def _dialect_with(vocabularies: dict[str, Any], draft: int, metaschema: str, at: str) -> Dialect:
    known = _vocabularies(draft)
    for uri, required in vocabularies.items():
        if uri not in known and required:
            raise UnsupportedSchemaError(
                f"the metaschema {metaschema!r} requires the vocabulary {uri!r}",
                keyword="$vocabulary",
                location=at,
                expected=f"vocabularies of {FOLDERS[draft]}",
                hint="nothing is known about its keywords; leave it out, or declare it false",
            )
    used = frozenset[str]().union(*(known[uri] for uri in vocabularies if uri in known))
    unused = frozenset[str]().union(*known.values()) - used
    asserts = f"{FOLDERS[draft]}vocab/format-assertion" in vocabularies
    if draft == 2019:  # one vocabulary for both, which asserts where it is required
        asserts = vocabularies.get(f"{FOLDERS[draft]}vocab/format") is True
    return Dialect(draft, unused, asserts)


@cache
def _vocabularies(draft: int) -> dict[str, frozenset[str]]:
    """The vocabularies of a draft and their keywords, as its metaschemas have them."""
    from jsonschema_specifications import REGISTRY

    folder = FOLDERS[draft]
    return {
        uri.replace("/meta/", "/vocab/"): frozenset(REGISTRY[uri].contents["properties"])
        for uri in REGISTRY
        if uri.startswith(f"{folder}meta/")
    }
