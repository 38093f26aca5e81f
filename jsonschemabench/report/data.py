"""Loads results files as runs, and counts and merges what tables and plots show of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jsonschemabench.running import results, times
from jsonschemabench.running.outcomes import OUTCOMES, PASS, REFUSED_UNSATISFIABLE
from structgen.errors import StructgenError

Record = dict[str, Any]
Histogram = dict[str, Any]
Groups = dict[str, dict[str, Counter[str]]]

#: Outcomes that are right: nothing that fits was kept out, nothing that does not was let in.
RIGHT = (REFUSED_UNSATISFIABLE, PASS)
SHOWN_REMARKS = 5  # of one kind; the rest are counted

#: Fields as the page calls them, in the order of the page, and what they mean.
TITLES = {
    "first_mask_ns": (
        "Time to first mask",
        "From the text of the schema to its first mask, compiling included.",
    ),
    "first_use": (
        "Time per mask, first use of a schema",
        "Mask and acceptance of each token when a schema's instances are fed the first time.",
    ),
    "seen_before": (
        "Time per mask, schema seen before",
        "Mask and acceptance of each token when the same instances are fed again.",
    ),
    "compile_ns": ("Time to compile", ""),
    "refuse_ns": ("Time to refuse", "Of the schemas that the engine does not compile."),
    "first_token_ns": (
        "Time to first token",
        "Compiling, the prompt, the first mask and the choice of a token.",
    ),
    "engine_step": ("Engine's time per decode step", "Mask and acceptance of each token."),
    "prompt_ns": ("Time for the prompt", ""),
    "model_ns": ("Model's time per case", ""),
    "engine_ns": ("Engine's time per case", ""),
    "other_ns": ("Other time per case", ""),
    "total_ns": ("Total time per case", ""),
    "memory_peak": ("Peak memory of the engine's process", ""),
    "memory_growth": ("Growth of the engine's process in a case", ""),
    "memory_compiled": ("Size of a compiled schema", "By the engine's own account."),
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
    """Whether a field of a record holds one time, or a histogram of at least one."""
    if isinstance(value, dict):
        return bool(value.get("count"))
    return name.endswith("_ns") and value is not None


def is_size(name: str, value: object) -> bool:
    """Whether a field of a record holds bytes of memory."""
    return name.startswith("memory_") and value is not None


def sound(record: Record) -> Record:
    """The record without fields that should hold times or sizes, but hold something else."""

    def broken(name: str, value: object) -> bool:
        if isinstance(value, dict) and "ns" in value:
            lists = [value.get("ns"), value.get("n")]
            if not all(isinstance(one, list) and all(map(_is_whole, one)) for one in lists):
                return True
            totals = [value.get(total) for total in ("count", "sum_ns", "max_ns")]
            return not all(map(_is_whole, totals)) or sum(value["n"]) != value["count"]
        counted = is_time(name, value) or is_size(name, value)
        return counted and not _is_whole(value)

    return {name: value for name, value in record.items() if not broken(name, value)}


def _is_whole(value: object) -> bool:
    """Whether this is a number of nanoseconds or bytes, in other words fits 63 bits."""
    return type(value) is int and 0 <= value < 1 << 62


def as_histogram(value: Any) -> Histogram:
    """A time field as a histogram."""
    return value if isinstance(value, dict) else times.histogram([value])


def described(measure: str) -> tuple[str, str]:
    """What the page calls a field, and what it says about it."""
    words = measure.removesuffix("_ns").replace("_", " ")
    return TITLES.get(measure, (words[:1].upper() + words[1:], ""))


def rank(outcome: str) -> int:
    """The rank of an outcome, 0 the worst; one that is unknown counts as bad as a crash."""
    return OUTCOMES.index(outcome) if outcome in OUTCOMES else 1


def load(path: Path) -> Run:
    """The run in a results file; what is odd about it stands in its remarks."""
    found = results.read(path)
    remarks = first_few([f"left out: {line}" for line in found.damaged])
    cases: dict[str, dict[str, Record]] = {}
    odd: Counter[str] = Counter()
    for record in found.records:
        case, engine = record["case"], record["engine"]
        if not all(isinstance(one, str) for one in (case, engine, record["outcome"])):
            odd["records without a proper case, engine or outcome, left out"] += 1
            continue
        of_case = cases.setdefault(case, {})
        odd["records replaced by later ones of the same case and engine"] += engine in of_case
        of_case[engine] = sound(record)
        odd["records with broken times, which are left out"] += len(of_case[engine]) < len(record)
    remarks += [f"{path}: {what}: {number:,}" for what, number in odd.items() if number]
    if not cases:
        remarks.append(f"{path}: a header and no case yet; nothing to show")
    run = Run(path, found.header, cases, remarks)
    named = _mapping(found.header.get("engines"))
    for engine in named if cases else ():
        if engine not in run.engines:
            remarks.append(f"{path}: no case of {engine}, which the header names")
    for engine in run.engines:
        have = len(run.records(engine))
        if have < len(cases):
            shares = f"{engine} has {have:,} of the {len(cases):,} cases; its shares are of those"
            remarks.append(f"{path}: {shares}")
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
