"""Reads and writes results files (JSON Lines) in such a way that a run can be resumed.

The first line is the header: `{"kind": "header", "command", "date", "machine", "engines",
"vocabulary", "options"}`. Each further line is a record of one case and one engine: `{"kind":
"case", "case", "engine", "dataset", "outcome", "features", ...}`. Times are in nanoseconds, in
fields whose names end in `_ns`, or histograms (see `times`).
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import psutil

from jsonschemabench.errors import BenchError
from structgen.cli.commands.setup import python_version

if TYPE_CHECKING:
    from jsonschemabench.engines.engine import Engine
    from structgen import Vocabulary

#: What must be the same for a run to go on in the file of another.
FIXED = ("command", "engines", "vocabulary", "options")
START = b'{"kind":"header"'  # what each results file begins with


@dataclass
class Results:
    """What a results file holds; `damaged` has one line for each that could not be read."""

    header: dict[str, Any]
    records: list[dict[str, Any]] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def header(
    command: str,
    engines: Mapping[str, type[Engine]],
    vocabulary: Vocabulary | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """The header of a run that starts now on this machine."""
    return {
        "kind": "header",
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cores": os.cpu_count(),
            "memory": psutil.virtual_memory().total,
            "python": python_version(),
            "platform": platform.platform(),
        },
        "engines": {
            name: {"version": engine.version(), "settings": dict(engine.settings)}
            for name, engine in engines.items()
        },
        "vocabulary": None
        if vocabulary is None
        else {"size": vocabulary.size, "hash": vocabulary.hash},
        "options": dict(options),
    }


def read(path: Path) -> Results:
    """The results in a file. BenchError when there are none; damaged lines are left out."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise BenchError(
            f"the results cannot be read: {error.strerror or error}", location=str(path)
        ) from error
    found = Results({})
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = _record(line)
        kind = record.get("kind")
        if kind == "header":
            if found.header:
                found.damaged.append(f"{path}:{number}: another run begins here; left out from it")
                break
            found.header = record
        elif kind == "case" and {"case", "engine", "outcome"} <= record.keys():
            found.records.append(record)
        else:
            found.damaged.append(f"{path}:{number}: not a whole record")
    if not found.header:
        raise BenchError(
            "this is no results file",
            location=str(path),
            expected="a header in the first line, as the commands here write it",
        )
    return found


class Writer:
    """A results file being written; what it already holds of the same run is kept.

    `previous` has the records of an earlier, interrupted run, `done` their cases and engines.
    """

    def __init__(self, path: Path, header: dict[str, Any], *, fresh: bool = False) -> None:
        self.path = path
        self.header = header
        self.previous: list[dict[str, Any]] = []
        self.done: set[tuple[str, str]] = set()
        self.damaged: list[str] = []
        kept = b""
        if not fresh and path.is_file() and path.stat().st_size:
            kept = self._resume()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = path.open("r+b" if kept else "wb")
        except OSError as error:
            raise BenchError(
                f"results cannot be written: {error.strerror or error}", location=str(path)
            ) from error
        if kept:
            self._file.seek(len(kept))
            self._file.truncate()
        else:
            self._line(header)

    def _resume(self) -> bytes:
        """Take over what is there; returns its bytes up to the last whole line."""
        data = self.path.read_bytes()
        if b"\n" not in data and data[: len(START)] == START[: len(data)]:
            return b""  # that run was stopped in its first line
        found = read(self.path)
        # The new header went through JSON once, as the old one did.
        new = json.loads(json.dumps(self.header))
        other = [name for name in FIXED if found.header.get(name) != new[name]]
        if other:
            raise BenchError(
                f"the file holds another run: its {' and '.join(other)} are not the same",
                location=str(self.path),
                hint="name another file with --out, or begin anew with --fresh",
            )
        self.header = found.header
        self.previous = found.records
        self.done = {(record["case"], record["engine"]) for record in found.records}
        self.damaged = found.damaged
        return data[: data.rfind(b"\n") + 1]

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record, whole or not at all as far as the system can promise it."""
        self._line(record)

    def _line(self, record: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _record(line: bytes) -> dict[str, Any]:
    """A line as a record, {} if it is none."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
