"""The command `compare` calls a worse outcome worse, and says so in its exit status."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsonschemabench.compare import Change
from jsonschemabench.main import main
from jsonschemabench.running.outcomes import OUTCOMES
from tests.jsonschemabench.made import Record, header, record, timed, write


def compared(
    tmp_path: Path,
    capsys: Any,
    before: list[Record],
    after: list[Record],
    *options: str,
) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of comparing these records."""
    old = write(tmp_path / "old.jsonl", before)
    new = write(tmp_path / "new.jsonl", after)
    status = main(["compare", str(old), str(new), *options])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize("new", range(len(OUTCOMES)))
@pytest.mark.parametrize("old", range(len(OUTCOMES)))
def test_a_move_towards_a_worse_outcome_is_a_regression(
    old: int, new: int, tmp_path: Path, capsys: Any
) -> None:
    """OUTCOMES are worst first; only a step down fails."""
    before, after = ([record("a---1", "e", OUTCOMES[index])] for index in (old, new))
    status, out, _ = compared(tmp_path, capsys, before, after)
    assert status == (1 if new < old else 0)
    assert ("## Worse" in out) == (new < old)
    assert ("## Better" in out) == (new > old)


@given(st.lists(st.tuples(*[st.sampled_from(OUTCOMES)] * 2), min_size=1, max_size=8))
def test_worse_and_better_are_mirror_images(tmp_path_factory: Any, moves: Any) -> None:
    """Comparing the other way round swaps them."""
    mirrored = {"worse": "better", "better": "worse", "other": "other"}
    for old, new in moves:
        there, back = Change("c", "e", old, new, ""), Change("c", "e", new, old, "")
        assert back.direction == mirrored[there.direction]
        assert (there.direction == "other") == (old == new)


def test_each_change_is_listed_with_its_message(tmp_path: Path, capsys: Any) -> None:
    """Case, engine, outcome before and after, and why."""
    error = {"kind": "unsupported", "message": "no 'not' <here>"}
    status, out, _ = compared(
        tmp_path,
        capsys,
        [record("a---1", "structgen"), record("a---2", "structgen", "crash")],
        [
            record("a---1", "structgen", "refused satisfiable", error=error),
            record("a---2", "structgen"),
        ],
    )
    assert status == 1
    assert "1 outcome got worse, 1 got better." in out
    assert "| a---1 | structgen | pass | refused satisfiable | no 'not' &lt;here&gt; |" in out
    assert "| a---2 | structgen | crash | pass |  |" in out
    assert "| structgen | 2 | 1 | 1 | 1 | 1 |" in out


def test_tests_of_a_suite_are_compared_one_by_one(tmp_path: Path, capsys: Any) -> None:
    """A test that got worse is not hidden by a worse one in its group."""
    before = record("f#0", "e", "crash", tests=["pass", "pass", "crash"])
    after = record("f#0", "e", "crash", tests=["pass", "rejected valid", "crash"])
    status, out, _ = compared(tmp_path, capsys, [before], [after])
    assert status == 1
    assert "| f#0, test 2 | e | pass | rejected valid |  |" in out
    assert "| e | 3 | 2 | 1 | 1 | 0 |" in out


def test_longer_times_are_reported_and_count_when_asked(tmp_path: Path, capsys: Any) -> None:
    """Twice as long is more than the tolerance of 20 %, and less than one of 150 %."""
    times = [float(time) for time in range(1, 201)]
    short = [timed("a---1", "e", times)]
    long = [timed("a---1", "e", [2 * time for time in times])]
    status, out, _ = compared(tmp_path, capsys, short, long)
    assert status == 0
    assert "7 of the percentiles of times are longer by more than 20 %" in out
    assert "| Time per mask, schema seen before | e | p50 | 2.00× |" in out
    assert compared(tmp_path, capsys, short, long, "--times")[0] == 1
    assert compared(tmp_path, capsys, short, long, "--times", "--tolerance", "150")[0] == 0
    assert compared(tmp_path, capsys, long, short, "--times")[0] == 0


def test_times_are_of_the_cases_that_both_runs_have(tmp_path: Path, capsys: Any) -> None:
    """A slow case that is new does not make the rest slower."""
    old = [timed("a---1", "e", [1, 1, 1])]
    status, out, err = compared(
        tmp_path, capsys, old, [*old, timed("a---2", "e", [9, 9, 9])], "--times"
    )
    assert status == 0
    assert f"cases only in {tmp_path / 'new.jsonl'}: 1; left out" in err
    assert "| 1.00× | 1.00× |" in out


def test_what_cannot_be_compared_is_said(tmp_path: Path, capsys: Any) -> None:
    """An engine and a case of one file alone; the rest is compared."""
    status, out, err = compared(
        tmp_path,
        capsys,
        [record("a---1", "structgen"), record("a---1", "peer"), record("a---2", "structgen")],
        [record("a---1", "structgen")],
    )
    assert status == 0
    assert "peer is only in" in err
    assert f"cases only in {tmp_path / 'old.jsonl'}: 1; left out" in err
    assert "| structgen | 1 | 1 | 1 | 0 | 0 |" in out


def test_other_machines_and_options_are_said(tmp_path: Path, capsys: Any) -> None:
    """Times of two machines are not comparable."""
    old = write(tmp_path / "old.jsonl", [record("a", "structgen"), record("a", "peer")])
    first = header() | {"machine": {"cores": 64}}
    new = write(tmp_path / "new.jsonl", [record("a", "structgen"), record("a", "peer")], first)
    assert main(["compare", str(old), str(new)]) == 0
    assert "the runs differ in machine" in capsys.readouterr().err


BAD: dict[str, tuple[list[Record] | None, Record | None, str]] = {
    "missing": (None, None, "cannot be read"),
    "header only": ([], None, "nothing to compare"),
    "another command": ([record("a", "e")], header("suite", ["e"]), "one command"),
    "nothing in common": ([record("z", "e")], header(engines=["e"]), "in common"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_costs_one_line_and_status_2(name: str, tmp_path: Path, capsys: Any) -> None:
    """Status 1 is for regressions alone."""
    records, first, said = BAD[name]
    good = write(tmp_path / "good.jsonl", [record("a", "e")], header(engines=["e"]))
    bad = tmp_path / "bad.jsonl"
    if records is not None:
        write(bad, records, first)
    for pair in ([good, bad], [bad, good]):
        assert main(["compare", *map(str, pair)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert said in err.splitlines()[-1]


def test_a_half_written_file_is_compared_as_far_as_it_goes(tmp_path: Path, capsys: Any) -> None:
    """The broken line is named, the others count."""
    old = write(tmp_path / "old.jsonl", [record("a", "e"), record("b", "e")], header(engines=["e"]))
    new = write(tmp_path / "new.jsonl", [record("a", "e", "crash")], header(engines=["e"]))
    with new.open("a") as file:
        file.write('{"kind": "case", "ca')
    assert main(["compare", str(old), str(new)]) == 1
    assert "new.jsonl:3" in capsys.readouterr().err
