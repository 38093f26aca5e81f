"""`structgen map` writes a fitting text for each row, and goes on where it was stopped."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import structgen as sg
from structgen.cli.main import main
from structgen.errors import ArtifactError, SpecError
from structgen.integrations.mapping import local
from structgen.integrations.mapping.rows import Template, answers, read_rows

SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"],
          "additionalProperties": False}  # fmt: skip
ROWS = [{"prompt": f"Row {n}.", "n": n} for n in range(5)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Five rows."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def command(source: Path, out: Path, *more: str) -> int:
    """Run the command with the shipped model."""
    given = ["map", str(source), "--spec", json.dumps(SCHEMA), "--out", str(out)]
    return main([*given, "--temperature", "0", "--batch", "2", *more])


def lines(out: Path) -> list[dict[str, Any]]:
    """The rows of the output."""
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_every_row_gets_a_text_that_fits(source: Path, tmp_path: Path) -> None:
    """In the order of the input, with the row beside it."""
    out = tmp_path / "out.jsonl"
    assert command(source, out) == 0
    found = lines(out)
    assert [one["input"] for one in found] == ROWS
    assert [one["row"] for one in found] == list(range(5))
    for one in found:
        sg.check(SCHEMA, one["text"])
        assert json.loads(one["text"]) == one["value"]


def test_a_stopped_run_goes_on(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there stays, half a line goes, and only missing rows are written."""
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    assert command(source, whole) == 0
    text = whole.read_text().splitlines(keepends=True)
    out.write_text("".join(text[:2]) + text[2][:10])
    asked: list[int] = []

    def counted(generator: Any, work: Any, rows: Any) -> Any:
        asked.append(len(rows))
        return answers(generator, work, rows)

    monkeypatch.setattr("structgen.integrations.mapping.local.answers", counted)
    assert command(source, out) == 0
    assert sum(asked) == 3
    assert [(one["row"], one["text"]) for one in lines(out)] == [
        (one["row"], one["text"]) for one in lines(whole)
    ]
    assert command(source, out) == 0
    assert sum(asked) == 3


def test_other_work_is_not_mixed_in(source: Path, tmp_path: Path) -> None:
    """Neither another prompt nor a file of something else."""
    out = tmp_path / "out.jsonl"
    assert command(source, out) == 0
    before = out.read_text()
    assert command(source, out, "--prompt", "Number {n}:") == 2
    assert out.read_text() == before
    out.write_text("something else\n")
    with pytest.raises(ArtifactError, match="other work"):
        local._resume(out, "0" * 16)
    assert out.read_text() == "something else\n"


def test_a_row_without_a_text_says_why(source: Path, tmp_path: Path) -> None:
    """The others get theirs; the exit status tells."""
    out = tmp_path / "out.jsonl"
    assert command(source, out, "--max-tokens", "1") == 1
    found = lines(out)
    assert len(found) == 5
    assert all(one["text"] is None and "max_tokens" in one["error"] for one in found)


def test_rows_come_from_csv_and_parquet(tmp_path: Path) -> None:
    """The same rows; another ending and broken lines are refused with their place."""
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["prompt", "n"])
        writer.writeheader()
        writer.writerows(ROWS)
    assert list(read_rows(path)) == [{k: str(v) for k, v in row.items()} for row in ROWS]
    broken = tmp_path / "rows.jsonl"
    broken.write_text('{"a": 1}\n\n[1]\n')
    with pytest.raises(SpecError) as caught:
        list(read_rows(broken))
    assert caught.value.location == f"{broken}:3"
    with pytest.raises(SpecError, match="not read from"):
        list(read_rows(tmp_path / "rows.xls"))


def test_rows_come_from_parquet(tmp_path: Path) -> None:
    """With the types that they have there."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    assert list(read_rows(path)) == ROWS


def test_a_prompt_names_columns() -> None:
    """Braces are doubled; values that are no texts are JSON; what is missing is named."""
    template = Template("{{{a}}}: {b}, {n}")
    assert template.fill({"a": "x", "b": [1, "y"], "n": None}) == '{x}: [1, "y"], null'
    with pytest.raises(SpecError) as caught:
        template.fill({"a": "x", "n": 1})
    assert (caught.value.location, caught.value.expected) == ("{b} in the prompt", "a, n")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("ray_cluster")
def test_a_cluster_of_ray_writes_the_same(source: Path, tmp_path: Path) -> None:
    """An actor on each of two nodes; the texts are those of a run without Ray."""
    parquet = pytest.importorskip("pyarrow.parquet")
    here, there = tmp_path / "here.jsonl", tmp_path / "there"
    assert command(source, here, "--batch", "1") == 0
    assert command(source, there, "--ray", "--actors", "2", "--batch", "1") == 0
    rows = [row for path in there.glob("*.parquet") for row in parquet.read_table(path).to_pylist()]
    found = {row["n"]: row["text"] for row in rows}
    assert found == {one["input"]["n"]: one["text"] for one in lines(here)}
    assert all(row["error"] is None for row in rows)
