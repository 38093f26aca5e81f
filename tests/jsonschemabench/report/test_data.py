"""Results files are counted by engine and group, and what is odd in them is named, not fatal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsonschemabench.errors import BenchError
from jsonschemabench.report.chapter import percentiles
from jsonschemabench.report.data import features_of, judged, load, load_all
from jsonschemabench.running.times import histogram
from tests.jsonschemabench.made import Record, header, record, timed, write


def test_outcomes_are_counted_by_group_and_engine(tmp_path: Path) -> None:
    """A case counts for each of its keywords, and once for its engine."""
    path = write(
        tmp_path / "r.jsonl",
        [
            record("a---1", "structgen", features=["enum", "type"]),
            record("a---2", "structgen", "crash", features=["enum"]),
            record("a---1", "peer", "rejected valid", features=["enum", "type"]),
            record("a---2", "peer"),
        ],
    )
    found = load(path)
    assert found.engines == ["structgen", "peer"]
    assert found.grouped(features_of) == {
        "enum": {
            "structgen": {"pass": 1, "crash": 1},
            "peer": {"rejected valid": 1},
        },
        "type": {"structgen": {"pass": 1}, "peer": {"rejected valid": 1, "pass": 1}},
    }
    assert found.remarks == []


def test_tests_of_a_suite_are_counted_one_by_one(tmp_path: Path) -> None:
    """Where a record judges each test, tests are what is counted."""
    path = write(tmp_path / "r.jsonl", [record("f#0", "e", "crash", tests=["pass", "crash"])])
    found = load(path)
    assert found.unit == "tests"
    assert judged(found.records("e")[0]) == ["pass", "crash"]


def test_times_together_are_of_the_cases_that_both_engines_have(tmp_path: Path) -> None:
    """Peers are held against each other on the same cases."""
    records = [
        timed("a---1", "structgen", [1]),
        timed("a---1", "peer", [10]),
        timed("a---2", "structgen", [100]),
        record("a---2", "peer", "refused satisfiable"),
    ]
    found = load(write(tmp_path / "r.jsonl", records))
    assert found.times("seen_before", "structgen")["count"] == 2
    together = found.times("seen_before", "structgen", "peer")
    assert (together["count"], together["sum_ns"]) == (1, 1000)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=300))
def test_percentiles_are_those_of_all_times(times: list[int]) -> None:
    """Within the histogram's 1.1 %, and only where at least one time can lie above."""
    found = percentiles(histogram(times))
    for percent in (25, 50, 75, 90, 95, 99, 99.9):
        value = found[f"p{percent:g}"]
        if len(times) * (100 - percent) < 99.9999:
            assert np.isnan(value)
        else:
            exact = np.percentile(times, percent, method="inverted_cdf")
            assert value == pytest.approx(exact, rel=0.012, abs=1)
    assert found["max"] == max(times)
    assert found["mean"] == pytest.approx(sum(times) / len(times))


def lines(*parts: Any) -> Callable[[Path], Path]:
    """A file with these lines; what is no text is written as JSON."""

    def make(folder: Path) -> Path:
        path = folder / "r.jsonl"
        texts = [part if isinstance(part, str) else json.dumps(part) for part in parts]
        path.write_text("\n".join(texts), encoding="utf-8")
        return path

    return make


GOOD = record("a---1", "structgen")
ODD: dict[str, tuple[Callable[[Path], Path], str]] = {
    "half a line": (lines(header(), GOOD, record("b", "peer"), '{"kind": "ca'), "r.jsonl:4"),
    "no case": (lines(header()), "no case yet"),
    "an engine is missing": (lines(header(), GOOD), "no case of peer"),
    "a case is missing": (
        lines(header(), GOOD, record("a---2", "structgen"), record("a---1", "peer")),
        "peer has 1 of the 2 cases",
    ),
    "twice": (
        lines(header(engines=["structgen"]), GOOD, GOOD),
        "replaced by later ones of the same case and engine: 1",
    ),
    "another run behind": (
        lines(header(engines=["structgen"]), GOOD, header("suite"), record("c", "x")),
        "another run begins here",
    ),
    "outcome is a list": (
        lines(header(), GOOD | {"outcome": []}, record("b", "peer"), GOOD),
        "records without a proper case",
    ),
    "broken times": (
        lines(
            header(), GOOD | {"first_use": {"ns": [1], "n": "x", "count": 1}}, record("b", "peer")
        ),
        "records with broken times",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_said_and_the_rest_is_kept(name: str, tmp_path: Path) -> None:
    """Nothing raises, and a remark names the trouble."""
    make, said = ODD[name]
    found = load(make(tmp_path))
    assert any(said in remark for remark in found.remarks), found.remarks
    assert all("\n" not in remark for remark in found.remarks)
    assert len(found.cases) > 0 or name == "no case"


NO_RESULTS: dict[str, Callable[[Path], Path]] = {
    "nothing there": lambda folder: folder / "none.jsonl",
    "a folder": lambda folder: folder,
    "empty": lines(""),
    "something else": lines("<html>", "</html>"),
    "no header": lines(GOOD),
}


@pytest.mark.parametrize("name", NO_RESULTS)
def test_a_file_without_results_costs_one_line(name: str, tmp_path: Path) -> None:
    """Alone it is an error; among others it is left out."""
    bad = NO_RESULTS[name](tmp_path)
    with pytest.raises(BenchError) as caught:
        load(bad)
    assert str(bad) in str(caught.value)
    assert "\n" not in str(caught.value)
    good = write(tmp_path / "good.jsonl", [GOOD], header(engines=["structgen"]))
    runs, remarks = load_all([bad, good])
    assert [run.path for run in runs] == [good]
    assert remarks == [str(caught.value)]


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=4), part, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = "case engine outcome dataset features tests compile_ns first_use memory_peak wrong error"


@given(st.dictionaries(st.sampled_from(FIELDS.split()), JSON, max_size=4))
def test_no_field_of_a_record_can_break_the_reading(tmp_path_factory: Any, odd: Record) -> None:
    """Whatever a field holds, the other records are read and every number is a number."""
    path = write(tmp_path_factory.mktemp("odd") / "r.jsonl", [GOOD | odd, timed("z", "z", [1, 2])])
    found = load(path)
    assert "z" in found.engines
    for engine in found.engines:
        for measure in ("compile_ns", "first_use", "seen_before"):
            assert found.times(measure, engine)["count"] >= 0
    assert found.times("seen_before", "z")["count"] == 2
