"""Tests that closing a text takes the tokens that `closing` says."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structgen.errors import GenerationError
from structgen.generation.closing import Closer, Speller
from structgen.vocabulary.vocabulary import Vocabulary
from tests.generation.naive import NaiveConstraint

pieces = st.lists(st.binary(min_size=1, max_size=4).map(lambda b: bytes(c % 3 + 97 for c in b)))
texts = st.text("abc", max_size=7).map(str.encode)


def fewest(data: bytes, tokens: set[bytes]) -> int | None:
    """The fewest tokens that write `data`, by trying all sequences of up to that many."""
    for count in range(len(data) + 1):
        if any(b"".join(row) == data for row in itertools.product(tokens, repeat=count)):
            return count
    return None


@given(pieces.map(lambda found: found[:4]), texts.map(lambda data: data[:5]))
def test_spelling_uses_the_fewest_tokens(tokens: list[bytes], data: bytes) -> None:
    """No other sequence of text tokens writes the same bytes with fewer of them."""
    vocabulary = Vocabulary([*tokens, b"abc", b""], eos_ids=[len(tokens)])
    spelled = Speller(vocabulary).spell(data)
    expected = fewest(data, set(tokens))
    if spelled is None:
        assert expected is None
        return
    assert len(spelled) == expected
    assert b"".join(vocabulary.token_bytes(t) for t in spelled) == data
    assert vocabulary.special_ids.isdisjoint(spelled)


@given(pieces, texts, st.integers(0, 8), st.booleans())
@example([b"abc", b"ab"], b"abcab", 2, True)
@example([b"abc", b"ab"], b"abcab", 1, True)
@example([b"abc", b"ab"], b"abcabc", 3, False)
def test_fitting_is_spelling_within_the_budget(
    tokens: list[bytes], data: bytes, budget: int, every_byte: bool
) -> None:
    """`fits` is true iff the fewest tokens are few enough, whichever short way decides it."""
    single = [bytes([b]) for b in range(256)] if every_byte else []
    speller = Speller(Vocabulary([b"", *tokens, *single]))
    spelled = speller.spell(data)
    assert speller.fits(data, budget) == (spelled is not None and len(spelled) <= budget)


def test_equal_tokens_are_spelled_by_the_smallest_id() -> None:
    """Of several ids with the same bytes the first is taken, special ones never."""
    vocabulary = Vocabulary([b"ab", b"a", b"b", b"ab", b"a"], special_ids=[0])
    assert Speller(vocabulary).spell(b"aba") == (3, 1)


@pytest.mark.parametrize(
    ("language", "prefix", "complete"),
    [
        (["1", "12"], "1", False),
        (["1", "12"], "12", True),
        (["1", "12"], "", False),
        (["1", "1 ", "1 \n"], "1", True),
        (["1", "1 ", "1 \n"], "1 ", True),
        (["1", "1  2"], "1", False),
        (["1", "1\x0c"], "1", False),
        (["", " "], "", True),
    ],
)
def test_complete_means_only_whitespace_can_follow(
    language: list[str], prefix: str, complete: bool
) -> None:
    """However much whitespace may come, something behind it keeps the text from being complete."""
    constraint = NaiveConstraint(language, Vocabulary([bytes([b]) for b in range(128)]))
    closer = Closer(constraint, Speller(constraint.vocabulary))
    state = constraint.advance_bytes(constraint.start, prefix.encode())
    assert closer.complete(state) is complete
    assert closer.complete(state) is complete, "the remembered answer"


def test_a_long_run_of_whitespace_is_not_followed_for_ever() -> None:
    """Beyond a thousand states of whitespace a text counts as one that may go on."""
    long = NaiveConstraint(["1" + " " * n for n in range(1500)], Vocabulary([b"1", b" "]))
    closer = Closer(long, Speller(long.vocabulary))
    assert not closer.complete(long.advance_bytes(long.start, b"1"))
    assert closer.complete(long.advance_bytes(long.start, b"1" + b" " * 1000))


def test_a_plan_writes_the_shortest_completion() -> None:
    """The tokens of a plan lead to a text, in the fewest steps for the shortest completion."""
    vocabulary = Vocabulary([b"a", b"b", b"ab", b"ba"])
    constraint = NaiveConstraint(["abab", "bbbbbb"], vocabulary)
    closer = Closer(constraint, Speller(vocabulary))
    assert closer.plan(constraint.start) == (2, 2)
    assert closer.plan(constraint.advance(constraint.start, 0)) == (3, 1)
    assert closer.plan(constraint.advance(constraint.start, 1)) == (1,) * 5
    assert closer.plan(constraint.advance_bytes(constraint.start, b"abab")) == ()
    unwritable = NaiveConstraint(["ac"], vocabulary)
    assert Closer(unwritable, Speller(vocabulary)).plan(unwritable.start) is None


def test_a_completion_that_the_constraint_refuses_is_reported() -> None:
    """A constraint that contradicts itself does not lead to a text that does not fit."""

    class Wrong(NaiveConstraint):
        def shortest_completion(self, state: int) -> bytes:
            return b"bb"

    vocabulary = Vocabulary([b"a", b"b"])
    constraint = Wrong(["ab"], vocabulary)
    with pytest.raises(GenerationError, match="refuses its own shortest completion"):
        Closer(constraint, Speller(vocabulary)).plan(constraint.start)
