"""Makes the report's chapter of a run: what was measured where, tables, plots, failures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jsonschemabench import plots
from jsonschemabench.generate.samplers import UNCONSTRAINED
from jsonschemabench.report.data import (
    RIGHT,
    Groups,
    Histogram,
    Run,
    dataset_of,
    described,
    features_of,
    is_size,
    is_time,
)
from jsonschemabench.report.failures import Failures, failures
from jsonschemabench.report.generation import generation
from jsonschemabench.report.tables import Cell, Figure, Table, count, ratio, share, significant
from jsonschemabench.running import times
from jsonschemabench.running.outcomes import (
    ACCEPTED_INVALID,
    CRASH,
    INCOMPLETE,
    OUTCOMES,
    REJECTED_VALID,
)
from structgen.cli.terminal import amount

SHOWN_BARS = {"dataset": 24, "file": 16, "keyword": 16}  # in a plot; the table has all groups
PLOTTED_TIMES = ("first_mask_ns", "first_use", "seen_before", "first_token_ns", "engine_step")
ENGINE_ONLY = ("compile_ns", "engine_ns")  # nothing without a constraint
NO_RATIO = ("refuse_ns", "prompt_ns", "model_ns", "other_ns")  # of no engine's compiled work
SUMMARY = [*(f"p{100 * q:g}" for q in times.QUANTILES), "max", "mean"]
MEMORY_QUANTILES = (0.5, 0.9, 0.99)
RIGHT_MEANS = "Right: passed, or refused as unsatisfiable where no instance is valid."
WRONG = (ACCEPTED_INVALID, CRASH, REJECTED_VALID)

Block = Table | Sequence[plots.Plot]


@dataclass(frozen=True)
class Chapter:
    """One run for the reader. `blocks` are tables and rows of plots, in the order of the page."""

    title: str
    lead: str
    setup: Sequence[Table]
    blocks: Sequence[Block]
    failures: Failures

    def without_plots(self) -> Chapter:
        """The same with its tables alone."""
        return replace(self, blocks=[block for block in self.blocks if isinstance(block, Table)])


def chapter(run: Run, baseline: str, shown_failures: int) -> Chapter:
    """The chapter of a run. Ratios are of `baseline` if it ran, else of the first engine."""
    base = baseline if baseline in run.engines else run.engines[0]
    blocks = [*_coverage(run), *generation(run), *_times(run, base), *_memory(run)]
    found = failures(run, shown_failures)
    return Chapter(_title(run), _lead(run), _setup(run), blocks, found)


def _title(run: Run) -> str:
    return f"{run.command}: {run.path.name}"


def _lead(run: Run) -> str:
    """The run in one sentence."""
    machine = run.header.get("machine") or {}
    vocabulary = run.header.get("vocabulary") or {}
    parts = [str(run.header.get("date", "no date"))[:10], f"{len(run.cases):,} cases"]
    parts.append(", ".join(run.engines))
    if "size" in vocabulary:
        parts.append(f"vocabulary of {vocabulary['size']:,} tokens")
    if "cores" in machine:
        parts.append(f"{machine['cores']} cores")
    return "; ".join(parts) + "."


def _setup(run: Run) -> list[Table]:
    """Machine, options, and each engine's version and settings, as the header has them."""
    rows: list[list[Cell]] = []
    for part in ("date", "machine", "vocabulary", "options"):
        value = run.header.get(part)
        named = value.items() if isinstance(value, dict) else [("", value)]
        rows += [[f"{part} {name}".strip(), _plain(name, one)] for name, one in named]
    engines = run.header.get("engines")
    described = [
        [name, str(about.get("version", "")), _plain("", about.get("settings"))]
        for name, about in (engines.items() if isinstance(engines, dict) else ())
        if isinstance(about, dict)
    ]
    return [
        Table("Run", ["what", "value"], rows, sortable=False),
        Table("Engines", ["engine", "version", "settings"], described, sortable=False),
    ]


def _plain(name: str, value: Any) -> str:
    if name == "memory" and isinstance(value, int):
        return amount(value, "B")
    if isinstance(value, dict):
        return "; ".join(f"{key}: {one}" for key, one in value.items()) or "none"
    return "none" if value is None else str(value)


def _coverage(run: Run) -> list[Block]:
    """Outcomes by engine, dataset, keyword and suite file."""
    everything = run.grouped(lambda _: ["all"])["all"]
    datasets = run.grouped(dataset_of)
    keywords = run.grouped(features_of)
    files = run.grouped(lambda record: [record["file"]] if "file" in record else [])
    bars = [_bars(run, "dataset", datasets)]
    if files or keywords:
        bars.append(_bars(run, "file", files) if files else _bars(run, "keyword", keywords))
    blocks: list[Block] = [_outcomes(run, everything), bars]
    for what, groups in (("dataset", datasets), ("file", files), ("keyword", keywords)):
        if groups:
            blocks.append(_by_group(run, what, groups))
    return blocks


def _outcomes(run: Run, counts: Mapping[str, Counter[str]]) -> Table:
    """One row an engine: how often each outcome came, best first."""
    met = {outcome for found in counts.values() for outcome in found}
    known = [outcome for outcome in reversed(OUTCOMES) if outcome in met or outcome != INCOMPLETE]
    outcomes = [*known, *sorted(met - set(OUTCOMES))]
    rows: list[list[Cell]] = []
    for engine, found in counts.items():
        total = found.total()
        cells = [
            count(found[outcome], "bad" if outcome == ACCEPTED_INVALID else "")
            for outcome in outcomes
        ]
        rows.append([engine, count(total), share(_right(found), total), *cells])
    return Table("Coverage", ["engine", run.unit, "right", *outcomes], rows, RIGHT_MEANS)


