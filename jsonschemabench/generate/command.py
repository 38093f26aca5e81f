"""The command `generate`: coverage, efficiency and quality of each engine with a model, end to end.

These are the three questions of the JSONSchemaBench paper. All engines run in one decode loop
around one model, which lives in a child process; results go to a file as they come, and the same
command goes on where an interrupted one stopped.

    python -m jsonschemabench generate --quick
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from tqdm import tqdm

from jsonschemabench.data import datasets
from jsonschemabench.engines import ENGINES, available
from jsonschemabench.errors import BenchError, WorkerDiedError
from jsonschemabench.generate import judge as generate_judge
from jsonschemabench.generate.engines import engine_class
from jsonschemabench.generate.record import record_of
from jsonschemabench.generate.samplers import SAMPLERS, UNCONSTRAINED, arms, label
from jsonschemabench.generate.tables import tables
from jsonschemabench.generate.tasks import Task, demo_tasks, file_tasks, schema_tasks
from jsonschemabench.generate.worker import Describe, Generate, Prepare, Setup, start
from jsonschemabench.masks.command import engine_names
from jsonschemabench.running.results import Writer, header
from jsonschemabench.running.runner import say_left_out
from jsonschemabench.running.workers import Limits, Worker

JUDGE_SECONDS = 20.0
OVERTIME = 5.0  # seconds after the time limit in which a text may still end by itself

#: What --quick changes where the options say nothing else, and what holds without it.
QUICK = {"max_schemas": 12, "demo_tasks": 8, "max_tokens": 128, "time_limit": 10.0}
FULL = {"max_schemas": None, "demo_tasks": 50, "max_tokens": 512, "time_limit": 120.0}


def add_parser(commands: Any) -> None:
    """Add the command `generate`."""
    parser = commands.add_parser(
        "generate",
        help="measure generation with a model, end to end",
        description="Let a model write text under several engines for constrained decoding, and "
        "without. Prints tables of coverage, efficiency and quality, and writes every record to "
        "--out.",
    )
    _add_work(parser.add_argument_group("work"))
    _add_model(parser.add_argument_group("model"))
    _add_run(parser.add_argument_group("run"))


def _add_model(group: Any) -> None:
    group.add_argument(
        "--model", metavar="PATH", help="folder or Hub name of a transformers model (default: demo)"
    )
    group.add_argument("--device", help="such as cpu or cuda:0 (default: a GPU if there is one)")
    group.add_argument(
        "--dtype", help="such as bfloat16 (default: as saved; the demo model in float32)"
    )
    group.add_argument(
        "--threads",
        type=_count,
        metavar="N",
        help="threads of the model on a CPU (default: as torch chooses; 1 for the demo model)",
    )
    group.add_argument(
        "--max-tokens",
        type=_count,
        metavar="N",
        help="most tokens of a text; one that has not ended by then is incomplete (default: 512)",
    )
    group.add_argument(
        "--temperature", type=float, default=0.0, metavar="T", help="default: 0, which is greedy"
    )
    group.add_argument(
        "--seed",
        type=int,
        default=7,
        metavar="N",
        help="of sampling and of the demo tasks (default: 7, as in the demo's evaluation)",
    )


def _add_run(group: Any) -> None:
    group.add_argument(
        "--engines",
        default="all",
        metavar="NAMES",
        help=f"of {', '.join(ENGINES)}, with commas between (default: all)",
    )
    group.add_argument(
        "--samplers",
        default=",".join(SAMPLERS),
        metavar="NAMES",
        help="arms of the question of quality, with commas between (default: %(default)s)",
    )
    group.add_argument("--quick", action="store_true", help="a run of about a minute")
    group.add_argument("--out", type=Path, default=Path("generate.jsonl"), metavar="FILE")
    group.add_argument("--fresh", action="store_true", help="begin anew where --out holds a run")
    group.add_argument(
        "--time-limit", type=float, metavar="S", help="seconds for one text (default: 120)"
    )
    group.add_argument(
        "--memory-limit",
        type=float,
        metavar="GIB",
        help="memory of the process with the model (default: nine tenths of the machine's)",
    )


def _add_work(group: Any) -> None:
    group.add_argument(
        "--schemas",
        metavar="SOURCE",
        help="a folder of .json files, a MaskBench pack (.jsonl.gz), or a dataset in the Hub's "
        f"layout: {datasets.HUB_NAME}, or the folder of a copy",
    )
    group.add_argument(
        "--subset", action="append", default=[], metavar="NAME", help="only this one; repeatable"
    )
    group.add_argument("--split", default="all", help="train, val, test or all (default: all)")
    group.add_argument(
        "--max-schemas", type=_count, metavar="N", help="N of them, at equal distances"
    )
    group.add_argument(
        "--tasks",
        type=Path,
        metavar="FILE",
        help='questions with known answers: JSON Lines of {"prompt", "schema", "answer"}',
    )
    group.add_argument(
        "--demo-tasks",
        type=int,
        metavar="N",
        help="questions that the project makes itself (default: 50, or none with --tasks)",
    )


@dataclass(frozen=True)
class Plan:
    """What a run is to do; `left_out` has a line for each thing that it cannot."""

    tasks: list[Task]
    engines: list[str]
    samplers: list[str]
    setup: Setup
    limits: Limits
    left_out: list[str]


def run(args: argparse.Namespace) -> int:
    """Measure, then print the tables and what was left out."""
    plan = _plan(args)
    with Worker(start, (plan.setup,), plan.limits) as bench:
        begun = _header(args, plan, bench)
        with Writer(args.out, begun, fresh=args.fresh) as writer:
            plan.left_out.extend(writer.damaged)
            if writer.done:
                print(f"{args.out}: going on behind {len(writer.done)} records", file=sys.stderr)
            try:
                records = [*writer.previous, *measured(plan, bench, writer)]
            except KeyboardInterrupt:
                print(f"stopped; the same command goes on from {args.out}", file=sys.stderr)
                raise
    print(tables(writer.header, records))
    say_left_out(plan.left_out)
    return 0


def measured(plan: Plan, bench: Worker, writer: Writer) -> Iterator[dict[str, Any]]:
    """The new records, each written as it comes."""
    turns = arms(plan.engines, plan.samplers)
    limits = Limits(seconds=JUDGE_SECONDS, memory=plan.limits.memory)
    interval = 0.1 if sys.stderr.isatty() else 30.0  # seconds: a log needs few lines
    bar = tqdm(plan.tasks, unit="task", mininterval=interval, file=sys.stderr, dynamic_ncols=True)
    with Worker(generate_judge.start, (), limits) as judge:
        for number, task in enumerate(bar):
            first = number % len(turns)  # nobody is always the one who finds the caches cold
            for engine, sampler in turns[first:] + turns[:first]:
                name = label(engine, sampler)
                if (task.id, name) in writer.done:
                    continue
                bar.set_postfix_str(f"{name} {task.id[-24:]}", refresh=False)
                try:
                    found = bench.call(Generate(task, number, engine, sampler))
                except WorkerDiedError as error:
                    found = {"died": {"reason": error.reason, "message": str(error)}}
                record = record_of(task, name, sampler, found, judge.call)
                writer.write(record)
                yield record


def _plan(args: argparse.Namespace) -> Plan:
    """The options, complete and checked."""
    from structgen import demo

    shipped = {demo.model_path().resolve(), demo.draft_path().resolve()}
    for name, value in (QUICK if args.quick else FULL).items():
        if getattr(args, name) is None:
            setattr(args, name, 0 if name == "demo_tasks" and args.tasks else value)
    model = args.model or str(demo.model_path())
    small = Path(model).resolve() in shipped  # one thread is the fastest for so small a model
    samplers = [name.strip() for name in args.samplers.split(",") if name.strip()]
    for name in samplers:
        if name not in SAMPLERS:
            raise BenchError(f"there is no sampler {name!r}", expected=", ".join(SAMPLERS))
    if not samplers:
        raise BenchError("no sampler is named", expected=", ".join(SAMPLERS))
    found, left_out = available(engine_names(args.engines))
    tasks, missing = _tasks(args)
    memory = args.memory_limit * 2**30 if args.memory_limit else 0.9 * psutil.virtual_memory().total
    return Plan(
        tasks=tasks,
        engines=list(found),
        samplers=samplers,
        setup=Setup(
            model=model,
            device=args.device,
            dtype=args.dtype or ("float32" if small else None),
            threads=args.threads or (1 if small else None),
            style="demo" if small else "schema",
            max_tokens=args.max_tokens,
            temperature=args.temperature,
            seed=args.seed,
            seconds=args.time_limit,
        ),
        limits=Limits(seconds=args.time_limit + OVERTIME, memory=int(memory), start_seconds=1800),
        left_out=left_out + missing,
    )


def _tasks(args: argparse.Namespace) -> tuple[list[Task], list[str]]:
    """The tasks, each id once, and lines for what is none."""
    tasks: list[Task] = []
    left_out: list[str] = []
    if args.schemas is not None:
        schemas = datasets.load(args.schemas, args.subset, args.split)
        tasks += schema_tasks(schemas.found, args.max_schemas)
        left_out += schemas.left_out
    if args.tasks is not None:
        found, missing = file_tasks(args.tasks)
        tasks += found
        left_out += missing
    tasks += demo_tasks(args.demo_tasks, args.seed)
    once: dict[str, Task] = {}
    for task in tasks:
        if task.id in once:
            left_out.append(f"{task.id}: the id was there before")
        once.setdefault(task.id, task)
    if not once:
        raise BenchError("there is nothing to do", expected="--schemas, --tasks or --demo-tasks")
    return list(once.values()), left_out


def _header(args: argparse.Namespace, plan: Plan, bench: Worker) -> dict[str, Any]:
    """Load the model, make the engines ready, and write down what there is.

    An engine that does not start is dropped from the plan.
    """
    print(f"loading {plan.setup.model}", file=sys.stderr)
    try:
        loaded = bench.call(Describe())
    except WorkerDiedError as error:
        raise BenchError(str(error), hint="see --model") from None
    for name in list(plan.engines):
        try:
            bench.call(Prepare(name))
        except WorkerDiedError as error:
            plan.engines.remove(name)
            plan.left_out.append(f"{name}, which does not start ({error.reason}): {error}")
    if not arms(plan.engines, plan.samplers):
        raise BenchError("no engine starts: " + "; ".join(plan.left_out))
    options = {
        "model": args.model or "the shipped demo model",
        **loaded["model"],
        **{name: getattr(args, name) for name in ("schemas", "subset", "split", "max_schemas")},
        "tasks": str(args.tasks) if args.tasks else None,
        "samplers": plan.samplers,
        **{name: getattr(args, name) for name in ("demo_tasks", *_SAMPLING, "time_limit")},
    }
    used = {name: engine_class(name) for name in plan.engines}
    begun = header("generate", used, None, options)
    begun["vocabulary"] = loaded["vocabulary"]
    if "off" in plan.samplers:
        begun["engines"][UNCONSTRAINED] = {"version": "", "settings": {}}
    return begun


_SAMPLING = ("max_tokens", "temperature", "seed")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number
