"""Compile all kernels into one library, in several processes. Needs numba; running them does not.

Each process takes a module that nobody has taken and whose imports are compiled, and writes an
object file for it (`kernels.build.worker`), unless there is one from before (`kernels.build.kept`).
A linker makes one library of all; where there is none, the object files lie one behind the other,
and LLVM links them when they are opened.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import spawn
from pathlib import Path

from structgen.kernels.build.kept import OBJECT, folders, prune
from structgen.kernels.build.ledger import PAUSE, Ledger, usable_cores
from structgen.kernels.build.library import BUILD, HOW, OBJECTS, SOURCES, kernel_sources

WORKERS = 3  # at most; with more, some would wait for what they need
LINKERS = "cc", "gcc", "clang", "ld"
WHAT = "structgen: compiling kernels, once on this machine"
PATIENCE = 1.0  # seconds before the user is told
STEP = 10.0  # seconds between lines, where lines cannot be written over


def compile_all(
    path: Path, level: str, names: Sequence[str] = (), kept: Path | None = None
) -> Path:
    """Make the library at `path`, or at `path` with OBJECTS behind it where nothing can link.

    level: of instructions, as LLVM calls it; "" for the processor as it is. names: of the modules
    to be compiled, with those that they need; all by default. kept: a folder where object files
    stay for the next time, see `kernels.build.kept`. Raises ImportError without numba, and
    RuntimeError with what a process has said that failed.
    """
    if importlib.util.find_spec("numba") is None:
        raise ImportError(
            "structgen has no compiled kernels for this Python and machine, and needs numba to "
            "compile them once: pip install numba"
        )
    names = names or module_names()
    with tempfile.TemporaryDirectory(prefix=".compiling-", dir=path.parent) as made:
        folder = Path(made)
        places = folders(kept or folder / "modules", names, level)
        objects = [places[name] / OBJECT for name in names]
        with contextlib.closing(Ledger(folder / "ledger", [*places])) as ledger:
            for name, place in places.items():
                if (place / OBJECT).exists():
                    ledger.note(name)
            left = sum(not ledger.is_done(name) for name in names)
            with _workers(folder, level, places, left) as workers:
                for done in _progress(ledger, names):
                    if not done and all(worker.poll() is not None for worker in workers):
                        said = (folder / "log").read_text("utf-8", "replace")
                        raise RuntimeError(f"the kernels cannot be compiled:\n{said[-4000:]}")
        if kept is not None:
            prune(kept)
        return _put(_linked([each for each in objects if each.stat().st_size], folder), path)


def module_names() -> list[str]:
    """The modules that have kernels, such as "trie.scan"."""
    found = [".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in kernel_sources()]
    return sorted(name for name in found if not name.startswith("build."))


@contextlib.contextmanager
def _workers(
    folder: Path, level: str, places: Mapping[str, Path], left: int
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that compile. places: the folder of each module; left: how many there are to do."""
    environment = os.environ | {
        HOW: BUILD,
        "NUMBA_DISABLE_JIT": "0",
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
    }
    if level:
        environment |= {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
    found = {name: str(place) for name, place in places.items()}
    code = f"from structgen.kernels.build.worker import work; work({str(folder)!r}, {found!r})"
    with contextlib.ExitStack() as running, (folder / "log").open("ab") as log:
        workers = []
        for _ in range(min(usable_cores(), WORKERS, left)):
            worker = subprocess.Popen(  # noqa: S603  nothing in it comes from outside
                [spawn.get_executable(), "-P", "-c", code],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            running.callback(worker.wait)
            running.callback(worker.terminate)
            workers.append(worker)
        yield workers


def _progress(ledger: Ledger, names: Sequence[str]) -> Iterator[bool]:
    """Wait until all modules are compiled, saying how many are; yields whether that is so."""
    began, said = time.monotonic(), 0.0
    rewrites = sys.stderr is not None and sys.stderr.isatty()
    begin, end = ("\r", "") if rewrites else ("", "\n")
    while True:
        done, now = sum(map(ledger.is_done, names)), time.monotonic() - began
        if now > PATIENCE and (rewrites or said == 0 or now > said + STEP):
            _say(f"{begin}{WHAT}: {done} of {len(names)} parts{end}")
            said = now
        yield done == len(names)
        if done == len(names):
            break
        time.sleep(PAUSE)
    if rewrites and said:
        _say("\n")


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _linked(objects: list[Path], folder: Path) -> Path:
    """The object files as one."""
    whole = folder / "library"
    for linker in filter(None, map(shutil.which, LINKERS)):
        how = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
        done = subprocess.run(  # noqa: S603  nothing in it comes from outside
            [linker, "-shared", *how, "-o", whole, *objects], capture_output=True, check=False
        )
        if done.returncode == 0:
            return whole
    whole = whole.with_suffix(OBJECTS)
    with whole.open("wb") as file:
        for path in objects:
            code = path.read_bytes()
            file.write(len(code).to_bytes(8, "little") + code)
    return whole


def _put(made: Path, path: Path) -> Path:
    """Move a library to its place at once, whoever else does."""
    path = path.with_name(path.name + made.suffix)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    shutil.copyfile(made, beside)
    os.replace(beside, path)
    return path
