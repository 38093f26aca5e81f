"""`check-schema` says what is enforced, and sums it up in its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from structgen.cli.main import main

STATUSES: dict[str, tuple[Any, int, str]] = {
    "fine": ({"type": "object", "properties": {"a": {"type": "null"}}}, 0, "it compiles"),
    "remark": ({"type": "string", "pattern": "a"}, 0, "no anchors"),
    "warning": ({"type": "string", "minlength": 3}, 1, "was 'minLength' meant?"),
    "refused": ({"type": "string", "pattern": r"(a+)\1"}, 1, "it does not compile"),
    "unsatisfiable": ({"const": 3, "type": "string"}, 1, "no value fits"),
    "broken": ({"type": "text"}, 2, "it does not compile"),
}


@pytest.mark.parametrize("case", STATUSES)
def test_the_status_sums_the_report_up(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """0 fine, 1 warnings or refusals, 2 broken; the text says why."""
    schema, status, words = STATUSES[case]
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema))
    for options in ([], ["--all"]):
        assert main(["check-schema", str(path), *options]) == status
        out, err = capsys.readouterr()
        assert err == ""
        assert words in out


def test_the_json_report_holds_every_keyword(
    person: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """--json is the whole report, for programs."""
    assert main(["check-schema", person, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["compiles"] is True
    root = report["nodes"][0]
    assert [k["keyword"] for k in root["keywords"]] == list(json.loads(Path(person).read_text()))
    assert {k["status"] for k in root["keywords"]} == {"enforced"}
    assert [n["pointer"] for n in report["nodes"]][1:] == [
        "#/properties/name",
        "#/properties/age",
        "#/properties/role",
    ]


def test_a_missing_file_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    """As for every command."""
    assert main(["check-schema", "none.json"]) == 2
    assert "there is no schema" in capsys.readouterr().err
