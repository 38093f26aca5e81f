"""In: results files. Out: runs, and what tables and plots need of them: counts and times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jsonschemabench import results, times
from jsonschemabench.outcomes import OUTCOMES, PASS, REFUSED_UNSATISFIABLE
from structgen.errors import StructgenError

Record = dict[str, Any]
Histogram = dict[str, Any]
Groups = dict[str, dict[str, Counter[str]]]

#: Outcomes that are right: nothing that fits was kept out, nothing that does not was let in.
RIGHT = (REFUSED_UNSATISFIABLE, PASS)
SHOWN_REMARKS = 5  # of one kind; the rest are counted

#: Fields that hold times, as the page calls them, in the order of the page.
TITLES = {
    "first_mask_ns": "Time to first mask",
    "first_use": "Time per mask, first use of a schema",
    "seen_before": "Time per mask, schema seen before",
    "compile_ns": "Time to compile",
    "refuse_ns": "Time to refuse",
    "first_token_ns": "Time to first token",
    "engine_step": "Engine's time per decode step",
    "prompt_ns": "Time for the prompt",
    "model_ns": "Model's time per case",
    "engine_ns": "Engine's time per case",
    "other_ns": "Other time per case",
    "total_ns": "Total time per case",
    "memory_peak": "Peak memory of the process",
    "memory_growth": "Growth of the process",
    "memory_compiled": "Compiled schema, by the engine's own account",
}


@dataclass(frozen=True)
class Run:
    """One results file: its header, and its records as case -> engine -> record."""

    path: Path
    header: Mapping[str, Any]
    cases: Mapping[str, Mapping[str, Record]]
    remarks: Sequence[str]

    @property
    def command(self) -> str:
        """The command that wrote the file."""
        return str(self.header.get("command", "unknown command"))

    @cached_property
    def engines(self) -> list[str]:
        """Engines with at least one record, in the order of the header, then of the records."""
        named = dict.fromkeys(_mapping(self.header.get("engines")))
        met = dict.fromkeys(engine for case in self.cases.values() for engine in case)
        return [e for e in named if e in met] + [e for e in met if e not in named]

    def records(self, engine: str) -> list[Record]:
        """The records of one engine."""
        return [case[engine] for case in self.cases.values() if engine in case]

    @cached_property
    def unit(self) -> str:
        """What is counted: tests where the records judge each test by itself, else cases."""
        tested = any("tests" in record for case in self.cases.values() for record in case.values())
        return "tests" if tested else "cases"

    def grouped(
        self, groups: Callable[[Record], Iterable[str]]
    ) -> dict[str, dict[str, Counter[str]]]:
        """Group -> engine -> outcome -> count; a record may belong to several groups."""
        found: dict[str, dict[str, Counter[str]]] = {}
        for engine in self.engines:
            for record in self.records(engine):
                for group in groups(record):
                    counts = found.setdefault(group, {}).setdefault(engine, Counter())
                    counts.update(judged(record))
        return found

    def measures(self, kind: Callable[[str, Any], bool]) -> list[str]:
        """The fields of this kind that some record has, those with a title first."""
        met = dict.fromkeys(
            name
            for case in self.cases.values()
            for record in case.values()
            for name, value in record.items()
            if kind(name, value)
        )
        return [n for n in TITLES if n in met] + sorted(n for n in met if n not in TITLES)

    def times(self, measure: str, engine: str, together_with: str = "") -> Histogram:
        """All times of a field, of the cases where both engines have it when two are named."""
        engines = [engine, *([together_with] if together_with else [])]
        return times.merged(
            as_histogram(case[engine][measure])
            for case in self.cases.values()
            if all(is_time(measure, case.get(other, {}).get(measure)) for other in engines)
        )


def judged(record: Record) -> list[str]:
    """The outcomes that a record counts for: one of each test, or one of the whole case."""
    tests = record.get("tests")
    whole = isinstance(tests, list) and all(isinstance(test, str) for test in tests)
    return tests if whole and tests else [record["outcome"]]


def dataset_of(record: Record) -> list[str]:
    """The dataset that a record belongs to."""
    return [str(record.get("dataset") or "no dataset")]


def features_of(record: Record) -> list[str]:
    """The keywords that the schema of a record uses."""
    found = record.get("features")
    return [str(feature) for feature in found] if isinstance(found, list) else []


def is_time(name: str, value: object) -> bool:
    """Whether a field of a record holds one time or a histogram of times."""
    if isinstance(value, dict):
        return bool(value.get("count")) and {"sum_ns", "max_ns", "ns", "n"} <= value.keys()
    return name.endswith("_ns") and isinstance(value, int | float) and value >= 0


def is_size(name: str, value: object) -> bool:
    """Whether a field of a record holds bytes of memory."""
    return name.startswith("memory_") and isinstance(value, int | float)


def as_histogram(value: Any) -> Histogram:
    """A time field as a histogram."""
    return value if isinstance(value, dict) else times.histogram([round(value)])


def title_of(measure: str) -> str:
    """What the page calls a field."""
    if measure in TITLES:
        return TITLES[measure]
    words = measure.removesuffix("_ns").replace("_", " ")
    return words[:1].upper() + words[1:]


def rank(outcome: str) -> int:
    """The place of an outcome, 0 the worst; one that is unknown counts as bad as a crash."""
    return OUTCOMES.index(outcome) if outcome in OUTCOMES else 1


def load(path: Path) -> Run:
    """The run in a results file; what is odd about it stands in its remarks."""
    found = results.read(path)
    remarks = first_few(found.damaged)
    cases: dict[str, dict[str, Record]] = {}
    again = 0
    for record in found.records:
        of_case = cases.setdefault(str(record["case"]), {})
        again += record["engine"] in of_case
        of_case[str(record["engine"])] = record
    if again:
        remarks.append(f"{path}: {again:,} cases come twice for an engine; the later one counts")
    if not cases:
        remarks.append(f"{path}: a header and no case yet; nothing to show")
    run = Run(path, found.header, cases, remarks)
    for engine in _mapping(found.header.get("engines")):
        if cases and engine not in run.engines:
            remarks.append(f"{path}: no case of {engine}, which the header names")
    remarks += [
        f"{path}: {engine} has {have:,} of the {len(cases):,} cases; its shares are of those"
        for engine in run.engines
        if (have := len(run.records(engine))) < len(cases)
    ]
    return run


def load_all(paths: Iterable[Path]) -> tuple[list[Run], list[str]]:
    """The runs that can be read, and a line about everything that is odd or left out."""
    runs: list[Run] = []
    remarks: list[str] = []
    for path in paths:
        try:
            run = load(path)
        except StructgenError as error:
            remarks.append(str(error))
            continue
        remarks += run.remarks
        if run.cases:
            runs.append(run)
    return runs, remarks


def first_few(lines: Sequence[str]) -> list[str]:
    """The first of many lines, and how many more there are."""
    more = len(lines) - SHOWN_REMARKS
    return [
        *lines[:SHOWN_REMARKS],
        *([f"... and {more:,} more lines like that"] if more > 0 else []),
    ]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
