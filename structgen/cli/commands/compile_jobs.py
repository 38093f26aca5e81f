"""Compile specs to files in several processes, for `structgen compile`.

Each process does one spec at a time. One that dies (out of memory, say) costs its spec only: it is
reported, and another process takes the place.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structgen.cli.terminal import describe
from structgen.errors import ArtifactError

if TYPE_CHECKING:
    from structgen.constraint.precompute import Explored
    from structgen.spec.base import Spec
    from structgen.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True)
class Task:
    """A spec, as the command line names it, and the file for it."""

    source: str
    path: Path


@dataclass(frozen=True)
class Settings:
    """What is the same for all specs.

    options: how schemas are read. max_states, max_bytes: where exploring ends. keep: whether a file
    that is as wanted is left as it is. debug: whether problems come with their traceback.
    """

    options: dict[str, Any]
    max_states: int
    max_bytes: int
    keep: bool
    debug: bool


@dataclass(frozen=True)
class Outcome:
    """What became of a task: counts, bytes of the file, seconds; or the problem, in words."""

    task: Task
    problem: str = ""
    states: int = 0
    rows: int = 0
    nbytes: int = 0
    longest: float = 0.0
    seconds: float = 0.0
    complete: bool = False
    kept: bool = False


Report = Callable[[Task, int, int], None]


def run_all(
    tasks: list[Task], settings: Settings, vocabulary: Vocabulary, jobs: int, report: Report
) -> Iterator[Outcome]:
    """Do all tasks, as many at a time as there are `jobs`; outcomes come as they are finished.

    `report` gets a task and how many of its states are done and known, from time to time.
    """
    if min(jobs, len(tasks)) == 1:
        for task in tasks:
            yield run_one(task, settings, vocabulary, report)
    else:
        yield from _Pool(tasks, settings, vocabulary, jobs).run(report)


def run_one(task: Task, settings: Settings, vocabulary: Vocabulary, report: Report) -> Outcome:
    """Compile, explore and save one spec; whatever goes wrong becomes the outcome's problem."""
    from structgen.cli import inputs

    start = time.perf_counter()
    try:
        spec = inputs.load_spec(task.source, settings.options)
        kept = outcome_before(task, settings, spec, vocabulary)
        return kept or compile_spec(task, settings, spec, vocabulary, report)
    except Exception as error:  # noqa: BLE001  the other specs are not to suffer for it
        return failed(task, settings, error, time.perf_counter() - start)


def failed(task: Task, settings: Settings, error: Exception, seconds: float = 0.0) -> Outcome:
    """The outcome of a task that ended with an error."""
    problem = describe(error) or f"{type(error).__name__}: {error}"
    if settings.debug:
        problem += "\n" + "".join(traceback.format_exception(error))
    return Outcome(task, problem, seconds=seconds)


def outcome_before(
    task: Task, settings: Settings, spec: Spec, vocabulary: Vocabulary
) -> Outcome | None:
    """The outcome of a run before, if its file is to be kept and is what this run would make."""
    if not settings.keep:
        return None
    from structgen.constraint import artifact
    from structgen.constraint.precompute import Explored
    from structgen.util import container

    try:
        file = container.File(task.path, artifact.KIND)
        file.verify()
        explored = Explored(**file.header["explored"])
        rows = artifact.rows_of(file)
    except (ArtifactError, KeyError, TypeError):
        return None
    if file.header.get("key") != artifact.key_of(spec, vocabulary):
        return None
    enough = explored.max_states >= settings.max_states and explored.max_bytes >= settings.max_bytes
    if not (explored.complete or enough):
        return None
    return _outcome(task, explored, rows, file.size, explored.seconds, kept=True)


def _outcome(
    task: Task, explored: Explored, rows: int, nbytes: int, seconds: float, *, kept: bool
) -> Outcome:
    return Outcome(
        task,
        states=explored.states,
        rows=rows,
        nbytes=nbytes,
        longest=explored.longest,
        seconds=seconds,
        complete=explored.complete,
        kept=kept,
    )


def compile_spec(
    task: Task, settings: Settings, spec: Spec, vocabulary: Vocabulary, report: Report
) -> Outcome:
    """Compile, explore and save a spec. What a broken spec raises."""
    from structgen.constraint import artifact, compiler
    from structgen.constraint.precompute import explore

    start = time.perf_counter()
    constraint = compiler.compile(spec, vocabulary, max_bytes=settings.max_bytes)
    explored = explore(
        constraint, settings.max_states, lambda done, known: report(task, done, known)
    )
    artifact.save(constraint, task.path, explored)
    rows, nbytes = constraint.size["rows"], task.path.stat().st_size
    seconds = time.perf_counter() - start
    return _outcome(task, explored, rows, nbytes, seconds, kept=False)


def without_tokenizer(vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary for other processes, to which the tokenizer itself may not be sent."""
    from structgen.vocabulary.vocabulary import Vocabulary as Plain

    return Plain(vocabulary.tokens, eos_ids=vocabulary.eos_ids, special_ids=vocabulary.special_ids)


@dataclass
class _Worker:
    """A process, the pipe to it, and the task that it is at."""

    process: Any
    pipe: Connection
    task: Task | None = field(default=None)


class _Pool:
    """Processes that are started afresh (nothing is forked), each given a task at a time."""

    def __init__(
        self, tasks: list[Task], settings: Settings, vocabulary: Vocabulary, jobs: int
    ) -> None:
        from structgen.kernels.build import loader

        loader.warmup()  # once, not in each process
        self._todo = list(reversed(tasks))
        self._jobs = min(jobs, len(tasks))
        self._given = settings, without_tokenizer(vocabulary)
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []

    def run(self, report: Report) -> Iterator[Outcome]:
        """Outcomes as they come; all processes have ended when the iterator has."""
        try:
            self._workers = [self._started() for _ in range(self._jobs)]
            while any(worker.task is not None for worker in self._workers):
                busy = {w.pipe: w for w in self._workers if w.task is not None}
                for pipe in wait(list(busy)):
                    outcome = self._heard(busy[pipe], report)  # type: ignore[index]  # a Connection
                    if outcome is not None:
                        yield outcome
        finally:
            for worker in self._workers:
                worker.pipe.close()
                worker.process.terminate()
                worker.process.join()

    def _heard(self, worker: _Worker, report: Report) -> Outcome | None:
        """What a worker says; a worker that is done, or dead, is given the next task."""
        task = worker.task
        if task is None:
            return None
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            message = Outcome(task, f"the process ended with status {worker.process.exitcode}")
            worker.pipe.close()
            fresh = self._started() if self._todo else _Worker(worker.process, worker.pipe)
            worker.process, worker.pipe, worker.task = fresh.process, fresh.pipe, fresh.task
            return message
        if not isinstance(message, Outcome):
            report(task, *message)
            return None
        self._give(worker)
        return message

    def _started(self) -> _Worker:
        mine, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, *self._given), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process, mine)
        self._give(worker)
        return worker

    def _give(self, worker: _Worker) -> None:
        worker.task = self._todo.pop() if self._todo else None
        if worker.task is not None:
            worker.pipe.send(worker.task)


def _work(pipe: Connection, settings: Settings, vocabulary: Vocabulary) -> None:
    """What a process does until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)  # what a user's module prints is no part of the summary
    try:
        while True:
            task = pipe.recv()
            pipe.send(
                run_one(task, settings, vocabulary, lambda _, done, known: pipe.send((done, known)))
            )
    except (EOFError, BrokenPipeError):
        return
