"""Runs an engine's jobs in a child process, which may crash, hang or use too much memory.

A worker keeps one child process, gives it one job at a time, and watches its time and memory. A
child that dies costs the job it was at: `call` raises WorkerDiedError, and the next call starts a
new one. A child ends by itself when its parent does.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Self

import psutil

from jsonschemabench.errors import WorkerDiedError

Job = Callable[[Any], Any]

POLL = 0.05  # seconds between two looks at the child's memory
GRACE = 5.0  # seconds after which a child that nobody watches any more ends by itself


@dataclass(frozen=True)
class Limits:
    """What a job may take: seconds, and bytes of memory of the whole process.

    start_seconds: what the start may take, in which the engine gets its vocabulary.
    """

    seconds: float = 60.0
    memory: int = 8 << 30
    start_seconds: float = 300.0


class Worker:
    """A child process that does jobs one after another, and is started anew when it dies.

    start: called with `arguments` in the child, returns the function that does a job. Both, the
    arguments, the jobs and the results travel between processes, so they must pickle.
    """

    def __init__(
        self, start: Callable[..., Job], arguments: tuple[Any, ...], limits: Limits | None = None
    ) -> None:
        self.limits = limits or Limits()
        self._start = start
        self._arguments = arguments
        self._process: Any = None
        self._connection: Connection | None = None
        self._begun = False  # whether the child has said that it has the job
        self._log = tempfile.NamedTemporaryFile(prefix="jsonschemabench-")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The id of the child process, None when there is none."""
        return None if self._process is None else self._process.pid

    def begin(self) -> None:
        """Start the child if there is none. WorkerDiedError when that fails."""
        if self._process is not None:
            return
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve,
            args=(theirs, self._log.name, self._start, self._arguments, self.limits),
            daemon=True,
        )
        self._process.start()
        theirs.close()
        self._receive(self.limits.start_seconds)

    def call(self, job: Any) -> Any:
        """The result of a job. WorkerDiedError when the child dies of it; it is then replaced."""
        try:
            return self._try(job)
        except WorkerDiedError:
            if self._begun:
                raise
        return self._try(job)  # the child was dead before it had the job, so that is not to blame

    def _try(self, job: Any) -> Any:
        self._begun = False
        self.begin()
        self._log.truncate(0)
        with contextlib.suppress(OSError):  # what became of it is found out below
            if self._connection is not None:
                self._connection.send(job)
        return self._receive(self.limits.seconds)

    def close(self) -> None:
        """End the child and remove what it wrote."""
        self._end()
        self._log.close()

    def _receive(self, seconds: float) -> Any:
        """The child's answer, within `seconds`."""
        connection, process = self._connection, self._process
        if connection is None:
            raise WorkerDiedError("the worker is closed", reason="closed")
        deadline = time.monotonic() + seconds
        while True:
            self._watch(process, connection, deadline)
            try:
                kind, answer = connection.recv()
            except (EOFError, OSError):
                process.join()
                raise self._died(_manner(process.exitcode), self._last_words()) from None
            if kind == "exception":
                raise self._died("exception", answer)
            if kind == "result":
                return answer
            self._begun = True

    def _watch(self, process: Any, connection: Connection, deadline: float) -> None:
        """Wait until the child has said something, or has died; kill it at a limit."""
        while not connection.poll(POLL):
            reason = ""
            if time.monotonic() > deadline:
                reason = "time limit"
            elif _resident(process.pid) > self.limits.memory:
                reason = "memory limit"
            if reason:
                process.kill()
                raise self._died(reason, f"stopped at the {reason}")

    def _died(self, reason: str, message: str) -> WorkerDiedError:
        self._end()
        return WorkerDiedError(message or reason, reason=reason)

    def _last_words(self) -> str:
        """The end of what the child wrote to stderr, as one line."""
        with open(self._log.name, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 2000))
            lines = file.read().decode(errors="replace").split("\n")
        return " ".join(" ".join(lines[-8:]).split())[-500:]

    def _end(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.join(0.2)  # an idle child ends when the connection does
            self._process.kill()
            self._process.join()
            self._process.close()
        self._process = self._connection = None


def _serve(
    connection: Connection,
    log: str,
    start: Callable[..., Job],
    arguments: tuple[Any, ...],
    limits: Limits,
) -> None:
    """The child: start, then a job at a time, until the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when to stop
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):  # what engines print would spoil the progress bar
        os.dup2(descriptor, stream)
    with contextlib.suppress(EOFError, OSError):
        try:
            do: Job = _limited(limits.start_seconds, start, *arguments)
            connection.send(("result", None))
            while True:
                job = connection.recv()
                connection.send(("begun", None))
                connection.send(("result", _limited(limits.seconds, do, job)))
        except (EOFError, OSError):
            raise
        except BaseException as error:  # noqa: BLE001  panics of Rust code are not Exceptions
            traceback.print_exc()
            words = f"{type(error).__name__}: {error}"
            connection.send(("exception", " ".join(words.split())[:500]))


def _limited(seconds: float, do: Callable[..., Any], *arguments: Any) -> Any:
    """Do it under an alarm that ends the process even if the parent is gone."""
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE)
    result = do(*arguments)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return result


def _resident(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def _manner(status: int) -> str:
    """How a process ended, by its exit status."""
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


class PeakMemory:
    """The most memory that this process has held since `reset`, in bytes.

    Linux can forget the old peak; elsewhere the peak is that of the process's whole life.
    """

    def reset(self) -> None:
        """Forget the peak so far."""
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "wb") as file:
            file.write(b"5")

    def read(self) -> int:
        """The peak since then."""
        try:
            with open("/proc/self/status", encoding="ascii") as file:
                for line in file:
                    if line.startswith("VmHWM:"):
                        return int(line.split()[1]) << 10
        except OSError:
            pass
        import resource
        import sys

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak << 10
