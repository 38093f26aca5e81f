"""Knows which versions of other packages were tested, and warns of newer ones."""

from __future__ import annotations

import importlib.metadata

from structgen.util.versions import warn_unless_tested

# The oldest and the newest release that the tests ran with. pyproject.toml, README.md and the
# constraints of the tests say the same.
TESTED = {
    "transformers": ("4.57", "5.24"),
    "torch": ("2.4", "2.13"),
    "numpy": ("2.0", "2.4"),
    "numba": ("0.61", "0.68"),
    "pydantic": ("2.7", "2.14"),
}


def warn_of_untested() -> None:
    """Warn, once for each package, that it is of a later series than those that were tested."""
    for package, tested in TESTED.items():
        warn_unless_tested(package, _installed(package), tested)


def _installed(package: str) -> str:
    """The version that is installed; "" where there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
