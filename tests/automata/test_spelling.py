"""Kernels spell strings and keys as the descriptions of their lexer states do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.lexer.json_lexemes import Scalar
from structgen.automata.lexer.lexer import End, LexState, Text
from structgen.automata.pushdown import tables
from structgen.automata.pushdown.engine import Engine
from structgen.regular.regex import EMPTY, words

pytestmark = pytest.mark.nojit
MOST = 400  # pairs of states compared for a schema

PATTERNS = [
    "^a[^b]{2,3}$", "é|[😀-😂]x", "^[\\u0000-\\uFFFF]*$", "[\\u4e00-\\u9fff]{2}", '^["\\\\/]a',
    "(?!a)b", "^[^\\x00-\\x1f]$", "[\\uFFF0-😀]", "^\\w-\\n$", "[ -\\u00e9]😀",
]  # fmt: skip
LETTERS = 'ab"\\/\n\x1f!é€�😀😂'
WORDS = st.lists(st.text(LETTERS, max_size=3), min_size=1, max_size=5, unique=True)
SCHEMAS = st.one_of(
    st.sampled_from(PATTERNS).map(lambda pattern: {"type": "string", "pattern": pattern}),
    st.tuples(st.integers(0, 2), st.integers(2, 4)).map(
        lambda n: {"type": "string", "minLength": n[0], "maxLength": n[1]}
    ),
    WORDS.map(lambda words: {"enum": words}),
    st.tuples(WORDS, st.sampled_from(PATTERNS), st.booleans()).map(
        lambda x: {
            "type": "object",
            "properties": {word: {} for word in x[0]},
            "patternProperties": {x[1]: {"type": "null"}},
            "additionalProperties": x[2],
        }
    ),
)
LAYOUTS = st.sampled_from([("any", "any"), ("declared", "compact"), ("any", "compact")])


def begin(engine: Engine) -> tuple[int, LexState]:
    """The lexer state in which the first string of a text begins, and its description."""
    text = b'"' if engine.run(engine.start, b'"')[0] >= 0 else b'{"'
    at, _ = engine.run(engine.start, text)
    return at >> 32, engine.state(at >> 32)


def same_end(engine: Engine, code: int, target: Any) -> bool:
    """Whether a row says of a byte what the description says, when it leads to no state."""
    if code == -1:
        return target is None
    return isinstance(target, End) and engine.terminal(-2 - code) == target.terminal


@given(SCHEMAS, LAYOUTS)
def test_rows_do_what_the_descriptions_of_states_say(
    schema: dict[str, Any], layout: tuple[str, str]
) -> None:
    """From the first string on, byte by byte, in all states that are reached side by side."""
    order, space = layout
    engine = sg.JsonSchema(schema, property_order=order, whitespace=space).automaton()
    assert isinstance(engine, Engine)
    compare(engine, begin(engine))


@given(st.lists(WORDS, min_size=1, max_size=3), st.booleans(), st.sampled_from(["value", "item"]))
def test_words_of_several_lists_end_with_the_lists_that_have_them(
    lists: list[list[str]], nothing: bool, kind: str
) -> None:
    """Rows within words do what a vector of the lists does, read letter by letter."""
    engine = sg.JsonSchema(True, whitespace="any").automaton()
    assert isinstance(engine, Engine)
    vector = (*(EMPTY,) * nothing, *map(words, lists))
    state = Text(vector, Scalar(True, kind))
    compare(engine, (engine.state_id(state, 0), state))


def compare(engine: Engine, start: tuple[int, LexState]) -> None:
    """Rows do what descriptions say, in all states that are reached side by side."""
    pairs, known = [start], {start}
    for q, state in pairs:
        row, targets = engine.row_of(state), engine.targets(q).tolist()
        for code, target in zip(targets, row.targets, strict=True):
            if code < 0:
                assert same_end(engine, code, target)
                continue
            assert isinstance(target, LexState)
            if (code, target) not in known and len(pairs) < MOST:
                known.add((code, target))
                pairs.append((code, target))


@given(SCHEMAS, LAYOUTS)
def test_states_that_kernels_made_can_be_described(
    schema: dict[str, Any], layout: tuple[str, str]
) -> None:
    """By their description the same bytes lead on, end the string, or are refused."""
    order, space = layout
    engine = sg.JsonSchema(schema, property_order=order, whitespace=space).automaton()
    assert isinstance(engine, Engine)
    todo = [begin(engine)[0]]
    for q in todo:
        targets = engine.targets(q).tolist()
        if len(todo) < MOST:
            todo += sorted({t for t in targets if t >= 0} - set(todo))
    for q in todo[:MOST]:
        row = engine.row_of(engine.state(q))
        for code, target in zip(engine.targets(q).tolist(), row.targets, strict=True):
            assert isinstance(target, LexState) if code >= 0 else same_end(engine, code, target)


def test_equal_states_are_found_however_often_the_table_grows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No state is made twice, and rows are the same, where the table is often made anew."""
    schema = {"type": "string", "pattern": "^([a-zé-ÿ]+ ){3,20}$", "maxLength": 120}
    spec = sg.JsonSchema(schema, escapes="any")
    made = []
    for most in (tables.MOST_ALIKE, 0):
        monkeypatch.setattr(tables, "MOST_ALIKE", most)
        engine: Any = spec.automaton()
        at, bytes_ = engine.start, []
        for byte in ('"' + 3 * "né ab \\u00e9z zzzz ").encode():
            bytes_.append(engine.next_bytes(at))
            at, _ = engine.run(at, bytes((byte,)))
            assert at >= 0
        made.append((engine.states_made, len(engine.tables.span_slots), bytes_))
    (states, slots, rows), (others, more, same) = made
    assert states == others
    assert rows == same
    assert slots != more  # it was made anew
