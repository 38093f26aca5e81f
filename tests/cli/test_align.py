"""`structgen align` writes a summary, JSON and a page, on a tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from structgen.cli.main import main


@pytest.fixture
def choice(tmp_path: Path) -> str:
    """The path of a schema with few texts."""
    path = tmp_path / "choice.json"
    path.write_text('{"enum": ["open", "opening", "closed"]}')
    return str(path)


def test_align_sums_up_and_writes_a_page(
    choice: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The summary goes to stdout, the page to its file."""
    target = tmp_path / "page.html"
    arguments = [choice, "<i>A door.</i>", "--model", model, "-n", "6", "-o", str(target)]
    assert main(["align", *arguments, "--sampler", "smc", "--whitespace", "compact"]) == 0
    out, err = capsys.readouterr()
    assert "KL(masked || aligned)" in out
    assert "6 texts by masking, 6 by smc, which is not exact" in out
    assert str(target) in err
    page = target.read_text(encoding="utf-8")
    assert "&lt;i&gt;A door.&lt;/i&gt;" in page
    assert page.count("<svg") == 2


def test_align_prints_json(choice: str, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON object, the same for the same seed."""
    outs = []
    for _ in range(2):
        arguments = ["align", choice, "A door.", "--model", model, "-n", "4", "--json"]
        assert main([*arguments, "--sampler", "smc", "--max-tokens", "30"]) == 0
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1]
    data = json.loads(outs[0])
    assert data["drawn"] == data["aligned"] == 4
    assert 0 < data["effective_sample_size"] <= 4 + 1e-9
    assert 0 < data["satisfied"]["value"] < 1


def test_a_page_that_cannot_be_written_is_an_error(
    choice: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the file."""
    target = str(tmp_path / "nowhere" / "page.html")
    arguments = ["align", choice, "A door.", "--model", model, "-n", "2", "-o", target]
    assert main([*arguments, "--sampler", "smc"]) == 2
    assert target in capsys.readouterr().err
