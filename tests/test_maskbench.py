"""In: schemas from the wild with instances. Out: proof that no instance is judged wrongly.

A fixed sample of MaskBench; with `-m slow` all cases. A schema may be refused with a typed error;
whatever is compiled accepts the valid instances and no others.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import structgen as sg
from structgen.errors import BudgetError, UnsatisfiableSchemaError, UnsupportedSchemaError

VOCABULARY = sg.Vocabulary([bytes((i,)) for i in range(256)])


def cases(data_dir: Path, step: int) -> Iterator[dict[str, Any]]:
    """Every `step`-th case."""
    path = data_dir / "maskbench" / "maskbench-dev.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, islice(lines, 0, None, step))


def judge(case: dict[str, Any]) -> str:
    """How a case fares: "passed", "refused", or what went wrong."""
    spec = sg.JsonSchema(case["schema"], property_order="any", whitespace="any")
    try:
        constraint = sg.compile(spec, VOCABULARY)
    except (UnsupportedSchemaError, BudgetError):
        return "refused"
    except UnsatisfiableSchemaError:
        wrong = any(test["valid"] for test in case["tests"])
        return "a satisfiable schema is called unsatisfiable" if wrong else "passed"
    for test in case["tests"]:
        text = json.dumps(test["data"], ensure_ascii=False).encode()
        accepted = constraint.is_accepting(constraint.advance_bytes(constraint.start, text))
        if accepted != test["valid"]:
            return "an invalid instance is accepted" if accepted else "a valid one is rejected"
    return "passed"


def check(data_dir: Path, step: int) -> Counter[str]:
    """Judge every `step`-th case; none may go wrong."""
    counts: Counter[str] = Counter()
    wrong = []
    for case in cases(data_dir, step):
        outcome = judge(case)
        counts[outcome] += 1
        if outcome not in {"passed", "refused"}:
            wrong.append(f"{case['id']}: {outcome}")
    assert wrong == []
    return counts


def test_no_instance_of_the_sample_is_judged_wrongly(data_dir: Path) -> None:
    """One case in ninety; most are compiled rather than refused."""
    counts = check(data_dir, 90)
    assert counts["refused"] * 4 < counts["passed"]


@pytest.mark.slow
def test_no_instance_at_all_is_judged_wrongly(data_dir: Path) -> None:
    """All cases; takes many minutes."""
    counts = check(data_dir, 1)
    assert counts["refused"] * 4 < counts["passed"]
