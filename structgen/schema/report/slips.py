"""Finds slips in a schema fast enough to look for them whenever a schema is compiled.

They are misspelt keywords, and something else in the place of a schema: a document that has schemas
inside, or an example of a value.

It knows the names of all keywords by heart, so that nothing is read or built for a schema without
unknown names. `structgen.schema.report.advice` says much more, and takes longer.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from structgen.errors import MisspeltKeywordWarning, NoKeywordWarning, SpecError
from structgen.schema.json_schema import JsonSchema
from structgen.schema.keywords.keywords import KEYWORDS
from structgen.schema.references.metaschemas import MAX_SUBSCHEMAS, subschema_keywords
from structgen.schema.references.vocabularies import stated_draft
from structgen.spec.base import Spec
from structgen.util.callers import outside
from structgen.util.json_pointer import pointer_to

PRIVATE = ("x-", "_", "@", "#", "//")  # how names begin that are not meant as keywords
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
_OF_ANYTHING = OTHERS - {"$defs", "definitions"}  # what a schema may have that is meant for all
_OF_OTHERS = {"nullable", "discriminator", "example", "xml", "externalDocs"}  # OpenAPI's of these
MOST_WARNED_OF = 3  # slips of one schema
MOST_LOOKED_AT = 1000  # parts of what is no schema, where one is looked for
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
    """Warn of the first few slips in a schema; if `strict`, raise SpecError for the first."""
    if not isinstance(spec, JsonSchema):
        return
    slips = list(slips_in(spec.schema))
    for place, slip in enumerate(slips[:MOST_WARNED_OF], 1):
        if strict:
            raise SpecError(
                f"{slip.name!r} is no keyword and restricts nothing",
                location=slip.pointer,
                expected=f"{slip.meant!r}, perhaps",
                hint="names that begin with x- are never taken for keywords",
            )
        more = len(slips) - place if place == MOST_WARNED_OF else 0
        also = f" `structgen check-schema` lists {more} more" if more else ""
        warnings.warn(MisspeltKeywordWarning(f"{slip}{also}", *slip), stacklevel=outside())
    names = names_alone(spec.schema)
    if names and not slips:
        problem = f"{no_keyword(names)}, so anything fits"
        hint = where_a_schema_is(spec.schema)
        if strict:
            raise SpecError(problem, location="#", hint=hint)
        warnings.warn(NoKeywordWarning(f"{problem}; {hint}"), stacklevel=outside())


def names_alone(schema: Any) -> list[str]:
    """The names in a schema where none is a keyword that restricts; [] where all is well.

    So it is with a schema that is meant for anything, which has annotations at most.
    """
    if not isinstance(schema, dict) or schema.keys() & RESTRICTING:
        return []
    names = [name for name in schema if isinstance(name, str) and not name.startswith(PRIVATE)]
    return [name for name in names if name not in _OF_ANYTHING | _OF_OTHERS]


def no_keyword(names: list[str]) -> str:
    """What is wrong with a schema that has these names only."""
    shown = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
    return f"no keyword of JSON Schema restricts anything in a schema of {shown}"


def where_a_schema_is(document: Any) -> str:
    """A hint at the outermost schema inside of what is none."""
    todo: list[tuple[Any, tuple[Any, ...]]] = [(document, ())]
    for at, path in islice(todo, MOST_LOOKED_AT):  # which grows
        if isinstance(at, dict) and "type" in at and len(at.keys() & RESTRICTING) > 1:
            return f'a schema stands at #{_pointer(path)}: give that, or "$ref" to it beside these'
        if isinstance(at, dict | list):
            pairs = at.items() if isinstance(at, dict) else enumerate(at)
            todo += [(value, (path, step)) for step, value in pairs]
    return 'keys of an object stand in "properties", each with a schema'


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
