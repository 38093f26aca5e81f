"""The command `steps`: what a server does for each token, a batch of requests with a schema each.

    python -m jsonschemabench steps --cases maskbench-dev.jsonl.gz --tokenizer llama3.tiktoken

A step advances every request by its token and fills every mask, as a server does between two
forward passes: structgen by `sg.fill_masks`, llguidance by its parallel executor. All requests have
schemas of their own. The texts are the cases' instances, and the next case follows a request
that has ended, so the batch stays full. The engines take turns, part by part, in one process;
compiling and first masks are not timed. "First use" is the first time that the texts are read,
"again" the second time. Beside the time on the clock stands that of the processors, of all threads
together: other work on the machine changes it little.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import structgen as sg
from jsonschemabench.data import cases, vocab
from jsonschemabench.engines import available, engine_class
from jsonschemabench.engines.engine import JSON_SCHEMA, Engine, Refused, Spec
from jsonschemabench.errors import BenchError
from jsonschemabench.masks.command import engine_names
from jsonschemabench.running.runner import say_left_out
from structgen.util.tables import markdown

DEFAULT_ENGINES = "structgen,llguidance"
#: Advances requests by tokens, then fills their rows: (request number, its token or None) each.
Step = Callable[[Sequence[tuple[int, int | None]], npt.NDArray[np.int32]], None]


class Request(NamedTuple):
    """A schema and the tokens of one text that fits it."""

    spec: Spec
    tokens: list[int]


def add_parser(commands: Any) -> None:
    """Add the command `steps`."""
    parser = commands.add_parser(
        "steps",
        help="measure a server's step: many requests, each with its own schema, masked at once",
        description="Advance and mask a batch of requests with a schema each, step by step.",
    )
    parser.add_argument("--cases", type=Path, required=True, metavar="PACK", help="a .jsonl[.gz]")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th case only")
    parser.add_argument("--limit", type=int, metavar="N", help="N cases at most")
    parser.add_argument("--batch", type=int, default=64, metavar="N", help="requests at a time")
    parser.add_argument("--rounds", type=int, default=4, metavar="N", help="parts of the cases")
    parser.add_argument("--engines", default=DEFAULT_ENGINES, metavar="NAMES")
    vocab.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, and print a table."""
    known = {"structgen": structgen_step, "llguidance": llguidance_step}
    engines, left_out = available([n for n in engine_names(args.engines) if n in known])
    vocabulary = vocab.load(args)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
        # in a process of its own, so that nothing is known of the schemas here
        requests, skipped = other.submit(fitting, list(engines), args).result()
    prepared = {name: engine() for name, engine in engines.items()}
    for one in prepared.values():
        one.prepare(vocabulary)
    if len(requests) < args.batch or args.batch < 1:
        raise BenchError(f"{len(requests)} cases fit all engines", expected=f"{args.batch} or more")
    times: dict[tuple[str, str], list[tuple[int, int]]] = {}
    share = max(args.batch, -(-len(requests) // max(1, args.rounds)))
    for turn, first in enumerate(range(0, len(requests), share)):
        part = requests[first : first + share]
        names = list(engines)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            step = known[name](prepared[name], part)
            for use in ("first use", "again"):
                took = replay(step, part, args.batch, vocabulary.words)
                times.setdefault((use, name), []).extend(took)
    print(
        f"{len(requests)} requests, {args.batch} at a time, {vocabulary.size:,} tokens; ms a step\n"
    )
    rows = []
    for (use, name), took in sorted(times.items(), reverse=True):
        clock, processors = zip(*took, strict=True)
        found = [statistics.mean(clock), *np.percentile(clock, [50, 99])]
        figures = (f"{ns / 1e6:.3f}" for ns in [*found, statistics.mean(processors)])
        rows.append([use, name, f"{len(took)}", *figures])
    print(markdown(["use", "engine", "steps", "mean", "p50", "p99", "processors, mean"], rows))
    say_left_out(left_out + skipped)
    return 0


def fitting(names: Sequence[str], args: argparse.Namespace) -> tuple[list[Request], list[str]]:
    """The first valid text of each case that all engines take; and what was left out."""
    engines = [engine_class(name)() for name in names]
    vocabulary = vocab.load(args)
    for engine in engines:
        engine.prepare(vocabulary)
    pack = cases.read_pack(args.cases, args.every, args.limit)
    found = []
    for case in pack:
        text = next((one.text for one in case.instances if one.valid), None)
        if JSON_SCHEMA in case.texts and text is not None:
            spec = Spec(JSON_SCHEMA, case.texts[JSON_SCHEMA])
            request = Request(spec, vocab.encode(vocabulary, text))
            if all(_takes(engine, request, vocabulary.words) for engine in engines):
                found.append(request)
    return found, pack.left_out


def _takes(engine: Engine, request: Request, words: int) -> bool:
    """Whether an engine compiles a schema and accepts its text."""
    try:
        matcher = engine.compile(request.spec).start(np.zeros(words, np.int32))
    except Refused:
        return False
    return all(map(matcher.accept, request.tokens))


def replay(
    step: Step, requests: Sequence[Request], batch: int, words: int
) -> list[tuple[int, int]]:
    """Nanoseconds of each step with a full batch, until no request is left to fill it.

    The first are those of the clock, the second those of all processors.

    The first mask of a request is made when it joins, and not timed: servers make it with the
    compilation.
    """
    waiting = iter(range(len(requests)))
    rows = np.zeros((batch, words), np.int32)
    running: list[list[int]] = []  # [request, tokens read]
    times = []
    gc.collect()
    gc.freeze()  # what is there now need not be looked at again in the middle of a step
    while True:
        running = [one for one in running if one[1] < len(requests[one[0]].tokens)]
        for number in itertools.islice(waiting, batch - len(running)):
            step([(number, None)], rows)
            running.append([number, 0])
        if len(running) < batch:
            break
        todo = [(number, requests[number].tokens[at]) for number, at in running]
        begin = time.perf_counter_ns(), time.process_time_ns()
        step(todo, rows)
        end = time.perf_counter_ns(), time.process_time_ns()
        times.append((end[0] - begin[0], end[1] - begin[1]))
        for one in running:
            one[1] += 1
    gc.unfreeze()
    return times


def structgen_step(engine: Any, requests: Sequence[Request]) -> Step:
    """The step with `sg.fill_masks`; a request begins at its constraint's start."""
    constraints = [engine.compile(one.spec).constraint for one in requests]
    states = [one.start for one in constraints]

    def step(todo: Sequence[tuple[int, int | None]], rows: npt.NDArray[np.int32]) -> None:
        for number, token in todo:
            one = constraints[number]
            states[number] = one.start if token is None else one.advance(states[number], token)
        sg.fill_masks([constraints[n] for n, _ in todo], [states[n] for n, _ in todo], rows)

    return step


def llguidance_step(engine: Any, requests: Sequence[Request]) -> Step:
    """The step with llguidance's executor, which advances and fills on all cores."""
    from llguidance import LLExecutor

    executor = LLExecutor()
    matchers = [engine.compile(one.spec).matcher for one in requests]

    def step(todo: Sequence[tuple[int, int | None]], rows: npt.NDArray[np.int32]) -> None:
        advance = [(matchers[n], token) for n, token in todo if token is not None]
        for number, token in todo:
            if token is None:
                matchers[number].reset()
        if advance:
            executor.consume_token_par(advance)
        tasks = [(matchers[n], i) for i, (n, _) in enumerate(todo)]
        executor.unsafe_compute_mask_ptr(tasks, rows.ctypes.data, rows[0].nbytes, len(rows))

    return step
