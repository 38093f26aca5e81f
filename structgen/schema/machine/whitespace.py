"""The `whitespace` option of a JSON Schema: which white space may stand between lexemes."""

from __future__ import annotations

from functools import lru_cache

from structgen.automata.lexer.json_lexemes import Layout
from structgen.errors import SpecError
from structgen.regular.charset import CharSet
from structgen.regular.regex import (
    alt,
    chars,
    complement,
    concat,
    intersect,
    literal,
    min_length,
    repeat,
)
from structgen.regular.syntax.pattern import parse

INDENTED = "indented"
MAX_INDENT = 40  # spaces or tabs after a line break in "indented" white space

_SPACE = chars(CharSet.chars(" \t\n\r"))
_ANY = repeat(_SPACE, 0, None)
_BOUNDED = repeat(literal(" "), 0, 1)
_INDENTED = alt(_BOUNDED, concat(literal("\n"), repeat(chars(CharSet.chars(" \t")), 0, MAX_INDENT)))


@lru_cache(maxsize=64)
def layout_of(
    whitespace: str, escapes: bool = True, surrogates: bool = False
) -> tuple[Layout, int]:
    """The layout of an option, and the fewest bytes of a gap; flags as in `Layout`.

    Raises SpecError for a pattern that matches more than white space, or nothing.
    In "bounded" and "indented", and with a pattern, gaps stand after `{ [ , :` and before `} ]`;
    "indented" allows one before the text as well; "any" allows them wherever JSON does.
    """
    if whitespace == "compact":
        return Layout(escapes=escapes, surrogates=surrogates), 0
    if whitespace == "bounded":
        return Layout(inner=_BOUNDED, escapes=escapes, surrogates=surrogates), 0
    if whitespace == INDENTED:
        kept = Layout(inner=_INDENTED, head=_INDENTED, escapes=escapes, surrogates=surrogates)
        return kept, 0
    if whitespace == "any":
        return Layout(_ANY, _ANY, _ANY, _ANY, _ANY, escapes, surrogates), 0
    gap = parse(whitespace, anchored=True)
    shortest = min_length(gap)
    if shortest is None or not intersect(gap, complement(_ANY)).is_empty():
        raise SpecError(
            f"whitespace is {whitespace!r}",
            expected='"bounded", "compact", "indented", "any", or a pattern of white space',
        )
    return Layout(inner=gap, escapes=escapes, surrogates=surrogates), shortest
