"""Finds the code that called into the package, which is what warnings are about."""

from __future__ import annotations

import sys

PACKAGE = __name__.partition(".")[0]


def outside() -> int:
    """The `stacklevel` for a warning given by the caller: the first frame outside the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        if frame.f_back is None:
            break
        level, frame = level + 1, frame.f_back
    return level
