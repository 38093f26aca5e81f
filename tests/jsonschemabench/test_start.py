"""The command `start` measures the first mask of each engine in processes of its own."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from jsonschemabench import start
from jsonschemabench.engines import ENGINES
from jsonschemabench.errors import BenchError
from jsonschemabench.main import main


def process(total: float, **other: Any) -> dict[str, Any]:
    """What a process says that took so long in all."""
    stages = dict.fromkeys(start.STAGES, total / 4)
    return {"total": total, "stages": stages, "warm": total / 100, "memory": 50.0} | other


def test_a_row_has_the_first_process_and_the_best_of_the_others() -> None:
    """Of these all figures are of the same process."""
    found = [process(9.0), process(2.0, memory=60.0), process(3.0)]
    row = start._line("structgen", "schema", found)
    assert row == "| structgen | schema | 9,000.0 | 2,000.0 | 1,000.0 | 20.0 | 60 |"


def test_what_an_engine_refuses_is_said() -> None:
    """In place of the times."""
    row = start._line("other", "schema", [{"refused": "no grammars"}] * 2)
    assert row.count("|") == 8
    assert "no grammars" in row


def test_a_fresh_environment_has_kept_nothing_but_kernels() -> None:
    """And is gone afterwards."""
    with start._fresh_environment() as environment:
        folder = Path(environment["STRUCTGEN_CACHE"])
        assert {path.name for path in folder.iterdir()} <= {"kernels"}
        assert environment["XDG_CACHE_HOME"] == str(folder)
    assert not folder.exists()


@pytest.mark.parametrize("name", start.SPECS)
def test_a_process_measures_each_stage(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What a child prints: the time of each stage, of the second time, and its memory."""
    assert main(["start", "--child", "structgen", name, "--tokenizer", "bytes"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert tuple(found["stages"]) == start.STAGES
    assert found["total"] == pytest.approx(sum(found["stages"].values()))
    assert found["warm"] > 0
    assert found["memory"] > 1


def test_every_engine_gets_a_spec_or_is_left_out() -> None:
    """A schema is for all; a grammar is given in a dialect that the engine reads."""
    assert start._spec("schema", ("json_schema",)).kind == "json_schema"
    assert start._spec("small grammar", ("lark",)).kind == "lark"
    assert start._spec("large grammar", ("shipped", "lark")).text == start.LARGE
    with pytest.raises(BenchError):
        start._spec("small grammar", ("json_schema",))


@pytest.mark.thorough
def test_the_table_has_a_row_for_each_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each process sees what the first one left, as the environment is the same; the file too."""
    seen: list[tuple[str, str]] = []

    def child(engine: str, spec: str, _: argparse.Namespace, env: dict[str, str]) -> dict[str, Any]:
        seen.append((spec, env["STRUCTGEN_CACHE"]))
        return process(float(len(seen)))

    monkeypatch.setattr(start, "_child", child)
    out = tmp_path / "out.jsonl"
    assert main(["start", "--tokenizer", "bytes", "--repeat", "2", "--out", str(out)]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split("|")[2].strip() for row in rows] == list(start.SPECS)
    assert [spec for spec, _ in seen] == [spec for spec in start.SPECS for _ in range(3)]
    assert len(set(seen)) == len(start.SPECS)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [len(record["processes"]) for record in records] == [3] * len(start.SPECS)
    assert main(["start", "--tokenizer", "bytes", "--repeat", "0"]) == 2


@pytest.mark.thorough
def test_all_engines_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are installed, in real processes."""
    names = ",".join(ENGINES)
    assert main(["start", "--tokenizer", "bytes", "--repeat", "1", "--engines", names]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert any(row.startswith("| structgen | large grammar |") for row in rows)
    assert all(row.count("|") == 8 for row in rows if row.startswith("|"))
