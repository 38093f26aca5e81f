"""Tables of `suite` count tests and cases, and list failures by case."""

from __future__ import annotations

from typing import Any

from jsonschemabench.running.outcomes import (
    ACCEPTED_INVALID,
    CRASH,
    PASS,
    REFUSED_SATISFIABLE,
    REFUSED_UNSATISFIABLE,
    REJECTED_VALID,
    worst,
)
from jsonschemabench.suite.tables import COLUMNS, draft_table, failures, keyword_table, tables
from tests.jsonschemabench.made import header


def record(case: str, engine: str, *tests: str, **fields: Any) -> dict[str, Any]:
    """A record of a case in the file "items"."""
    return {
        "case": f"draft7/items#{case}",
        "engine": engine,
        "dataset": "draft7",
        "file": "items",
        "description": f"case {case}",
        "tests": list(tests),
        "outcome": worst(tests),
    } | fields


RECORDS = [
    record("0", "structgen", PASS, PASS, PASS),
    record("1", "structgen", REFUSED_UNSATISFIABLE),
    record(
        "2",
        "structgen",
        *[REFUSED_SATISFIABLE] * 3,
        error={"kind": "unsupported", "message": "not yet"},
    ),
    record(
        "3",
        "structgen",
        REJECTED_VALID,
        PASS,
        ACCEPTED_INVALID,
        ACCEPTED_INVALID,
        wrong=[
            {"description": "a", "accepted": False},
            {"description": "c", "accepted": True},
            {"description": "d", "accepted": True},
        ],
    ),
    record("0", "peer", PASS, CRASH, CRASH, error={"kind": "crash", "message": "gone"}),
]


def test_a_draft_is_counted_by_test_and_by_case() -> None:
    """A case has the outcome of its worst test; refusals of unsatisfiable schemas are right."""
    assert COLUMNS == [
        PASS,
        REFUSED_UNSATISFIABLE,
        REFUSED_SATISFIABLE,
        REJECTED_VALID,
        CRASH,
        ACCEPTED_INVALID,
    ]
    assert draft_table("draft7", RECORDS, ["structgen", "peer", "absent"]).split("\n") == [
        f"| draft7 | in | number | right | {' | '.join(COLUMNS)} |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| structgen | tests | 11 | 45.5% | 4 | 1 | 3 | 1 | 0 | 2 |",
        "| structgen | cases | 4 | 50.0% | 1 | 1 | 1 | 0 | 0 | 1 |",
        "| peer | tests | 3 | 33.3% | 1 | 0 | 0 | 0 | 2 | 0 |",
        "| peer | cases | 1 | 0.0% | 0 | 0 | 0 | 0 | 1 | 0 |",
        "| absent | tests | 0 | - | 0 | 0 | 0 | 0 | 0 | 0 |",
        "| absent | cases | 0 | - | 0 | 0 | 0 | 0 | 0 | 0 |",
    ]


def test_a_keyword_shows_what_is_right_and_what_became_of_the_rest() -> None:
    """Required files come before optional ones."""
    other = record("0", "structgen", PASS) | {"file": "optional/bignum"}
    later = record("0", "structgen", PASS) | {"file": "ref"}
    assert keyword_table("draft7", [other, later, *RECORDS], ["structgen", "peer"]).split("\n") == [
        "| draft7: keyword | tests | structgen | peer |",
        "| --- | ---: | ---: | ---: |",
        "| items | 11 | 5 (2 invalid, 1 rejected, 3 refused) | 1 (2 crash) |",
        "| ref | 1 | 1 | 0 |",
        "| optional/bignum | 1 | 1 | 0 |",
    ]


def test_failures_are_listed_by_case_worst_first() -> None:
    """With the numbers of the tests, and what was said or which instances they are."""
    assert failures(RECORDS).split("\n") == [
        "accepted invalid: structgen: draft7/items#3/2-3: case 3: c, d",
        "crash: peer: draft7/items#0/1-2: case 0: gone",
        "rejected valid: structgen: draft7/items#3/0: case 3: a",
        "refused satisfiable: structgen: draft7/items#2/0-2: case 2: not yet",
    ]


def test_all_tables_say_what_was_measured() -> None:
    """Versions, and a table of each kind for each draft."""
    newer = record("0", "peer", PASS) | {"dataset": "draft2020-12"}
    shown = tables(header("suite"), [*RECORDS, newer], ["structgen", "peer"])
    assert "structgen 1.2, peer 1.2, vocabulary of 1,000 tokens" in shown
    assert shown.count("\n| draft7") == shown.count("\n| draft2020-12") == 2
