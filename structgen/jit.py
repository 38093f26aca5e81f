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
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

NAMES = (
    "flags", "tables", "checklists", "taken", "names", "spans", "provide", "loops", "changes",
    "patterns", "notes", "blocks", "step", "walk", "beyond", "subtrees", "rows", "below", "outlook",
    "doors", "known", "twins", "saved", "scan",
)  # fmt: skip
GRAMMAR_NAMES = (
    "grammar_tables", "grammar_items", "grammar_stacks", "grammar_guided", "grammar_layout",
    "grammar_lexer", "grammar_verdicts", "grammar_step", "grammar_start", "grammar_walk",
    "grammar_tries", "grammar_loops", "grammar_segments", "grammar_parts", "grammar_masks",
    "grammar_nesting", "grammar_doors",
)  # fmt: skip  # compiled when the first grammar is used
PATIENCE = 1.0, 10.0  # seconds before the user is told what is going on: first time, later

_SOURCES = Path(__file__).parent / "kernels"
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
                    _load(NAMES, "kernels", 25)
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
        with _turn(names[0]):
            loaded = {n: importlib.import_module(f"structgen.kernels.{n}") for n in names}
    finally:
        timer.cancel()
        if collects:
            gc.enable()
    _modules.update(loaded)


@contextlib.contextmanager
def _turn(group: str) -> Iterator[None]:
    """Have processes that start at once compile a group once: the others wait, and load it.

    Whoever compiles holds the system's lock on a file that says, when it is done, of which sources
    the compiled group is. Without a lock where none is to be had.
    """
    import fcntl

    digest = _digest().encode()
    try:
        file = os.open(_folder() / f"structgen-{group}", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield
        return
    try:
        if os.pread(file, len(digest), 0) != digest:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
                if os.pread(file, len(digest), 0) == digest:
                    fcntl.flock(file, fcntl.LOCK_UN)
        yield
        with contextlib.suppress(OSError):
            os.pwrite(file, digest, 0)
    finally:
        os.close(file)  # and with it the lock


def _folder() -> Path:
    """Where numba keeps what it has compiled."""
    return Path(os.environ.get("NUMBA_CACHE_DIR") or _SOURCES / "__pycache__")


def _digest() -> str:
    """What tells the sources of all kernels from others."""
    digest = hashlib.blake2b(digest_size=16)
    for source in sorted(_SOURCES.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _cached() -> bool:
    """Whether numba has compiled the kernels as they are now; what is stale is removed.

    Kernels are compiled into each other across files, while numba looks only at the file of the
    outermost one; so a digest of all sources is kept beside the cache.
    """
    folder, digest = _folder(), _digest()
    stamp = folder / "structgen-kernels"
    with contextlib.suppress(OSError):
        if stamp.is_file() and stamp.read_text() == digest:
            return any(folder.rglob("*.nbi"))
        for name in NAMES + GRAMMAR_NAMES:
            for stale in [*folder.rglob(f"{name}.*.nbi"), *folder.rglob(f"{name}.*.nbc")]:
                stale.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        stamp.write_text(digest)
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
