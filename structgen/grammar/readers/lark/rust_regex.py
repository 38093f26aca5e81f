r"""What patterns of Rust's (and ECMA-262's) have and Python's have not, written as Python has it.

These are `\p{L}` and `\P{L}`, `\u{1F600}` and `\x{1F600}`, and `(?<name>x)`: Python refuses each of
them, so that no pattern of Python's is read otherwise.
"""

from __future__ import annotations

import re

from structgen.regular.charset import ALL, CharSet
from structgen.regular.syntax.unicode import property_set

_PIECE = re.compile(
    r"""\\(?P<property>[pP])(?:\{(?P<not>\^?)(?P<name>[\w=]+)\}|(?P<letter>[A-Z]))
      |\\[ux]\{(?P<code>[0-9A-Fa-f]{1,6})\}
      |(?P<escape>\\.)
      |(?P<named>\(\?<(?=[A-Za-z_]))
      |(?P<opens>\[\^?\]?)
      |(?P<closes>\])""",
    re.VERBOSE | re.DOTALL,
)
#: without one of these nothing is read otherwise
_FOREIGN = re.compile(r"\\[pPux]|\(\?<")


def as_python(pattern: str) -> str:
    """The pattern as Python reads it; what is unknown is left, for Python to refuse."""
    if not _FOREIGN.search(pattern):
        return pattern
    pieces: list[str] = []
    at, inside = 0, False  # a character class
    for found in _PIECE.finditer(pattern):
        pieces += [pattern[at : found.start()], _piece(found, inside=inside)]
        at = found.end()
        inside = (inside or found["opens"] is not None) and found["closes"] is None
    return "".join([*pieces, pattern[at:]])


def _piece(found: re.Match[str], *, inside: bool) -> str:
    if found["named"] is not None:
        return found[0] if inside else "(?P<"
    if found["code"] is not None and int(found["code"], 16) <= 0x10FFFF:
        return _escaped(int(found["code"], 16))
    if found["property"] is None:
        return found[0]
    chars = property_set(found["name"] or found["letter"])
    if chars is None:
        return found[0]
    if (found["property"] == "P") != (found["not"] == "^"):
        chars = ALL - chars
    return _members(chars) if inside else f"[{_members(chars)}]"


def _members(chars: CharSet) -> str:
    return "".join(
        _escaped(low) if low == high else f"{_escaped(low)}-{_escaped(high)}"
        for low, high in chars.ranges
    )


def _escaped(code: int) -> str:
    return f"\\U{code:08x}"
