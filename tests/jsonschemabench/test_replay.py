"""The command `replay` counts passes of recorded texts, and says which records it left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jsonschemabench.main import main

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "kind": {"enum": ["lamp", "chair"]}},
    "required": ["name", "kind"],
    "additionalProperties": False,
}
RECORD = {
    "spec": SCHEMA,
    "prompt": "Text: Nina Hartmann ordered a lamp.",
    "text": '{"name": "Nina Hartmann", "kind": "lamp"}',
}


def write(path: Path, lines: list[Any]) -> str:
    """A file of JSON Lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_records_are_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same text twice: the second time it is known, the copy was known at once."""
    broken = [{"spec": SCHEMA}, [], {**RECORD, "tokens": [-1]}, {**RECORD, "text": "{}"}]
    path = write(tmp_path / "records.jsonl", [RECORD, *broken, RECORD])
    names = "suffix,suffix-alone,suffix+copy+forced"
    assert main(["replay", path, "--json", "--drafters", names]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert list(found) == names.split(",")
    assert [one["texts"] for one in found.values()] == [2, 2, 2]
    assert found["suffix"]["tokens_per_forward"] > found["suffix-alone"]["tokens_per_forward"] > 1
    assert [f"record {n}" in shown.err for n in range(1, 7)] == [False, *[True] * 4, False]


def test_the_table_has_the_best_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each drafter."""
    path = write(tmp_path / "records.jsonl", [RECORD])
    assert main(["replay", path, "--drafters", "jacobi,copy+forced", "--nodes", "8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["drafter", "copy+forced", "jacobi"]


@pytest.mark.parametrize("content", ["not JSON\n", "[]\n", ""])
def test_files_without_records_are_refused(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line."""
    path = tmp_path / "records.jsonl"
    path.write_text(content)
    assert main(["replay", str(path)]) == 2
    assert "error" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "none")]) == 2
    assert main(["replay", str(path), "--drafters", "nosuch"]) == 2


def test_without_a_file_the_demo_model_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it wrote can be kept, and replayed again with the same figures."""
    path = tmp_path / "records.jsonl"
    assert (
        main(["replay", "--tasks", "2", "--save", str(path), "--drafters", "copy", "--json"]) == 0
    )
    first = json.loads(capsys.readouterr().out)
    assert main(["replay", str(path), "--drafters", "copy", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert first["copy"]["texts"] == 2
    assert {**first["copy"], "draft_ms": 0} == {**second["copy"], "draft_ms": 0}
