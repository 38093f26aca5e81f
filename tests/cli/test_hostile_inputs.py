"""Whatever the arguments and files are: a message, exit status 0, 1 or 2, and no traceback."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from structgen.cli.main import main
from structgen.errors import ArtifactError
from structgen.util.container import write_file

FILES: dict[str, bytes] = {
    "empty.json": b"",
    "random.json": bytes(range(256)),
    "list.json": b"[1, null]",
    "schema.json": b'{"type": "object", "properties": {"a": {"type": "integer"}}}',
    "type.json": b'{"type": "foo", "items": 3, "$ref": 3}',
    "reference.json": b'{"$id": "::::", "$ref": "http://["}',
    "surrogate.json": b'{"const": "\\ud800"}',
    "exponent.json": b'{"minimum": 1e999999999}',
    "random.yaml": b"\xff\xfe\x00",
    "open.yaml": b"a: [\n",
    "itself.yaml": b"&x [*x]\n",
    "itself_deeper.yaml": b"a: &x {b: [*x]}\n",
    "set.yaml": b"!!set {a, b}\n",
    "bytes.yaml": b"const: !!binary aGk=\n",
    "infinite.yaml": b"minimum: .inf\n",
    "code.yaml": b"a: !!python/object:os.system x\n",
    "random.lark": b"\x00\xff",
    "open.lark": b"start: ((((\n",
    "itself.lark": b"start: start\n",
    "json.lark": b'start: %json {"type": 3}\n',
    "open.gbnf": b"root ::= [\n",
    "open.ebnf": b"=",
    "tokens.tiktoken": b"".join(b"%s %d\n" % (t, i) for i, t in enumerate([b"YQ==", b"Yg=="])),
    "words.tiktoken": b"AA== x\n",
    "twice.tiktoken": b"AA== 1\nAQ== 1\n",
    "far.tiktoken": b"AA== 99999999999\n",
    "random.model": b"\xff" * 50,
}
COMMANDS = ("check", "check-schema", "explain", "export", "compile", "inspect", "version", "map")
ODD = (
    "",
    "-",
    "--",
    "{",
    "[]",
    "true",
    "a\0b",
    "\udc80",
    "\x1b[31m",
    "x:y",
    "os:path",
    "*.json",
    "/dev/null",
)
OPTIONS = (
    "--regex --tool-format hermes --start --lexing viable --grammar x=schema.json --whitespace ("
    " --patterns java --json --text --prefix --token --token-id -1 --special <x>=5 --eos 9999999999"
    " --size 0 --for gbnf -o out --max-states 3 --tokenizer --spec --out --prompt {x} --bogus"
    " --debug -h"
).split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with these files, and one in it."""
    found = tmp_path_factory.mktemp("hostile")
    for name, content in FILES.items():
        (found / name).write_bytes(content)
    (found / "folder.json").mkdir()
    return found


def ends_well(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command: its status must be one of those that are promised, and something said."""
    status = main(arguments)
    out, err = capsys.readouterr()
    assert status in {0, 1, 2}, (status, err)
    assert "Traceback" not in err or "--debug" in arguments
    assert out or err or status == 0


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_a_spec_or_is_refused(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a schema, as the text to check, and as a compiled file."""
    monkeypatch.chdir(folder)
    for arguments in (
        ["check", name, "--text", "{}"],
        ["check", "schema.json", name],
        ["check-schema", name],
        ["export", name, "--for", "gbnf"],
        ["inspect", name],
        ["check", "--tool-format", "hermes", name, "--text", "{}"],
        ["explain", "schema.json", "--tokenizer", name],
    ):
        ends_well(arguments, capsys)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    command=st.sampled_from(COMMANDS),
    arguments=st.lists(
        st.sampled_from([*FILES, "folder.json", "none.json", *ODD, *OPTIONS]), max_size=5
    ),
)
@example(command="export", arguments=["itself.yaml", "--for", "gbnf"])
def test_any_arguments_end_in_a_message(
    command: str,
    arguments: list[str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Options, names of files and odd texts in any order."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff{")))
    ends_well([command, *arguments], capsys)


def test_aliases_do_not_multiply(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A few lines of YAML that stand for millions of values are refused."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    path = tmp_path / "schema.yaml"
    path.write_text("\n".join(lines))
    assert main(["check", str(path), "--text", "{}"]) == 2
    assert "aliases" in capsys.readouterr().err


CLOSED = {
    "stdout": (">&-", ["version"], 0),
    "stderr": ("2>&-", ["bogus"], 2),
    "stdin": ("<&-", ["check", "true"], 2),
    "full": (">/dev/full", ["check", "true", "--text", "1"], 2),
    "full for help": (">/dev/full", ["--help"], 2),
    "both full": (">/dev/full 2>/dev/full", ["check", "true", "--text", "1"], 2),
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", CLOSED)
def test_streams_that_are_closed_or_full(case: str) -> None:
    """The exit status is right, and no traceback comes."""
    redirection, arguments, status = CLOSED[case]
    command = [sys.executable, "-m", "structgen", *arguments]
    shell = ["sh", "-c", f'"$@" {redirection}', "sh", *command]
    found = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert found.returncode == status
    assert "Traceback" not in found.stderr


def test_a_device_is_not_replaced_by_a_file() -> None:
    """To write to /dev/null would put a file in its place."""
    with pytest.raises(ArtifactError, match="not a regular file"):
        write_file("/dev/null", [b"x"])
