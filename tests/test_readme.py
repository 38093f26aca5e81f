"""In: README.md. Out: proof that its examples run as they are written."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from structgen.cli.main import build_parser

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@pytest.mark.nojit
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # hashes, without JIT
@pytest.mark.parametrize("number", range(len(blocks("pycon"))))
def test_a_session_gives_the_output_it_shows(number: int) -> None:
    """Each line after a `>>>` is what Python answers."""
    session = doctest.DocTestParser().get_doctest(
        blocks("pycon")[number], {}, f"README {number}", "README.md", 0
    )
    assert session.examples
    assert doctest.DocTestRunner().run(session).failed == 0


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_a_program_runs(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Each program ends without an error and prints something."""
    exec(compile(blocks("python")[number], "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out


def test_the_commands_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command line of the readme is one that the parser takes."""
    lines = re.findall(r"^    structgen (.*?)(?:\s+#.*)?$", README, re.MULTILINE)
    assert len(lines) >= 5
    for line in lines:
        command, _, _ = line.partition(" > ")
        words = [part.strip("'\"") for part in re.findall(r"'[^']*'|\"[^\"]*\"|\S+", command)]
        if "COMMAND" not in words:
            assert build_parser().parse_args(words).run, line


def test_the_table_names_files_that_exist() -> None:
    """The reading order leads to real files and folders."""
    named = re.findall(r"^\|[^|]*\|([^|]*)\|", README, re.MULTILINE)
    paths = [path for cell in named for path in re.findall(r"`([^`]+)`", cell)]
    assert len(paths) >= 8
    root = Path(__file__).resolve().parent.parent
    assert [path for path in paths if not (root / path).exists()] == []
