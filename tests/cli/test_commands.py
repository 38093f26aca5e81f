"""Whole command lines write JSON that an independent validator accepts, or a file."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import structgen
from structgen import demo
from structgen.cli.main import main
from tests.cli.conftest import PERSON

PROMPT = "Ada Lovelace is 36 years old and an admin."


def fits(text: str) -> bool:
    """Whether the text is JSON that is valid against the schema."""
    valid: bool = jsonschema.Draft202012Validator(PERSON).is_valid(json.loads(text))
    return valid


@pytest.fixture
def options(model: str) -> list[str]:
    """What every call of `generate` here is given: a random model, and little room."""
    return ["--model", model, "--max-tokens", "40", "--seed", "1"]


def test_generate_writes_only_json_to_stdout(
    person: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Stdout can be piped into a JSON parser; the figures are on stderr, and only on request."""
    assert main(["generate", person, PROMPT, *options]) == 0
    quiet = capsys.readouterr()
    assert fits(quiet.out)
    assert "enforced: full (structgen " in quiet.err
    assert "tokens/s" not in quiet.err
    assert main(["generate", person, PROMPT, *options, "--stats"]) == 0
    loud = capsys.readouterr()
    assert loud.out == quiet.out
    assert "tokens/s" in loud.err


def test_drafts_are_counted_and_change_nothing(
    person: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Tokens per forward pass are among the figures; an unknown name is bad input."""
    assert main(["generate", person, PROMPT, *options]) == 0
    plain = capsys.readouterr().out
    fast = [*options, "--speculate", "auto", "--stats"]
    assert main(["generate", person, PROMPT, *fast]) == 0
    captured = capsys.readouterr()
    assert captured.out == plain
    assert "auto: " in captured.err
    assert "tokens per forward pass" in captured.err
    assert main(["generate", person, PROMPT, *options, "--speculate", "outo"]) == 2
    assert "auto" in capsys.readouterr().err


def test_a_stop_sequence_ends_the_text(
    person: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """As early as the schema lets it end; an empty one is refused."""
    assert main(["generate", person, PROMPT, *options]) == 0
    whole = capsys.readouterr().out
    stop = ["--stop-sequence", "{", "--stop-sequence", "e", "--stats"]
    assert main(["generate", person, PROMPT, *options, *stop]) == 0
    captured = capsys.readouterr()
    assert fits(captured.out)
    assert len(captured.out) < len(whole)
    assert "end: stop" in captured.err
    assert main(["generate", person, PROMPT, *options, "--stop-sequence", ""]) == 2


def test_streaming_writes_the_same_text(
    person: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """With a seed, the pieces of a stream are the text that comes in one go."""
    assert main(["generate", person, PROMPT, *options]) == 0
    whole = capsys.readouterr().out
    assert main(["generate", person, PROMPT, *options, "--stream"]) == 0
    assert capsys.readouterr().out == whole


def test_several_results_come_one_a_line(
    person: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """-n gives as many lines, each of them valid JSON, whatever white space is allowed."""
    wild = ["-n", "3", "--whitespace", "any", "--temperature", "2"]
    assert main(["generate", person, PROMPT, *options, *wild]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(fits(line) for line in lines)


def test_the_prompt_may_come_from_stdin_or_a_file(
    person: str,
    options: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same prompt gives the same text, wherever it is read from."""
    assert main(["generate", person, PROMPT, *options]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{PROMPT}\n".encode())))
    assert main(["generate", person, *options]) == 0
    assert capsys.readouterr().out == expected
    path = tmp_path / "prompt.txt"
    path.write_text(PROMPT)
    assert main(["generate", person, *options, "--prompt-file", str(path)]) == 0
    assert capsys.readouterr().out == expected


def test_a_type_can_stand_in_for_a_schema(
    options: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`module:Model` generates for a Pydantic model of the current folder."""
    (tmp_path / "cli_people.py").write_text(
        "from pydantic import BaseModel\n"
        "class Person(BaseModel):\n    name: str\n    age: int\n    admin: bool\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["generate", "cli_people:Person", PROMPT, *options]) == 0
    value = json.loads(capsys.readouterr().out)
    assert list(value) == ["name", "age", "admin"]
    assert [type(part) for part in value.values()] == [str, int, bool]
    sys.modules.pop("cli_people")


def test_a_text_that_was_cut_is_shown_on_stderr(
    person: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --on-truncation raise nothing reaches stdout, and what there is of the text is told."""
    options = ["--model", model, "--max-tokens", "3", "--on-truncation", "raise"]
    assert main(["generate", person, PROMPT, *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "not finished after 3 tokens" in err
    assert "written until then: " in err


def test_a_compiled_file_gives_the_same_masks(
    person: str, tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`compile` writes what `structgen.load` reads: bit for bit the masks of a lazy compile."""
    path = tmp_path / "person.sgc"
    options = ["--tokenizer", tokenizer, "--special", "<e>=265", "--eos", "<e>"]
    assert main(["compile", person, "-o", str(path), *options, "--max-states", "200"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert str(path) in err
    vocabulary = structgen.Vocabulary.from_tiktoken(
        tokenizer, special_tokens={"<e>": 265}, eos_ids=["<e>"]
    )
    lazy = structgen.compile(structgen.JsonSchema(PERSON), vocabulary)
    loaded = structgen.load(path, vocabulary)
    for prefix in (
        b"",
        b'{"',
        b'{"name": "A',
        b'{"name": "A", "age": 1',
        b'{"name": "A", "age": 1}',
    ):
        rows = np.zeros((2, vocabulary.words), np.int32)
        for row, constraint in zip(rows, (lazy, loaded), strict=True):
            constraint.fill_mask(constraint.advance_bytes(constraint.start, prefix), row)
        assert rows.any()
        assert (rows[0] == rows[1]).all()


def test_the_demo_shows_answers_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    """The answers of the demo are JSON that is valid against the schemas of its examples."""
    assert main(["demo"]) == 0
    out, _ = capsys.readouterr()
    assert "\x1b" not in out
    answers = [json.loads(line[9:]) for line in out.splitlines() if line.startswith("answer  ")]
    schemas = [schema for _, schema in demo.EXAMPLES.values()]
    assert len(answers) >= 3
    for answer, schema in zip(answers, schemas, strict=False):
        jsonschema.Draft202012Validator(schema).validate(answer)
    begun = [line for line in out.splitlines() if line.startswith("  structgen ")]
    assert len(begun) >= 3
    for line in begun:  # what to try next works
        found_slips = " check-schema " in line
        assert main(shlex.split(line)[1:]) == found_slips, line


def test_version_and_warmup_report(capsys: pytest.CaptureFixture[str]) -> None:
    """`version` prints the version to stdout, `warmup` the time it took to stderr."""
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith("structgen ")
    assert main(["warmup"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "the kernels are ready" in err


def test_an_interrupt_ends_quietly(
    person: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the text is read gives status 130 and no traceback."""

    class Interrupted(io.BytesIO):
        """A stdin at which the user presses Ctrl-C."""

        def read(self, size: int | None = -1, /) -> bytes:
            """Never returns."""
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted()))
    assert main(["check", person]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_a_traceback_is_shown_only_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    """--debug works before and after the command."""
    command = ["check", "none.json", "--text", "1"]
    assert main(command) == 2
    assert "Traceback" not in capsys.readouterr().err
    for arguments in (["--debug", *command], [*command, "--debug"]):
        assert main(arguments) == 2
        assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("package", "extra"), [("torch", "structgen[hf]"), ("transformers", "structgen[hf]")]
)
def test_a_missing_package_is_named_with_its_extra(
    package: str,
    extra: str,
    person: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without torch or transformers, `generate` says what to install."""
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["generate", person, PROMPT]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert package in err
    assert extra in err


def test_a_reader_that_goes_away_is_no_error(person: str, tokenizer: str) -> None:
    """Into a closed pipe, the command ends with status 141 and says nothing."""
    command = [sys.executable, "-m", "structgen", "explain", person, "--tokenizer", tokenizer]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
    assert b"Error" not in err
    assert process.returncode == 141


def test_results_are_utf8_whatever_the_locale(tmp_path: Path, tokenizer: str) -> None:
    """Stdout of a process is UTF-8 even where the locale says otherwise."""
    schema = tmp_path / "schema.json"
    schema.write_text('{"const": "é"}', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "structgen", "explain", str(schema), "--tokenizer", tokenizer],
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": "latin-1", "PATH": ""},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "é" in done.stdout.decode("utf-8")
