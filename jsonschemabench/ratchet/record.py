"""The file of the outcomes on record, and the comparison of new outcomes with it.

`ratchet.json` has an entry for each file of the Test Suite and each dataset of MaskBench: a digest
of what was measured, how many tests or cases had each outcome, and the names of all that did not
pass. So the outcome of every single one can be read from it: a test that got worse is seen even
where another got better and the counts stay as they are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonschemabench.errors import BenchError
from jsonschemabench.running.outcomes import OUTCOMES, PASS

RATCHET = Path(__file__).with_name("ratchet.json")
SECTIONS = ("suite", "maskbench")


@dataclass(frozen=True)
class Measured:
    """The outcome of each test ("case/test") or case by name; digest: of all they are made of.

    reasons: what the engine said of those that it refused or crashed at.
    """

    digest: str
    outcomes: Mapping[str, str]
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """What is on record. counts: by outcome, worst first; others: outcomes of what did not pass."""

    digest: str
    counts: Mapping[str, int]
    others: Mapping[str, str]

    @classmethod
    def of(cls, measured: Measured) -> Entry:
        """The entry that records a measurement."""
        counted = Counter(measured.outcomes.values())
        counts = {outcome: counted[outcome] for outcome in OUTCOMES if counted[outcome]}
        others = {name: o for name, o in measured.outcomes.items() if o != PASS}
        return cls(measured.digest, counts, others)

    def to_json(self) -> dict[str, Any]:
        """The entry as the file has it: names by outcome, the worst first."""
        names: dict[str, list[str]] = {}
        for name, outcome in sorted(self.others.items(), key=lambda item: OUTCOMES.index(item[1])):
            names.setdefault(outcome, []).append(name)
        return {"digest": self.digest, "counts": dict(self.counts), "names": names}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Entry:
        """The entry that `to_json` described."""
        others = {name: outcome for outcome, names in data["names"].items() for name in names}
        return cls(data["digest"], data["counts"], others)


Ratchet = dict[str, dict[str, Entry]]  # by section, then by file of the suite or dataset


@dataclass
class Comparison:
    """A line for each test or case whose outcome is worse or better than on record.

    new: files and datasets that are not on record; changed: those that had other tests then.
    """

    worse: list[str] = field(default_factory=list)
    better: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def add(self, group: str, entry: Entry | None, measured: Measured) -> None:
        """Compare the outcomes of a file or dataset with those on record, if there are any."""
        if entry is None:
            self.new.append(group)
        elif entry.digest != measured.digest:
            self.changed.append(group)
        else:
            for name, outcome in measured.outcomes.items():
                before = entry.others.get(name, PASS)
                if outcome != before:
                    worse = OUTCOMES.index(outcome) < OUTCOMES.index(before)
                    line = f"{group} {name}: {before} -> {outcome}"
                    if worse and measured.reasons.get(name):
                        line += f": {measured.reasons[name]}"
                    (self.worse if worse else self.better).append(line)


def read(path: Path) -> Ratchet:
    """What is on record; nothing if there is no file."""
    if not path.exists():
        return {section: {} for section in SECTIONS}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {s: {k: Entry.from_json(v) for k, v in data[s].items()} for s in SECTIONS}
    except (OSError, ValueError, LookupError, AttributeError, TypeError) as error:
        raise BenchError(
            "these are no outcomes on record", location=str(path), hint="restore the file"
        ) from error


def write(ratchet: Ratchet, path: Path) -> None:
    """Write the record, an entry a line, so that a diff shows what has moved."""
    parts = [f' "{s}": {{\n' + ",\n".join(_lines(ratchet[s])) + "\n }" for s in SECTIONS]
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _lines(entries: Mapping[str, Entry]) -> Iterator[str]:
    for name, entry in sorted(entries.items()):
        yield f"  {json.dumps(name)}: {json.dumps(entry.to_json(), ensure_ascii=False)}"
