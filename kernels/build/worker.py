"""Compile kernel modules for a library: what the processes do that `compilation` starts."""

from __future__ import annotations

import gc
import importlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from structgen.kernels.build.decorators import compiled
from structgen.kernels.build.ledger import Ledger, compile_share
from structgen.kernels.build.library import SOURCES
from structgen.kernels.build.wrappers import object_of


def needs(names: Sequence[str]) -> dict[str, list[str]]:
    """For each module those that it needs; each stands behind what it needs."""
    found: dict[str, list[str]] = {}

    def add(name: str) -> None:
        if name not in found:
            source = (SOURCES / f"{name.replace('.', '/')}.py").read_text("utf-8")
            imports = re.findall(r"^from structgen\.kernels\.([\w.]+) import", source, re.MULTILINE)
            wanted = [other for other in imports if other in names]
            for other in wanted:
                add(other)
            found[name] = wanted

    for name in names:
        add(name)
    return found


def work(folder: str, names: Sequence[str]) -> None:
    """Write object files, skipping modules that another process is at: what a worker runs."""
    gc.disable()  # compiling makes a great many objects, few of them garbage, for a few seconds
    started_by = os.getppid()

    def load(name: str) -> None:
        if os.getppid() != started_by:
            sys.exit("whoever wanted the library is gone")
        _write_object(name, Path(folder))

    compile_share(Ledger(Path(folder) / "ledger", names), needs(names), load)


def _write_object(name: str, folder: Path) -> None:
    module = f"structgen.kernels.{name}"
    importlib.import_module(module)
    found = [kernel for kernel in compiled if kernel.function.__module__ == module]
    if found:
        (folder / f"{name}.o").write_bytes(object_of(found))
