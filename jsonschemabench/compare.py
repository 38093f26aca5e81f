"""The command `compare`: what got better or worse between two results files, as Markdown.

    python -m jsonschemabench compare before.jsonl after.jsonl

Exit status 1 when an outcome got worse; with --times, also when a percentile of a time that both
runs took is longer by more than the tolerance. Cases and engines that only one file has are
counted and left out.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschemabench.errors import BenchError
from jsonschemabench.report.chapter import SUMMARY, percentiles
from jsonschemabench.report.data import (
    Run,
    as_histogram,
    described,
    is_time,
    judged,
    load,
    rank,
)
from jsonschemabench.report.tables import Cell, Figure, Table, count, escape_markdown, significant
from jsonschemabench.running import times
from jsonschemabench.running.outcomes import PASS
from structgen.cli.terminal import visible

FINE, REGRESSION = 0, 1  # exit status

#: Percentiles that are compared; p99.9 and max rest on so few times that they vary from run to run.
STEADY = frozenset({"p25", "p50", "p75", "p90", "p95", "p99", "mean"})


@dataclass(frozen=True)
class Change:
    """An outcome that is not the same in both runs."""

    case: str
    engine: str
    before: str
    after: str
    error: str

    @property
    def direction(self) -> str:
        """ "worse" or "better"; "other" between two outcomes that rank the same."""
        step = rank(self.after) - rank(self.before)
        return "worse" if step < 0 else "better" if step > 0 else "other"


@dataclass(frozen=True)
class Slower:
    """A percentile of a time that grew by more than the tolerance."""

    measure: str
    engine: str
    percentile: str
    ratio: float


def add_parser(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "compare",
        help="say what got better or worse between two results files",
        description="Say what got better or worse between two results files of one command.",
        epilog="Exit status: 0 nothing got worse, 1 something did, 2 bad input.",
    )
    parser.add_argument("before", type=Path, metavar="BEFORE", help="a results file")
    parser.add_argument("after", type=Path, metavar="AFTER", help="a later one")
    parser.add_argument(
        "--tolerance",
        type=_percent,
        default=20.0,
        metavar="PERCENT",
        help="by how much a time may grow before it counts as longer (default: 20)",
    )
    parser.add_argument(
        "--times", action="store_true", help="longer times count as a regression, too"
    )
    parser.add_argument(
        "--shown",
        type=int,
        default=100,
        metavar="N",
        help="show at most so many changed outcomes of a kind (default: 100)",
    )


def run(args: argparse.Namespace) -> int:
    """Print the comparison; 1 when something got worse."""
    before, after = _loaded(args.before), _loaded(args.after)
    if before.command != after.command:
        raise BenchError(
            f"{before.path} is of {before.command}, {after.path} of {after.command}",
            hint="compare two results files of one command",
        )
    engines = [engine for engine in before.engines if engine in after.engines]
    for remark in [*before.remarks, *after.remarks, *_differences(before, after)]:
        print(visible(remark), file=sys.stderr)
    compared = _compared(before, after, engines)
    if not compared:
        raise BenchError(
            f"{before.path} and {after.path} have no case of the same engine in common"
        )
    changes = [change for pair in compared for change in pair.changes()]
    table, slower = _times(before, after, engines, 1 + args.tolerance / 100)
    worse, better = (
        [change for change in changes if change.direction == direction]
        for direction in ("worse", "better")
    )
    print(f"# {escape_markdown(f'{before.path} → {after.path}')}\n")
    print(_verdict(len(worse), len(better), slower, args.tolerance))
    tables = [_counts(compared, changes, engines)]
    tables += [_listed("Worse", worse, args.shown), _listed("Better", better, args.shown)]
    for shown in [*tables, table, _slower(slower)]:
        if shown.rows:
            print(shown.markdown(level=2))
    return REGRESSION if worse or (args.times and slower) else FINE


@dataclass(frozen=True)
class Pair:
    """A case and engine that both runs have."""

    case: str
    engine: str
    before: dict[str, Any]
    after: dict[str, Any]

    def outcomes(self) -> list[tuple[str, str, str]]:
        """What is compared: a name, the outcome before, the outcome after.

        Test by test where both records have the same tests, else the outcome of the whole case.
        """
        old, new = judged(self.before), judged(self.after)
        if "tests" in self.before and "tests" in self.after and len(old) == len(new) > 1:
            tests = zip(old, new, strict=True)
            return [(f"{self.case}, test {n}", *both) for n, both in enumerate(tests, 1)]
        return [(self.case, str(self.before["outcome"]), str(self.after["outcome"]))]

    def changes(self) -> Iterator[Change]:
        """What is not as before."""
        error = self.after.get("error")
        message = str(error.get("message", "")) if isinstance(error, dict) else str(error or "")
        for name, old, new in self.outcomes():
            if old != new:
                yield Change(name, self.engine, old, new, message if new != PASS else "")


def _loaded(path: Path) -> Run:
    found = load(path)
    if not found.cases:
        raise BenchError("a header and no case yet: nothing to compare", location=str(path))
    return found


def _compared(before: Run, after: Run, engines: Sequence[str]) -> list[Pair]:
    return [
        Pair(case, engine, records[engine], after.cases[case][engine])
        for case, records in before.cases.items()
        for engine in engines
        if engine in records and engine in after.cases.get(case, {})
    ]


def _differences(before: Run, after: Run) -> Iterator[str]:
    """What the two runs do not have in common, and so is not compared, or not fairly."""
    for one, other in ((before, after), (after, before)):
        for engine in one.engines:
            if engine not in other.engines:
                yield f"{engine} is only in {one.path}; left out"
        alone = len(one.cases.keys() - other.cases.keys())
        if alone:
            yield f"cases only in {one.path}: {alone:,}; left out"
    for what, effect in (
        ("machine", "their times are not comparable"),
        ("vocabulary", "their times are not comparable"),
        ("options", "their outcomes may differ for that"),
    ):
        if before.header.get(what) != after.header.get(what):
            yield f"the runs differ in {what}; {effect}"


def _verdict(worse: int, better: int, slower: Sequence[Slower], tolerance: float) -> str:
    parts = [
        f"{worse:,} {_outcomes(worse)} got worse, {better:,} got better.",
        f"{len(slower):,} of the percentiles of times are longer by more than {tolerance:g} %."
        if slower
        else f"No percentile of a time is longer by more than {tolerance:g} %.",
    ]
    return " ".join(parts) + "\n"


def _outcomes(number: int) -> str:
    return "outcome" if number == 1 else "outcomes"


def _counts(compared: Sequence[Pair], changes: Sequence[Change], engines: Sequence[str]) -> Table:
    """One row an engine: how many outcomes were compared, and how they moved."""
    rows: list[list[Cell]] = []
    moved = Counter((change.engine, change.direction) for change in changes)
    for engine in engines:
        outcomes = [both for pair in compared if pair.engine == engine for both in pair.outcomes()]
        passes = [sum(both[side] == PASS for both in outcomes) for side in (1, 2)]
        moves = [moved[engine, direction] for direction in ("worse", "better")]
        rows.append([engine, *map(count, [len(outcomes), *passes, *moves])])
    heads = ["engine", "compared", "pass before", "pass after", "worse", "better"]
    return Table("Outcomes", heads, rows)


def _listed(title: str, changes: Sequence[Change], shown: int) -> Table:
    """The changes, those to the worst outcomes first."""
    ordered = sorted(changes, key=lambda change: (rank(change.after), change.engine, change.case))
    rows = [[c.case, c.engine, c.before, c.after, c.error[:200]] for c in ordered[:shown]]
    note = f"The first {shown:,} of {len(changes):,}." if len(changes) > shown else ""
    return Table(title, ["case", "engine", "before", "after", "message"], rows, note)


def _times(
    before: Run, after: Run, engines: Sequence[str], limit: float
) -> tuple[Table, list[Slower]]:
    """Each percentile after, divided by before, over the cases where both runs have the time."""
    rows: list[list[Cell]] = []
    slower: list[Slower] = []
    for measure in before.measures(is_time):
        for engine in engines:
            old, new = _common_times(before, after, measure, engine)
            ratios = {name: new[name] / old[name] if old[name] else math.nan for name in SUMMARY}
            if math.isnan(ratios["mean"]):
                continue
            name = described(measure)[0]
            found = [p for p in SUMMARY if p in STEADY and ratios[p] > limit]
            slower += [Slower(name, engine, p, ratios[p]) for p in found]
            rows.append([name, engine, *(_ratio(ratios[p]) for p in SUMMARY)])
    note = "After, divided by before, over the cases where both runs have the time."
    return Table("Times", ["time", "engine", *SUMMARY], rows, note), slower


def _common_times(
    before: Run, after: Run, measure: str, engine: str
) -> tuple[dict[str, float], dict[str, float]]:
    """Percentiles before and after."""
    both = [
        (old[engine][measure], new[engine][measure])
        for case, old in before.cases.items()
        if (new := after.cases.get(case))
        and is_time(measure, old.get(engine, {}).get(measure))
        and is_time(measure, new.get(engine, {}).get(measure))
    ]
    old, new = (times.merged(as_histogram(pair[side]) for pair in both) for side in (0, 1))
    return percentiles(old), percentiles(new)


def _ratio(value: float) -> Figure:
    text = significant(value)
    return Figure(value, text if text == "–" else f"{text}×")


def _slower(slower: Sequence[Slower]) -> Table:
    rows: list[list[Cell]] = [
        [one.measure, one.engine, one.percentile, _ratio(one.ratio)]
        for one in sorted(slower, key=lambda one: -one.ratio)
    ]
    return Table("Longer times", ["time", "engine", "percentile", "after ÷ before"], rows)


def _percent(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError("must be a percentage, 0 or more")
    return value
