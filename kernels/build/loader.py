"""Reach kernel modules by name: `kernels()` is how the packages above do it.

The first call opens the library of all kernels, or has it made (`kernels.build.opening`); so the
packages above can be imported without it.
"""

from __future__ import annotations

import importlib
import time
from types import ModuleType

_modules: dict[str, ModuleType] = {}


def kernels(name: str) -> ModuleType:
    """The kernel module `structgen.kernels.<name>`."""
    found = _modules.get(name)
    if found is None:
        found = _modules[name] = importlib.import_module(f"structgen.kernels.{name}")
    return found


def warmup() -> float:
    """Have every kernel ready, compiling them if need be. Returns the seconds it took.

    Those that run on a GPU are Triton's to compile.
    """
    start = time.perf_counter()
    kernels("build.language")
    return time.perf_counter() - start
