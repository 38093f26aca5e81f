"""The `whitespace` option of a JSON Schema: which white space may stand between lexemes."""

from __future__ import annotations

from functools import lru_cache

from structgen.automata.lexer.json_lexemes import Layout
from structgen.errors import SpecError
from structgen.regular.charset import CharSet
from structgen.regular.regex import (
    EPSILON,
    alt,
    chars,
    complement,
    concat,
    intersect,
    literal,
    min_length,
    repeat,
)
from structgen.regular.syntax.ecma import parse

MAX_INDENT = 40  # spaces or tabs after a line break in "bounded" white space

_SPACE = chars(CharSet.chars(" \t\n\r"))
_ANY = repeat(_SPACE, 0, None)
_BOUNDED = alt(
    EPSILON,
    literal(" "),
    concat(literal("\n"), repeat(chars(CharSet.chars(" \t")), 0, MAX_INDENT)),
)


@lru_cache(maxsize=64)
def layout_of(
    whitespace: str, natural: bool = False, surrogates: bool = False
) -> tuple[Layout, int]:
    """The layout of an option, and the fewest bytes of a gap; flags as in `Layout`.

    Raises SpecError for a pattern that matches more than white space, or nothing.
    In "bounded", and with a pattern, gaps stand after `{ [ , :` and before `} ]`; "bounded" allows
    one before the text as well; "any" allows them wherever JSON does.
    """
    if whitespace == "compact":
        return Layout(natural=natural, surrogates=surrogates), 0
    if whitespace == "bounded":
        found = Layout(inner=_BOUNDED, head=_BOUNDED, natural=natural, surrogates=surrogates)
        return found, 0
    if whitespace == "any":
        return Layout(_ANY, _ANY, _ANY, _ANY, _ANY, natural, surrogates), 0
    gap = parse(whitespace, anchored=True)
    shortest = min_length(gap)
    if shortest is None or not intersect(gap, complement(_ANY)).is_empty():
        raise SpecError(
            f"whitespace is {whitespace!r}",
            expected='"bounded", "compact", "any", or a pattern of space, tab, \\n and \\r',
        )
    return Layout(inner=gap, natural=natural, surrogates=surrogates), shortest
