"""Knows which versions of hosts were tested, and warns of others when structgen is switched on."""

from __future__ import annotations

import warnings

from structgen.errors import UntestedVersionWarning
from structgen.generation.models.versions import release
from structgen.util.callers import outside

#: The oldest and the newest release that the tests ran with, or whose interface was read.
TESTED = {
    "vllm": ("0.32", "0.33"),
    "sglang": ("0.5.23", "0.5.23"),
    "llama-cpp-python": ("0.3.36", "0.3.36"),
    "mlx": ("0.32", "0.32"),
    "ray": ("2.56", "2.60"),
}
_said: set[str] = set()  # hosts that this process was warned of


def warn_of_host(host: str, version: str) -> None:
    """Warn, once in a process, of a host that is older or newer than those that were tested."""
    oldest, newest = TESTED[host]
    first, last = release(oldest), release(newest)
    found = release(version)
    if host in _said or (first <= found[: len(first)] and found[: len(last)] <= last):
        return
    _said.add(host)
    warnings.warn(UntestedVersionWarning(host, version, oldest, newest), stacklevel=outside())
