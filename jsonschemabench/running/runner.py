"""Runs several engines over the same cases in turns, and records what each makes of each case.

Each engine is a child process of its own, and only one works at a time. Records are written as
they come; pairs of case and engine that the results file already holds are left alone.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from tqdm import tqdm

from jsonschemabench.engines.engine import Engine, Refused
from jsonschemabench.errors import BenchError, WorkerDiedError
from jsonschemabench.running.results import Writer
from jsonschemabench.running.workers import Job, Limits, Worker

START_TRIES = 2


class HasId(Protocol):
    """Anything with an id that no other case of the run has."""

    @property
    def id(self) -> str:
        """What results files call it."""


Case = TypeVar("Case", bound=HasId)


@dataclass
class Runner:
    """A run of several engines over the same cases.

    start: called in each child process as `start(name, *arguments)`, returns what does a job.
    left_out: gets a line for everything that the run went on without.
    """

    engines: dict[str, type[Engine]]
    start: Callable[..., Job]
    arguments: tuple[Any, ...]
    limits: Limits
    writer: Writer
    left_out: list[str] = field(default_factory=list)

    def run(
        self,
        cases: Iterable[Case],
        job: Callable[[Case, type[Engine]], Any],
        record: Callable[[Case, type[Engine], dict[str, Any]], dict[str, Any]],
    ) -> list[dict[str, Any]]:
        """All records, those of an earlier run of the file included.

        `job` makes the job of a case for an engine; it raises Refused when the engine cannot take
        it at all, or BenchError when the case cannot be used. `record` makes the record of the
        child's answer, of `{"refused": {"kind", "message"}}`, or, where the child died, of
        `{"died": {"reason", "message"}}`.
        """
        for line in self.writer.damaged:
            print(f"{line}; its case is measured again", file=sys.stderr)
        done = self.writer.done
        if done:
            self._say(f"going on behind {len(done):,} records")
        records = [*self.writer.previous]
        try:
            with contextlib.ExitStack() as stack:
                workers = {
                    name: stack.enter_context(
                        Worker(self.start, (name, *self.arguments), self.limits)
                    )
                    for name in self.engines
                }
                for case, turn in _turns(cases, list(self.engines)):
                    todo = [n for n in turn if n in workers and (case.id, n) not in done]
                    for name in todo:
                        answer = self._answer(case, name, workers, job)
                        if answer is not None:
                            records.append(record(case, self.engines[name], answer))
                            self.writer.write(records[-1])
        except KeyboardInterrupt:
            self._say("stopped; the same command goes on from here")
            raise
        return records

    def _answer(
        self,
        case: Case,
        name: str,
        workers: dict[str, Worker],
        job: Callable[[Case, type[Engine]], Any],
    ) -> dict[str, Any] | None:
        """What an engine makes of a case; None where there is nothing to record."""
        try:
            wanted = job(case, self.engines[name])
        except Refused as refusal:
            return {"refused": {"kind": refusal.kind, "message": refusal.message}}
        except BenchError as error:
            line = f"{case.id}: {error}"
            if line not in self.left_out:
                self.left_out.append(line)
            return None
        try:
            _begin(workers[name])
        except WorkerDiedError as error:
            self.left_out.append(f"{name}, which does not start ({error.reason}): {error}")
            del workers[name]
            return None
        try:
            answer: dict[str, Any] = workers[name].call(wanted)
        except WorkerDiedError as error:
            return {"died": {"reason": error.reason, "message": str(error)}}
        return answer

    def _say(self, text: str) -> None:
        print(f"{self.writer.path}: {text}", file=sys.stderr)


def say_left_out(lines: Iterable[str]) -> None:
    """Say at the end of a run what it went on without."""
    for line in lines:
        print(f"left out: {line}", file=sys.stderr)


def _begin(worker: Worker) -> None:
    """Start the engine if it is not running. WorkerDiedError when it fails repeatedly."""
    for tries_left in range(START_TRIES - 1, -1, -1):
        try:
            worker.begin()
        except WorkerDiedError:
            if not tries_left:
                raise
        else:
            return


def _turns(cases: Iterable[Case], engines: list[str]) -> Iterator[tuple[Case, list[str]]]:
    """The cases, under a progress bar, each with the order in which the engines take turns."""
    interval = 0.1 if sys.stderr.isatty() else 30.0  # seconds: a log needs few lines
    bar = tqdm(cases, unit="case", mininterval=interval, file=sys.stderr, dynamic_ncols=True)
    for number, case in enumerate(bar):
        bar.set_postfix_str(case.id[-24:], refresh=False)
        first = number % len(engines)  # nobody is always the one who finds the caches cold
        yield case, engines[first:] + engines[:first]
