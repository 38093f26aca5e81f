"""Masks of states that read two automata side by side are joined from the masks of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.regular.lazy_dfa.automaton import automaton_of
from structgen.regular.regex import intersect
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built

PIECES = ["a", "(b", ")", "[a-z]", "\\\\d+", "(?:", "/", "{2,3}", '/"', "((((", "|", "x" * 30]
TOKENS = [b"", *(piece.encode() for piece in PIECES), *(bytes((byte,)) for byte in range(256))]
VOCAB = sg.Vocabulary(TOKENS, eos_ids=[0])
PATTERN = "^/.+x/$"


def row(constraint: sg.Constraint, text: str) -> list[int]:
    """The mask after a text."""
    found = np.zeros(VOCAB.words, np.int32)
    constraint.fill_mask(constraint.advance_bytes(constraint.start, text.encode()), found)
    return found.tolist()


def compiled(more: dict[str, Any]) -> sg.Constraint:
    """A format beside a pattern."""
    schema = {"type": "string", "format": "regex", "pattern": PATTERN, **more}
    return sg.compile(sg.JsonSchema(schema, whitespace="compact"), VOCAB)


def test_pairs_are_explored_only_on_the_way_of_a_text() -> None:
    """One for each character, however far tokens lead from there."""
    constraint = compiled({})
    pairs: Any = automaton_of(intersect(format_built("regex"), parse(PATTERN)))
    known = pairs.known
    for text in ('"/a', '"/a(', '"/a(b[', '"/a(b[c]'):
        assert any(row(constraint, text))
    assert pairs.known <= known + len("/a(b[c]") + 1


@pytest.mark.parametrize("more", [{}, {"maxLength": 90}])
def test_masks_go_on_being_joined_in_a_loaded_constraint(
    more: dict[str, Any], tmp_path: Path
) -> None:
    """States that it has not met are made again from its log."""
    constraint = compiled(more)
    row(constraint, '"/a(b')
    constraint.save(tmp_path / "saved")
    loaded = sg.load(tmp_path / "saved", VOCAB)
    for text in ('"/a(b', '"/a(b[', '"/\\\\', '"/(?<n', '"/a{2}x'):
        assert row(loaded, text) == row(constraint, text)
