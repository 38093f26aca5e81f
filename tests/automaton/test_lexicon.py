"""In: the lexicons of JSON layouts. Out: proof that their rows are what their states say."""

from __future__ import annotations

import pytest

from structgen.automaton.lexer import End, LexState, Row
from structgen.automaton.lexicon import MAX_MANY, Lexicon
from structgen.automaton.numbers import Spelling
from structgen.spec.json_layout import layout_of
from structgen.spec.json_lexicon import json_lexicon


def _lexicon(whitespace: str, spelling: Spelling) -> Lexicon:
    layout, _ = layout_of(whitespace, spelling == "natural")
    return json_lexicon(layout, spelling)


@pytest.mark.parametrize(
    ("whitespace", "spelling"), [("any", "any"), ("bounded", "natural"), ("compact", "any")]
)
def test_rows_are_those_of_the_states(whitespace: str, spelling: Spelling) -> None:
    """Each code of a row is the number of the state or label that the description leads to."""
    lexicon = _lexicon(whitespace, spelling)
    cached: dict[LexState, Row] = {}

    def row_of(state: LexState) -> Row:
        if state not in cached:
            cached[state] = state.row(row_of)
        return cached[state]

    assert all(lexicon.state_ids[state] == q for q, state in enumerate(lexicon.states))
    assert len(lexicon.rows) <= len(lexicon.states) == len(lexicon.accept)
    for q, codes in enumerate(lexicon.rows.tolist()):
        row = row_of(lexicon.states[q])
        for code, target in zip(codes, row.targets, strict=True):
            if isinstance(target, End):
                assert lexicon.labels[-2 - code] == target.label
            else:
                assert target == (lexicon.states[code] if code >= 0 else None)
        early = int(lexicon.accept[q])
        assert row.accept == (lexicon.labels[early] if early >= 0 else None)


def test_of_very_many_numbers_only_the_nearest_have_rows() -> None:
    """Integers with exponents have thousands of states; a lexicon stays small all the same."""
    few, many = _lexicon("any", "natural"), _lexicon("any", "any")
    assert len(few.rows) == len(few.states)
    assert MAX_MANY < len(many.rows) < len(many.states) < len(few.states) + 2 * MAX_MANY
