"""The examples of README.md and docs/ run as they are written.

Blocks of `pycon` are sessions, blocks of `python` programs; `py` marks fragments, which do not run.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from structgen.cli.main import build_parser

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[object]:
    """The code blocks of one language on all pages, as parameters of a test."""
    return [
        pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
        for page in PAGES
        for number, block in enumerate(
            re.findall(
                rf"^```{language}\n(.*?)^```$",
                page.read_text(encoding="utf-8"),
                re.DOTALL | re.MULTILINE,
            )
        )
    ]


@pytest.mark.parametrize("block", blocks("pycon"))
def test_a_session_gives_the_output_it_shows(block: str) -> None:
    """Each line after a `>>>` is what Python answers."""
    session = doctest.DocTestParser().get_doctest(block, {}, "session", "", 0)
    assert session.examples
    assert doctest.DocTestRunner().run(session).failed == 0


@pytest.mark.parametrize("block", blocks("python"))
def test_a_program_runs(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each program ends without an error and prints something."""
    exec(compile(block, "a program of the docs", "exec"), {"__name__": "docs"})
    assert capsys.readouterr().out


def test_the_readme_is_short_and_has_five_examples() -> None:
    """A stranger reads it in five minutes."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 180
    assert len(re.findall(r"^```py", text, re.MULTILINE)) == 5


def test_the_commands_exist() -> None:
    """Every command line of the page on commands is one that the parser takes."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    structgen (.*?)(?:\s+#.*)?$", page, re.MULTILINE)
    assert len(lines) >= 10
    for line in lines:
        command, _, _ = line.partition(" > ")
        words = [part.strip("'\"") for part in re.findall(r"'[^']*'|\"[^\"]*\"|\S+", command)]
        assert build_parser().parse_args(words).run, line
