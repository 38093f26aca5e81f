"""The command `speculate`: how many tokens a forward pass, and how much time, drafters gain.

Masked decoding with the same engine, mask cache, data type, threads and prompts is the denominator
of every ratio. JSON extraction is written by the demo model; SQL, code and prose are recorded texts
(see `jsonschemabench.speculate.tasks`). `--shape` says how large a model's passes are paid for: one
with random weights in bfloat16 reads the same tokens beside the demo model; `demo` is the demo
model alone.

    structgen bench speculate --quick --json

With `--out` runs are kept in a file, to which further commands add theirs; `--report` shows all.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, cast

from jsonschemabench.errors import BenchError
from jsonschemabench.speculate.records import Records, load
from jsonschemabench.speculate.runs import PLAIN, Arms, Run, run_tasks
from jsonschemabench.speculate.tables import Figures, figures, overview, region_table, table
from jsonschemabench.speculate.target import SHAPES, Costly, Scripted, model_of, random_model
from jsonschemabench.speculate.tasks import WORKLOADS, Task, tasks
from structgen.generation.generator import Generator
from structgen.generation.interfaces import Target
from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.policies.costs import CostTable

WARMING = 2  # tasks of each workload that are run before any is measured
QUICK_SECONDS = 38.0  # from the start of the command until the last task ends
QUICK = "json,sql,free"  # workloads
QUICK_TEXT, SHORTEST = 1.5, 24  # seconds that a text may take by plain decoding; tokens at least
REPEATS = 5
CODE_TOKENS = 256
COLD = " (cold)"
#: Options that all runs in a file have in common.
COMMON = ("shape", "threads", "batch", "tasks", "max_tokens", "temperature", "seed", "cases")


def add_parser(commands: Any) -> None:
    """Add the command `speculate`."""
    parser = commands.add_parser(
        "speculate",
        help="measure speculative decoding beside plain masked decoding",
        description="Tokens per forward pass and wall-clock ratio of drafters on JSON, SQL, code "
        "and free text, with plain masked decoding as the denominator.",
    )
    parser.add_argument("--quick", action="store_true", help="only `auto`, in less than 50 s")
    parser.add_argument("--json", action="store_true", help="write one JSON object")
    parser.add_argument("--tasks", type=int, default=6, metavar="N", help="of each workload")
    parser.add_argument("--max-tokens", type=int, default=96, metavar="N", help="of each text")
    parser.add_argument(
        "--shape", choices=tuple(SHAPES), default="30m", help="whose passes are paid for"
    )
    parser.add_argument("--workloads", default=",".join(WORKLOADS), metavar="NAMES")
    parser.add_argument(
        "--drafters",
        default="",
        metavar="NAMES",
        help="as in speculate=, with commas between (default: all that need no other model)",
    )
    parser.add_argument(
        "--cases",
        type=Path,
        metavar="FILE",
        help="MaskBench cases (.jsonl, .jsonl.gz or a folder) for JSON, in place of the demo's",
    )
    parser.add_argument(
        "--seconds", type=float, default=math.inf, metavar="N", help="begin no task that ends later"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="add the runs to a file, but those it has already"
    )
    parser.add_argument("--fresh", action="store_true", help="empty that file first")
    parser.add_argument("--report", action="store_true", help="only show what is in that file")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="texts written at once")
    parser.add_argument("--temperature", type=float, default=0.0, metavar="N")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--seed", type=int, default=7, metavar="N")


def run(args: argparse.Namespace) -> int:
    """Measure, then print tables or JSON."""
    deadline = time.monotonic() + (QUICK_SECONDS if args.quick else args.seconds)
    if args.report and args.out is None:
        raise BenchError("--report without --out", expected="--out with the file to show")
    if args.report:
        _show(args.out)
        return 0
    if args.quick:
        args.tasks, args.workloads = 64, QUICK
    workloads = [name.strip() for name in args.workloads.split(",")]
    for name in workloads:
        if name not in WORKLOADS:
            raise BenchError(f"there is no workload {name!r}", expected=", ".join(WORKLOADS))
    if args.batch < 1:
        raise BenchError(f"--batch is {args.batch}", expected="1 or more")
    count = args.tasks * args.batch + WARMING
    asked = {name: tasks(name, count, args.seed, args.cases) for name in workloads}
    for name, several in asked.items():
        if len(several) < args.batch + WARMING:
            raise BenchError(
                f"there are {len(several)} tasks of {name!r}",
                expected=f"{args.batch + WARMING}, for a batch and for warming up",
                hint="--batch with a smaller number, or other --workloads",
            )
    generator = _generator(args, asked)
    arms = _arms(args, generator)
    costs = _costs(generator, args)
    options = _options(args, workloads, costs)
    records = None
    if args.out is not None:
        common = {name: str(getattr(args, name)) for name in COMMON}
        records = Records(args.out, generator.vocabulary, common, fresh=args.fresh)
    _warm_up(args, generator, asked, arms, options)
    with records or nullcontext():
        runs = _measure(generator, asked, arms, deadline, options, records)
    if not runs:
        _show(args.out)
        return 0
    found = figures(runs, partial(costs.ratio, rows=args.batch), costs.seconds(1, args.batch))
    _report(args, found, costs, runs)
    if records is not None and not args.json:
        print("\nAll of the file:\n")
        _show(args.out)
    return 0


def _show(path: Path) -> None:
    """What is in a file, without the columns that need this machine's costs."""
    found = figures(load(path), CostTable().ratio, 0.0)
    print(overview(found))
    print()
    print(region_table(found))


