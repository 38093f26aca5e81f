"""In: MaskBench cases and a tokenizer file. Out: outcomes per schema, and times per mask and token.

Each case is compiled with any order and any white space; each instance is fed token by token, mask
and step, twice: "first use" meets states nobody has asked for, "seen before" repeats them. A case
passes when every instance is accepted or refused as it should be, end of text included.

    python -m jsonschemabench.masks --cases maskbench-dev.jsonl.gz --tokenizer llama3.tiktoken
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import structgen as sg

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.99, 0.999)


def main() -> None:
    """Run the cases and print the tables."""
    parser = argparse.ArgumentParser(description="Outcomes and mask times on MaskBench cases.")
    parser.add_argument("--cases", required=True, type=Path, help="a .jsonl.gz file of cases")
    parser.add_argument("--tokenizer", required=True, type=Path, help="a .tiktoken file")
    parser.add_argument("--every", type=int, default=1, help="take each N-th case only")
    parser.add_argument("--failures", action="store_true", help="list the cases that do not pass")
    args = parser.parse_args()
    vocabulary = load_vocabulary(args.tokenizer)
    seconds = {"import and kernels": sg_ready()}
    outcomes: Counter[str] = Counter()
    times: dict[str, list[float]] = {"first mask": [], "first use": [], "seen before": []}
    for case in cases(args.cases, args.every):
        outcome = run(case, vocabulary, times)
        outcomes[outcome] += 1
        if args.failures and outcome != "pass":
            print(f"{outcome:16} {case['id']}")
    report(outcomes, times, vocabulary, seconds)


def sg_ready() -> float:
    """Seconds until the kernels are there, compiled or from the cache."""
    from structgen import jit

    return jit.warmup()


def load_vocabulary(path: Path) -> sg.Vocabulary:
    """The vocabulary of a tiktoken file, with one end token behind the ranks."""
    end = sum(1 for line in path.read_bytes().splitlines() if line)
    return sg.Vocabulary.from_tiktoken(
        path, pattern=PATTERN, special_tokens={"<|end|>": end}, eos_ids=[end]
    )


def cases(path: Path, every: int) -> Iterator[dict[str, Any]]:
    """The cases of a file, each N-th."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number % every == 0:
                yield json.loads(line)


def run(case: dict[str, Any], vocabulary: sg.Vocabulary, times: dict[str, list[float]]) -> str:
    """The outcome of one case; its times are added to `times` (seconds)."""
    row = np.zeros(vocabulary.words, np.int32)
    start = time.perf_counter()
    try:
        spec = sg.JsonSchema(case["schema"], property_order="any", whitespace="any")
        constraint = sg.compile(spec, vocabulary)
        constraint.fill_mask(constraint.start, row)
    except sg.errors.StructgenError as error:
        return error.kind
    times["first mask"].append(time.perf_counter() - start)
    outcome = "pass"
    for use in ("first use", "seen before"):
        for test in case["tests"]:
            text = json.dumps(test["data"], ensure_ascii=False)
            accepted = feed(constraint, vocabulary.encode(text), row, times[use])
            if accepted != test["valid"]:
                outcome = "accepted invalid" if accepted else "refused valid"
    return outcome


def feed(constraint: sg.Constraint, ids: Any, row: Any, times: list[float]) -> bool:
    """Whether the tokens are allowed one by one and the text may end behind them."""
    state = constraint.start
    for token in [*ids, *constraint.vocabulary.eos_ids]:
        start = time.perf_counter()
        constraint.fill_mask(state, row)
        state = constraint.advance(state, token)
        times.append(time.perf_counter() - start)
        allowed = bool(int(row[token >> 5]) >> (token & 31) & 1)
        if allowed != (state != sg.DEAD):
            raise SystemExit(f"mask and advance disagree on token {token}")
        if not allowed:
            return False
    return True


def report(
    outcomes: Counter[str],
    times: dict[str, list[float]],
    vocabulary: sg.Vocabulary,
    seconds: dict[str, float],
) -> None:
    """Print outcomes and quantiles as Markdown."""
    total = sum(outcomes.values())
    print(
        f"\n{date.today()}, structgen {sg.__version__}, {os.cpu_count()} cores, "  # noqa: DTZ011
        f"Python {platform.python_version()}, vocabulary of {vocabulary.size}; "
        + ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())
    )
    print("\n| outcome | schemas | share |\n|---|---|---|")
    for outcome, count in outcomes.most_common():
        print(f"| {outcome} | {count} | {count / total:.1%} |")
    heads = " | ".join(f"p{100 * q:g}" for q in QUANTILES)
    print(f"\n| time, µs | {heads} | max | mean |\n|{'---|' * (len(QUANTILES) + 3)}")
    for name, values in times.items():
        if values:
            found = [*np.quantile(values, QUANTILES), max(values), float(np.mean(values))]
            print(f"| {name} | " + " | ".join(f"{1e6 * v:.1f}" for v in found) + " |")


if __name__ == "__main__":
    main()
