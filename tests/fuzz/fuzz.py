"""Judge random schemas and values by the thousand, and print a summary.

    python -m tests.fuzz.fuzz --pairs 100000 --seed 1 --processes 2

Each schema comes with values built along it, the same with one thing changed, values that a random
walk wrote, and for some those that hypothesis-jsonschema draws. Exit status 1 if the constraint and
the jsonschema library ever disagree, a place is stuck, or a schema makes it hang or crash.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from structgen.errors import StructgenError
from tests.fuzz.judge import (
    LAYOUTS,
    VERDICTS,
    Fault,
    Report,
    compare,
    compiled,
    guarded,
    legal,
    smaller,
    texts_of,
    walk,
    warm_up,
)
from tests.helpers.oracle import json_decider
from tests.helpers.schemas import loops, random_schema
from tests.helpers.values import Guide, mutated

DRAFTS = [4, 6, 7, 2019, 2020, 2020]
TRIES = 3  # schemas drawn until one has a valid value at hand
SHOWN = 4  # different reproducers of each kind
REDUCED = 12  # faults of each kind that are made smaller
WRONG = ("accepted invalid", "rejected valid", "called unsatisfiable", "dead end", "hang", "crash",
         "declared order loses a value", "mask is not advance", "completion not accepted",
         "walk ends invalid", "completion too long",
         "completion does not say where the text may end")  # fmt: skip


def one(seed: str) -> Report:
    """Judge one generated schema."""
    rng = Random(seed)
    formats = rng.random() < 0.15
    for _ in range(TRIES):
        schema = random_schema(rng, rng.choice(DRAFTS), formats=formats)
        if not legal(schema):
            return Report(faults=[Fault("generator wrote no schema", schema)])
        if loops(schema):
            return _loop(schema)
        decide = json_decider(schema, formats=formats)
        guide = Guide(schema, rng)
        values = [guide.value() for _ in range(8)]
        values += [mutated(value, rng) for value in values]
        texts = texts_of(values, rng)
        try:
            if any(map(decide, texts)):
                break
        except Exception as error:  # noqa: BLE001  the oracle's fault, to be looked at
            return Report(faults=[Fault("oracle failed", schema, detail=repr(error)[:200])])
    report = Report()
    if rng.random() < 0.05:
        more = drawn(schema, rng)
        report.counts["pairs by hypothesis-jsonschema"] += len(more)
        texts += texts_of(more, rng)
    report.add(guarded(schema, lambda: compare(schema, texts, formats, rng)))
    if not any(fault.kind in {"hang", "crash"} for fault in report.faults):
        layout = rng.choice(LAYOUTS)
        report.add(guarded(schema, lambda: walk(schema, layout, decide, rng, formats=formats)))
    return report


def _loop(schema: Any) -> Report:
    """A schema with a loop of references is refused by its name, or compiled all the same."""

    def work() -> Report:
        report = Report()
        try:
            compiled(schema, LAYOUTS[0])
            report.counts["loops out of reach"] += 1
        except StructgenError as error:
            report.counts[f"loops refused: {error.kind}"] += 1
        return report

    return guarded(schema, work)


def drawn(schema: Any, rng: Random) -> list[Any]:
    """Values that hypothesis-jsonschema draws; none where it does not know how."""
    import warnings

    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis_jsonschema import from_schema

    found: list[Any] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")

            @seed(rng.randrange(2**32))
            @settings(
                max_examples=8,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(from_schema(deepcopy(schema)))  # it resolves references in place
            def draw(value: Any) -> None:
                json.dumps(value, ensure_ascii=False).encode()  # no unpaired surrogates
                found.append(value)

            draw()
    except Exception:  # noqa: BLE001  it fails in many ways on schemas that it does not know
        return found
    return found


def real(seed: str, cases: list[dict[str, Any]]) -> Report:
    """Walk over one real schema."""
    rng = Random(seed)
    case = rng.choice(cases)
    schema = case["schema"]
    report = Report()

    def work() -> Report:
        decide = json_decider(schema)
        return walk(schema, rng.choice(LAYOUTS), decide, rng, steps=120)

    found = guarded(schema, work)
    for fault in found.faults:
        fault.detail = f"{case['id']} {fault.detail}"
        if fault.kind == "crash" and any(
            w in fault.detail for w in ("re.error", "error: ", "Referencing")
        ):
            report.counts["real schemas that the oracle cannot judge"] += 1
        else:
            report.faults.append(fault)
    report.counts.update({f"real {name}": n for name, n in found.counts.items()})
    return report


def maskbench() -> list[dict[str, Any]]:
    """The real schemas, none where there is no folder with them."""
    home = os.environ.get("STRUCTGEN_DATA", "../shared/data")
    path = Path(home) / "maskbench" / "maskbench-dev.jsonl.gz"
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def campaign(args: argparse.Namespace) -> Iterator[Report]:
    """Reports, schema by schema, from all processes, until there are enough pairs."""
    cases = maskbench() if args.real else []
    seeds = (f"{args.seed}:{i}" for i in range(10**9))
    with multiprocessing.Pool(args.processes, warm_up, maxtasksperchild=200) as pool:
        if cases:
            names = [f"real {args.seed}:{i}" for i in range(args.real)]
            yield from pool.imap_unordered(partial(real, cases=cases), names, chunksize=4)
        pairs = 0
        while pairs < args.pairs:
            batch = [next(seeds) for _ in range(min(400, 1 + (args.pairs - pairs) // 16))]
            for report in pool.imap_unordered(one, batch, chunksize=4):
                pairs += report.counts["pairs"]
                yield report


def main() -> int:
    """Run; print the summary; say by the exit status whether anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.fuzz", description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000, help="schemas with values to judge")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--real", type=int, default=0, help="walks over MaskBench's schemas")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    args = parser.parse_args()
    total, started = Report(), time.monotonic()
    by_kind: dict[str, list[Fault]] = {}
    shown: dict[str, set[str]] = {}
    for report in campaign(args):
        total.add(report)
        for fault in report.faults:
            by_kind.setdefault(fault.kind, []).append(fault)
            known = shown.setdefault(fault.kind, set())
            if fault.kind in WRONG and len(by_kind[fault.kind]) <= REDUCED and len(known) < SHOWN:
                if fault.kind not in VERDICTS:
                    show(fault)  # the smaller one may have another cause
                small = fault if fault.kind == "hang" else smaller(fault)
                if _name(small) not in known:
                    known.add(_name(small))
                    show(small)
        if time.monotonic() - started > args.seconds:
            break
    say(f"\n{time.monotonic() - started:.0f} s, seed {args.seed}")
    for name, count in sorted(total.counts.items()):
        say(f"{count:9,}  {name}")
    pairs = max(total.counts["pairs"], 1)
    say(f"{total.counts['valid'] / pairs:9.1%}  of the pairs are valid")
    for kind, faults in sorted(by_kind.items()):
        say(f"{len(faults):9,}  FAULT: {kind}")
        if kind not in WRONG:
            for fault in sorted(faults, key=_size)[:SHOWN]:
                show(fault)
    return int(any(kind in WRONG for kind in by_kind))


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _name(fault: Fault) -> str:
    schema = fault.schema
    plain = {k: v for k, v in schema.items() if k != "$schema"} if isinstance(schema, dict) else ""
    return json.dumps(plain, sort_keys=True)


def _size(fault: Fault) -> int:
    return len(json.dumps(fault.schema))


def show(fault: Fault) -> None:
    """Print a reproducer."""
    say(f"--- {fault.kind} {fault.layout}: {fault.detail}")
    say(f"    schema {json.dumps(fault.schema, ensure_ascii=False)[:1500]}")
    say(f"    text   {fault.text!r}")


if __name__ == "__main__":
    sys.exit(main())
