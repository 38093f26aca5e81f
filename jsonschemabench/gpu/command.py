"""The command `device`: masking and drawing where the logits are, timed beside a model's step.

    python -m jsonschemabench device
    python -m jsonschemabench device --batches 1,32,256 --dtype bfloat16 --out device.json

Rows are on the device already, as after the first steps of a text; a step sends row numbers. With a
GPU the times include all of Python and end when the GPU has finished. They are taken alone, and
behind a decode step of an 8B-shaped model with random weights: what the GPU then has to do, the
host having prepared it meanwhile, and how long it takes until the tokens are on the host. Without a
GPU the torch path is measured on the CPU, and there is no model.
"""

from __future__ import annotations

import argparse
import json
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from jsonschemabench.errors import BenchError
from structgen.util.tables import markdown

PACKAGES = ("torch", "triton", "xgrammar")
MODEL_STEPS = 30


def add_parser(commands: Any) -> None:
    """Add the command `device`."""
    parser = commands.add_parser(
        "device",
        help="measure masks and sampling where the logits are",
        description="Time a step of masking and drawing, by batch size, on a GPU if there is one; "
        "beside xgrammar's kernel and a decode step of an 8B-shaped model.",
    )
    parser.add_argument("--batches", default="1,32,256", metavar="N,...", help="sequences at once")
    parser.add_argument("--vocab-size", type=int, default=128256, metavar="V")
    parser.add_argument("--dtype", choices=("float32", "float16", "bfloat16"), default="float32")
    parser.add_argument("--context", type=int, default=1024, metavar="N", help="of the model")
    parser.add_argument("--steps", type=int, default=200, metavar="N", help="steps to take")
    parser.add_argument("--no-model", action="store_true", help="leave the decode step out")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the figures as JSON, too")


def run(args: argparse.Namespace) -> int:
    """Measure, then print a table for each batch size."""
    import torch

    try:
        batches = [int(part) for part in args.batches.split(",")]
    except ValueError:
        batches = []
    if not batches or min(*batches, args.vocab_size, args.steps, args.context) < 1:
        raise BenchError("a size is not a positive number", expected="such as --batches 1,32,256")
    cuda = torch.cuda.is_available()
    found = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": torch.cuda.get_device_name() if cuda else platform.processor() or "CPU",
        "versions": {name: _version(name) for name in PACKAGES},
        "options": {"vocab_size": args.vocab_size, "dtype": args.dtype, "context": args.context},
        "batches": [_measure(args, batch, cuda) for batch in batches],
    }
    if not cuda:
        print("There is no GPU here: this is the torch path on the CPU, and no model beside it.\n")
    print(_tables(found))
    if args.out is not None:
        args.out.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _measure(args: argparse.Namespace, batch: int, cuda: bool) -> dict[str, Any]:
    """The figures of one batch size: times in microseconds, quantiles of the steps."""
    import torch

    from jsonschemabench.gpu import steps

    where, dtype = "cuda" if cuda else "cpu", getattr(torch, args.dtype)
    torch.manual_seed(0)
    pool = steps.Pool(args.vocab_size)
    logits = (torch.randn(batch, args.vocab_size) * 3).to(where, dtype)
    rng = np.random.default_rng(batch)
    states = rng.integers(steps.POOL, size=(64, batch))
    found: dict[str, Any] = {"batch": batch, "ways": {}, "model": None}
    ways = steps.ways(pool, logits, logits.clone(), states)
    for name, way in ways.items():
        times = steps.microseconds(way.step, args.steps, cuda=cuda)
        p50, p99 = np.quantile(times, [0.5, 0.99])
        found["ways"][name] = {"p50": float(p50), "p99": float(p99), "mean": float(times.mean())}
    if cuda and not args.no_model:
        _beside_model(args, found, ways)
    return found


def _beside_model(args: argparse.Namespace, found: dict[str, Any], ways: dict[str, Any]) -> None:
    """Add a decode step's time, unless it does not fit into the GPU, and what ways add to it."""
    import torch

    from jsonschemabench.gpu.model import DecodeStep, Shape
    from jsonschemabench.gpu.steps import microseconds, microseconds_behind

    try:
        shape = Shape(vocab=args.vocab_size)
        model = DecodeStep(shape, found["batch"], args.context, "cuda", torch.bfloat16).captured()
        alone = microseconds(lambda _: model(), MODEL_STEPS, cuda=True)
        for name, way in ways.items():
            times = found["ways"][name]
            times["gpu"] = microseconds_behind(model, way.launch, MODEL_STEPS)
            times["host"] = microseconds_behind(model, way.step, MODEL_STEPS)
        found["model"] = float(np.median(alone))  # all is known now
    except torch.cuda.OutOfMemoryError:
        pass
    finally:
        torch.cuda.empty_cache()


def _tables(found: dict[str, Any]) -> str:
    """The figures as Markdown."""
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    options = found["options"]
    head = (
        f"{found['device']}, {found['date'][:10]}, {versions}; {options['dtype']} logits, "
        f"{options['vocab_size']:,} tokens; µs a step"
    )
    lines = [head]
    for part in found["batches"]:
        model = part["model"]
        lines += ["", f"batch {part['batch']}" + _beside(model, options["context"]), ""]
        heads = ["", "p50", "p99", "mean", "GPU behind the model", "of its step"]
        rows = []
        for name, times in part["ways"].items():
            behind = ["", "", ""]
            if model is not None:
                share = f"{100 * times['gpu'] / model:.2f} %"
                behind = [f"{times['gpu']:.1f}", share, f"{times['host']:.1f}"]
            rows.append([name, *(f"{times[key]:.1f}" for key in ("p50", "p99", "mean")), *behind])
        lines.append(markdown([*heads, "until on the host"], rows))
    return "\n".join(lines)


def _beside(model: float | None, context: int) -> str:
    if model is None:
        return ""
    return f"; a decode step of an 8B-shaped model at {context:,} tokens takes {model:,.0f} µs"
