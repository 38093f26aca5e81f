"""`structgen compile`: write files from which `structgen.load` takes finished masks."""

from __future__ import annotations

import argparse
import glob
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structgen.cli.commands.compile_jobs import Outcome, Settings, Task, run_all
from structgen.cli.commands.compile_on_ray import run_on_ray
from structgen.cli.inputs import GRAMMAR_ENDINGS, load_vocabulary
from structgen.cli.options import (
    add_command,
    add_schema,
    add_tokenizer,
    integer,
    schema_options,
)
from structgen.cli.reading import YAML_ENDINGS, is_inline
from structgen.cli.terminal import Terminal, amount, duration
from structgen.errors import StructgenError
from structgen.util.container import remove_leftovers
from structgen.util.tables import columns

FINE, FAILED = 0, 2
MAX_STATES = 10_000
MEMORY = 256  # MiB
ENDINGS = (".json", *YAML_ENDINGS, *GRAMMAR_ENDINGS)  # of the files taken from folders
ARTIFACT = ".sgc"


def add(commands: Any) -> None:
    """Add the command `compile`."""
    parser = add_command(
        commands, "compile", "Work out the masks of specs ahead of time, into files.", run
    )
    add_schema(parser, order="declared", whitespace="bounded", many=True)
    add_tokenizer(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE|DIR",
        required=True,
        help="file to write; the folder for the files where there are several specs",
    )
    parser.add_argument(
        "--max-states",
        metavar="N",
        type=integer(1),
        default=MAX_STATES,
        help=f"states to work out at most, of each spec (default: {MAX_STATES})",
    )
    parser.add_argument(
        "--memory",
        metavar="MIB",
        type=integer(1),
        default=MEMORY,
        help=f"memory that the masks of each spec may take (default: {MEMORY} MiB)",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=integer(1),
        help="processes to share the work among (default: 1; with --ray: the cluster's cores)",
    )
    parser.add_argument(
        "--ray",
        action="store_true",
        help="share the work among the machines of a Ray cluster: pip install 'structgen[ray]'",
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compile, explore and save each spec, and sum up; those finished before are kept."""
    tasks, together = planned(args.specs, args.output, patterns=args.regex)
    vocabulary = load_vocabulary(args)
    settings = Settings(
        schema_options(args),
        args.max_states,
        args.memory << 20,
        keep=together,
        debug="debug" in args,
    )
    for folder in {task.path.parent for task in tasks} if together else ():
        make_folder(folder)
    done: list[Outcome] = []
    show = Progress(terminal, len(tasks))
    if args.ray:
        outcomes = run_on_ray(tasks, settings, vocabulary, args.jobs)
    else:
        outcomes = run_all(tasks, settings, vocabulary, args.jobs or 1, show.states)
    for outcome in outcomes:
        done.append(outcome)
        show.finished(outcome)
        if outcome.problem:
            terminal.fail(
                f"{outcome.task.source}: {outcome.problem}" if together else outcome.problem
            )
    if together:
        summarise(terminal, done)
    elif not done[0].problem:
        tell(terminal, done[0], args.max_states)
    return FAILED if any(outcome.problem for outcome in done) else FINE


def planned(specs: list[str], output: str, *, patterns: bool = False) -> tuple[list[Task], bool]:
    """What to compile into which file, and whether `output` is a folder.

    patterns: whether the specs are regular expressions, and no paths.

    Raises StructgenError when nothing is found, or two specs would go into one file.
    """
    found = list(
        dict.fromkeys(pair for spec in specs for pair in _found(spec, is_pattern=patterns))
    )
    several = len(found) > 1 or found[0][0] not in specs
    if not (several or Path(output).is_dir() or output.endswith(os.sep)):
        return [Task(found[0][0], Path(output))], False
    tasks = [Task(source, Path(output, name + ARTIFACT)) for source, name in found]
    owners: dict[Path, str] = {}
    for task in tasks:
        if owners.setdefault(task.path, task.source) != task.source:
            raise StructgenError(
                f"{owners[task.path]} and {task.source} would go into one file",
                location=str(task.path),
                hint="compile them into different folders",
            )
    return tasks, True


def _found(spec: str, *, is_pattern: bool) -> Iterator[tuple[str, str]]:
    """The specs that an argument names, each with what its file is called, without ending."""
    if is_inline(spec) or is_pattern:
        yield spec, "pattern" if is_pattern else "schema"
        missing = False
    elif Path(spec).is_dir():
        files = sorted(p for p in Path(spec).rglob("*") if p.suffix in ENDINGS and p.is_file())
        yield from ((str(p), str(p.relative_to(spec).with_suffix(""))) for p in files)
        missing = not files
    elif glob.has_magic(spec) and not Path(spec).exists():
        files = [Path(p) for p in sorted(glob.glob(spec, recursive=True)) if Path(p).is_file()]
        yield from ((str(p), p.stem) for p in files)
        missing = not files
    else:
        name = Path(spec).stem if Path(spec).exists() else spec.replace(":", ".")
        yield spec, name.replace(os.sep, "_")
        missing = False
    if missing:
        raise StructgenError(
            "there is no spec", location=spec, expected="files ending in " + " ".join(ENDINGS)
        )


def make_folder(folder: Path) -> None:
    """Make a folder for files if there is none, and remove what was left of writing into it."""
    folder.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)


class Progress:
    """A line that shows how far all of it is, and when it will probably be done."""

    def __init__(self, terminal: Terminal, count: int) -> None:
        self._terminal = terminal
        self._count = count
        self._done = self._made = 0
        self._start = time.monotonic()

    def states(self, task: Task, done: int, known: int) -> None:
        """Show how many states of a spec are done, of those known so far."""
        text = f"{done:,} of {known:,} states known so far"
        if self._count > 1:
            text = f"{self._done} of {self._count} specs{self._left()}; {task.path.stem}: {text}"
        self._terminal.progress(text)

    def finished(self, outcome: Outcome) -> None:
        """Count a spec that is done."""
        self._done += 1
        self._made += not outcome.kept
        if self._count > 1:
            self._terminal.progress(f"{self._done} of {self._count} specs{self._left()}")

    def _left(self) -> str:
        if not self._made:
            return ""
        seconds = (time.monotonic() - self._start) / self._made * (self._count - self._done)
        return f", about {duration(seconds)} left"


def tell(terminal: Terminal, outcome: Outcome, max_states: int) -> None:
    """Say how the only spec came out."""
    terminal.say(
        f"{outcome.task.path}: {amount(outcome.states, 'state')}, {amount(outcome.rows, 'row')}, "
        f"{amount(outcome.nbytes, 'B')}, longest mask {duration(outcome.longest)}, "
        f"made in {duration(outcome.seconds)}"
    )
    if not outcome.complete:
        stop = f"--max-states {max_states}" if outcome.states >= max_states else "--memory"
        terminal.say(f"stopped at {stop}; what is left is made when needed")


def summarise(terminal: Terminal, done: list[Outcome]) -> None:
    """Write a table with a line for each spec that has its file."""
    good = [outcome for outcome in done if not outcome.problem]
    rows = [
        (
            o.task.source,
            f"{o.states:,}" + ("" if o.complete else "+"),
            f"{o.rows:,}",
            amount(o.nbytes, "B"),
            duration(o.longest),
            "kept" if o.kept else duration(o.seconds),
        )
        for o in sorted(good, key=lambda o: o.task.source)
    ]
    total = (
        amount(len(good), "spec"),
        f"{sum(o.states for o in good):,}",
        f"{sum(o.rows for o in good):,}",
        amount(sum(o.nbytes for o in good), "B"),
        duration(max((o.longest for o in good), default=0)),
        duration(sum(o.seconds for o in done if not o.kept)),
    )
    head = ("spec", "states", "rows", "bytes", "longest mask", "time")
    terminal.result(columns([head, *rows, total]))
    if any(not o.complete for o in good):
        terminal.say("+: more are made when needed")
    if len(good) < len(done):
        terminal.say(f"{amount(len(done) - len(good), 'spec')} of {len(done)} failed")
