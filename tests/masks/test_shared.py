"""What one spec has found of shared patterns serves the others.

The oracle is the same spec over a vocabulary for which nothing has been made.
"""

from __future__ import annotations

import gc
import tracemalloc
from itertools import permutations
from typing import Any

import pytest

import structgen as sg
from structgen.masks import shared as shared_module
from structgen.masks.lexeme_masks import LexemeMasks
from structgen.masks.parts import LexemeMask
from structgen.masks.shared import shared_masks

TOKENS = [bytes((b,)) for b in range(256)] + [b'{"', b'":', b'":"', b'", "', b"20", b"00-", b"ab"]
SOME = {"type": ["string", "null"], "minLength": 1}
DATE, WORD = {"type": "string", "format": "date"}, {"type": "string", "pattern": "^a[b-d]{2,9}$"}
SPECS: list[dict[str, Any]] = [
    DATE,
    {"properties": {"a": DATE, "b": WORD}},
    {"type": "array", "items": {"anyOf": [DATE, WORD, {"type": "null"}]}},
    {"anyOf": [WORD, {"type": "integer"}, {"type": "object", "additionalProperties": DATE}]},
    {"type": "object", "patternProperties": {"^a[b-d]{2,9}$": DATE}, "additionalProperties": False},
    {"type": "array", "items": DATE, "uniqueItems": True},
    {"type": "object", "propertyNames": {"pattern": "^a[b-d]{2,9}$"}},
    {"properties": {"a": SOME, "b": {"minimum": 2}}, "required": ["a"]},
    {"type": ["array", "string"], "items": {**SOME, "title": "as before"}, "maxLength": 5},
    {"items": {"anyOf": [SOME, {"enum": [2, "abc"]}]}, "uniqueItems": True},
]
TEXTS = [
    head + body
    for head in (
        b'"',
        b'{"a":"',
        b'{"b":"',
        b'["',
        b'{"x":"',
        b'{"abb":"',
        b'{"',
        b'["2000-02-02","',
    )
    for body in (b"", b"2", b"2000-02-2", b"2000-02-28", b"a", b"abc", b"abcdbcdbcd")
]


def vocabulary() -> sg.Vocabulary:
    """A new object each time, for which nothing has been made."""
    return sg.Vocabulary([*TOKENS, None], eos_ids=[len(TOKENS)])


def masks(spec: dict[str, Any], over: sg.Vocabulary) -> list[bytes]:
    """The masks after each of the texts, nothing for those that do not fit."""
    constraint = sg.compile(sg.JsonSchema(spec), over)
    states = [constraint.advance_bytes(constraint.start, text) for text in TEXTS]
    return [bytes(constraint.mask_view(state)) for state in states]


def test_masks_do_not_depend_on_what_was_compiled_before() -> None:
    """Whatever came first."""
    expected = [masks(spec, vocabulary()) for spec in SPECS]
    assert all(len(set(found)) > 3 for found in expected)
    for first, second in permutations(range(len(SPECS)), 2):
        over = vocabulary()
        masks(SPECS[first], over)
        assert masks(SPECS[second], over) == expected[second], (SPECS[first], SPECS[second])


def test_states_of_a_pattern_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second spec with it walks only what it has of its own."""
    walked: list[int] = []
    compute = LexemeMasks._compute

    def noted(self: LexemeMasks, q: int) -> LexemeMask:
        walked.append(q)
        return compute(self, q)

    monkeypatch.setattr(LexemeMasks, "_compute", noted)
    counts = []
    over = vocabulary()
    for name in ("a", "b"):
        before = len(walked)
        masks({"properties": {name: WORD, "x": DATE}}, over)
        masks({"properties": {"x": WORD, name: DATE}}, over)
        counts.append(len(walked) - before)
    assert counts[0] > 3 * counts[1], counts


def test_masks_of_specs_own_states_have_a_bound_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ever new patterns drop the oldest masks of such states, and none of those that all share."""
    over = vocabulary()
    kept = shared_masks(over)
    masks(DATE, over)
    shared = len(kept._lexeme_masks)
    assert shared
    monkeypatch.setattr(shared_module, "OWN_BYTES", 60_000)
    for number in range(60):
        spec = {"type": "string", "pattern": f"^a{number}[b-d]{{2,9}}$"}
        assert masks(spec, over) == masks(spec, vocabulary())
        assert sum(mask.nbytes for mask in kept._others.values()) == kept._own_nbytes <= 60_000
    assert len(kept._lexeme_masks) >= shared
    every = [*kept._others.values(), *kept._lexeme_masks.values()]
    assert sum(mask.nbytes for mask in every) == kept.nbytes


def test_the_bytes_of_masks_are_what_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows are short, the objects around them take most; else ten times as many were kept."""
    over = vocabulary()
    kept = shared_masks(over)
    tracemalloc.start()
    try:
        for number in range(60):
            masks({"type": "string", "pattern": f"^a{number}[b-d]{{2,9}}$"}, over)
        gc.collect()
        counted, count, before = kept._own_nbytes, len(kept._others), memory_traced()
        with monkeypatch.context() as patch:
            patch.setattr(shared_module, "OWN_BYTES", 0)
            kept._keep(None, "none", LexemeMask(kept.no_tokens))  # type: ignore[arg-type]
        gc.collect()
        freed = before - memory_traced()
    finally:
        tracemalloc.stop()
    assert not kept._others
    assert count > 100
    assert 0.5 * counted < freed < 2 * counted


def memory_traced() -> int:
    """Bytes that Python's objects and arrays take."""
    return tracemalloc.get_traced_memory()[0]


def test_starts_of_values_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second spec with such a value finds what tokens begin it, though nothing else is alike."""
    walked: list[str] = []
    compute = LexemeMasks._compute

    def noted(self: LexemeMasks, q: int) -> LexemeMask:
        walked.append(type(self._engine.state(q)).__name__)
        return compute(self, q)

    monkeypatch.setattr(LexemeMasks, "_compute", noted)
    over = vocabulary()
    for name, starts in (("a", 1), ("other", 0)):
        walked.clear()
        constraint = sg.compile({"properties": {name: SOME}}, over)
        constraint.mask_view(constraint.advance_bytes(constraint.start, f'{{"{name}":'.encode()))
        assert walked.count("Fork") == starts, walked
