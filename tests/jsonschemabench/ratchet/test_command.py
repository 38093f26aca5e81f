"""No outcome of structgen is worse than on record, and the command `ratchet` keeps that record.

The record, jsonschemabench/ratchet/ratchet.json, is written by
`python -m jsonschemabench ratchet --write`.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from jsonschemabench.engines.structgen import StructgenEngine
from jsonschemabench.ratchet import command as ratchet
from jsonschemabench.ratchet import record as ratchet_file
from jsonschemabench.ratchet.command import maskbench_outcomes, suite_outcomes
from jsonschemabench.ratchet.record import RATCHET, Comparison
from jsonschemabench.running.judge import Judge, byte_vocabulary
from jsonschemabench.running.outcomes import ACCEPTED_INVALID, CRASH, REJECTED_VALID
from structgen.errors import StructgenError

WRONG = {ACCEPTED_INVALID, REJECTED_VALID}


@pytest.fixture(scope="module")
def judge() -> Judge:
    """structgen in this process, with a token for each byte."""
    return Judge(StructgenEngine(), byte_vocabulary())


def command(*arguments: str) -> int:
    """The exit status of `ratchet` with these arguments."""
    parser = argparse.ArgumentParser()
    ratchet.add_parser(parser.add_subparsers())
    return ratchet.run(parser.parse_args(["ratchet", *arguments]))


# -- the record and the code as they are ---------------------------------------------------------


@pytest.mark.thorough
def test_no_test_of_the_suite_fares_worse_than_on_record(data_dir: Path, judge: Judge) -> None:
    """Each test of each file is compared, optional ones and formats too."""
    entries = ratchet_file.read(RATCHET)["suite"]
    comparison, left_out = Comparison(), list[str]()
    for name, measured in suite_outcomes(data_dir, judge, left_out):
        comparison.add(name, entries.get(name), measured)
    assert comparison.worse == []
    assert left_out == []


def check_maskbench(data_dir: Path, judge: Judge, every: int) -> None:
    """Check that no outcome of each `every`-th case of MaskBench is worse than on record."""
    entries = ratchet_file.read(RATCHET)["maskbench"]
    comparison, left_out = Comparison(), list[str]()
    for name, measured in maskbench_outcomes(data_dir, judge, left_out, every):
        comparison.add(name, entries.get(name), measured)
    assert comparison.worse == []
    assert left_out == []


@pytest.mark.thorough
def test_no_case_of_a_sample_fares_worse_than_on_record(data_dir: Path, judge: Judge) -> None:
    """One case of MaskBench in twenty."""
    check_maskbench(data_dir, judge, 20)


@pytest.mark.slow
def test_no_case_at_all_fares_worse_than_on_record(data_dir: Path, judge: Judge) -> None:
    """All cases of MaskBench; takes minutes."""
    check_maskbench(data_dir, judge, 1)


def test_no_wrong_verdict_is_on_record() -> None:
    """What is compiled is enforced exactly, in MaskBench and all that the suite requires."""
    entries = ratchet_file.read(RATCHET)
    required = {k: e for k, e in entries["suite"].items() if "/optional/" not in k}
    assert required
    assert entries["maskbench"]
    both = [*required.items(), *entries["maskbench"].items()]
    assert [(name, wrong) for name, entry in both if (wrong := WRONG & set(entry.counts))] == []
    assert [name for name, entry in required.items() if CRASH in entry.counts] == []


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Outside data in small: a file of the suite and a pack of two cases."""
    write_suite(tmp_path, valid=True)
    lines = [
        {"id": "Set---1", "schema": {"type": "null"}, "tests": [{"data": None, "valid": True}]},
        {"id": "Set---2", "schema": False, "tests": [{"data": 1, "valid": False}]},
    ]
    pack = tmp_path / "maskbench" / "maskbench-dev.jsonl.gz"
    pack.parent.mkdir()
    pack.write_bytes(gzip.compress("\n".join([*map(json.dumps, lines), "{"]).encode()))
    return tmp_path


def write_suite(folder: Path, *, valid: bool) -> None:
    """The suite with one test, in which null is valid or not."""
    test = {"description": "null", "data": None, "valid": valid}
    case = {"description": "a", "schema": {"type": "null"}, "tests": [test]}
    path = folder / "JSON-Schema-Test-Suite" / "tests" / "draft7" / "type.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([case]))


def forge(record: Path, section: str, name: str, **entry: Any) -> None:
    """Change an entry of the record."""
    data = json.loads(record.read_text())
    data[section][name] |= entry
    record.write_text(json.dumps(data))


def test_the_record_is_written_on_request_and_then_holds(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without `--write` nothing is; the next run finds nothing to report."""
    record = folder / "ratchet.json"
    arguments = ["--dir", str(folder), "--record", str(record)]
    assert command(*arguments) == 0
    assert not record.exists()
    assert command(*arguments, "--write") == 0
    entries = json.loads(record.read_text())
    assert entries["suite"]["draft7/type"]["counts"] == {"pass": 1}
    assert entries["maskbench"]["Set"]["counts"] == {"refused unsatisfiable": 1, "pass": 1}
    assert entries["maskbench"]["Set"]["names"] == {"refused unsatisfiable": ["Set---2"]}
    said = capsys.readouterr()
    assert "not on record, so not compared: 2, such as draft7/type, Set" in said.out
    assert "left out: " in said.err  # the line of the pack that is not JSON


@pytest.mark.thorough
def test_a_worse_outcome_fails_and_is_not_written_by_mistake(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes a further word to record it; what was not measured stays as it was."""
    record = folder / "ratchet.json"
    arguments = ["--dir", str(folder), "--record", str(record)]
    assert command(*arguments, "--write") == 0
    forge(record, "maskbench", "Set", names={})  # as if both cases had passed
    forge(record, "suite", "draft7/type", names={"crash": ["0/0"]})
    before = record.read_text()
    capsys.readouterr()
    assert command(*arguments) == 1
    assert command(*arguments, "--write") == 1
    assert record.read_text() == before
    said = capsys.readouterr()
    assert (
        "1 fare worse than on record\n  Set Set---2: pass -> refused unsatisfiable: no" in said.out
    )
    assert "1 fare better than on record\n  draft7/type 0/0: crash -> pass" in said.out
    assert "--accept-worse" in said.err
    assert command(*arguments, "--write", "--accept-worse", "--only", "maskbench") == 0
    entries = json.loads(record.read_text())
    assert entries["maskbench"]["Set"]["names"] == {"refused unsatisfiable": ["Set---2"]}
    assert entries["suite"]["draft7/type"]["names"] == {"crash": ["0/0"]}


def test_other_tests_than_those_on_record_are_not_compared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The suite itself has changed, so its outcome is no news about structgen."""
    record = folder / "ratchet.json"
    arguments = ["--dir", str(folder), "--record", str(record), "--only", "suite"]
    assert command(*arguments, "--write") == 0
    write_suite(folder, valid=False)
    assert command(*arguments) == 0
    assert "changed since, so not compared: 1, such as draft7/type" in capsys.readouterr().out


def test_missing_data_is_left_out_and_a_missing_folder_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in one line."""
    record = tmp_path / "ratchet.json"
    assert command("--dir", str(tmp_path), "--record", str(record)) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" ", 3)[:2] for line in lines] == [["left", "out:"]] * 2
    with pytest.raises(StructgenError, match="no folder with outside data") as caught:
        command("--dir", str(tmp_path / "nowhere"), "--record", str(record))
    assert "\n" not in str(caught.value)
