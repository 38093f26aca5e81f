"""Finds misspelt keywords in a schema fast enough to look for them whenever a schema is compiled.

It knows the names of all keywords by heart, so that nothing is read or built for a schema without
unknown names. `structgen.schema.report.advice` says much more, and takes longer.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from structgen.errors import MisspeltKeywordWarning, SpecError
from structgen.schema.json_schema import JsonSchema
from structgen.schema.keywords.keywords import KEYWORDS
from structgen.schema.references.metaschemas import subschema_keywords
from structgen.schema.references.vocabularies import stated_draft
from structgen.spec.base import Spec
from structgen.util.callers import outside
from structgen.util.json_pointer import pointer_to

PRIVATE = ("x-", "_", "@", "#", "//")  # how names begin that are not meant as keywords
MAX_SUBSCHEMAS = 1 << 16  # that are looked at; a schema may hold itself
SHORTEST = 4  # letters of a keyword that a name may be a misspelling of
SIMILAR = 0.8  # difflib's ratio from which on two names are taken for the same word
CLEARLY = 0.85  # the same for names that compiling warns of: "form" and "constraints" are too far

# Keywords that only modify another one, which is the one with a function.
COMPANIONS = {
    "then": "if",
    "else": "if",
    "additionalItems": "items",
    "minContains": "contains",
    "maxContains": "contains",
}
RESTRICTING = KEYWORDS.keys() | COMPANIONS.keys()
# Keywords of any draft that restrict nothing by themselves.
OTHERS = frozenset(
    "$anchor $comment $defs $dynamicAnchor $id $recursiveAnchor $schema $vocabulary"
    " contentEncoding contentMediaType contentSchema default definitions disallow divisibleBy"
    " extends deprecated description examples id readOnly title writeOnly".split()
)
KNOWN = RESTRICTING | OTHERS
_BY_CASE = {name.lower(): name for name in (*OTHERS, *KEYWORDS, *COMPANIONS)}


class Slip(NamedTuple):
    """A name that restricts nothing, at `pointer`, and the keyword that was probably meant."""

    pointer: str
    name: str
    meant: str

    def __str__(self) -> str:
        return f"{self.name!r} is no keyword and restricts nothing; was {self.meant!r} meant?"


@lru_cache(maxsize=4096)
def meant_by(name: str, similar: float = SIMILAR) -> str:
    """The keyword that a name is almost, "" where there is none."""
    import difflib  # rarely needed

    close = difflib.get_close_matches(name.lower(), _BY_CASE, 1, similar)
    meant = _BY_CASE[close[0]] if close else ""
    return meant if len(meant) >= SHORTEST else ""


def look_for_slips(spec: Spec, *, strict: bool) -> None:
    """Warn of each slip in a schema; if `strict`, raise SpecError for the first."""
    for slip in slips_in(spec.schema) if isinstance(spec, JsonSchema) else ():
        if strict:
            raise SpecError(
                f"{slip.name!r} is no keyword and restricts nothing",
                location=slip.pointer,
                expected=f"{slip.meant!r}, perhaps",
                hint="names that begin with x- are never taken for keywords",
            )
        warnings.warn(MisspeltKeywordWarning(str(slip), *slip), stacklevel=outside())


def slips_in(schema: Any) -> Iterator[Slip]:
    """The names in a schema that are clearly meant as keywords which restrict."""
    if not isinstance(schema, dict):
        return
    shapes = subschema_keywords(stated_draft(schema))
    todo: list[tuple[dict[str, Any], tuple[Any, ...]]] = [(schema, ())]
    for at, path in islice(todo, MAX_SUBSCHEMAS):  # which grows
        for keyword, value in at.items():
            shape = shapes.get(keyword)
            if shape is None:
                meant = "" if keyword in KNOWN else _meant_clearly(keyword)
                if meant and meant not in at:
                    yield Slip(f"#{_pointer((path, keyword))}", keyword, meant)
            elif type(value) is dict:
                if shape.mapped:
                    below = (path, keyword)
                    todo += [(v, (below, k)) for k, v in value.items() if type(v) is dict]
                else:
                    todo.append((value, (path, keyword)))
            elif type(value) is list and shape.listed:
                below = (path, keyword)
                todo += [(v, (below, k)) for k, v in enumerate(value) if type(v) is dict]


def _meant_clearly(name: object) -> str:
    """The restricting keyword that a name is very near to, "" where there is none."""
    if not isinstance(name, str) or name.startswith(PRIVATE):
        return ""
    meant = meant_by(name, CLEARLY)
    return meant if meant in RESTRICTING else ""


def _pointer(path: tuple[Any, ...]) -> str:
    """The JSON Pointer of a path that is kept as (path before, last step)."""
    steps: list[str | int] = []
    while path:
        path, last = path
        steps.append(last)
    return pointer_to(reversed(steps))
