"""Read patterns with a reader that is imported with the first one, as many schemas have none."""

from __future__ import annotations

from structgen.regular.regex import Regex
from structgen.regular.syntax.dialects import ECMA


def parse(
    pattern: str, *, anchored: bool = False, dialect: str = ECMA.name, surrogates: bool = False
) -> Regex:
    """The language of a pattern: see `ecma.parse`."""
    from structgen.regular.syntax import ecma

    return ecma.parse(pattern, anchored=anchored, dialect=dialect, surrogates=surrogates)
