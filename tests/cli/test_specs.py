"""A spec may be written on the command line, as JSON or as a pattern, or be a YAML file."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import pytest

import structgen
from structgen.cli.main import main


def test_a_schema_may_stand_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Objects, `true` and `false`; what is no JSON is told so."""
    assert main(["check", '{"type": "integer"}', "--text", "3", "-q"]) == 0
    assert main(["check", ' {"type": "integer"}', "--text", '"x"', "-q"]) == 1
    assert main(["check", "true", "--text", "[]", "-q"]) == 0
    assert main(["check-schema", '{"type": "integer"}']) == 0
    assert main(["export", '{"type": "integer"}', "--for", "openai"]) == 0
    capsys.readouterr()
    assert main(["check", '{"type": integer}', "--text", "3"]) == 2
    assert "SPEC:1:10" in capsys.readouterr().err
    assert main(["check", "[1]", "--text", "3"]) == 2
    assert "the schema is [1] at SPEC" in capsys.readouterr().err


def test_tools_may_stand_there_too() -> None:
    """With the format in which they are called."""
    tools = json.dumps([{"name": "f", "parameters": {"type": "object", "properties": {}}}])
    text = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    assert main(["check", tools, "--tool-format", "hermes", "--text", text, "-q"]) == 0


def test_a_schema_that_stands_there_can_be_compiled(tokenizer: str, tmp_path: Path) -> None:
    """Into a file, or into a folder under a plain name; a pattern as well."""
    options = ["--tokenizer", tokenizer, "--max-states", "5"]
    assert main(["compile", '{"enum": [1, 2]}', "-o", str(tmp_path), *options]) == 0
    assert main(["compile", "--regex", "[a-c]*", "-o", str(tmp_path), *options]) == 0
    assert sorted(path.name for path in tmp_path.glob("*.sgc")) == ["pattern.sgc", "schema.sgc"]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--regex", "[0-9]{4}", "--text", "1815"], 0),
        (["--regex", "[0-9]{4}", "--text", "181"], 1),
        (["--regex=[0-9]{4}", "--text", "1815"], 0),
        (["--regex", "-?[0-9]+", "--text=-12"], 0),
        (["--regex", "--+", "--text=---"], 0),
        (["--regex", "sql", "--text", "sql"], 0),
        (["[0-9]+", "--regex", "-q", "--text", "12"], 0),
        (["--regex", "(", "--text", "12"], 2),
    ],
)
def test_a_pattern_may_be_the_spec(arguments: list[str], status: int) -> None:
    """Whatever it begins with, and whatever else it might name."""
    assert main(["check", *arguments]) == status


def test_a_pattern_leaves_the_other_arguments_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text may come from a file; `explain` takes one, too."""
    path = tmp_path / "year.txt"
    path.write_text("1815")
    assert main(["check", "--regex", "[0-9]{4}", str(path)]) == 0
    assert main(["explain", "--regex", "a|b", "--prefix", "a"]) == 0
    capsys.readouterr()


YAML = """
type: object
properties:
  day: {type: string, enum: [2024-01-01, "no"]}
  on: &number {type: integer}
  off: *number
"""


def test_a_schema_may_be_yaml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dates are strings; what JSON does not have is refused with its line."""
    pytest.importorskip("yaml")
    path = tmp_path / "schema.yaml"
    path.write_text(YAML)
    assert main(["check", str(path), "--text", '{"day": "2024-01-01", "on": 1}', "-q"]) == 0
    assert main(["check", str(path), "--text", '{"off": "x"}', "-q"]) == 1
    for text, words in [
        ("type: object\ntype: array\n", "'type' stands twice"),
        ("type: [object\n", "not YAML"),
        ("[1]: 2", "a key is no string"),
    ]:
        path.write_text(text)
        assert main(["check", str(path), "--text", "1"]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert "schema.yaml:" in err


def test_without_pyyaml_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    path = tmp_path / "schema.yml"
    path.write_text("type: object")
    assert main(["check", str(path), "--text", "1"]) == 2
    assert "pip install pyyaml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["chek", "a", "b"], "'check'"),
        (["check", "true", "--txt", "1"], "'--text'"),
        (["check", "true", "--jsn"], "'--json'"),
        (["check", "true", "--lexing", "longets"], "'longest'"),
    ],
)
def test_an_unknown_word_gets_the_nearest_one(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """For commands, options and their values."""
    assert main(arguments) == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


def test_the_version_is_an_option_too(capsys: pytest.CaptureFixture[str]) -> None:
    """One line on stdout."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"structgen {structgen.__version__}\n"


def test_check_writes_json(capsys: pytest.CaptureFixture[str]) -> None:
    """With the keys that the docs list."""
    assert main(["check", '{"type": "integer"}', "--text", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"fits": True}
    assert main(["check", '{"items": {"type": "null"}}', "--text", "[null,\n1]", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["keyword"] == "type"
    assert found["schema_path"] == "#/items/type"
    assert found["value_path"] == found["path"] == "/1"
    assert (found["offset"], found["line"], found["column"]) == (7, 2, 1)
    assert found["problem"].startswith(found["reason"])
    assert found.keys() == documented("check")


def test_explain_writes_json(tokenizer: str, capsys: pytest.CaptureFixture[str]) -> None:
    """For a place, a token, and a beginning that does not fit."""
    command = ["explain", '{"enum": [12, 13]}', "--tokenizer", tokenizer, "--json"]
    assert main([*command, "--prefix", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["next_bytes"] == [ord("2"), ord("3")]
    assert [token["text"] for token in found["tokens"]] == ["2", "3"]
    assert not found["may_end"]
    assert found.keys() == documented("explain")
    assert main([*command, "--token", "12", "--token-id", "65"]) == 1
    judged = json.loads(capsys.readouterr().out)["tokens"]
    assert [(token["text"], token["allowed"]) for token in judged] == [("12", True), ("A", False)]
    assert main([*command, "--prefix", "2"]) == 1
    assert json.loads(capsys.readouterr().out)["offset"] == 0


def documented(command: str) -> set[str]:
    """The keys of the answer of a command, as docs/cli.md lists them."""
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    table = page.partition(f"`structgen {command} --json`")[2].partition("\n\n")[2]
    rows = table.partition("\n\n")[0].splitlines()[2:]
    return {name.strip("` ") for row in rows for name in row.split("|")[1].split(",")}


def test_a_slip_is_a_line_on_stderr(
    tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of `compile`, in the program's own form."""
    command = ["compile", '{"propertes": {}}', "-o", str(tmp_path / "a.sgc"), "--max-states", "3"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main([*command, "--tokenizer", tokenizer]) == 0
    assert "structgen: warning: 'propertes' is no keyword" in capsys.readouterr().err
