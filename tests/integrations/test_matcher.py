"""`Matcher`, `fill_matchers` and `Follower`: what the conformance suite does not reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import structgen as sg
from structgen.errors import ArgumentError, NoTokenError, VocabularyError
from structgen.integrations.huggingface import LogitsProcessor
from structgen.integrations.matcher import Follower, Matcher, fill_matchers

BYTES: list[bytes | None] = [b"<end>", *(bytes((i,)) for i in range(256))]
VOCABULARY = sg.Vocabulary(BYTES, eos_ids=[0])
A, B = 1 + ord("a"), 1 + ord("b")


class Barren:
    """A constraint that comes to a state without tokens, which ours never do."""

    start, vocabulary, spec = 0, VOCABULARY, None

    def fill_mask(self, state: int, row: Any) -> None:
        """Only `a`, and then nothing."""
        row[:] = 0
        if state == 0:
            row[A >> 5] = 1 << (A & 31)

    def advance(self, state: int, token: int) -> int:
        """One step."""
        return 1 if (state, token) == (0, A) else sg.DEAD

    def is_accepting(self, state: int) -> bool:
        """Nowhere."""
        return False


def test_a_state_without_a_token_is_an_error() -> None:
    """In each kind of adapter: never a row of zeros, which is token 0 to a host."""
    barren: Any = Barren()
    matcher = Matcher(barren)
    row = np.zeros(VOCABULARY.words, np.int32)
    matcher.fill(row)
    assert matcher.accept(A)
    with pytest.raises(NoTokenError):
        matcher.fill(row)
    with pytest.raises(NoTokenError):
        Follower(barren, prompt=0).row([A])
    processor = LogitsProcessor(barren, prompt_length=1)
    ids, scores = torch.tensor([[5, A]]), torch.zeros(1, VOCABULARY.size)
    with pytest.raises(NoTokenError):
        processor(ids, scores)


def test_forks_go_on_by_themselves() -> None:
    """And neither sees what the other does."""
    matcher = Matcher(sg.compile(sg.Regex("ab|ba"), VOCABULARY))
    assert matcher.accept(A)
    other = matcher.fork()
    assert other.accept(B)
    other.rollback(2)
    assert other.accept(B)
    assert not matcher.accept(A)
    assert matcher.accept(B)
    assert matcher.is_accepting
    assert not other.is_accepting


def test_rows_of_many_texts_go_where_they_are_wanted() -> None:
    """Other rows are left alone; words beyond the vocabulary are cleared in those written."""
    constraint = sg.compile(sg.Regex("a|b"), VOCABULARY)
    matchers = [Matcher(constraint), Matcher(constraint, stop_ids=[B])]
    rows = np.full((4, VOCABULARY.words + 1), -1, np.int32)
    fill_matchers(matchers, rows, [3, 1])
    assert (rows[[0, 2]] == -1).all()
    assert (rows[[1, 3], -1] == 0).all()
    for place, tokens in ((3, [A, B]), (1, [A])):
        expected = np.zeros(VOCABULARY.words, np.int32)
        for token in tokens:
            expected[token >> 5] |= 1 << (token & 31)
        assert (rows[place, :-1] == expected).all()
    fill_matchers([], rows)


def test_what_cannot_work_is_refused() -> None:
    """No end, more rolled back than was accepted, rows that are too narrow."""
    endless = sg.compile(sg.Regex("a"), sg.Vocabulary(BYTES))
    with pytest.raises(VocabularyError, match="no token ends a text"):
        Matcher(endless)
    matcher = Matcher(endless, stop_ids=[0])
    with pytest.raises(ArgumentError, match="1 tokens were to be taken back"):
        matcher.rollback(1)
    with pytest.raises(VocabularyError, match="more tokens"):
        matcher.fill(np.zeros(3, np.int32))


def test_a_text_that_is_shown_anew_is_followed() -> None:
    """Drafts replaced, prompts that change, and a broken text that is mended."""
    constraint = sg.compile(sg.Regex("(a|b){3}"), VOCABULARY)
    follower = Follower(constraint)
    start = follower.row([7, 8]).copy()
    assert (follower.row([7, 8, A, B]) == constraint.mask_view(constraint.state_of([A, B]))).all()
    assert (follower.row([7, 8, B]) == constraint.mask_view(constraint.state_of([B]))).all()
    ends = np.zeros(VOCABULARY.words, np.int32)
    ends[0] = 1
    assert (follower.row([7, 8, B, 3]) == ends).all(), "a token that is not allowed"
    assert (follower.row([7, 8, B, A, A]) == ends).all(), "the end"
    assert (follower.row([9]) == start).all(), "another prompt"
