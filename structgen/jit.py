"""In: a wish to run kernels. Out: the kernel modules, compiled or loaded from numba's disk cache.

Importing a kernel module compiles it, which takes seconds the first time on a machine and
milliseconds afterwards. `kernels()` is the only door to them, and says so when it takes long.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

NAMES = ("tables", "step", "walk", "rows")
PATIENCE = 1.0, 10.0  # seconds before the user is told what is going on: first time, later

_lock = threading.Lock()
_modules: dict[str, ModuleType] = {}


def kernels(name: str) -> ModuleType:
    """The kernel module `structgen.kernels.<name>`; the first call prepares all of them."""
    if name not in _modules:
        with _lock:
            if name not in _modules:
                _load()
    return _modules[name]


def _load() -> None:
    message = "structgen: compiling kernels, once on this machine (about 20 s) ..."
    timer = threading.Timer(
        PATIENCE[_cached()], print, (message,), {"file": sys.stderr, "flush": True}
    )
    timer.daemon = True
    timer.start()
    try:
        loaded = {n: importlib.import_module(f"structgen.kernels.{n}") for n in NAMES}
    finally:
        timer.cancel()
    _modules.update(loaded)


def _cached() -> bool:
    """Whether numba seems to have compiled the kernels before."""
    folder = os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / "kernels" / "__pycache__"
    return next(Path(folder).rglob("*.nbi"), None) is not None


def warmup() -> float:
    """Compile every kernel now (or load them from the cache). Returns the seconds it took."""
    start = time.perf_counter()
    kernels(NAMES[0])
    return time.perf_counter() - start
