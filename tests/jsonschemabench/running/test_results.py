"""Results files can be resumed, and damage in them is reported."""

from __future__ import annotations

import json
import platform
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from jsonschemabench.engines import engine_class
from jsonschemabench.errors import BenchError
from jsonschemabench.running.results import Writer, header, read
from structgen import Vocabulary

ENGINES = {"structgen": engine_class("structgen")}


def begun(**options: Any) -> dict[str, Any]:
    """A header of a run with these options."""
    return header("masks", ENGINES, Vocabulary([b"a"]), options)


def record(case: str) -> dict[str, Any]:
    """A record of a case that passes."""
    return {"kind": "case", "case": case, "engine": "structgen", "outcome": "pass"}


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """A file of a run that was killed while it wrote its third record."""
    path = tmp_path / "new folder" / "results.jsonl"
    with Writer(path, begun(every=1)) as writer:
        writer.write(record("a"))
        writer.write(record("b"))
    with path.open("ab") as file:
        file.write(b'{"kind": "case", "case": "c", "eng')
    return path


def test_a_header_says_what_ran_where() -> None:
    """Machine, versions and settings of engines, vocabulary, options."""
    found = begun(every=3)
    assert found["engines"]["structgen"]["version"]
    assert found["engines"]["structgen"]["settings"]["whitespace"] == "any"
    assert found["vocabulary"]["size"] == 1
    assert found["options"] == {"every": 3}
    assert found["machine"].keys() == {"cores", "memory", "python", "platform"}


@pytest.mark.parametrize(
    ("options", "prefix", "note"),
    [
        ("'--enable-optimizations' '--with-lto'", "/opt/python", ""),
        ("'--with-computed-gotos'", "/usr", ""),
        ("'--enable-shared'", "/opt/python", " (without --enable-optimizations)"),
        (None, "/opt/python", " (without --enable-optimizations)"),
    ],
)
def test_a_header_says_how_python_was_built(
    options: str | None, prefix: str, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build without optimisations takes longer for all that Python does."""
    monkeypatch.setattr(sysconfig, "get_config_var", {"CONFIG_ARGS": options}.get)
    monkeypatch.setattr(sys, "base_prefix", prefix)
    assert begun()["machine"]["python"] == platform.python_version() + note


def test_a_half_written_record_is_reported(interrupted: Path) -> None:
    """The whole records are read; the line of the other is named."""
    found = read(interrupted)
    assert [r["case"] for r in found.records] == ["a", "b"]
    assert len(found.damaged) == 1
    assert f"{interrupted}:4" in found.damaged[0]


def test_an_interrupted_run_goes_on_where_it_stopped(interrupted: Path) -> None:
    """What is whole is kept, the half record is replaced, the first header stays."""
    first = read(interrupted).header
    with Writer(interrupted, begun(every=1)) as writer:
        assert writer.done == {("a", "structgen"), ("b", "structgen")}
        assert [r["case"] for r in writer.previous] == ["a", "b"]
        assert writer.header == first
        writer.write(record("c"))
    found = read(interrupted)
    assert [r["case"] for r in found.records] == ["a", "b", "c"]
    assert (found.damaged, found.header) == ([], first)


def test_a_file_that_ends_in_the_header_begins_anew(tmp_path: Path) -> None:
    """A run that was killed at once leaves no whole header; nothing is lost by starting over."""
    path = tmp_path / "results.jsonl"
    with Writer(path, begun()):
        pass
    path.write_bytes(path.read_bytes()[:40])
    with Writer(path, begun()) as writer:
        writer.write(record("a"))
    assert [r["case"] for r in read(path).records] == ["a"]


def test_a_file_of_another_run_is_not_touched(interrupted: Path) -> None:
    """The error names what differs, and the file stays as it was."""
    before = interrupted.read_bytes()
    with pytest.raises(BenchError, match=r"options are not the same.*--fresh"):
        Writer(interrupted, begun(every=2))
    assert interrupted.read_bytes() == before


def test_a_fresh_run_replaces_the_file(interrupted: Path) -> None:
    """That is what `--fresh` is for."""
    with Writer(interrupted, begun(every=2), fresh=True) as writer:
        assert writer.done == set()
    assert read(interrupted).records == []


def test_a_damaged_line_costs_itself(tmp_path: Path) -> None:
    """Records before and behind it count."""
    path = tmp_path / "results.jsonl"
    lines = [begun(), record("a"), "no record", {"kind": "case"}, record("b")]
    path.write_text("\n".join(map(json.dumps, lines)) + "\nnot JSON\n")
    found = read(path)
    assert [r["case"] for r in found.records] == ["a", "b"]
    assert [line.split(": ")[0] for line in found.damaged] == [f"{path}:{n}" for n in (3, 4, 6)]


def test_a_second_run_in_one_file_is_left_out(tmp_path: Path) -> None:
    """Its records would be counted under the wrong header."""
    path = tmp_path / "results.jsonl"
    lines = [begun(), record("a"), begun(), record("b")]
    path.write_text("\n".join(map(json.dumps, lines)))
    found = read(path)
    assert [r["case"] for r in found.records] == ["a"]
    assert "another run begins here" in found.damaged[0]


@pytest.mark.parametrize("content", [None, b"", b"{}\n", b"\x00\xff\n[1]\n"])
def test_what_is_no_results_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """One line that names the file."""
    path = tmp_path / "results.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BenchError, match=r"results\.jsonl"):
        read(path)


def test_a_foreign_file_is_not_overwritten(tmp_path: Path) -> None:
    """--out that names something else by mistake costs nothing."""
    path = tmp_path / "thesis.txt"
    path.write_text("years of work\n")
    with pytest.raises(BenchError, match="no results file"):
        Writer(path, begun())
    assert path.read_text() == "years of work\n"


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """As one error, not as a traceback; and so is a folder where the file should be."""
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "results.jsonl", tmp_path):
        with pytest.raises(BenchError, match="cannot be written") as caught:
            Writer(path, begun())
        assert caught.value.location == str(path)
