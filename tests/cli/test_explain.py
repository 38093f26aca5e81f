"""`explain` says what may follow a beginning, and which byte of a token is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from structgen.cli.main import main


def explained(
    capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0
) -> dict[str, str]:
    """The lines of an explanation as name -> value; a lone verdict is under ""."""
    assert main(["explain", *arguments]) == status
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    if len(lines) == 1:
        return {"": lines[0]}
    return {line[:16].strip(): line[17:] for line in lines}


def test_a_beginning_is_explained(
    person: str, tokenizer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is allowed after a comma: the key that is missing, and nothing else."""
    options = [person, "--tokenizer", tokenizer, "--whitespace", "compact"]
    said = explained(capsys, *options, "--prefix", '{"name":"A"')
    assert said["may end here"] == "no"
    assert said["next byte"] == "','"
    assert said["must go on with"].startswith("',\"")  # then `age`, plain or with escapes
    assert said["shortest end"] == "',\"age\":0}'"
    assert said["tokens allowed"] == "1 of 265"
    assert said["among them"] == "','"


def test_a_finished_text_may_end(
    person: str, tokenizer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the last brace only the end token may come."""
    options = [person, "--tokenizer", tokenizer, "--eos", "265", "--whitespace", "compact"]
    said = explained(capsys, *options, "--prefix", '{"name":"A","age":1}')
    assert said["may end here"] == "yes"
    assert said["next byte"] == "nothing more"
    assert said["tokens allowed"] == "1 of 266"
    assert "among them" not in said


VERDICTS = {
    "allowed": (["--token", "12"], 0, "'12' (token 262) may come next"),
    "by id": (["--token-id", "262"], 0, "'12' (token 262) may come next"),
    "no token": (["--token", "99"], 0, "no single token"),
    "refused": (
        ["--token", "true"],
        1,
        "'t' at byte 18 inside /age is refused; expected an integer >= 0",
    ),
    "refused inside": (["--token", "1x"], 1, "'x' at byte 19 inside /age after '1' is refused"),
    "end": (["--token-id", "265"], 1, "not complete: it lacks at least '0}'"),
    "special": (["--token-id", "266"], 1, "special"),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_a_token_is_judged_with_a_reason(
    case: str, person: str, tokenizer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The status says whether it is allowed; the line says which byte is refused, and why."""
    asked, status, expected = VERDICTS[case]
    options = [person, "--tokenizer", tokenizer, "--whitespace", "compact", "--prefix"]
    options += ['{"name":"A","age":', "--special", "<e>=265", "--special", "<x>=266"]
    said = explained(capsys, *options, "--eos", "<e>", *asked, status=status)
    assert expected in said[""]


def test_a_beginning_that_does_not_fit_is_named(
    person: str, tokenizer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first refused byte is given with its offset and what was expected there."""
    options = [person, "--tokenizer", tokenizer, "--prefix", '{"age": tru']
    said = explained(capsys, *options, "--property-order", "any", status=1)
    assert "'t' at byte 8 inside /age" in said[""]
    assert "an integer >= 0 and <= 150" in said[""]
    assert said[""].endswith("keys still required: name")


@pytest.mark.parametrize("name", ["gpt2.tiktoken", "llama2.sentencepiece.model"])
def test_real_tokenizer_files_are_read(
    name: str, tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The suffix of the file decides how it is read; a literal may be cut into any tokens."""
    schema = tmp_path / "schema.json"
    schema.write_text('{"const": "structure"}')
    options = [str(schema), "--tokenizer", str(data_dir / "tokenizers" / name)]
    said = explained(capsys, *options, "--prefix", '"stru', "--whitespace", "compact")
    assert {"'c'", "'ct'"} <= set(said["among them"].split())
    assert "'cz'" not in said["among them"]


def test_a_tokenizer_that_is_none_is_named(
    person: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing, broken or foreign tokenizer file gives status 2 and one line with its path."""
    broken = tmp_path / "broken.tiktoken"
    broken.write_text("not base64 at all\n")
    foreign = tmp_path / "foreign.model"
    foreign.write_bytes(b"\x00\x01\x02")
    for path in (broken, foreign, tmp_path / "none.tiktoken", tmp_path / "none.model", tmp_path):
        assert main(["explain", person, "--tokenizer", str(path)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1, err
        assert str(path) in err
