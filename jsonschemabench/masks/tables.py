"""Writes the records of `masks` as Markdown tables of outcomes, times and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jsonschemabench.masks.job import USES
from jsonschemabench.running.outcomes import INCOMPLETE, OUTCOMES, PASS
from jsonschemabench.running.times import QUANTILES, merged, summary
from structgen.util.tables import markdown

Record = dict[str, Any]

FEW = 20  # cases; up to so many have a line each
CASE_NAMES = ["p50", "p90", "p99", "mean"]

NAMES = [f"p{100 * q:g}" for q in QUANTILES] + ["max", "mean"]


def tables(header: dict[str, Any], records: Sequence[Record], engines: Sequence[str]) -> str:
    """Everything that a run found, as Markdown."""
    machine = header["machine"]
    vocabulary = header["vocabulary"] or {"size": 0}
    engines = [e for e in engines if any(r["engine"] == e for r in records)]
    where = f"{header['date']}, {machine['cores']} cores, Python {machine['python']}"
    parts = [
        f"{where}, vocabulary of {vocabulary['size']:,} tokens",
        outcome_table(records, engines),
    ]
    compiled = [{r["case"] for r in records if r["engine"] == e and USES[0] in r} for e in engines]
    common = set.intersection(*compiled) if compiled else set()
    cases = {r["case"] for r in records}
    if len(common) == len(cases) or len(engines) == 1:
        parts.append(time_table("Times, µs", records, engines))
    else:
        parts.append(time_table("Times, µs, each engine on the cases it takes", records, engines))
        both = [r for r in records if r["case"] in common]
        title = f"Times, µs, on the {len(common):,} cases that every engine takes"
        parts.append(time_table(title, both, engines))
    parts.append(memory_table(records, engines))
    if 1 < len(cases) <= FEW:
        parts.append(case_table(records, engines))
    return "\n\n".join(part for part in parts if part)


def outcome_table(records: Iterable[Record], engines: Sequence[str]) -> str:
    """Cases by outcome, a column for each engine, the best outcome first."""
    counts = {engine: Counter[str]() for engine in engines}
    for record in records:
        if record["engine"] in counts:
            counts[record["engine"]][record["outcome"]] += 1
    rows = []
    for outcome in [PASS, *(o for o in OUTCOMES if o not in (PASS, INCOMPLETE))]:
        row = [outcome]
        for engine in engines:
            total = sum(counts[engine].values()) or 1
            count = counts[engine][outcome]
            row.append(f"{count:,} ({count / total:.1%})")
        rows.append(row)
    return markdown(["outcome", *engines], rows)


def time_table(title: str, records: Sequence[Record], engines: Sequence[str]) -> str:
    """Quantiles of the time to the first mask and of the time per token, on each use."""
    rows = []
    for engine in engines:
        own = [r for r in records if r["engine"] == engine and USES[0] in r]
        if not own:
            continue
        rows.append([f"{engine}: compile and first mask", *_exact(r["first_mask_ns"] for r in own)])
        for use in USES:
            found = summary(merged(r[use] for r in own))
            shown = [f"{found[name] / 1e3:,.1f}" for name in NAMES] if found else ["-"] * len(NAMES)
            rows.append([f"{engine}: token, {use.replace('_', ' ')}", *shown])
    return markdown([title, *NAMES], rows) if rows else ""


def memory_table(records: Sequence[Record], engines: Sequence[str]) -> str:
    """The most memory of each engine's process, and by how much a case made it grow."""
    rows = []
    for engine in engines:
        own = [r for r in records if r["engine"] == engine and "memory_peak" in r]
        if own:
            growth = np.quantile([r["memory_growth"] for r in own], [0.5, 0.99, 1])
            peak = max(r["memory_peak"] for r in own)
            rows.append([engine, *(f"{size / 2**20:,.1f}" for size in (peak, *growth))])
    return markdown(["Memory, MiB", "peak", "growth p50", "p99", "max"], rows) if rows else ""


def case_table(records: Sequence[Record], engines: Sequence[str]) -> str:
    """A line for each case and engine: milliseconds to the first mask, microseconds a token."""
    rows = []
    for case in dict.fromkeys(record["case"] for record in records):
        for record in (
            r for e in engines for r in records if (r["case"], r["engine"]) == (case, e)
        ):
            row = [case, record["engine"], record["outcome"]]
            if USES[0] in record:
                row.append(f"{record['first_mask_ns'] / 1e6:,.1f}")
                for found in (summary(record[use]) for use in USES):
                    row += [f"{found[n] / 1e3:,.1f}" if found else "-" for n in CASE_NAMES]
            rows.append(row + ["-"] * (4 + len(USES) * len(CASE_NAMES) - len(row)))
    uses = [f"{use.replace('_', ' ')}, µs: {n}" for use in USES for n in CASE_NAMES]
    return markdown(["case", "engine", "outcome", "compile and first mask, ms", *uses], rows)


def failures(records: Iterable[Record]) -> str:
    """One line for each case that does not pass, the worst first."""
    wrong = [r for r in records if r["outcome"] != PASS]
    wrong.sort(key=lambda r: (OUTCOMES.index(r["outcome"]), r["engine"], r["case"]))
    return "\n".join(
        f"{r['outcome']:21}  {r['engine']:13}  {r['case']}  {_why(r)}".rstrip() for r in wrong
    )


def _why(record: Record) -> str:
    if "error" in record:
        return str(record["error"]["message"]).split("\n")[0][:160]
    answers = [f"token {w['position']}" for w in record.get("wrong", ())]
    return ", ".join(answers)


def _exact(times_ns: Iterable[int]) -> list[str]:
    times = np.fromiter(times_ns, np.float64)
    found = [*np.quantile(times, QUANTILES), times.max(), times.mean()]
    return [f"{time / 1e3:,.1f}" for time in found]
