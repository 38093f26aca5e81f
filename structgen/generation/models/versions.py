"""Knows which versions of other packages were tested, and warns of newer ones."""

from __future__ import annotations

import importlib.metadata
import re
import warnings

from structgen.errors import UntestedVersionWarning
from structgen.util.callers import outside

# The oldest and the newest release that the tests ran with. pyproject.toml, README.md and the
# constraints of the tests say the same.
TESTED = {
    "transformers": ("4.57", "5.24"),
    "torch": ("2.4", "2.13"),
    "numpy": ("2.0", "2.4"),
    "numba": ("0.61", "0.68"),
    "pydantic": ("2.7", "2.14"),
}
_said: set[str] = set()  # packages that this process was warned of


def release(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with: (2, 13, 0) for "2.13.0+cpu"."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def warn_of_untested() -> None:
    """Warn, once for each package, that it is of a later series than those that were tested."""
    for package, (oldest, newest) in TESTED.items():
        version = _installed(package)
        last = release(newest)
        if package in _said or release(version)[: len(last)] <= last:
            continue
        _said.add(package)
        warning = UntestedVersionWarning(package, version, oldest, newest)
        warnings.warn(warning, stacklevel=outside())


def _installed(package: str) -> str:
    """The version that is installed; "" where there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
