"""Keep what was compiled of each kernel module, so that an edit compiles what it changes, no more.

A module's object file depends on its source, on the sources of all modules that it needs, whose
kernels are compiled into its own, and on how kernels are compiled. A hash of these names a folder,
which has the object file and what numba keeps of the module for those that need it. Where there is
the folder, all is in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from structgen.kernels.build.library import ENDING, SOURCES, kernel_sources

OBJECT = "object.o"  # empty for a module without kernels
KEPT = 200  # folders, of some sixty modules each a few times
FRESH = 3600.0  # seconds for which a folder stays in any case, as somebody may be at it


def needs(names: Sequence[str]) -> dict[str, list[str]]:
    """For each module those that it needs; each stands behind what it needs."""
    found: dict[str, list[str]] = {}

    def add(name: str) -> None:
        if name not in found:
            source = source_of(name).read_text("utf-8")
            imports = re.findall(r"^from structgen\.kernels\.([\w.]+) import", source, re.MULTILINE)
            wanted = [other for other in imports if other in names]
            for other in wanted:
                add(other)
            found[name] = wanted

    for name in names:
        add(name)
    return found


def source_of(name: str) -> Path:
    """The file of a kernel module, such as "trie.scan"."""
    return SOURCES / f"{name.replace('.', '/')}.py"


def digests(names: Sequence[str], level: str) -> dict[str, str]:
    """For each module a hash of all that decides what its object file is.

    names: with those that they need.
    """
    packages = [importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    how = hashlib.blake2b(repr((level, ENDING, packages)).encode(), digest_size=12)
    for path in sorted(kernel_sources()):
        if path.parent.name == "build":
            how.update(path.read_bytes())
    found: dict[str, str] = {}
    for name, others in needs(names).items():
        own = how.copy()
        own.update(source_of(name).read_bytes())
        own.update(repr((name, [found[other] for other in others])).encode())
        found[name] = own.hexdigest()
    return found


def folders(kept: Path, names: Sequence[str], level: str) -> dict[str, Path]:
    """Where each module's files are, or are to be. OSError where nothing can be written."""
    found = {name: kept / f"{name}-{digest}" for name, digest in digests(names, level).items()}
    kept.mkdir(parents=True, exist_ok=True)
    for path in found.values():
        if path.exists():
            os.utime(path)
    return found


@contextlib.contextmanager
def begun(place: Path) -> Iterator[Path]:
    """A new folder, which becomes that of a module as a whole, unless somebody was quicker.

    So no process takes what numba keeps of the module that it is at: numba keeps machine code of
    it, and not what an object file is made of.
    """
    made = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    made.mkdir()
    try:
        yield made
        try:
            os.rename(made, place)
        except OSError:
            if not (place / OBJECT).exists():  # a remainder, which is of no use
                shutil.rmtree(place)
                os.rename(made, place)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def prune(kept: Path) -> None:
    """Remove the folders that have not been used for longest, of sources as they no longer are."""

    def used(path: Path) -> float:
        with contextlib.suppress(OSError):
            return path.stat().st_mtime
        return 0.0

    for path in sorted(kept.iterdir(), key=used)[:-KEPT]:
        if used(path) < time.time() - FRESH:
            shutil.rmtree(path, ignore_errors=True)
