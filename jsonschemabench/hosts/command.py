"""The command `hosts`: what a host spends on masks, with structgen and with its own engines.

    python -m jsonschemabench hosts vllm --cases maskbench-dev.jsonl.gz --tokenizer llama3.tiktoken
    python -m jsonschemabench hosts sglang --cases maskbench-dev.jsonl.gz --tokenizer demo
    python -m jsonschemabench hosts transformers --cases maskbench-dev.jsonl.gz --tokenizer demo

vllm: its manager of structured outputs accepts the tokens of a batch of requests, each with its own
schema, and makes the masks of the batch, with each of its backends; structgen's takes the place of
"outlines". sglang: the grammars of a batch accept their tokens, and its sampling makes their masks.
transformers: the logits processors of a call of `generate` whose rows share one schema, scores of
float32 included; llguidance's and outlines-core's are those of the package `outlines`, xgrammar's
is its own. Compiling and first masks are not timed. The backends take turns, part by part, in one
process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from jsonschemabench.data import vocab
from jsonschemabench.engines import available
from jsonschemabench.errors import BenchError
from jsonschemabench.hosts import sglang_host, transformers_host, vllm_host
from jsonschemabench.masks.command import engine_names
from jsonschemabench.running.runner import say_left_out
from jsonschemabench.steps import Request, fitting
from structgen.util.tables import markdown

HOSTS = {"vllm": vllm_host, "sglang": sglang_host, "transformers": transformers_host}


def add_parser(commands: Any) -> None:
    """Add the command `hosts`."""
    parser = commands.add_parser(
        "hosts",
        help="measure what a host spends on masks, with structgen and with its own engines",
        description="Replay texts through the masks of a host, a batch at a time.",
    )
    parser.add_argument("host", choices=HOSTS)
    parser.add_argument("--cases", type=Path, required=True, metavar="PACK", help="a .jsonl[.gz]")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th case only")
    parser.add_argument("--limit", type=int, metavar="N", help="N cases at most")
    parser.add_argument("--batches", default="1,16,64", metavar="N,N", help="rows at a time")
    parser.add_argument("--rounds", type=int, default=4, metavar="N", help="parts of the cases")
    parser.add_argument("--engines", default="structgen,llguidance,xgrammar", metavar="NAMES")
    vocab.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, and print a table."""
    host = HOSTS[args.host]
    engines, left_out = available([n for n in engine_names(args.engines) if n in host.ENGINES])
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
        # in a process of its own, so that nothing is known of the schemas here
        requests, skipped = other.submit(_fitting, list(engines), args).result()
    tokenizer, size = vocab.transformers_tokenizer(args)
    backends = {name: host.Backend(name, tokenizer, size) for name in engines}
    rows = []
    batches = [int(batch) for batch in args.batches.split(",")]
    for number, batch in enumerate(batches):
        own = requests[number :: len(batches)]  # which no other batch has made known
        needed = 1 if host.ROWS_SHARE_A_SCHEMA else batch
        if len(own) < needed:
            raise BenchError(
                f"{len(own)} requests for a batch",
                location="--batches",
                expected=f"{needed} or more",
            )
        times: dict[tuple[str, str], list[int]] = {}
        for turn, part in enumerate(_parts(own, max(args.rounds, 1), needed)):
            names = list(engines)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                for use, took in backends[name].replay(part, batch).items():
                    times.setdefault((use, name), []).extend(took)
        for (use, name), took in sorted(times.items(), key=lambda item: item[0], reverse=True):
            found = [statistics.mean(took), *np.percentile(took, [50, 99])]
            figures = [f"{ns / 1e6:.3f}" for ns in found]
            rows.append([str(batch), use, name, f"{len(took):,}", *figures])
    print(f"{args.host}, {len(requests)} requests, {size:,} tokens; ms a step\n")
    print(markdown(["batch", "use", "engine", "steps", "mean", "p50", "p99"], rows))
    say_left_out(left_out + skipped)
    return 0


def _fitting(names: list[str], args: argparse.Namespace) -> tuple[list[Request], list[str]]:
    """Requests whose text all engines accept by themselves and in the host."""
    requests, left_out = fitting(names, args)
    tokenizer, size = vocab.transformers_tokenizer(args)
    backends = [HOSTS[args.host].Backend(name, tokenizer, size) for name in names]
    return [one for one in requests if all(b.takes(one) for b in backends)], left_out


def _parts(requests: list[Request], rounds: int, needed: int) -> list[list[Request]]:
    """The requests in `rounds` parts of so many at least."""
    share = max(needed, -(-len(requests) // rounds))
    parts = [requests[first : first + share] for first in range(0, len(requests), share)]
    return [part for part in parts if len(part) >= needed]
