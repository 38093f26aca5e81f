"""The keywords for numbers and strings: each adds a regular language to the normal form."""

from __future__ import annotations

from functools import cache
from typing import Any

from structgen.errors import UnsupportedSchemaError
from structgen.regular.charset import ALL
from structgen.regular.numbers.language import Spelling, number_language
from structgen.regular.regex import EMPTY, Regex, chars, repeat
from structgen.schema.formats.formats import format_language
from structgen.schema.keywords.subschema import Subschema

_CHAR = chars(ALL)


NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def integers(s: Subschema, bounds: dict[str, Any]) -> Regex:
    """The integers within bounds; in draft 4 a number with a fraction (1.0) is none."""
    spelling: Spelling = "natural" if s.schemas.natural else "any"
    if s.draft <= 4:
        spelling = "integer"
    return number_language(integer=True, spelling=spelling, **bounds) if bounds else _any(spelling)


@cache
def _any(spelling: Spelling) -> Regex:
    """All integers."""
    return number_language(integer=True, spelling=spelling)


# -- numbers ------------------------------------------------------------------------------------


def numeric(s: Subschema) -> None:
    """`minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`: one language."""
    bounds: dict[str, Any] = {}
    for side in ("minimum", "maximum"):
        exclusive = "exclusive" + side.capitalize()
        strict = f"exclusive_{side}"
        limit = s.number(side)
        if isinstance(s.get(exclusive), bool):  # the style of draft 4
            if limit is not None:
                bounds[strict if s.get(exclusive) else side] = limit
            continue
        bounds[side] = limit
        bounds[strict] = s.number(exclusive)
    step = s.number("multipleOf")
    if step is not None:
        if step <= 0:
            raise s.broken("multipleOf", "a number above 0")
        bounds["multiple_of"] = (step,)
    if s.get("type") == "integer":  # one automaton for all, rather than an intersection
        s.only(number=integers(s, bounds))
    else:
        spelling: Spelling = "natural" if s.schemas.natural else "any"
        s.only(number=number_language(spelling=spelling, **bounds))


# -- strings ------------------------------------------------------------------------------------


def length(s: Subschema) -> None:
    """`minLength` and `maxLength`, in code points."""
    least, most = s.count("minLength") or 0, s.count("maxLength")
    possible = most is None or least <= most
    s.only(string=repeat(_CHAR, least, most) if possible else EMPTY)


def pattern(s: Subschema) -> None:
    """`pattern`: an ECMA-262 pattern that matches somewhere in the string."""
    s.only(string=s.schemas.pattern(s.schema["pattern"], s.at("pattern")))


def format_(s: Subschema) -> None:
    """`format`: the strings of a format of the specifications; others are annotations.

    Asserted where the spec or the dialect asks for it. Raises UnsupportedSchemaError for an unknown
    format in a dialect of 2020-12 that asserts formats, as the specification demands.
    """
    name = s.schema["format"]
    if not (s.schemas.assert_formats or s.dialect.asserts_formats) or not isinstance(name, str):
        return
    language = format_language(name)
    if language is not None:
        s.only(string=language)
    elif s.dialect.asserts_formats and s.draft >= 2020:
        raise UnsupportedSchemaError(
            f"the format {name!r} is not enforced",
            keyword="format",
            location=s.at("format"),
            hint="remove it, or let formats be annotations",
        )
