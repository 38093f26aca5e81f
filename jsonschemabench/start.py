"""The command `start`: how long the first mask takes, in a fresh environment and in a new process.

    python -m jsonschemabench start --tokenizer llama3.tiktoken --engines structgen,llguidance

Each engine makes the first mask of a schema, of a small and of a large grammar, each in a process
of its own, of one machine in one run. A *fresh* environment has the packages, with their compiled
code, and has kept nothing else. A *new* process comes after another one, so what is kept on disk is
there. A *warm* process has compiled the same spec before, and compiles it again.

Times are those of the processor, which other work on the machine disturbs little: from the start
of the engine's import to the mask. No engine multiplies matrices, so the idle threads of numpy's
library, which would be counted while they wait in a loop, are not started. structgen reads its
vocabulary within its time; the others are handed the tokens as structgen's reader has them, and
make their own tokenizer of these.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jsonschemabench.data import vocab
from jsonschemabench.errors import BenchError
from structgen.util.tables import markdown, markdown_line

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}},
    },
    "required": ["name"],
}
SMALL = "arithmetic"  # shipped grammars
LARGE = "sql"
SPECS = {"schema": "", "small grammar": SMALL, "large grammar": LARGE}
STAGES = ("import", "vocabulary", "compile", "mask")
REPEAT = 3
HEADS = (
    "engine", "spec", "fresh, ms", "new process, ms", "of it compile and mask", "warm", "MiB",
)  # fmt: skip


class Measured(NamedTuple):
    """What a process says: seconds of the processor in all, of each stage, and when warm; MiB."""

    total: float
    stages: dict[str, float]
    warm: float
    memory: float


def add_parser(commands: Any) -> None:
    """Add the command `start`."""
    parser = commands.add_parser(
        "start",
        help="measure the first mask: fresh environment, new process, warm process",
        description="Measure the first mask: in a fresh environment, a new and a warm process.",
    )
    parser.add_argument("--engines", default="structgen", metavar="NAMES", help="with commas")
    parser.add_argument(
        "--repeat", type=int, default=REPEAT, metavar="N", help=f"new processes (default {REPEAT})"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write what was measured as JSON")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)  # engine, spec
    vocab.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, and print a table; or be one of the measured processes."""
    if args.child:
        name, spec = args.child
        print(json.dumps(_measured(name, spec, args)._asdict()))
        return 0
    if args.repeat < 1:
        raise BenchError("there is nothing to measure", expected="--repeat 1 or more")
    from jsonschemabench.engines import available
    from jsonschemabench.running.runner import say_left_out

    engines, left_out = available([name.strip() for name in args.engines.split(",")])
    print(markdown(HEADS))
    records = []
    for engine in engines:
        for spec in SPECS:
            with _fresh_environment() as environment:
                found = [_child(engine, spec, args, environment) for _ in range(1 + args.repeat)]
            records.append({"engine": engine, "spec": spec, "processes": found})
            print(_line(engine, spec, found), flush=True)
    if args.out is not None:
        args.out.write_text("".join(json.dumps(record) + "\n" for record in records))
    say_left_out(left_out)
    return 0


def _line(engine: str, spec: str, found: list[dict[str, Any]]) -> str:
    """A row of the table: the first process, and the best of the others, by its time in all."""
    if "refused" in found[0]:
        return markdown_line([engine, spec, found[0]["refused"], "", "", "", ""])
    best = Measured(**min(found[1:], key=lambda each: float(each["total"])))
    late = best.stages["compile"] + best.stages["mask"]
    times = (found[0]["total"], best.total, late, best.warm)
    cells = [f"{1000 * seconds:,.1f}" for seconds in times]
    return markdown_line([engine, spec, *cells, f"{best.memory:,.0f}"])


@contextlib.contextmanager
def _fresh_environment() -> Iterator[dict[str, str]]:
    """An environment in which nothing is kept on disk but compiled code."""
    from structgen.kernels.build.loader import warmup
    from structgen.util.cache_dir import cache_dir

    warmup()
    kept = cache_dir() / "kernels"
    with tempfile.TemporaryDirectory() as folder:
        if kept.is_dir():
            shutil.copytree(kept, Path(folder) / "kernels")
        writes_bytecode = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        places = {"STRUCTGEN_CACHE": folder, "XDG_CACHE_HOME": folder}
        yield writes_bytecode | places | {"OPENBLAS_NUM_THREADS": "1"}


def _child(
    engine: str, spec: str, args: argparse.Namespace, environment: dict[str, str]
) -> dict[str, Any]:
    given = ["--tokenizer", args.tokenizer]
    for name in ("eos", "pattern", "size"):
        if getattr(args, name) is not None:
            given += [f"--{name}", str(getattr(args, name))]
    done = subprocess.run(
        [sys.executable, "-m", "jsonschemabench", "start", "--child", engine, spec, *given],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        last = done.stderr.strip().splitlines() or ["it ended without a word"]
        return {"refused": last[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _measured(name: str, spec: str, args: argparse.Namespace) -> Measured:
    """Make the first mask, and once more the mask of the same spec, compiled again."""
    is_own = name == "structgen"  # imported by now: its time counts from the process's beginning
    vocabulary = None if is_own else vocab.load(args)
    clock = _Clock(0.0 if is_own else time.process_time())
    from jsonschemabench.engines import engine_class

    engine = engine_class(name)()
    __import__(engine.module)
    clock.note("import")
    vocabulary = vocabulary or vocab.load(args)
    engine.prepare(vocabulary)
    clock.note("vocabulary")
    made = _spec(spec, engine.kinds)
    for _ in _first_mask(engine, made, vocabulary.words):
        clock.note("compile")
    clock.note("mask")
    begun = time.process_time()
    for _ in _first_mask(engine, made, vocabulary.words):
        pass
    warm = time.process_time() - begun
    from jsonschemabench.running.workers import PeakMemory

    return Measured(clock.total, clock.stages, warm, PeakMemory().read() / (1 << 20))


class _Clock:
    """Seconds of the processor that each stage took."""

    def __init__(self, begun: float) -> None:
        self._begun = self._last = begun
        self.stages: dict[str, float] = {}

    def note(self, stage: str) -> None:
        """Say that a stage has ended."""
        now = time.process_time()
        self.stages[stage] = now - self._last
        self._last = now

    @property
    def total(self) -> float:
        """Of all stages together."""
        return self._last - self._begun


def _spec(name: str, kinds: tuple[str, ...]) -> Any:
    """What is compiled, in the first dialect that the engine reads."""
    from jsonschemabench.engines.engine import JSON_SCHEMA, LARK, SHIPPED, Spec

    if name == "schema":
        return Spec(JSON_SCHEMA, json.dumps(SCHEMA))
    if SHIPPED in kinds:
        return Spec(SHIPPED, SPECS[name])
    if LARK not in kinds:
        raise BenchError("the engine does not read Lark grammars")
    from jsonschemabench.data.shipped_cases import plain
    from structgen.grammar.shipped import shipped

    return Spec(LARK, plain(shipped(SPECS[name]).grammar), lexing="viable")


def _first_mask(engine: Any, spec: Any, words: int) -> Iterator[None]:
    """Compile, and then make the mask; yields in between."""
    import numpy as np

    row = np.zeros(words, np.int32)
    compiled = engine.compile(spec)
    yield
    compiled.start(row).mask()
    if not row.any():
        raise BenchError("the first mask is empty", location=str(spec.kind))
