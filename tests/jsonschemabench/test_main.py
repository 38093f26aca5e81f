"""Each command line leads to its command, or to one line of error."""

from __future__ import annotations

import sys

import pytest

from jsonschemabench.main import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_describes_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its module is there and has a parser with help."""
    assert main([command, "--help"]) == 0
    assert f"jsonschemabench {command}" in capsys.readouterr().out


def test_the_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Without importing what they need."""
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(summary in " ".join(shown.split()) for _, summary in COMMANDS.values())


@pytest.mark.parametrize("arguments", [[], ["nosuch"], ["masks", "--every", "0"]])
def test_a_wrong_command_line_ends_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """As argparse has it."""
    assert main(arguments) == 2
    assert "usage:" in capsys.readouterr().err


def test_a_library_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the extra that brings it."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    for name in ("jsonschemabench.masks.command", "jsonschemabench.running.runner"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert main(["masks"]) == 2
    assert "needs tqdm, which is not installed; run: pip install" in capsys.readouterr().err
