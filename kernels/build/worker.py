"""Compile kernel modules for a library: what the processes do that `compilation` starts."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from structgen.kernels.build.ahead import compile_ahead
from structgen.kernels.build.decorators import caches, compiled
from structgen.kernels.build.kept import OBJECT, begun, needs
from structgen.kernels.build.ledger import Ledger, compile_share
from structgen.kernels.build.remembering import remember
from structgen.kernels.build.wrappers import object_of


def work(folder: str, places: Mapping[str, str]) -> None:
    """Write object files, skipping modules that another process is at: what a worker runs.

    folder: where the ledger is. places: the folder of each module, see `kernels.build.kept`.
    """
    compile_ahead()
    remember()
    gc.disable()  # compiling makes a great many objects, few of them garbage, for a few seconds
    started_by = os.getppid()

    def load(name: str) -> None:
        if os.getppid() != started_by:
            sys.exit("whoever wanted the library is gone")
        _write_object(name, Path(places[name]))

    caches.update({f"structgen.kernels.{name}": place for name, place in places.items()})
    names = [*places]
    compile_share(Ledger(Path(folder) / "ledger", names), needs(names), load)


def _write_object(name: str, place: Path) -> None:
    module = f"structgen.kernels.{name}"
    with begun(place) as folder:
        caches[module] = str(folder)
        importlib.import_module(module)
        (folder / OBJECT).write_bytes(_object_of(module))


def _object_of(module: str) -> bytes:
    """The object file of a module; empty where it has no kernels."""
    found = [kernel for kernel in compiled if kernel.function.__module__ == module]
    return object_of(found) if found else b""
