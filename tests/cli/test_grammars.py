"""Grammar files and shipped grammars work in all commands, as schemas do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from structgen.cli.main import main

GREETING = """start: greeting " " NAME
greeting: "hello" | "hi"
spare: "x" spare
NAME: /[A-Z][a-z]*/
"""


@pytest.fixture
def greeting(tmp_path: Path) -> str:
    """The path of a small Lark grammar with a rule that no text fits."""
    path = tmp_path / "greeting.lark"
    path.write_text(GREETING)
    return str(path)


def test_check_says_where_a_text_goes_wrong(
    greeting: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The byte, the terminal that was expected there, the rule that is open, a caret."""
    assert main(["check", greeting, "--text", "hi Bob"]) == 0
    assert main(["check", greeting, "--text", "hi bob"]) == 1
    shown = capsys.readouterr().out
    assert "does not fit at byte 3 (line 1, column 4)" in shown
    assert "NAME" in shown
    assert "in start" in shown
    assert "    hi bob\n       ^" in shown


@pytest.mark.parametrize(
    ("name", "grammar", "text"),
    [
        ("a.gbnf", 'root ::= "a"+', "aaa"),
        ("a.ebnf", "s = {'a'} ;", "aa"),
        ("b.ebnf", "s ::= 'a'*", "aa"),
    ],
)
def test_other_languages_are_known_by_their_endings(
    name: str, grammar: str, text: str, tmp_path: Path
) -> None:
    """GBNF and both styles of EBNF."""
    path = tmp_path / name
    path.write_text(grammar)
    assert main(["check", str(path), "--text", text, "-q"]) == 0
    assert main(["check", str(path), "--text", "b", "-q"]) == 1


def test_start_and_lexing_may_be_chosen(greeting: str, tmp_path: Path) -> None:
    """Another rule to start from; Lark's contextual lexer."""
    assert main(["check", greeting, "--start", "greeting", "--text", "hi", "-q"]) == 0
    path = tmp_path / "two.lark"
    path.write_text('start: A "b" | B "c"\nA: "a"\nB: /ab?/\n')
    for lexing, status in (("free", 0), ("longest", 1)):
        found = main(["check", str(path), "--lexing", lexing, "--text", "ab", "-q"])
        assert found == status


def test_other_specs_may_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--grammar` says what a name behind `@` is."""
    path, inner = tmp_path / "outer.lark", tmp_path / "inner.lark"
    path.write_text('start: @word "=" @value\n')
    inner.write_text("start: /[a-z]+/\n")
    given = ["--grammar", f"word={inner}", "--grammar", 'value={"type": "integer"}']
    for text, status in (("a=1", 0), ("1=a", 1)):
        assert main(["check", str(path), *given, "--text", text, "-q"]) == status
    assert main(["check", str(path), *given[:2], "--text", "a=1"]) == 2
    assert "there is no grammar 'value'" in capsys.readouterr().err
    assert main(["check", str(path), "--grammar", "word", "--text", "a"]) == 2
    assert "NAME=SPEC" in capsys.readouterr().err
    assert main(["check", "sql", "--grammar", "a=true", "--text", "a"]) == 2
    assert "--grammar is for Lark" in capsys.readouterr().err


def test_shipped_grammars_go_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless there is a file of that name."""
    monkeypatch.chdir(tmp_path)
    assert main(["check", "arithmetic", "--text", "1 + 2", "-q"]) == 0
    assert main(["check", "arithmetic", "--text", "1 +", "-q"]) == 1


def test_explain_names_terminals(greeting: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What may come next, and the shortest way to the end."""
    assert main(["explain", greeting, "--prefix", "hel"]) == 0
    shown = capsys.readouterr().out
    assert '"hello"' in shown
    assert "lo A" in shown


def test_check_schema_warns_of_useless_rules(
    greeting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1, each with its place; as JSON too."""
    assert main(["check-schema", greeting]) == 1
    assert "line 3 column 1  no text fits the rule 'spare'" in capsys.readouterr().out
    assert main(["check-schema", greeting, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["rules"] == 3
    assert report["findings"][0]["kind"] == "unproductive"
    path = tmp_path / "fine.lark"
    path.write_text('start: "a"\n')
    assert main(["check-schema", str(path)]) == 0
    assert "it compiles" in capsys.readouterr().out


def test_a_wrong_grammar_is_shown_with_a_caret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 2, the place, the line."""
    path = tmp_path / "bad.lark"
    path.write_text('start: "a"\nb: c\n')
    assert main(["check", str(path), "--text", "a"]) == 2
    said = capsys.readouterr().err
    assert "line 2 column 4" in said
    assert "    b: c\n       ^" in said


def test_options_for_grammars_are_refused_for_schemas(
    person: str, greeting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And those for Lark for other grammars."""
    assert main(["check", person, "--start", "x", "--text", "{}"]) == 2
    assert "--start is for grammars" in capsys.readouterr().err
    path = tmp_path / "a.gbnf"
    path.write_text('root ::= "a"')
    assert main(["check", str(path), "--lexing", "free", "--text", "a"]) == 2
    assert "--lexing is for Lark" in capsys.readouterr().err
    assert main(["check", greeting, "--start", "nobody", "--text", "a"]) == 2
    assert "no rule 'nobody'" in capsys.readouterr().err


def test_tools_are_called_in_the_format_of_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --tool-format SPEC is a list of definitions."""
    path = tmp_path / "tools.json"
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    path.write_text(json.dumps([{"name": "weather", "input_schema": schema}]))
    command = ["check", str(path), "--tool-format", "hermes", "--text"]
    call = '{"name": "weather", "arguments": {"city": "Rome"}}'
    assert main([*command, f"So: <tool_call>\n{call}\n</tool_call>"]) == 0
    assert main([*command, f"<tool_call>\n{call.replace('city', 'town')}\n</tool_call>"]) == 1
    assert main(["check", str(path), "--tool-format", "morse", "--text", ""]) == 2
    assert "no call format 'morse'" in capsys.readouterr().err
