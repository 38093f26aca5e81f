"""In: cases and engines. Out: a record of each case and engine, written as it comes.

Engines take turns case by case, each in a child process of its own, one at a time. What a results
file already holds is not done again. An engine that does not start, and a case that has no tokens,
cost one line in `left_out`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tqdm import tqdm

from jsonschemabench import vocab
from jsonschemabench.cases import Instance
from jsonschemabench.engines import ENGINES
from jsonschemabench.engines.engine import Engine
from jsonschemabench.errors import BenchError, WorkerDiedError
from jsonschemabench.results import Writer
from jsonschemabench.workers import Job, Limits, Worker
from structgen import Vocabulary

START_TRIES = 2


class Work(Protocol):
    """A case: something with a name and instances."""

    @property
    def id(self) -> str:
        """What its records call it."""

    @property
    def instances(self) -> Sequence[Instance]:
        """The texts that an engine is fed."""


W = TypeVar("W", bound=Work)
Record = dict[str, Any]
Start = Callable[[str, Vocabulary], Job]
Tokens = list[list[int]]


def add_options(parser: argparse.ArgumentParser, engines: str, out: str) -> Any:
    """The options that `run` needs, with defaults of the command's own. Returns their group."""
    group = parser.add_argument_group("run")
    group.add_argument(
        "--engines",
        default=engines,
        metavar="NAMES",
        help=f"of {', '.join(ENGINES)}, with commas between, or all (default: {engines})",
    )
    group.add_argument("--out", type=Path, default=Path(out), metavar="FILE", help="results file")
    group.add_argument(
        "--fresh", action="store_true", help="begin anew where --out holds an earlier run"
    )
    group.add_argument("--failures", action="store_true", help="list the cases that do not pass")
    group.add_argument(
        "--time-limit", type=float, default=60.0, metavar="S", help="seconds a case (default: 60)"
    )
    group.add_argument(
        "--memory-limit",
        type=float,
        default=8.0,
        metavar="GIB",
        help="memory of an engine's process (default: 8)",
    )
    return group


def engine_names(text: str) -> list[str]:
    """The engines that `--engines` names."""
    names = ENGINES if text == "all" else text.split(",")
    return [name for part in names if (name := part.strip())]


def limits(args: argparse.Namespace) -> Limits:
    """The limits of the options."""
    return Limits(seconds=args.time_limit, memory=int(args.memory_limit * 2**30))


def run(
    work: Iterable[W],
    engines: Mapping[str, type[Engine]],
    vocabulary: Vocabulary,
    limits: Limits,
    writer: Writer,
    left_out: list[str],
    *,
    start: Start,
    record: Callable[[W, Tokens, type[Engine], Worker], Record],
) -> list[Record]:
    """All records, those of an earlier run first.

    start: makes, in the child process, what does a job of the engine that it is told.
    record: gives the worker such a job and makes a record of what comes back.
    """
    if writer.done:
        print(
            f"{writer.path}: going on behind {len(writer.done):,} records (--fresh begins anew)",
            file=sys.stderr,
        )
    records = [*writer.previous]
    try:
        for new in _new(work, engines, vocabulary, limits, writer.done, left_out, start, record):
            writer.write(new)
            records.append(new)
    except KeyboardInterrupt:
        print(f"stopped; the same command goes on from {writer.path}", file=sys.stderr)
        raise
    return records


def _new(
    work: Iterable[W],
    engines: Mapping[str, type[Engine]],
    vocabulary: Vocabulary,
    limits: Limits,
    done: set[tuple[str, str]],
    left_out: list[str],
    start: Start,
    record: Callable[[W, Tokens, type[Engine], Worker], Record],
) -> Iterator[Record]:
    with contextlib.ExitStack() as stack:
        workers = {
            name: stack.enter_context(Worker(start, (name, vocabulary), limits)) for name in engines
        }
        for case, turn in _turns(work, list(engines)):
            todo = [n for n in turn if (case.id, n) not in done and n in workers]
            if not todo:
                continue
            try:
                tokens = [vocab.encode(vocabulary, i.text) for i in case.instances]
            except BenchError as error:
                left_out.append(f"{case.id}: {error}")
                continue
            for name in todo:
                try:
                    _begin(workers[name])
                except WorkerDiedError as error:
                    left_out.append(f"{name}, which does not start ({error.reason}): {error}")
                    del workers[name]
                    continue
                yield record(case, tokens, engines[name], workers[name])


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


def _turns(work: Iterable[W], engines: list[str]) -> Iterator[tuple[W, list[str]]]:
    """The cases, under a progress bar, each with the order in which the engines take turns."""
    interval = 0.1 if sys.stderr.isatty() else 30.0  # seconds: a log needs few lines
    bar = tqdm(work, unit="case", mininterval=interval, file=sys.stderr, dynamic_ncols=True)
    for number, case in enumerate(bar):
        bar.set_postfix_str(case.id[-24:], refresh=False)
        first = number % len(engines)  # nobody is always the one who finds the caches cold
        yield case, engines[first:] + engines[:first]
