"""Compares releases of other packages with those that were tested, and warns of others."""

from __future__ import annotations

import re
import warnings

from structgen.errors import UntestedVersionWarning
from structgen.util.callers import outside

_warned: set[str] = set()  # packages that this process was warned of


def release(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with: (2, 13, 0) for "2.13.0+cpu"."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def warn_unless_tested(
    package: str, version: str, tested: tuple[str, str], *, older: bool = False
) -> None:
    """Warn, once in a process, of a package that is of a later series than those tested.

    tested: the oldest and the newest series. older: warn of an earlier series as well.
    """
    found, first, last = map(release, (version, *tested))
    is_older = older and found[: len(first)] < first
    if package not in _warned and (is_older or found[: len(last)] > last):
        _warned.add(package)
        warning = UntestedVersionWarning(package, version, *tested)
        warning.older = is_older
        warnings.warn(warning, stacklevel=outside())