def _options(
    args: argparse.Namespace, workloads: list[str], costs: CostTable
) -> dict[str, dict[str, Any]]:
    """How the texts of each workload are written, and how many at once."""
    lengths = dict.fromkeys(workloads, args.max_tokens)
    if args.quick:  # JSON is written to its end, recorded texts as far as there is time
        short = max(int(QUICK_TEXT / costs.seconds(1)), SHORTEST)
        lengths |= {name: min(args.max_tokens, short) for name in workloads if name != "json"}
    options: dict[str, dict[str, Any]] = {
        name: {
            "temperature": args.temperature,
            "seed": args.seed,
            "max_tokens": length,
            "batch": args.batch,
        }
        for name, length in lengths.items()
    }
    if "code" in options:  # whose texts end by themselves
        options["code"] |= {"max_tokens": CODE_TOKENS, "on_truncation": "raise"}
    return options


def _measure(
    generator: Generator,
    asked: dict[str, list[Task]],
    arms: Arms,
    deadline: float,
    options: dict[str, dict[str, Any]],
    records: Records | None,
) -> list[Run]:
    """The tasks of all workloads in turn, until the deadline."""
    sources = []
    for name, found in asked.items():
        given = options[name]
        if records is not None:
            given = given | {"known": partial(records.has, name, arms=arms)}
        sources.append(run_tasks(generator, found[WARMING:], arms, deadline, **given))
    runs: list[Run] = []
    while sources:
        for source in list(sources):
            some = [one for _, one in zip(arms, source, strict=False)]
            runs += some
            if records is not None:
                for one in some:
                    records.add(one)
            if not some:
                sources.remove(source)
        print(f"\r{len(runs)} runs", end="", file=sys.stderr)
    print(file=sys.stderr)
    return runs


def _arms(args: argparse.Namespace, generator: Generator) -> Arms:
    """Plain decoding, and what each name means; state is kept between tasks, but where cold."""
    from structgen.generation.speculation.names import MODEL_FREE
    from structgen.generation.speculation.speculation import Speculations

    wished = [name.strip() for name in args.drafters.split(",") if name.strip()]
    names = ["auto"] if args.quick else wished or list(MODEL_FREE)
    arms: Arms = {PLAIN: lambda: None}
    kept = Speculations()
    target = model_of(generator.target)
    for name in names:
        arms[name] = partial(kept.of, name, target)
    if not args.quick:
        for name in ("auto", "suffix"):
            if name in names:
                arms[name + COLD] = partial(_fresh, name, target)
    return arms


