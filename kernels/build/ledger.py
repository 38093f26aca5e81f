"""Share the compilation of kernel modules among processes, through a file of claims.

Numba compiles one function at a time, and all kernels in a minute or more. So a few processes do
it: each claims a module that is free and whose imports are compiled, until none is left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

PAUSE = 0.02  # seconds between looks at what others have made
DONE = b"1"


class Ledger:
    """A file that has a byte for each module, DONE when it has been compiled.

    A module is claimed by the system's lock on its byte, which ends with the process.
    """

    def __init__(self, path: Path, names: Collection[str]) -> None:
        """OSError where no file can be written."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._places = {name: i for i, name in enumerate(names)}

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
    def claimed(self, name: str) -> Iterator[bool]:
        """Whether this process is to compile a module; also where a file system has no locks."""
        place = self._places[name]
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
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


def usable_cores() -> int:
    """How many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(allowed(0)) if allowed else os.cpu_count() or 1
