"""Saves runs of `speculate` in a file, to which several commands add theirs, and loads them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jsonschemabench.errors import BenchError
from jsonschemabench.running import results
from jsonschemabench.speculate.runs import Run
from structgen import Vocabulary

COMMAND = "speculate"


class Records(results.Writer):
    """Runs in a file. Commands that ask for other drafters, workloads or tasks add theirs to it.

    Each command is a session of its own: its runs are compared with its own plain decoding.
    """

    def __init__(
        self, path: Path, vocabulary: Vocabulary, options: dict[str, Any], *, fresh: bool
    ) -> None:
        """options: what all runs in the file have in common. BenchError if they do not."""
        super().__init__(path, results.header(COMMAND, {}, vocabulary, options), fresh=fresh)
        self._session = 1 + max((r["run"]["session"] for r in self.previous), default=0)

    def has(self, workload: str, task: int, arms: Collection[str]) -> bool:
        """Whether a task was run by all these arms."""
        return all((_case(workload, task), arm) in self.done for arm in arms)

    def add(self, run: Run) -> None:
        """Write a run down."""
        fields = asdict(run) | {"session": self._session}
        case = _case(run.workload, run.task)
        record = {"kind": "case", "case": case, "engine": run.arm, "outcome": "pass", "run": fields}
        self.write(record)
        self.done.add((case, run.arm))


def load(path: Path) -> list[Run]:
    """The runs in a file. BenchError for one that holds other results, or none."""
    found = results.read(path)
    if found.header.get("command") != COMMAND or not found.records:
        raise BenchError("there are no runs of `speculate`", location=str(path))
    try:
        return [_run(record["run"]) for record in found.records]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BenchError("a run is not whole", location=str(path), hint="--fresh") from error


def _run(fields: dict[str, Any]) -> Run:
    """A run as it was before it went through JSON."""
    lists = {name: tuple(fields[name]) for name in ("tried", "kept")}
    rounds = tuple((read, kept, written) for read, kept, written in fields["rounds"])
    regions = {name: (n, kept) for name, (n, kept) in fields["regions"].items()}
    return Run(**fields | lists | {"rounds": rounds, "regions": regions})


def _case(workload: str, task: int) -> str:
    return f"{workload} {task}"
