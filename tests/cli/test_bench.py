"""`structgen bench` hands all its arguments to jsonschemabench."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from structgen.cli.commands import bench
from structgen.cli.main import main


def test_arguments_are_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Options and `--help` too; the exit status comes back."""
    pytest.importorskip("tqdm")
    pytest.importorskip("psutil")
    assert main(["bench", "--help"]) == 0
    assert "usage: structgen bench" in capsys.readouterr().out
    assert main(["bench", "masks", "--cases", "nowhere", "--every", "2"]) == 2
    assert "structgen bench: error: the cases cannot be read" in capsys.readouterr().err


def test_an_installation_without_the_benchmarks_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are in the repository only."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(bench, "CHECKOUT", tmp_path)
    assert main(["bench", "masks"]) == 2
    assert "the benchmarks are not installed with structgen" in capsys.readouterr().err
