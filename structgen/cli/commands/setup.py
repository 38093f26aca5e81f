"""`structgen warmup` and `structgen version`: compile the kernels; say what is installed."""

from __future__ import annotations

import argparse
import platform
import sys
import sysconfig
from importlib import metadata
from typing import Any

from structgen.cli.options import add_command
from structgen.cli.terminal import Terminal, duration

COMPANIONS = ("numpy", "numba", "torch", "transformers", "pydantic")


def add(commands: Any) -> None:
    """Add the commands `warmup` and `version`."""
    add_command(commands, "warmup", "Compile the kernels now, not at first use.", warmup)
    add_command(commands, "version", "Print the version, and those of what it works with.", version)


def warmup(_args: argparse.Namespace, terminal: Terminal) -> int:
    """Compile the kernels, or load them if they are compiled, and say how long that took."""
    from structgen.kernels.build import loader

    terminal.progress("preparing the kernels ...")
    seconds = loader.warmup()
    terminal.say(f"the kernels are ready, after {duration(seconds)}")
    return 0


def version(_args: argparse.Namespace, terminal: Terminal) -> int:
    """Print the version to stdout, and the versions of companions to stderr."""
    terminal.result(f"structgen {installed('structgen') or 'of a source tree, not installed'}")
    found = [f"{name} {number}" for name in COMPANIONS if (number := installed(name))]
    terminal.say(f"Python {python_version()}, {', '.join(found)}")
    return 0


def installed(name: str) -> str | None:
    """The version of an installed distribution, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def python_version() -> str:
    """The version of Python, and whether that is a build without optimisations, which is slower.

    Distributions build with them, though not all say so.
    """
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    is_optimized = "--enable-optimizations" in options or sys.base_prefix == "/usr"
    return platform.python_version() + ("" if is_optimized else " (without --enable-optimizations)")