def _fresh(name: str, target: Target[Any]) -> Any:
    """A speculation that has learned nothing yet."""
    from structgen.generation.speculation.speculation import Speculations

    return Speculations().of(name, target)


def _generator(args: argparse.Namespace, asked: dict[str, list[Task]]) -> Generator:
    """The demo model, on so many threads, made as dear as was asked, with the recorded texts."""
    import torch

    from structgen.demo import model_path

    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    torch.set_num_threads(args.threads)
    generator = Generator(str(model_path()), dtype="float32")
    target: Any = generator.target
    if SHAPES[args.shape] is not None:
        target = Costly(target, random_model(args.shape))
    generator.target = cast(HuggingFaceTarget, Scripted(target, _scripts(generator, asked)))
    return generator


def _scripts(
    generator: Generator, asked: dict[str, list[Task]]
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """The recorded texts as tokens, with an end token, by the prompts' tokens."""
    from structgen.generation.prompts import encode_prompt

    found = {}
    for task in (task for several in asked.values() for task in several if task.text is not None):
        prompt = encode_prompt(generator.tokenizer, task.prompt, generator.chat, None)
        text = generator.tokenizer(task.text, add_special_tokens=False).input_ids
        found[tuple(prompt)] = (*text, generator.vocabulary.eos_ids[0])
    return found


def _warm_up(
    args: argparse.Namespace,
    generator: Generator,
    asked: dict[str, list[Task]],
    arms: Arms,
    options: dict[str, dict[str, Any]],
) -> None:
    """Compile kernels, and let drafters learn from other tasks; in a hurry, from one each."""
    arms = {"auto": arms["auto"]} if args.quick else arms
    count = 1 if args.quick else WARMING
    for name in asked:
        for _ in run_tasks(generator, asked[name][:count], arms, **options[name] | {"batch": 1}):
            pass


def _costs(generator: Generator, args: argparse.Namespace) -> CostTable:
    """What passes of the target cost."""
    costs = CostTable()
    widths = (1, 8, 16) if args.quick else (1, 2, 4, 8, 16, 32)
    repeats = 1 if args.quick or args.batch > 8 else REPEATS
    costs.measure(generator.target, widths, context=200, repeats=repeats, rows=args.batch)
    return costs


def _report(args: argparse.Namespace, found: list[Figures], costs: Any, runs: list[Run]) -> None:
    plain = [run.per_token * 1e3 for run in runs if run.arm == PLAIN]
    drift = max(plain) / min(plain) if plain else 1.0
    ratios = {n: round(ratio, 2) for n, ratio in costs.table(args.batch).items()}
    if args.json:
        report: dict[str, Any] = {
            f.workload: asdict(f) | {"drafter": f.arm}
            for f in found
            if f.arm == ("auto" if args.quick else f.arm) and f.arm != PLAIN
        }
        if not args.quick:
            report = {"arms": [asdict(f) for f in found]}
        report["machine"] = {
            "shape": args.shape,
            "threads": args.threads,
            "t1_milliseconds": costs.seconds(1, args.batch) * 1e3,
            "batch": args.batch,
            "ratios": ratios,
            "plain_drift": drift,
            "load": max(run.load for run in runs),
        }
        print(json.dumps(report))
        return
    print(table(found))
    print()
    print(region_table(found))
    print(
        f"\nshape {args.shape}, {args.threads} threads, {args.batch} texts at once, "
        f"T(1) = {costs.seconds(1, args.batch) * 1e3:.1f} ms, "
        f"T(n)/T(1): {ratios}; plain decoding's time per token varied by a factor of {drift:.1f}, "
        f"load average up to {max(run.load for run in runs):.1f}"
    )
