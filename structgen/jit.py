"""In: a wish to run kernels. Out: the kernel modules, compiled or loaded from numba's disk cache.

Importing a kernel module compiles it, which takes seconds the first time on a machine and
milliseconds afterwards. `kernels()` is the only door to them, and says so when it takes long.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import os
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

NAMES = (
    "flags", "tables", "checklists", "taken", "names", "spans", "provide", "loops", "patterns",
    "blocks", "step", "walk", "subtrees", "rows", "below", "outlook", "doors", "saved", "scan",
)  # fmt: skip
GRAMMAR_NAMES = (
    "grammar_tables", "grammar_items", "grammar_stacks", "grammar_layout", "grammar_lexer",
    "grammar_verdicts", "grammar_step", "grammar_start", "grammar_walk", "grammar_tries",
    "grammar_loops", "grammar_parts", "grammar_masks", "grammar_nesting",
)  # fmt: skip  # compiled when the first grammar is used
PATIENCE = 1.0, 10.0  # seconds before the user is told what is going on: first time, later

_lock = threading.Lock()
_modules: dict[str, ModuleType] = {}


def kernels(name: str) -> ModuleType:
    """The kernel module `structgen.kernels.<name>`; the first call prepares all of its group."""
    if name not in _modules:
        with _lock:
            if name not in _modules:
                if name in GRAMMAR_NAMES:
                    _load(GRAMMAR_NAMES, "the kernels of grammars", 20)
                else:
                    _load(NAMES, "kernels", 10)
    return _modules[name]


def _load(names: tuple[str, ...], what: str, seconds: int) -> None:
    message = f"structgen: compiling {what}, once on this machine (about {seconds} s) ..."
    timer = threading.Timer(
        PATIENCE[_cached()], print, (message,), {"file": sys.stderr, "flush": True}
    )
    timer.daemon = True
    timer.start()
    collects = gc.isenabled()
    gc.disable()  # compiling makes a great many objects, few of them garbage, for a few seconds
    try:
        loaded = {n: importlib.import_module(f"structgen.kernels.{n}") for n in names}
    finally:
        timer.cancel()
        if collects:
            gc.enable()
    _modules.update(loaded)


def _cached() -> bool:
    """Whether numba has compiled the kernels as they are now; what is stale is removed.

    Kernels are compiled into each other across files, while numba looks only at the file of the
    outermost one; so a digest of all sources is kept beside the cache.
    """
    sources = Path(__file__).parent / "kernels"
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or sources / "__pycache__")
    digest = hashlib.blake2b(digest_size=16)
    for source in sorted(sources.glob("*.py")):
        digest.update(source.read_bytes())
    stamp = folder / "structgen-kernels"
    with contextlib.suppress(OSError):
        if stamp.is_file() and stamp.read_text() == digest.hexdigest():
            return any(folder.rglob("*.nbi"))
        for name in NAMES + GRAMMAR_NAMES:
            for stale in [*folder.rglob(f"{name}.*.nbi"), *folder.rglob(f"{name}.*.nbc")]:
                stale.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        stamp.write_text(digest.hexdigest())
    return False


def warmup(*, grammars: bool = True) -> float:
    """Compile every kernel now (or load them from the cache). Returns the seconds it took.

    grammars: the kernels of grammars too. Those that run on a GPU are Triton's to compile.
    """
    start = time.perf_counter()
    kernels(NAMES[0])
    if grammars:
        kernels(GRAMMAR_NAMES[0])
    return time.perf_counter() - start
