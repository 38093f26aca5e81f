"""The command `batches` times rows that differ from state to state, and prints its tables."""

from __future__ import annotations

import pytest

from jsonschemabench import batches
from jsonschemabench.main import main
from structgen import Vocabulary


def test_each_state_has_a_row_of_its_own() -> None:
    """The letters that may follow differ."""
    vocabulary = Vocabulary([*(bytes((i,)) for i in range(256)), b"."], eos_ids=[256])
    constraint, states = batches.many_rows(vocabulary, 40)
    assert len({constraint.mask_id(state) for state in states}) == 40


def test_the_tables_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each batch size; a size that is none is refused."""
    monkeypatch.setattr(batches, "SECONDS", 0.0)
    monkeypatch.setattr(batches, "RUNS", 2)
    assert main(["batches", "--tokenizer", "bytes", "--batches", "1,9"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(("| fill_mask", "| mask_")) for line in lines) == 4
    assert [line.split()[1] for line in lines[-6:-4]] == ["1", "9"]
    assert lines[-3].startswith("one thread fills 9 rows")
    assert lines[-1].startswith("to clear 9 rows")
    assert main(["batches", "--batches", "0"]) == 2
