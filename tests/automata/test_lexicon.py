"""The rows and actions of shared lexicons are those of their states and frames."""

from __future__ import annotations

from typing import Any

import pytest

from structgen.automata.lexer.lexer import End, LexState, Row
from structgen.automata.lexer.lexicon import MAX_MANY, Lexicon, lexicon_of
from structgen.automata.pushdown.engine import Engine
from structgen.automata.pushdown.machine import END_OF_TEXT, SKIP, Prepared
from structgen.regular.numbers.language import Spelling
from structgen.schema.machine.any_value import free_machine
from structgen.schema.machine.lexicon import prepared_json
from structgen.schema.machine.whitespace import layout_of

BARE = Prepared(lexicon_of((), (END_OF_TEXT, SKIP)))


def _lexicon(whitespace: str, spelling: Spelling) -> Lexicon:
    layout, gap = layout_of(whitespace, spelling == "any")
    return prepared_json(layout, spelling, declared=spelling == "natural", gap=gap).lexicon


@pytest.mark.parametrize(
    ("whitespace", "spelling"), [("any", "any"), ("bounded", "natural"), ("compact", "any")]
)
def test_rows_are_those_of_the_states(whitespace: str, spelling: Spelling) -> None:
    """Each code of a row is the number of the state or terminal that the description leads to."""
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
                assert lexicon.terminals[-2 - code] == target.terminal
            else:
                assert target == (lexicon.states[code] if code >= 0 else None)
        early = int(lexicon.accept[q])
        assert row.accept == (lexicon.terminals[early] if early >= 0 else None)


def test_of_very_many_numbers_only_the_nearest_have_rows() -> None:
    """Integers with exponents have thousands of states; a lexicon stays small all the same."""
    few, many = _lexicon("any", "natural"), _lexicon("any", "any")
    assert len(few.rows) == len(few.states)
    assert MAX_MANY < len(many.rows) < len(many.states) < 2 * len(few.states)


VALUES = (
    b'{"a": [1, {"b": null}], "c": "x"}', b"[[], {}, [true, 1e5, -0.5]]", b'"text"', b"0",
)  # fmt: skip


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("whitespace", ["any", "compact"])
def test_values_of_any_kind_ask_nothing_of_the_machine(whitespace: str, declared: bool) -> None:
    """The actions of preset frames are there from the start, and are those of the machine."""
    layout, gap = layout_of(whitespace)
    prepared = prepared_json(layout, "any", declared, gap)
    shared, bare = (free_machine(layout, declared, gap, part) for part in (prepared, BARE))
    given, asked = Engine(lambda: shared), Engine(lambda: bare)
    asked_of, action = list[Any](), shared.action

    def counted(*known: Any) -> Any:
        asked_of.append(known)
        return action(*known)

    shared.action = counted  # type: ignore[method-assign, assignment]
    for text in VALUES:
        for end in range(len(text) + 1):
            found = []
            for engine in (given, asked):
                at, count = engine.run(engine.start, text[:end].replace(b" ", b""))
                found.append((count, engine.is_accepting(at), engine.next_bytes(at)))
            assert found[0] == found[1]
    assert not asked_of
