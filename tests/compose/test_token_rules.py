"""Rules about tokens hold for tokens, and are exact where all texts are listed."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from random import Random
from typing import Any

import pytest

import structgen as sg
from structgen.compose import filters
from structgen.compose.all_of import all_of
from structgen.compose.sequences import sequence
from structgen.errors import (
    ArtifactError,
    SpecError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)
from tests.helpers import laws

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
PIECES = [b"a", b"b", b"e", b"ab", b"be", b"aba", b"e a", b" "]


def vocabulary(pieces: list[bytes] = PIECES) -> sg.Vocabulary:
    """The pieces, and an end token behind them."""
    return sg.Vocabulary([*pieces, b"</s>"], eos_ids=[len(pieces)])


def texts_of(c: sg.Constraint, most: int) -> set[tuple[int, ...]]:
    """All sequences of up to `most` tokens after which the text may end."""
    found: set[tuple[int, ...]] = set()
    layer: set[tuple[tuple[int, ...], int]] = {((), c.start)}
    for _ in range(most + 1):
        found |= {tokens for tokens, state in layer if c.is_accepting(state)}
        layer = {
            ((*tokens, t), c.advance(state, t))
            for tokens, state in layer
            for t in laws.text_tokens(c, state)
        }
    return found


def spelt(tokens: tuple[int, ...]) -> str:
    """The text of some tokens."""
    return b"".join(PIECES[t] for t in tokens).decode()


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [("(?:ab)*", 0, 2), ("(?:ab)*", 2, 3), ("a*be?", 3, 3), ("[abe ]*", 1, 2), ("(?:aba)+", 0, 1)],
)
def test_counted_tokens_are_those_of_brute_force(pattern: str, least: int, most: int) -> None:
    """Exactly the sequences of so many tokens whose text fits; every allowed token leads to one."""
    wanted = {
        tokens
        for count in range(least, most + 1)
        for tokens in product(range(len(PIECES)), repeat=count)
        if re.fullmatch(pattern, spelt(tokens))
    }
    rule = filters.length(at_least=least, at_most=most, unit="tokens")
    c = sg.compile(all_of(sg.Regex(pattern), rule), vocabulary())
    assert texts_of(c, most + 1) == wanted
    starts = {tokens[:k] for tokens in wanted for k in range(len(tokens) + 1)}
    layer: set[tuple[tuple[int, ...], int]] = {((), c.start)}
    for _ in range(most):
        for tokens, state in layer:
            allowed = set(laws.text_tokens(c, state))
            assert allowed == {t for t in range(len(PIECES)) if (*tokens, t) in starts}
            for token in range(len(PIECES)):
                assert (c.advance(state, token) != sg.DEAD) == (token in allowed)
        layer = {
            ((*tokens, t), c.advance(state, t))
            for tokens, state in layer
            for t in laws.text_tokens(c, state)
        }


def test_at_least_so_many_tokens_of_a_schema() -> None:
    """Without an upper bound; random walks end with enough tokens."""
    rng = Random(2)
    tokens = [bytes((b,)) for b in range(256)] + [b'{"', b'":', b'"}', b"name"]
    vocab = sg.Vocabulary([*tokens, b"</s>"], eos_ids=[len(tokens)])
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    c = sg.compile(all_of(schema, filters.length(at_least=9, unit="tokens")), vocab)
    for _ in range(5):
        state, count = c.start, 0
        while not c.is_accepting(state) and count < 60:
            state = c.advance(state, rng.choice(laws.text_tokens(c, state)))
            count += 1
        assert count >= 9


def test_a_rule_for_tokens_is_no_rule_for_words() -> None:
    """`be a` has no word with both letters; the token `e a` has. A word can be in two tokens."""
    both = filters.without(sg.Regex(".*(?:a.*e|e.*a).*"))
    words = sg.compile(filters.each_word(both), vocabulary())
    tokens = sg.compile(filters.each_token(both), vocabulary())
    cases = {("b", "e a"): (True, False), ("ab", "e"): (False, True), ("e", " ", "a"): (True, True)}
    for pieces, expected in cases.items():
        ends = []
        for c in (words, tokens):
            state = c.start
            for piece in pieces:
                state = c.advance(state, PIECES.index(piece.encode()))
            ends.append(c.is_accepting(state))
        assert tuple(ends) == expected


def test_tokens_that_break_the_rule_never_come_and_none_is_missed() -> None:
    """Beside a pattern: the sequences of kept tokens that fit, and no dead ends."""
    c = sg.compile(
        all_of(sg.Regex("(?:ab|be)+"), filters.each_token(filters.banned("ba"))), vocabulary()
    )
    kept = [i for i, piece in enumerate(PIECES) if b"ba" not in piece]
    wanted = {
        tokens
        for count in range(4)
        for tokens in product(kept, repeat=count)
        if re.fullmatch("(?:ab|be)+", spelt(tokens))
    }
    assert {tokens for tokens in texts_of(c, 3) if len(tokens) < 4} == wanted
    only = sg.compile(all_of(sg.Regex("ab+e"), filters.each_token(sg.Regex("a?b|e"))), vocabulary())
    assert laws.text_tokens(only, only.start) == [PIECES.index(b"ab")]


def test_rules_that_no_tokens_keep_are_refused() -> None:
    """Too few tokens for the shortest text; no token that may stand."""
    for rule in (
        filters.length(at_most=1, unit="tokens"),
        filters.each_token(sg.Regex("b")),
    ):
        with pytest.raises(UnsatisfiableSchemaError):
            sg.compile(all_of(sg.Regex("abe"), rule), vocabulary())


def test_without_a_vocabulary_there_are_no_tokens(tmp_path: Any) -> None:
    """A text cannot be checked for its tokens, nor a part of a text."""
    rule = filters.length(at_most=3, unit="tokens")
    with pytest.raises(UnsupportedSchemaError):
        sg.check(rule, "ab")
    with pytest.raises(UnsupportedSchemaError):
        sg.compile(sequence("a", rule), vocabulary())
    with pytest.raises(SpecError):
        filters.each_token({"type": "object"})
    with pytest.raises(ArtifactError):
        sg.compile(all_of(sg.Regex("a*"), rule), vocabulary()).save(tmp_path / "rule")


ALONE = """
import structgen as sg

vocabulary = sg.Vocabulary([b"a", b"b", b"</s>"], eos_ids=[2])
few = sg.compile(sg.filters.length(at_most=1, unit="tokens"), vocabulary)
assert few.advance(few.advance(few.start, 0), 1) == sg.DEAD
only = sg.compile(sg.filters.each_token(sg.Regex("b")), vocabulary)
assert only.advance(only.start, 0) == sg.DEAD
"""


def test_a_rule_compiles_where_nothing_else_of_structgen_was_used() -> None:
    """In a new process, in which only what the rule itself imports is at hand."""
    subprocess.run([sys.executable, "-c", ALONE], check=True)
