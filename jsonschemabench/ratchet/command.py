"""The command `ratchet`: whether any outcome of structgen is worse than the one on record.

Everything that the data folder has is judged byte by byte: the Test Suite with its optional tests
and formats, masks included, and the cases of the MaskBench pack without masks. `--write` records
what was found; it is meant to be used on purpose, after an improvement.

    python -m jsonschemabench ratchet
    python -m jsonschemabench ratchet --write
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from jsonschemabench.data.cases import read_pack
from jsonschemabench.data.folder import data_folder
from jsonschemabench.engines.engine import JSON_SCHEMA, Spec
from jsonschemabench.errors import BenchError, WorkerDiedError
from jsonschemabench.masks.command import add_limits, limits
from jsonschemabench.ratchet import record
from jsonschemabench.ratchet.record import Comparison, Entry, Measured, Ratchet
from jsonschemabench.running.judge import (
    JudgeJob,
    Judgement,
    all_alike,
    byte_tokens,
    byte_vocabulary,
    start,
)
from jsonschemabench.running.outcomes import CRASH, OUTCOMES
from jsonschemabench.running.runner import say_left_out
from jsonschemabench.running.workers import Worker
from jsonschemabench.suite.cases import Suite
from jsonschemabench.suite.command import spec_of

FINE, WORSE = 0, 1  # exit status
ENGINE = "structgen"
PACK = Path("maskbench") / "maskbench-dev.jsonl.gz"
SHOWN = 100  # lines

Judging = Callable[[JudgeJob], Judgement]


def add_parser(commands: Any) -> None:
    """Add the command `ratchet`."""
    parser = commands.add_parser(
        "ratchet",
        help="compare structgen with the outcomes on record, or record them anew",
        description="Judge the Test Suite and MaskBench byte by byte, and compare each outcome "
        "with the one on record. Exit status 1 if any is worse.",
    )
    parser.add_argument(
        "--dir",
        type=Path,
        metavar="DIR",
        help="the folder with outside data (default: what STRUCTGEN_DATA names, then "
        "../shared/data)",
    )
    parser.add_argument(
        "--record",
        type=Path,
        default=record.RATCHET,
        metavar="FILE",
        help="the outcomes on record (default: ratchet.json, beside this command)",
    )
    parser.add_argument("--only", choices=record.SECTIONS, help="leave the other one as it is")
    parser.add_argument(
        "--write", action="store_true", help="record what is found; refused if any is worse"
    )
    parser.add_argument(
        "--accept-worse", action="store_true", help="with --write: even if some are worse"
    )
    add_limits(parser.add_argument_group("limits"))


def run(args: argparse.Namespace) -> int:
    """Measure and compare; write if asked."""
    folder = data_folder(args.dir)
    if folder is None or not folder.is_dir():
        raise BenchError(
            "there is no folder with outside data",
            location=str(folder or ""),
            hint="name it with --dir or STRUCTGEN_DATA",
        )
    known = record.read(args.record)
    comparison = Comparison()
    left_out: list[str] = []
    found: Ratchet = {section: {} for section in record.SECTIONS}
    with Worker(start, (ENGINE, byte_vocabulary()), limits(args)) as worker:
        sources = {"suite": suite_outcomes, "maskbench": maskbench_outcomes}
        for section, source in sources.items():
            if args.only in (None, section):
                for name, measured in source(folder, in_child(worker), left_out):
                    comparison.add(name, known[section].get(name), measured)
                    found[section][name] = Entry.of(measured)
    _report(found, comparison)
    say_left_out(left_out)
    if not args.write:
        return WORSE if comparison.worse else FINE
    if comparison.worse and not args.accept_worse:
        print("nothing is written; --accept-worse would record what is worse", file=sys.stderr)
        return WORSE
    record.write({s: known[s] | found[s] for s in known}, args.record)
    print(f"written: {args.record}")
    return FINE


def in_child(worker: Worker) -> Judging:
    """A judge that works in a child process, where a hang or a crash costs one case."""

    def judge(job: JudgeJob) -> Judgement:
        try:
            judged: Judgement = worker.call(job)["judged"]
        except WorkerDiedError as error:
            return all_alike(len(job.valid), CRASH, "crash", str(error))
        return judged

    return judge


def suite_outcomes(
    folder: Path, judge: Judging, left_out: list[str]
) -> Iterator[tuple[str, Measured]]:
    """The outcomes of each file of the Test Suite, optional ones and formats too."""
    try:
        suite = Suite(folder)
    except BenchError as error:
        left_out.append(str(error))
        return
    files = list(suite.files(optional=True, formats=True))
    remotes = {draft: suite.remotes(draft) for draft in suite.drafts}
    for file in tqdm(files, unit="file", file=sys.stderr, disable=None):
        found, reasons = {}, {}
        for case in file.cases:
            tokens = [byte_tokens(instance.text) for instance in case.instances]
            valid = [instance.valid for instance in case.instances]
            judged = judge(JudgeJob(spec_of(case, remotes[case.draft]), tokens, valid))
            for number, outcome in enumerate(judged.outcomes):
                found[f"{case.number}/{number}"] = outcome
                reasons[f"{case.number}/{number}"] = judged.error
        yield file.id, Measured(file.digest, found, reasons)
    left_out += suite.left_out


def maskbench_outcomes(
    folder: Path, judge: Judging, left_out: list[str], every: int = 1
) -> Iterator[tuple[str, Measured]]:
    """The outcomes of each dataset of the MaskBench pack, or of each `every`-th case."""
    try:
        pack = read_pack(folder / PACK, every)
    except BenchError as error:
        left_out.append(str(error))
        return
    found: dict[str, dict[str, str]] = {}
    reasons = {}
    for case in tqdm(pack, unit="case", file=sys.stderr, disable=None):
        try:
            tokens = [byte_tokens(instance.text) for instance in case.instances]
        except UnicodeEncodeError:
            left_out.append(f"{case.id}: an instance has an unpaired surrogate")
            continue
        valid = [instance.valid for instance in case.instances]
        spec = Spec(JSON_SCHEMA, case.texts[JSON_SCHEMA])
        judged = judge(JudgeJob(spec, tokens, valid, masks=False))
        found.setdefault(case.dataset, {})[case.id] = judged.outcome
        reasons[case.id] = judged.error
    left_out += pack.left_out
    for dataset, outcomes in found.items():
        yield dataset, Measured(pack.digest, outcomes, reasons)


def _report(found: Ratchet, comparison: Comparison) -> None:
    for section, entries in found.items():
        counts = Counter[str]()
        for entry in entries.values():
            counts.update(entry.counts)
        if counts:
            shown = ", ".join(f"{counts[o]:,} {o}" for o in OUTCOMES[::-1] if counts[o])
            print(f"{section}: {shown}")
    for word, lines in (("worse", comparison.worse), ("better", comparison.better)):
        print(f"{len(lines):,} fare {word} than on record")
        for line in lines[:SHOWN]:
            print(f"  {line}")
        if len(lines) > SHOWN:
            print(f"  and {len(lines) - SHOWN:,} more")
    for what, names in (("not on record", comparison.new), ("changed since", comparison.changed)):
        if names:
            print(f"{what}, so not compared: {len(names)}, such as {', '.join(names[:3])}")
