"""Writes the records of `suite` as Markdown tables by draft and keyword, and lists the failures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from jsonschemabench.running.outcomes import (
    ACCEPTED_INVALID,
    CRASH,
    INCOMPLETE,
    OUTCOMES,
    PASS,
    REFUSED_SATISFIABLE,
    REFUSED_UNSATISFIABLE,
    REJECTED_VALID,
)
from structgen.util.tables import markdown

Record = dict[str, Any]

RIGHT = (PASS, REFUSED_UNSATISFIABLE)
COLUMNS = [outcome for outcome in OUTCOMES[::-1] if outcome != INCOMPLETE]
SHOWN = 200  # characters of the explanation of a failure
#: Short names of wrong outcomes, for the tables by keyword.
SHORT = {
    ACCEPTED_INVALID: "invalid",
    CRASH: "crash",
    REJECTED_VALID: "rejected",
    REFUSED_SATISFIABLE: "refused",
}


def tables(header: dict[str, Any], records: Sequence[Record], engines: Sequence[str]) -> str:
    """Everything that a run found, as Markdown."""
    versions = ", ".join(f"{e} {header['engines'][e]['version']}" for e in engines)
    size = header["vocabulary"]["size"]
    parts = [f"{header['date']}, {versions}, vocabulary of {size:,} tokens"]
    by_draft = defaultdict(list)
    for record in records:
        by_draft[record["dataset"]].append(record)
    for draft, own in by_draft.items():
        parts += [draft_table(draft, own, engines), keyword_table(draft, own, engines)]
    parts.append(
        "Right: passes, and refusals as unsatisfiable where no instance is valid. Each keyword has "
        "the number of its tests that are right; in brackets, invalid instances accepted, crashes, "
        "valid instances rejected, and tests of schemas refused though satisfiable."
    )
    return "\n\n".join(parts)


def draft_table(draft: str, records: Sequence[Record], engines: Sequence[str]) -> str:
    """Outcomes of tests and of whole cases; a case has the outcome of its worst test."""
    rows = []
    for engine in engines:
        own = [r for r in records if r["engine"] == engine]
        tests = Counter(outcome for r in own for outcome in r["tests"])
        cases = Counter(r["outcome"] for r in own)
        for unit, counts in (("tests", tests), ("cases", cases)):
            total = sum(counts.values())
            right = sum(counts[outcome] for outcome in RIGHT)
            share = f"{right / total:.1%}" if total else "-"
            columns = [f"{counts[outcome]:,}" for outcome in COLUMNS]
            rows.append([engine, unit, f"{total:,}", share, *columns])
    return _table([draft, "in", "number", "right", *COLUMNS], rows)


def keyword_table(draft: str, records: Sequence[Record], engines: Sequence[str]) -> str:
    """Tests that are right, by file of the suite, and in brackets what became of the others."""
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for record in records:
        counts[record["file"]][record["engine"]].update(record["tests"])
    rows = []
    for file, by_engine in sorted(counts.items(), key=lambda item: ("/" in item[0], item[0])):
        total = max(map(Counter.total, by_engine.values()))
        rows.append([file, f"{total}", *(_cell(by_engine[engine]) for engine in engines)])
    return _table([f"{draft}: keyword", "tests", *engines], rows)


def failures(records: Sequence[Record]) -> str:
    """A line for each case and wrong outcome, the worst first: which tests, what, and why."""
    lines = []
    for record in records:
        by_outcome: dict[str, list[int]] = defaultdict(list)
        for number, outcome in enumerate(record["tests"]):
            by_outcome[outcome].append(number)
        for outcome, numbers in by_outcome.items():
            if outcome not in RIGHT:
                tests = f"{record['case']}/{_ranges(numbers)}"
                line = f"{outcome}: {record['engine']}: {tests}: {_why(record, outcome)}"
                lines.append((OUTCOMES.index(outcome), line))
    return "\n".join(line for _, line in sorted(lines))


def _why(record: Record, outcome: str) -> str:
    if outcome in (CRASH, REFUSED_SATISFIABLE) and "error" in record:
        return f"{record['description']}: {record['error']['message']}"[:SHOWN]
    accepted = outcome == ACCEPTED_INVALID
    wrong = [w["description"] for w in record.get("wrong", ()) if w["accepted"] == accepted]
    return f"{record['description']}: {', '.join(wrong)}"[:SHOWN]


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers in short: "0-3,5"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def _cell(counts: Counter[str]) -> str:
    right = sum(counts[outcome] for outcome in RIGHT)
    others = [f"{counts[o]} {short}" for o, short in SHORT.items() if counts[o]]
    return f"{right} ({', '.join(others)})" if others else f"{right}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return markdown(head, rows, range(1, len(head)))