def _bars(run: Run, what: str, groups: Groups) -> plots.Plot:
    """Bars of the groups, or of those of them where most cases do not pass."""
    missed = {
        group: sum(found.total() - _right(found) for found in engines.values())
        for group, engines in groups.items()
    }
    most = SHOWN_BARS[what]
    shown = sorted(groups, key=lambda group: (-missed[group], group))[:most]
    some = f"the {most} {what}s most often missed" if len(groups) > most else what
    return plots.coverage(
        f"coverage-by-{what}",
        f"Coverage by {some}",
        {group: groups[group] for group in sorted(shown)},
        OUTCOMES,
        run.unit,
        RIGHT,
    )


def _by_group(run: Run, what: str, groups: Groups) -> Table:
    """One row a group: the share that passes, and how much is wrong, for each engine."""
    heads = [what, run.unit]
    heads += [f"{engine} right" for engine in run.engines]
    heads += [f"{engine} wrong" for engine in run.engines]
    rows: list[list[Cell]] = []
    for group, engines in sorted(groups.items()):
        found = [engines.get(engine, Counter()) for engine in run.engines]
        right = [share(_right(counts), counts.total()) for counts in found]
        wrong = [_wrong(counts) for counts in found]
        rows.append([group, count(max(counts.total() for counts in found)), *right, *wrong])
    note = "Wrong: accepted invalid, rejected valid, or crashed; refusals are not among them."
    return Table(f"Coverage by {what}", heads, rows, note)


def _right(counts: Counter[str]) -> int:
    return sum(counts[outcome] for outcome in RIGHT)


def _wrong(counts: Counter[str]) -> Figure:
    return count(sum(counts[outcome] for outcome in WRONG), "bad")


def _times(run: Run, base: str) -> list[Block]:
    """For each time: percentiles of all engines, and plots; then the ratios of all times."""
    blocks: list[Block] = []
    measures = run.measures(is_time)
    for measure in measures:
        engines = [e for e in run.engines if e != UNCONSTRAINED or measure not in ENGINE_ONLY]
        found = {engine: run.times(measure, engine) for engine in engines}
        found = {engine: histogram for engine, histogram in found.items() if histogram["count"]}
        if not found:
            continue
        title, note = described(measure)
        blocks.append(_percentiles(title, note, found))
        if measure in PLOTTED_TIMES:
            slug = measure.removesuffix("_ns").replace("_", "-")
            outline = plots.distribution(f"{slug}-distribution", title, found)
            blocks.append([outline, plots.tail(f"{slug}-tail", f"{title}: the long ones", found)])
    if measures and len(run.engines) > 1:
        blocks.append(_ratios(run, base, measures))
    return blocks


def _percentiles(title: str, note: str, found: Mapping[str, Histogram]) -> Table:
    """One row an engine, in µs, or in ms where even the quickest engine needs that long."""
    quickest = min(times.quantile(histogram, 0.5) for histogram in found.values())
    unit, size = ("µs", 1e3) if quickest < 1e6 else ("ms", 1e6)
    rows: list[list[Cell]] = []
    for engine, histogram in found.items():
        summary = percentiles(histogram)
        rows.append([engine, count(histogram["count"])])
        rows[-1] += [Figure(value / size, significant(value / size)) for value in summary.values()]
    return Table(f"{title}, {unit}", ["engine", "count", *SUMMARY], rows, note)


def percentiles(histogram: Histogram) -> dict[str, float]:
    """Percentiles, maximum and mean in ns.

    NaN for a percentile above which not even one of the times can lie.
    """
    found = times.summary(histogram)
    for q in times.QUANTILES:
        if histogram["count"] * (1 - q) < 1 - 1e-9:
            found[f"p{100 * q:g}"] = math.nan
    return {name: found.get(name, math.nan) for name in SUMMARY}


def _ratios(run: Run, base: str, measures: Sequence[str]) -> Table:
    """What each peer needs, in times of what the base needs."""
    rows: list[list[Cell]] = []
    peers = [engine for engine in run.engines if engine not in (base, UNCONSTRAINED)]
    for measure in [measure for measure in measures if measure not in NO_RATIO]:
        for peer in peers:
            ours = percentiles(run.times(measure, base, peer))
            theirs = percentiles(run.times(measure, peer, base))
            if not math.isnan(ours["mean"]):
                quotients = [theirs[name] / ours[name] if ours[name] else math.nan for name in ours]
                rows.append([described(measure)[0], peer, *map(ratio, quotients)])
    return Table(
        f"How many times longer the peers take than {base}",
        ["time", "peer", *SUMMARY],
        rows,
        f"Over the cases that both {base} and the peer compiled, from the same run. "
        f"Above 1×, {base} is quicker. A dash, here and above: too few times to say.",
    )


def _memory(run: Run) -> list[Block]:
    """For each figure of memory: percentiles of all engines over the cases, in MB."""
    blocks: list[Block] = []
    for measure in run.measures(is_size):
        rows: list[list[Cell]] = []
        for engine in run.engines:
            values = [
                r[measure] / 1e6 for r in run.records(engine) if is_size(measure, r.get(measure))
            ]
            if values:
                figures = [
                    *np.quantile(values, MEMORY_QUANTILES, method="inverted_cdf"),
                    max(values),
                ]
                shown = [Figure(float(value), significant(float(value))) for value in figures]
                rows.append([engine, count(len(values)), *shown])
        heads = ["engine", "cases", *(f"p{100 * q:g}" for q in MEMORY_QUANTILES), "max"]
        title, note = described(measure)
        blocks.append(Table(f"{title}, MB", heads, rows, note))
    return blocks
