"""Read patterns with a reader that is imported with the first one, as many schemas have none."""

from __future__ import annotations

import re
from typing import Any

from structgen.regular.regex import Regex
from structgen.regular.syntax.dialects import ECMA

_IN_SLASHES = re.compile(r"/(\^.*|.*\$)/[dgimsuvy]*", re.DOTALL).fullmatch


def parse(
    pattern: str, *, anchored: bool = False, dialect: str = ECMA.name, surrogates: bool = False
) -> Regex:
    """The language of a pattern: see `ecma.parse`."""
    from structgen.regular.syntax import ecma

    return ecma.parse(pattern, anchored=anchored, dialect=dialect, surrogates=surrogates)


def within_slashes(pattern: Any) -> str:
    """The pattern in one that is written as JavaScript writes it, `/^a$/i`; "" for any other.

    Nothing matches such a pattern: the slashes stand before the start and behind the end.
    """
    found = _IN_SLASHES(pattern) if isinstance(pattern, str) else None
    return found[1] if found else ""
