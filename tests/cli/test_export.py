"""`export` writes a schema that can be piped on, and says what was lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import structgen as sg
from structgen.cli.commands import export
from structgen.cli.main import main
from structgen.schema.export.dialects import DIALECTS
from structgen.schema.export.rules import violations


def test_the_names_are_those_of_the_tables() -> None:
    """Every dialect can be asked for, and no other."""
    assert set(export.DIALECTS) == set(DIALECTS)


@pytest.mark.parametrize("name", export.DIALECTS)
def test_the_schema_is_on_stdout_and_the_losses_on_stderr(
    name: str, person: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is on stdout is accepted by the provider; lines on stderr give effect and place."""
    assert main(["export", person, "--for", name]) == 0
    out, err = capsys.readouterr()
    assert violations(json.loads(out), DIALECTS[name]) == []
    assert ("looser" in err) == (name != "gemini-openapi" or "additionalProperties" in err)
    assert ("#/properties/name/maxLength  maxLength:" in err) == (name != "gemini-openapi")


def test_losses_can_be_had_as_json(person: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--json writes schema and losses in one document."""
    assert main(["export", person, "--for", "openai", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert err == ""
    assert document["schema"]["required"] == ["name", "age", "role"]
    effects = {loss["pointer"]: loss["effect"] for loss in document["losses"]}
    assert effects == {"#/properties/name/maxLength": "looser", "#/properties/role": "both"}


def test_a_recursive_schema_is_bad_input_where_there_is_no_recursion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the place and what to do; nothing reaches stdout."""
    path = tmp_path / "tree.json"
    path.write_text('{"type": "object", "properties": {"next": {"$ref": "#"}}}')
    assert main(["export", str(path), "--for", "anthropic"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "#/properties/next" in err


def test_gbnf_is_a_grammar_of_the_same_texts(
    person: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It can be read again; what it cannot say is an error with its place."""
    assert main(["export", person, "--for", "gbnf", "--closed", "--whitespace", "compact"]) == 0
    text = capsys.readouterr().out
    sg.check(sg.Gbnf(text), '{"name":"Ada","age":36,"role":"admin"}')
    assert main(["export", person, "--for", "gbnf", "--closed", "--json"]) == 0
    assert "root ::= " in json.loads(capsys.readouterr().out)["grammar"]
    assert main(["export", "json", "--for", "gbnf"]) == 0
    sg.check(sg.Gbnf(capsys.readouterr().out), '{"a": [1]}')
    assert main(["export", '{"type": "array", "uniqueItems": true}', "--for", "gbnf"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "#/uniqueItems" in err


def test_open_objects_are_exported_where_keys_may_come_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without the option they are refused."""
    assert main(["export", '{"type": "object"}', "--for", "gbnf"]) == 2
    assert "repeated_keys" in capsys.readouterr().err
    assert main(["export", '{"type": "object"}', "--for", "gbnf", "--repeated-keys"]) == 0
    sg.check(sg.Gbnf(capsys.readouterr().out), '{"a": 1, "a": 2}')
