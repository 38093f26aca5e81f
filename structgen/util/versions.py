"""Knows which releases of other packages and of hosts were tested, and warns of others."""

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
    "torch": ("2.4", "2.15"),
    "numpy": ("2.0", "2.4"),
    "numba": ("0.61", "0.68"),
    "pydantic": ("2.7", "2.14"),
}
#: The same of hosts, or the releases whose interface was read.
HOSTS = {
    "vllm": ("0.32", "0.33"),
    "sglang": ("0.5.23", "0.5.23"),
    "llama-cpp-python": ("0.3.36", "0.3.36"),
    "mlx": ("0.32", "0.32"),
    "ray": ("2.56", "2.60"),
}
_warned: set[str] = set()  # packages that this process was warned of


def release(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with: (2, 13, 0) for "2.13.0+cpu"."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def warn_of_untested() -> None:
    """Warn, once for each package, that it is of a later series than those that were tested."""
    for package, tested in TESTED.items():
        try:
            installed = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        _warn_unless_tested(package, installed, tested)


def warn_of_host(host: str, version: str) -> None:
    """Warn, once in a process, of a host that is older or newer than those that were tested."""
    _warn_unless_tested(host, version, HOSTS[host], older=True)


def _warn_unless_tested(
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
