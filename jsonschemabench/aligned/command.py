"""The command `aligned`: how near samplers come to the model's own distribution of texts that fit.

First on a grammar of seventeen strings, where everything is known exactly; then on the demo model,
with tasks on which masking goes wrong, at equal calls of the model and at equal time.

    structgen bench aligned --quick --json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from typing import Any

from tqdm import tqdm

from jsonschemabench.aligned.runs import (
    ARMS,
    MAX_TOKENS,
    Budget,
    Reference,
    Run,
    reference,
    run_arm,
)
from jsonschemabench.aligned.tables import (
    NOTES,
    checks_table,
    reference_lines,
    task_table,
    toy_table,
)
from jsonschemabench.aligned.tasks import tasks
from jsonschemabench.aligned.toy import SAMPLES, distances
from structgen.generation.generator import Generator
from structgen.generation.settings import Options

CHECKED = 8  # extraction tasks on which the checks of AWRS are counted
DRAWS = 4  # of each task, for that


def add_parser(commands: Any) -> None:
    """Add the command `aligned`."""
    parser = commands.add_parser(
        "aligned",
        help="measure samplers of the model's own distribution",
        description="Compare masking with samplers that correct it: on a grammar whose exact "
        "distribution is known, and on the shipped demo model with tasks where masking goes wrong.",
    )
    parser.add_argument(
        "--quick", action="store_true", help="only the grammar and the checks of AWRS"
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object")
    parser.add_argument(
        "--tasks", type=int, default=3, metavar="N", help="of each family (default: 3)"
    )
    parser.add_argument(
        "--runs", type=int, default=1, metavar="N", help="of each arm per task (default: 1)"
    )
    parser.add_argument(
        "--rows", type=int, default=150, metavar="N", help="prefixes per run (default: 150)"
    )
    parser.add_argument(
        "--seconds", type=float, default=1.0, metavar="S", help="seconds per run (default: 1)"
    )
    parser.add_argument(
        "--samplers",
        default=",".join(ARMS),
        metavar="NAMES",
        help="with commas between (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="default: 7")


def run(args: argparse.Namespace) -> int:
    """Measure, then print tables or JSON."""
    found = distances(args.seed)
    generator = _demo_model()
    checks = checks_per_token(generator, args.seed)
    report: dict[str, Any] = {
        "kl": {d.sampler: d.kl for d in found},
        "checks_per_token": {
            "awrs": checks[0],
            "vocabulary": generator.vocabulary.size,
            "awrs_on_extraction": checks[1],
        },
        "kl_floor": {d.sampler: d.floor for d in found},
        "kl_by_counting": {d.sampler: d.empirical for d in found},
        "kl_by_counting_floor": 16 / (2 * SAMPLES),
        "samples": SAMPLES,
    }
    parts = [toy_table(found), checks_table(checks, generator.vocabulary.size)]
    if not args.quick:
        more, lines = _on_tasks(generator, args)
        report |= more
        parts += lines
    print(json.dumps(report) if args.json else "\n\n".join(parts))
    return 0


def checks_per_token(generator: Generator, seed: int) -> tuple[float, float]:
    """Tokens that AWRS tests per token it writes: where masking goes wrong, and elsewhere."""
    from structgen.demo.training.evaluate import unseen

    usual = [(e.prompt, e.schema, 200) for e in unseen(CHECKED, seed)]
    hard = [(task.prompt, task.spec, MAX_TOKENS) for task in tasks(1, seed)]
    means = []
    for questions in (hard, usual):
        checks = tokens = 0
        for number, (prompt, spec, most) in enumerate(questions):
            options: Options = {"seed": seed + number, "max_tokens": most}
            samples = generator.sample(prompt, spec, sampler="awrs", n=DRAWS, **options)
            checks += samples.checks
            tokens += sum(len(sample.tokens) for sample in samples)
        means.append(checks / tokens)
    return means[0], means[1]


def _on_tasks(generator: Generator, args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Both comparisons on tasks: as JSON, and as tables."""
    arms = [name.strip() for name in args.samplers.split(",") if name.strip() in ARMS]
    asked = tasks(args.tasks, args.seed)
    budgets = [Budget(rows=args.rows), Budget(seconds=args.seconds)]
    turns = [
        (budget, task, arm, turn)
        for budget in budgets
        for task in asked
        for arm in arms
        for turn in range(args.runs)
    ]
    evidence: dict[str, Reference] = {
        task.name: reference(generator, task, args.seed)
        for task in tqdm(asked, unit="task", desc="evidence", file=sys.stderr)
    }
    done: dict[Budget, list[Run]] = {budget: [] for budget in budgets}
    for budget, task, arm, turn in tqdm(turns, unit="run", file=sys.stderr):
        done[budget].append(run_arm(generator, task, arm, budget, args.seed + turn))
    report = {
        "reference": {name: asdict(found) for name, found in evidence.items()},
        "tasks": [_record(budget, one) for budget in budgets for one in done[budget]],
    }
    tables = [task_table(budget, done[budget], evidence) for budget in budgets]
    return report, [*tables, NOTES, reference_lines(evidence)]


def _record(budget: Budget, done: Run) -> dict[str, Any]:
    last = done.answers[-1] if done.answers else None
    return {
        "budget": asdict(budget),
        "family": done.task.family,
        "task": done.task.name,
        "sampler": done.arm,
        "right": done.right,
        "text": last.text if last else None,
        "logp_model": last.logp_model if last else None,
        "answers": len(done.answers),
        "failures": done.failures,
        "rows": done.rows,
        "seconds": done.seconds,
    }


def _demo_model() -> Generator:
    """The shipped model, in float32 and on one thread, which is the fastest for its size."""
    import torch

    from structgen.demo import model_path

    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    torch.set_num_threads(1)
    return Generator(str(model_path()), dtype="float32")
