"""`check` agrees with an independent validator and names the fault."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import jsonschema
import pytest

from structgen.cli.main import main
from tests.cli.conftest import PERSON

VALUES = [
    {"name": "Ada", "age": 36},
    {"age": 36, "name": "Ada"},
    {"name": "Ada", "age": 36, "role": "user"},
    {"name": "", "age": 0},
    {"name": "Ada"},
    {"name": "Ada", "age": 151},
    {"name": "Ada", "age": 3.5},
    {"name": "Ada", "age": 3.0},
    {"name": "Ada", "age": "36"},
    {"name": "Ada", "age": 36, "role": "root"},
    {"name": "x" * 20, "age": 1},
    {"name": "x" * 21, "age": 1},
    {"name": "Ada", "age": 36, "extra": None},
    [],
    None,
    "Ada",
    3,
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("indent", [None, 2])
def test_check_agrees_with_a_validator(value: object, indent: int | None, person: str) -> None:
    """Status 0 for exactly the values that are valid, in any order of keys and any spacing."""
    valid = jsonschema.Draft202012Validator(PERSON).is_valid(value)
    assert main(["check", person, "--text", json.dumps(value, indent=indent), "-q"]) == (not valid)


FAULTS = {
    "wrong type": ('{"age": "x"}', 8, "/age"),
    "cut": ('{"age": 3', 9, ""),
    "nothing": ("", 0, ""),
    "key that is not allowed": ('{"zip": 1}', 2, ""),
    "bytes count, not characters": ('{"name": "é", "age": x}', 22, "/age"),
    "second line": ('{\n  "age": true}', 11, "/age"),
    "more after the end": ('{"name": "A", "age": 1} 2', 24, ""),
}


@pytest.mark.parametrize("case", FAULTS)
def test_check_points_at_the_first_wrong_byte(
    case: str, person: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 1; offset, line and column agree, and the caret stands under the fault."""
    text, offset, path = FAULTS[case]
    assert main(["check", person, "--text", text]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    before = text.encode()[:offset].decode()
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert f"byte {offset} (line {line}, column {column})" in out
    assert path in out
    shown, caret = out.rstrip("\n").split("\n")[-2:]
    assert shown.strip() == (text.split("\n") or [""])[line - 1].strip()
    assert caret.index("^") - 4 == column - 1


def test_check_reads_files_and_stdin(
    person: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The text may be a file or stdin, and so may the schema; the answer names which it was."""
    good = '{"name": "Ada", "age": 36}\n'
    path = tmp_path / "answer.json"
    path.write_text(good)
    assert main(["check", person, str(path)]) == 0
    assert capsys.readouterr().out == f"{path} fits\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(good.encode())))
    assert main(["check", person]) == 0
    assert capsys.readouterr().out == "stdin fits\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(PERSON).encode())))
    assert main(["check", "-", str(path), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_check_can_ask_for_the_order_that_generation_uses(person: str) -> None:
    """The options of generation narrow what fits."""
    swapped = ["check", person, "-q", "--text", '{"age":1,"name":"A"}']
    assert main(swapped) == 0
    assert main([*swapped, "--property-order", "declared"]) == 1
    spaced = ["check", person, "-q", "--text", '{"name" :   "A","age":1}']
    assert main(spaced) == 0
    assert main([*spaced, "--whitespace", "compact"]) == 1


def test_a_type_is_checked_like_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`module:Model` may be a Pydantic model or a typing construct; keys come in any order."""
    (tmp_path / "cli_checked.py").write_text(
        "from typing import Literal\nfrom pydantic import BaseModel\n"
        "class Point(BaseModel):\n    x: int\n    y: int\n"
        'Points = list[Point | Literal["none"]]\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["check", "cli_checked:Point", "-q", "--text", '{"y": 2, "x": 1}']) == 0
    assert main(["check", "cli_checked:Points", "-q", "--text", '[{"x":1,"y":2}, "none"]']) == 0
    assert main(["check", "cli_checked:Points", "--text", '[{"x":1,"y":2}, "one"]']) == 1
    assert "byte 17 (line 1, column 18), value /1" in capsys.readouterr().out
    sys.modules.pop("cli_checked")
