"""In: objects that tokens begin. Out: masks that are right though these were only sketched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import structgen as sg
from structgen.automaton.json_machine import JsonMachine

LONGER = [
    b'{"', b'{"a', b'{"b":', b'{"a":{"', b'":{"', b'":{}', b'{}', b'{},', b'{}}', b'{ "', b'{\n',
    b'"a":{"b":{', b'[{"', b'},{"', b'{"a":1}', b'{"\\u0061"', b'{"z', b'":{"z":{"z',
]  # fmt: skip
INNER: dict[str, Any] = {"properties": {"a": {"type": "integer"}, "b": {"type": "object"}}}
CLOSED = {**INNER, "type": "object", "required": ["a"], "additionalProperties": False}
SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": CLOSED, "b": {"type": "array", "items": CLOSED}}},
    {"type": "object", "properties": {"a": {**INNER, "type": "object"}}, "required": ["a"]},
    {"properties": {"a": {"$ref": "#"}, "b": {"type": ["object", "null"], "required": ["q"]}}},
    {"type": "object", "properties": {"a": {"type": "object", "minProperties": 2}, "b": CLOSED}},
    {"type": "object", "additionalProperties": {"properties": {"a": False}, "type": "object"}},
    {"items": {"anyOf": [CLOSED, {**INNER, "type": "object"}]}, "properties": {"a": CLOSED}},
]


def vocabulary() -> sg.Vocabulary:
    """A token for each byte, those that go into objects, and an end token."""
    tokens = [bytes((b,)) for b in range(256)] + LONGER
    return sg.Vocabulary([*tokens, None], eos_ids=[len(tokens)])


def walked(constraint: sg.Constraint, most: int = 120) -> dict[bytes, bytes]:
    """The mask after each of the shortest texts, those that go on with the latest tokens first."""
    texts = constraint.vocabulary.tokens
    todo, seen, found = [(constraint.start, b"")], {constraint.start}, dict[bytes, bytes]()
    for state, text in todo:
        mask = constraint.mask_view(state)
        found[text] = bytes(mask)
        for token in reversed(range(constraint.vocabulary.size - 1)):
            after = constraint.advance(state, token)
            assert (after >= 0) == bool(mask[token >> 5] >> (token & 31) & 1), (text, texts[token])
            if after >= 0 and after not in seen and len(todo) < most:
                seen.add(after)
                todo.append((after, text + (texts[token] or b"")))
    return found


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_masks_allow_what_is_accepted_and_are_those_of_whole_objects(
    schema: dict[str, Any], order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each token is allowed iff it is accepted; without sketches the masks are the same."""
    spec = sg.JsonSchema(schema, property_order=order, whitespace="any")
    found = walked(sg.compile(spec, vocabulary()))
    monkeypatch.setattr(JsonMachine, "sketch", lambda *_: None)
    assert walked(sg.compile(spec, vocabulary())) == found


def stages(constraint: sg.Constraint) -> list[str]:
    """Those of the frames that the automaton has by now."""
    engine: Any = constraint.automaton
    return [engine.frame(number).stage for number in range(engine.frames_made)]


def test_what_tokens_only_begin_is_sketched() -> None:
    """An object is opened when a token goes on in it, or when it has been read."""
    spec = sg.JsonSchema(SCHEMAS[0], property_order="any", whitespace="any")
    plain = sg.Vocabulary([*(bytes((b,)) for b in range(256)), b'":{"', None], eos_ids=[257])
    constraint = sg.compile(spec, plain)
    state = constraint.advance_bytes(constraint.start, b'{"a')
    constraint.mask_view(state)
    before = stages(constraint)
    assert "sketch" in before
    constraint.mask_view(constraint.advance(state, 256))
    after = stages(constraint)
    assert after.count("open") == before.count("open") + 1
    begun = sg.compile(spec, vocabulary())  # where tokens go on behind the quote
    begun.mask_view(begun.advance_bytes(begun.start, b'{"a'))
    assert stages(begun).count("open") > before.count("open")


def test_a_saved_sketch_is_what_it_was(tmp_path: Path) -> None:
    """Loaded tables with sketches give the same masks, and can be gone on with."""
    spec = sg.JsonSchema(SCHEMAS[0], property_order="any", whitespace="any")
    constraint = sg.compile(spec, vocabulary())
    for text in (b'{"a', b'{"b":['):
        constraint.mask_view(constraint.advance_bytes(constraint.start, text))
    assert "sketch" in stages(constraint)
    constraint.save(tmp_path / "saved")
    loaded = sg.load(tmp_path / "saved", constraint.vocabulary)
    assert walked(loaded) == walked(sg.compile(spec, vocabulary()))
    assert stages(loaded)[: len(stages(constraint))] == stages(constraint)
