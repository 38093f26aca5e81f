"""Find the library of kernels and open it; make it where there is none.

A wheel brings one for each level of its processors' instructions. Without one that fits (a source
checkout, an editable install) the same library is made once, from the sources as they are, and
kept in the cache folder.
"""

from __future__ import annotations

import contextlib
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from structgen.kernels.build.library import ENDING, HOW, OBJECTS, SOURCES, Library, digest, levels
from structgen.util.cache_dir import cache_dir

KEPT = 8  # libraries in the cache folder


def open_library() -> Library | None:
    """The library with the kernels of this source; it is made if there is none.

    None where kernels are to run as plain Python (NUMBA_DISABLE_JIT) or to be compiled in this
    process (STRUCTGEN_KERNELS), and for a Python whose objects are laid out in another way.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}:
        return None
    if os.environ.get(HOW) or hasattr(sys, "getobjects") or "t-" in ENDING:
        return None
    fitting = levels()
    for level in fitting:
        shipped = SOURCES / "library" / f"{level}{ENDING}"
        if shipped.exists():
            return Library(shipped)
    level = fitting[0]
    name = f"{level}-{digest()}{ENDING}"
    folder = cache_dir() / "kernels"
    for path in (folder / name, folder / f"{name}{OBJECTS}"):
        if path.exists():
            return Library(path)
    return _made(folder, name, level)


def _made(folder: Path, name: str, level: str) -> Library:
    """The library, made now, by this process or by another one that is at it."""
    import tempfile

    from structgen.kernels.build.compilation import compile_all

    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_alone(folder / "lock", name))
        except OSError:  # it cannot be written: a library for this process
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for path in (folder / name, folder / f"{name}{OBJECTS}"):
            if path.exists():
                return Library(path)
        library = Library(compile_all(folder / name, level, kept=folder / "modules"))
        _prune(folder)
        return library


@contextlib.contextmanager
def _alone(path: Path, name: str) -> Iterator[None]:
    """Wait until no other process is in here with the same name. path: of a file with locks."""
    import fcntl

    place = zlib.crc32(name.encode())  # a byte of the file, which need not be that long
    with path.open("a") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            if sys.stderr is not None:
                sys.stderr.write("structgen: waiting for a process that compiles kernels\n")
            fcntl.lockf(file, fcntl.LOCK_EX, 1, place)
        except OSError:
            pass  # a file system without locks: the library is made twice
        yield


def _prune(folder: Path) -> None:
    """Remove the oldest libraries, of sources as they no longer are."""
    found = sorted(folder.glob(f"*{ENDING}*"), key=lambda path: path.stat().st_mtime)
    for path in found[:-KEPT]:
        path.unlink(missing_ok=True)
