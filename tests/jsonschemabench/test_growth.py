"""The command `growth` makes texts of the lengths asked for, and prints a row for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from jsonschemabench.data import vocab
from jsonschemabench.growth import text_of
from jsonschemabench.main import main
from structgen import Vocabulary

BYTES = Vocabulary([*(bytes((byte,)) for byte in range(256)), b"</s>"], eos_ids=[256])


@pytest.mark.parametrize("length", [1, 7, 100])
def test_texts_are_as_long_as_asked(length: int) -> None:
    """At least that many tokens, and less than one repetition more."""
    ids = text_of(BYTES, "[1", ", 1", "]", length)
    assert length <= len(ids) <= max(length + 3, 6)
    assert ids[:2] == vocab.encode(BYTES, "[1")


def test_the_table_has_a_row_for_each_length(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the times of both uses; a text that does not fit is said to be none."""
    grammar = tmp_path / "list.lark"
    grammar.write_text('start: "a" (", a")*')
    command = ["growth", "--grammar", str(grammar), "--begin", "a", "--tokenizer", "bytes"]
    assert main([*command, "--more", ", a", "--tokens", "10,50"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split("|")[2].strip() for row in rows] == ["10", "52"]
    assert main([*command, "--more", "; a", "--tokens", "10"]) == 0
    assert "refused token 1" in capsys.readouterr().out
