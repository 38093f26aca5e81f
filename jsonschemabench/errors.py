"""The errors that stop a measurement; each prints as one line."""

from __future__ import annotations

from typing import ClassVar

from structgen.errors import StructgenError


class BenchError(StructgenError):
    """Bad input to a command: a folder that is not there, a file that is not what it should be."""

    kind: ClassVar[str] = "bench"


class EngineMissingError(BenchError):
    """An engine that is unknown, not installed, or does not start."""

    kind: ClassVar[str] = "engine_missing"


class WorkerDiedError(BenchError):
    """A child process that ended, or was ended, before it answered.

    `reason` says how, in words that results files keep: "time limit", "memory limit",
    "exception", "signal SIGSEGV", "exit status 1".
    """

    kind: ClassVar[str] = "worker_died"
    reason: str = ""
