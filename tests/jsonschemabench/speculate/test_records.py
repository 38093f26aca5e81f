"""Runs of `speculate` come back from files, and those of several commands make one table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jsonschemabench.errors import BenchError
from jsonschemabench.main import main
from jsonschemabench.speculate.records import Records, load
from jsonschemabench.speculate.runs import PLAIN, REGIONS, Run
from structgen import Vocabulary

VOCABULARY = Vocabulary([b"<end>", b"a"], eos_ids=[0])
OPTIONS = {"shape": "demo", "batch": "1"}
REGION = dict.fromkeys(REGIONS, (4, 3))


def made(workload: str, task: int, arm: str, seconds: float) -> Run:
    """A run of ten tokens after the first one."""
    plain = Run(
        workload, task, arm, 11, 10, seconds, 0.0, seconds, 0, 0, 0, (), (), (), {}, 0, True
    )
    rounds = ((2, 1, 2),) * 5
    fast = replace(plain, forwards=5, tried=(5,), kept=(5,), rounds=rounds, regions=REGION)
    return replace(plain, regions=REGION) if arm == PLAIN else fast


def opened(path: Path, *, fresh: bool = False) -> Records:
    """The file, as another command would open it."""
    return Records(path, VOCABULARY, OPTIONS, fresh=fresh)


def test_runs_come_back_with_their_session(tmp_path: Path) -> None:
    """What was run by all arms asked for is known; a line cut off is left out."""
    path = tmp_path / "runs.jsonl"
    runs = [made("json", 0, PLAIN, 10.0), made("json", 0, "auto", 5.0)]
    for run in runs:
        with opened(path) as records:  # each by a command of its own
            records.add(run)
    assert load(path) == [replace(runs[0], session=1), replace(runs[1], session=2)]
    with opened(path) as records:
        assert records.has("json", 0, (PLAIN, "auto"))
        assert not records.has("json", 0, (PLAIN, "auto", "copy"))
        assert not records.has("json", 1, (PLAIN,))
    path.write_bytes(path.read_bytes()[:-9])
    assert load(path) == [replace(runs[0], session=1)]
    with opened(path, fresh=True) as records:
        assert not records.has("json", 0, (PLAIN,))


def test_other_runs_need_another_file(tmp_path: Path) -> None:
    """Runs of another shape do not go into one file; and a file must hold runs to be shown."""
    path = tmp_path / "runs.jsonl"
    with opened(path) as records:
        records.add(made("json", 0, PLAIN, 1.0))
    with pytest.raises(BenchError, match="options"):
        Records(path, VOCABULARY, OPTIONS | {"shape": "30m"}, fresh=False)
    with opened(path, fresh=True), pytest.raises(BenchError, match="no runs"):
        load(path)


def test_each_command_is_compared_with_its_own_plain_decoding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twice as fast both times, though the machine was ten times as slow the second time."""
    path = tmp_path / "runs.jsonl"
    for arm, workload, slow in (("auto", "json", 1), ("copy", "json", 10), ("auto", "sql", 1)):
        with opened(path) as records:
            for task in range(2):
                records.add(made(workload, task, PLAIN, 10.0 * slow))
                records.add(made(workload, task, arm, 5.0 * slow))
    assert main(["speculate", "--report", "--out", str(path)]) == 0
    shown = capsys.readouterr().out
    cell = "2.00, 2.00 (2.00 to 2.00), 2.00"
    assert "| drafter | json | sql |" in shown
    assert f"| auto | {cell} | {cell} |" in shown
    assert f"| copy | {cell} |  |" in shown


def test_a_report_needs_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    """It says which option is missing."""
    assert main(["speculate", "--report"]) == 2
    assert "--out" in capsys.readouterr().err
