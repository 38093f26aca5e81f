"""Broken files, models and options give exit status 2 and a line that names the place."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from structgen.cli.main import main

Make = Callable[[Path], str]


def written(content: bytes | str) -> Make:
    """A schema file with this content."""

    def make(folder: Path) -> str:
        path = folder / "schema.json"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return make


BAD_SCHEMAS: dict[str, tuple[Make, list[str]]] = {
    "missing": (lambda folder: str(folder / "none.json"), ["none.json", "there is no"]),
    "directory": (str, ["is a directory"]),
    "empty": (written(""), ["schema.json", "empty"]),
    "blank": (written(" \n\t"), ["schema.json", "empty"]),
    "not JSON": (written('{\n  "type": string\n}'), ["schema.json:2:11", "not JSON"]),
    "cut": (written('{"type": "object"'), ["schema.json:1:18", "not JSON"]),
    "two values": (written('{"a": 1}\n{}'), ["schema.json:2:1", "Extra data"]),
    "NaN": (written('{"minimum": NaN}'), ["schema.json", "NaN"]),
    "key twice": (
        written('{"type": "string", "type": "null"}'),
        ["schema.json", "'type'", "twice"],
    ),
    "not UTF-8": (written(b'{"const": "\xff"}'), ["schema.json", "UTF-8", "offset 11"]),
    "UTF-16": (written('{"type": "null"}'.encode("utf-16")), ["schema.json", "UTF-16"]),
    "nested": (written('{"not":' * 100_000 + "{}" + "}" * 100_000), ["schema.json", "deep"]),
    "digits": (written('{"minimum": ' + "9" * 5000 + "}"), ["more than 2000 digits"]),
    "NUL in the path": (lambda _: "a\0b", ["cannot be read", "a\\x00b"]),
}


@pytest.mark.parametrize("case", BAD_SCHEMAS)
def test_a_bad_schema_file_is_named_in_one_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, nothing on stdout, and one line on stderr with the place and the trouble."""
    make, expected = BAD_SCHEMAS[case]
    status = main(["check", make(tmp_path), "--text", "{}"])
    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("structgen: error: ")
    assert all(part in err for part in expected), err


MODELS = """
import enum
LIMIT = 3
def build(): ...
class Colour(enum.Enum):
    RED = "red"
class Outer:
    class Inner: ...
"""

BAD_MODELS = {
    "no module": ("nowhere_at_all:Model", "there is no module 'nowhere_at_all'"),
    "no package": ("nowhere_at_all.sub:Model", "there is no module 'nowhere_at_all'"),
    "no name": ("cli_models:Color", "one of Colour"),
    "no inner name": ("cli_models:Outer.Other", "one of Inner"),
    "not a type": ("cli_models:LIMIT", "not a type but a int"),
    "a function": ("cli_models:build", "not a type but a function"),
    "raises": ("cli_raises:Model", "ZeroDivisionError: division by zero"),
    "needs another": ("cli_needs:Model", "install not_installed_anywhere"),
}


@pytest.mark.parametrize("case", BAD_MODELS)
def test_a_bad_model_is_named_in_one_line(
    case: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Status 2 and one line with `module:Model`, whatever goes wrong while it is imported."""
    (tmp_path / "cli_models.py").write_text(MODELS)
    (tmp_path / "cli_raises.py").write_text("1 / 0")
    (tmp_path / "cli_needs.py").write_text("import not_installed_anywhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    model, expected = BAD_MODELS[case]
    assert main(["check", model, "--text", "{}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert model in err
    assert expected in err
    for name in ("cli_models", "cli_raises", "cli_needs"):
        sys.modules.pop(name, None)


BAD_OPTIONS: dict[str, tuple[list[str], str]] = {
    "no command": ([], "COMMAND"),
    "unknown command": (["constrain"], "constrain"),
    "no schema": (["check"], "SPEC"),
    "unknown order": (["check", "s.json", "--property-order", "sorted"], "sorted"),
    "count below one": (["generate", "s.json", "p", "-n", "0"], "at least 1"),
    "no output": (["compile", "s.json"], "--output"),
    "special without id": (["explain", "s.json", "--special", "<eos>"], "NAME=ID"),
    "two texts": (["check", "s.json", "t.json", "--text", "1"], "two texts"),
    "two prompts": (["generate", "s.json", "p", "--prompt-file", "f"], "two prompts"),
    "stdin twice": (["check", "-", "-"], "both"),
    "stdin twice by default": (["check", "-"], "both"),
    "no prompt beside stdin": (["generate", "-"], "no prompt"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options_are_said_on_stderr(
    case: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status 2, nothing on stdout, and the culprit on stderr; stdin is not waited for."""
    arguments, expected = BAD_OPTIONS[case]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert expected in err
