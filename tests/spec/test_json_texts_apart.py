"""In: arrays of strings that must differ. Out: proof that texts are compared as values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.automaton.engine import Engine
from tests.fuzz_judge import BYTES

WORDS = st.sampled_from(["", "a", "b", "ab", "\u00e9", "\U0001f600", '"', "\\"])
ITEMS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "minLength": 1},
    {"type": "string", "pattern": "^[a-z]+$"},
    {
        "type": "string",
        "pattern": "^[a-z]|[Cc][Oo][Ll][Ll][Ee][Cc][Tt][Ii][Oo][Nn]|[Cc][Oo][Rr][Ee]$",
    },
]


def spelled(word: str, how: int) -> str:
    """A string in JSON, its characters as they are, or escaped."""
    if how == 0:
        return json.dumps(word, ensure_ascii=False)
    return json.dumps(word) if how == 1 else '"' + "".join(map(_unit, word)) + '"'


def _unit(letter: str) -> str:
    units = letter.encode("utf-16-be").hex()
    return "".join("\\u" + units[i : i + 4] for i in range(0, len(units), 4))


@pytest.mark.parametrize("item", ITEMS)
@given(words=st.lists(st.tuples(WORDS, st.integers(0, 2)), max_size=4))
def test_items_differ_however_they_are_spelled(
    item: dict[str, Any], words: list[tuple[str, int]]
) -> None:
    """A text is accepted if and only if no value in it comes twice, and each fits."""
    one = sg.compile(sg.JsonSchema(item), BYTES)
    array = {"type": "array", "items": item, "uniqueItems": True}
    constraint = sg.compile(sg.JsonSchema(array), BYTES)
    texts = [spelled(*word) for word in words]
    state = constraint.advance_bytes(constraint.start, ("[" + ",".join(texts) + "]").encode())
    fit = all(one.is_accepting(one.advance_bytes(one.start, text.encode())) for text in texts)
    values = [word for word, _ in words]
    assert constraint.is_accepting(state) == (fit and len(set(values)) == len(values))


@pytest.mark.parametrize(
    ("more", "by_text"),
    [({}, True), ({"minItems": 2}, False), ({"contains": {"minLength": 2}}, False)],
)
def test_items_are_told_apart_by_text_where_nothing_else_is_asked(
    more: dict[str, Any], by_text: bool
) -> None:
    """Then an array has few frames, not one for every set of items; completions are right."""
    schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True} | more
    engine = sg.JsonSchema(schema, whitespace="compact").automaton()
    assert isinstance(engine, Engine)
    frames = []
    text = b'["",'
    for letter in b"abcdef":
        text += b'"%c",' % letter
        at, read = engine.run(engine.start, text)
        assert read == len(text)
        rest = engine.completions().shortest(at)
        assert len(set(json.loads(text + rest))) == len(json.loads(text + rest))
        frames.append(engine.size["frames"])
    assert (frames[1] == frames[-1]) == by_text
