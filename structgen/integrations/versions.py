"""Knows which versions of hosts were tested, and warns of others when structgen is switched on."""

from __future__ import annotations

from structgen.util.versions import warn_unless_tested

#: The oldest and the newest release that the tests ran with, or whose interface was read.
TESTED = {
    "vllm": ("0.32", "0.33"),
    "sglang": ("0.5.23", "0.5.23"),
    "llama-cpp-python": ("0.3.36", "0.3.36"),
    "mlx": ("0.32", "0.32"),
    "ray": ("2.56", "2.60"),
}


def warn_of_host(host: str, version: str) -> None:
    """Warn, once in a process, of a host that is older or newer than those that were tested."""
    warn_unless_tested(host, version, TESTED[host], older=True)
