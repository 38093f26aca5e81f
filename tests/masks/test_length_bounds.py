"""Masks of expressions with a bound on their length: long tokens are walked, others are known."""

from __future__ import annotations

import random

import pytest

import structgen as sg
from structgen.masks import lexeme_masks

SCHEMA = {"type": "string", "pattern": "^.{0,100}a.{0,100}b.{0,100}c.{0,50}$"}


def with_long_tokens() -> sg.Vocabulary:
    """A token for each byte, two thousand short words, and two tokens longer than a bound."""
    rnd = random.Random(1)
    words = {"".join(rnd.choices("abcx", k=rnd.randrange(2, 20))) for _ in range(2000)}
    texts = [*(bytes([i]) for i in range(256)), *(word.encode() for word in sorted(words))]
    texts += [b"x" * 200, b"ax" * 90, b"<end>"]
    return sg.Vocabulary(texts, eos_ids=[len(texts) - 1])


def test_only_tokens_longer_than_a_near_bound_are_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same mask as by a walk of all tokens, of a tenth of the lexer states."""
    vocabulary, found = with_long_tokens(), []
    for least in (lexeme_masks.FEW_LONGER, 1000):
        monkeypatch.setattr(lexeme_masks, "FEW_LONGER", least)
        constraint = sg.compile(SCHEMA, vocabulary)
        state = constraint.advance_bytes(constraint.start, b'"x')
        found.append((constraint.mask_view(state).tolist(), constraint.size["lexer_states"]))
    (row, states), (other, more) = found
    assert row == other
    assert 5 * states < more
