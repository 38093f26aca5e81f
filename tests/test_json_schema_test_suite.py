"""In: the official JSON Schema Test Suite. Out: six outcomes per file, which may only get better.

Each test is one of: accepted although invalid, a crash, rejected although valid, refused (a typed
error although some test of the group is valid), refused as unsatisfiable, passed. The first three
must never happen. `suite_ratchet.json` has the counts of the rest, by draft and file; write it anew
with STRUCTGEN_WRITE_RATCHET=1.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from referencing import Registry, Resource
from referencing.jsonschema import specification_with

import structgen as sg
from structgen.errors import (
    BudgetError,
    StructgenError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)
from tests.oracle import DIALECTS

RATCHET = Path(__file__).with_name("suite_ratchet.json")
DRAFTS = {"draft2020-12": DIALECTS[2020], "draft7": DIALECTS[7]}
REMOTES = {
    "draft4": DIALECTS[4], "draft6": DIALECTS[6], "draft7": DIALECTS[7],
    "draft2019-09": DIALECTS[2019],
}  # fmt: skip
NEVER = ("accepted although invalid", "crash", "rejected although valid")
VOCABULARY = sg.Vocabulary([bytes((i,)) for i in range(256)])


@cache
def registry(folder: Path, draft: str) -> Registry[Any]:
    """The documents that the suite expects at http://localhost:1234/."""
    found: Registry[Any] = Registry()
    for path in sorted(folder.rglob("*.json")):
        name = path.relative_to(folder).as_posix()
        dialect = REMOTES.get(name.split("/")[0], DRAFTS[draft])
        resource = Resource.from_contents(
            json.loads(path.read_text(encoding="utf-8")),
            default_specification=specification_with(dialect),
        )
        found = found.with_resource(f"http://localhost:1234/{name}", resource)
    return found


def outcomes(group: dict[str, Any], dialect: str, remotes: Registry[Any]) -> list[tuple[str, str]]:
    """The outcome of each test of a group, and what it was about."""
    schema = group["schema"]
    if isinstance(schema, dict):
        schema = {"$schema": dialect, **schema}
    names = [f"{group['description']}: {test['description']}" for test in group["tests"]]
    spec = sg.JsonSchema(
        schema, property_order="any", whitespace="any", formats="annotate", registry=remotes
    )
    try:
        constraint = sg.compile(spec, VOCABULARY)
    except UnsatisfiableSchemaError:
        wrong = any(test["valid"] for test in group["tests"])
        return [("rejected although valid" if wrong else "unsatisfiable", n) for n in names]
    except (UnsupportedSchemaError, BudgetError):
        return [("refused", n) for n in names]
    except (StructgenError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        return [("crash", f"{n}: {error!r}") for n in names]
    found = []
    for test, name in zip(group["tests"], names, strict=True):
        text = json.dumps(test["data"]).encode()
        accepted = constraint.is_accepting(constraint.advance_bytes(constraint.start, text))
        outcome = "passed" if accepted == test["valid"] else NEVER[0 if accepted else 2]
        found.append((outcome, name))
    return found


@pytest.mark.parametrize("draft", DRAFTS)
def test_no_file_of_the_suite_fares_worse_than_before(draft: str, data_dir: Path) -> None:
    """Nothing is over- or under-constrained, and each file's counts are those of the ratchet."""
    suite = data_dir / "JSON-Schema-Test-Suite"
    remotes = registry(suite / "remotes", draft)
    counts: dict[str, dict[str, int]] = {}
    failures: list[str] = []
    for path in sorted((suite / "tests" / draft).glob("*.json")):
        counted: Counter[str] = Counter()
        for group in json.loads(path.read_text(encoding="utf-8")):
            for outcome, name in outcomes(group, DRAFTS[draft], remotes):
                counted[outcome] += 1
                if outcome in NEVER:
                    failures.append(f"{path.stem}: {outcome}: {name}")
        counts[path.stem] = dict(sorted(counted.items()))
    known = json.loads(RATCHET.read_text(encoding="utf-8")) if RATCHET.exists() else {}
    if os.environ.get("STRUCTGEN_WRITE_RATCHET"):
        known[draft] = counts
        RATCHET.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert failures == []
    assert counts == known[draft]
