"""Share the compilation of kernel modules among processes, through a file of claims.

Numba compiles one function at a time, and all kernels in a minute or more. So whoever needs them
has a few processes help: each takes a module that nobody has taken and whose imports are compiled,
until none is left. Processes that start at once share the work in the same way.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from multiprocessing import spawn
from pathlib import Path

HELPERS = 2  # at most; with more, some would wait for what they need
PAUSE = 0.02  # seconds between looks at what others have made
HEAD = 32  # bytes in front of those that stand for modules: the digest of all sources
DONE = b"1"


class Ledger:
    """A file beside numba's cache: for each module a byte, DONE when it has been compiled.

    A module is claimed by the system's lock on its byte, which ends with the process.
    """

    def __init__(self, path: Path, digest: str, names: Collection[str]) -> None:
        """OSError where no file can be written.

        digest: `HEAD` characters that tell the sources from others; a file for others begins anew.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._places = {name: HEAD + 1 + i for i, name in enumerate(names)}
        with self._locked(0, fcntl.LOCK_EX):
            self.is_new = os.pread(self._file, HEAD, 0) != digest.encode()
            if self.is_new:
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, digest.encode(), 0)

    def close(self) -> None:
        """Give back the file."""
        os.close(self._file)

    def is_done(self, name: str) -> bool:
        """Whether a module has been compiled."""
        return os.pread(self._file, 1, self._places[name]) == DONE

    def note(self, name: str) -> None:
        """Say that a module has been compiled."""
        os.pwrite(self._file, DONE, self._places[name])

    @contextlib.contextmanager
    def claimed(self, name: str = "") -> Iterator[bool]:
        """Whether this process is to compile a module, or, without a name, to call helpers."""
        with self._locked(self._places.get(name, HEAD), fcntl.LOCK_EX | fcntl.LOCK_NB) as mine:
            yield mine

    @contextlib.contextmanager
    def _locked(self, place: int, how: int) -> Iterator[bool]:
        """Whether the lock on a byte was to be had; also where a file system has no locks."""
        try:
            fcntl.lockf(self._file, how, 1, place)
        except (BlockingIOError, PermissionError):
            yield False
            return
        except OSError:
            yield True
            return
        try:
            yield True
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)


def compile_share(
    ledger: Ledger, needs: Mapping[str, Collection[str]], load: Callable[[str], object]
) -> None:
    """Compile modules until all are compiled, skipping those that another process is at.

    needs: the names of the modules, each behind those that it needs. load: compiles one of them.
    """
    while left := [name for name in needs if not ledger.is_done(name)]:
        for name in left:
            if not all(map(ledger.is_done, needs[name])):
                continue
            with ledger.claimed(name) as mine:
                if mine and not ledger.is_done(name):
                    load(name)
                    ledger.note(name)
                    break
        else:
            time.sleep(PAUSE)


@contextlib.contextmanager
def helpers(ledger: Ledger, code: str) -> Iterator[None]:
    """Have processes run some Python code meanwhile, one for each further core; at most HELPERS.

    None where another process has called some, or where none can be started.
    """
    with ledger.claimed() as mine, contextlib.ExitStack() as running:
        python = spawn.get_executable()
        found = os.pathsep.join(path or os.getcwd() for path in sys.path)
        may_start = mine and python and not getattr(sys, "frozen", False)
        with contextlib.suppress(OSError):
            for _ in range(min(usable_cores() - 1, HELPERS) if may_start else 0):
                helper = subprocess.Popen(  # noqa: S603  nothing in it comes from outside
                    [python, "-P", "-c", code],
                    env=os.environ | {"PYTHONPATH": found},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                running.callback(helper.wait)
                running.callback(helper.terminate)
        yield


def usable_cores() -> int:
    """How many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(allowed(0)) if allowed else os.cpu_count() or 1
