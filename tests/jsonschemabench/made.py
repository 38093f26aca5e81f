"""Makes headers, records and results files for tests, as the commands write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonschemabench.running.times import histogram

Record = dict[str, Any]


def header(command: str = "masks", engines: Sequence[str] = ("structgen", "peer")) -> Record:
    """The first line of a results file."""
    return {
        "kind": "header",
        "command": command,
        "date": "2026-11-20T12:00:00+00:00",
        "machine": {"cores": 2, "memory": 1 << 34, "python": "3.11.7", "platform": "Linux"},
        "engines": {name: {"version": "1.2", "settings": {"order": "any"}} for name in engines},
        "vocabulary": {"size": 1000, "hash": "abc"},
        "options": {"every": 1},
    }


def record(case: str, engine: str, outcome: str = "pass", **fields: Any) -> Record:
    """A record of a case."""
    return {
        "kind": "case",
        "case": case,
        "engine": engine,
        "dataset": case.partition("---")[0],
        "outcome": outcome,
        "features": ["type"],
    } | fields


def timed(case: str, engine: str, times_us: Iterable[float], **fields: Any) -> Record:
    """A record of a case that passes, with these times per mask."""
    found = histogram([round(1000 * time) for time in times_us])
    return record(case, engine, seen_before=found, **fields)


def write(path: Path, records: Iterable[Mapping[str, Any]], first: Record | None = None) -> Path:
    """A results file with a header and these records."""
    lines = [header() if first is None else first, *records]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
