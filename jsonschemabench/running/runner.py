"""Runs several engines over the same cases in turns, and records what each makes of each case.

Each engine is a child process of its own, and only one works at a time. Records are written as
they come; pairs of case and engine that the results file already holds are left alone.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

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
Answer = dict[str, Any]


@dataclass(frozen=True)
class Turn(Generic[Case]):
    """A case, and a job for each engine that takes it, in the order in which they work.

    refused: the answers that need no work.
    """

    case: Case
    jobs: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, Answer] = field(default_factory=dict)


class EngineProcesses:
    """A child process for each engine, of which only one works at a time.

    start: called in each child as `start(name, *arguments)`, returns what does a job.
    """

    def __init__(
        self,
        engines: Iterable[str],
        start: Callable[..., Job],
        arguments: tuple[Any, ...],
        limits: Limits,
    ) -> None:
        self._workers = {name: Worker(start, (name, *arguments), limits) for name in engines}

    def do(self, turn: Turn[Any]) -> dict[str, Answer]:
        """What the engines make of a case: what they say, `{"died": {"reason", "message"}}`, or
        for one that does not start, which is asked no more, `{"absent": {"reason", "message"}}`.
        """
        return {
            name: self._answer(name, job)
            for name, job in turn.jobs.items()
            if name in self._workers
        }

    def close(self) -> None:
        """End the child processes."""
        for worker in self._workers.values():
            worker.close()

    def _answer(self, name: str, job: Any) -> Answer:
        try:
            _begin(self._workers[name])
        except WorkerDiedError as error:
            self._workers.pop(name).close()
            return {"absent": {"reason": error.reason, "message": str(error)}}
        try:
            answer: Answer = self._workers[name].call(job)
        except WorkerDiedError as error:
            return {"died": {"reason": error.reason, "message": str(error)}}
        return answer


@dataclass
class Runner:
    """A run of several engines over the same cases.

    start, arguments, limits: see `EngineProcesses`. actors: 0 to run here; else cases are shared
    out among so many actors of Ray at most, each with a process for each engine, so that engines
    meet a case on the same machine. left_out: gets a line for everything that the run went on
    without.
    """

    engines: dict[str, type[Engine]]
    start: Callable[..., Job]
    arguments: tuple[Any, ...]
    limits: Limits
    writer: Writer
    left_out: list[str] = field(default_factory=list)
    actors: int = 0

    def run(
        self,
        cases: Iterable[Case],
        job: Callable[[Case, type[Engine]], Any],
        record: Callable[[Case, type[Engine], Answer], dict[str, Any]],
    ) -> list[dict[str, Any]]:
        """All records, those of an earlier run of the file included.

        `job` makes the job of a case for an engine; it raises Refused when the engine cannot take
        it at all, or BenchError when the case cannot be used. `record` makes the record of the
        child's answer, of `{"refused": {"kind", "message"}}`, or, where the child died, of
        `{"died": {"reason", "message"}}`.
        """
        for line in self.writer.damaged:
            print(f"{line}; its case is measured again", file=sys.stderr)
        if self.writer.done:
            self._say(f"going on behind {len(self.writer.done):,} records")
        records = [*self.writer.previous]
        try:
            with contextlib.closing(self._answered(self._turns(cases, job))) as answered:
                for turn, answers in answered:
                    for name, answer in answers.items():
                        if "absent" in answer:
                            self._leave_out(
                                f"{name}, which does not start ({answer['absent']['reason']}): "
                                f"{answer['absent']['message']}"
                            )
                            continue
                        records.append(record(turn.case, self.engines[name], answer))
                        self.writer.write(records[-1])
        except KeyboardInterrupt:
            self._say("stopped; the same command goes on from here")
            raise
        return records

    def _turns(
        self, cases: Iterable[Case], job: Callable[[Case, type[Engine]], Any]
    ) -> Iterator[Turn[Case]]:
        """What there is to do, case by case under a progress bar."""
        interval = 0.1 if sys.stderr.isatty() else 30.0  # seconds: a log needs few lines
        bar = tqdm(cases, unit="case", mininterval=interval, file=sys.stderr, dynamic_ncols=True)
        names = list(self.engines)
        for number, case in enumerate(bar):
            bar.set_postfix_str(case.id[-24:], refresh=False)
            first = number % len(names)  # nobody is always the one who finds the caches cold
            turn = Turn(case)
            for name in names[first:] + names[:first]:
                if (case.id, name) in self.writer.done:
                    continue
                try:
                    turn.jobs[name] = job(case, self.engines[name])
                except Refused as refusal:
                    reason = {"kind": refusal.kind, "message": refusal.message}
                    turn.refused[name] = {"refused": reason}
                except BenchError as error:
                    self._leave_out(f"{case.id}: {error}")
            yield turn

    def _answered(
        self, turns: Iterator[Turn[Case]]
    ) -> Generator[tuple[Turn[Case], dict[str, Answer]]]:
        """The cases with all answers, in the order in which they come."""
        given = (list(self.engines), self.start, self.arguments, self.limits)
        if not self.actors:
            with contextlib.closing(EngineProcesses(*given)) as processes:
                for turn in turns:
                    yield turn, turn.refused | processes.do(turn)
            return
        from structgen.integrations.ray_actors import share_out

        for turn, answers in share_out(EngineProcesses, given, turns, self.actors):
            if isinstance(answers, Exception):
                self._leave_out(f"{turn.case.id}: {type(answers).__name__}: {answers}")
            else:
                yield turn, turn.refused | answers

    def _leave_out(self, line: str) -> None:
        if line not in self.left_out:
            self.left_out.append(line)

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
