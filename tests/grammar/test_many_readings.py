"""However many ways there are to read a token, masks are exact and take little work."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.grammar.automaton import masks
from structgen.grammar.ir import Grammar
from tests.grammar.laws import check_masks
from tests.grammar.test_automaton import TOKENS, automaton_of, grammars

# The number of ways to read n equal characters grows as fast as an exponential function of n.
AMBIGUOUS = {
    "a piece and its double": sg.Lark('start: ("-" | "--")* "a"'),
    "words without blanks": sg.Gbnf('root ::= word root?\nword ::= [a-z-]+ " "*'),
    "blanks on both sides": sg.Gbnf(
        "root ::= ws | ws item root\nitem ::= ws [a-z-]+ ws\nws ::= [ -]*"
    ),
    "nested brackets": sg.Lark('start: a+\na: "x" | "-" a+ "-" | "--" a+ "--"'),
    "sums": sg.Lark('start: "a" | start "-" start | "-" start'),
    "cyclic": sg.Lark('start: start start | start | | "-" | "a"'),
    "hidden left recursion": sg.Lark('start: e start "-" | "-" start | "a"\ne: "-"?'),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_work_does_not_grow_with_the_number_of_readings(name: str) -> None:
    """Twice as many characters make at most some eight times as many records."""
    records = []
    for count in (50, 100, 200):
        vocabulary = sg.Vocabulary([b"<end>", b"-", b"a", b"x", b"-" * count], eos_ids=[0])
        constraint = sg.compile(AMBIGUOUS[name], vocabulary)
        constraint.mask_view(constraint.start)
        state = constraint.advance(constraint.start, 1)
        for _ in range(20):
            constraint.mask_view(state)
            state = constraint.advance(state, 1)
        assert state != sg.DEAD
        records.append(constraint.automaton.size["records"])
    assert records[2] <= 8 * records[1] <= 64 * records[0]
    assert records[2] < 100_000


@pytest.mark.parametrize("patience", [0, 1 << 30])
@pytest.mark.parametrize("name", AMBIGUOUS)
def test_masks_of_ambiguous_grammars_are_exact(
    name: str, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By parts and by the walk over sets alike, a token is allowed if reading it leads on."""
    monkeypatch.setattr(masks, "PATIENCE", patience)
    texts = "- a x -- -a a- -x- ---a-- x-x a--a".split()
    tokens = [b"<end>", b" ", b" -", b"a ", *(text.encode() for text in texts)]
    constraint = sg.compile(AMBIGUOUS[name], sg.Vocabulary(tokens, eos_ids=[0]))
    states = [constraint.start]
    for state in states:
        row = constraint.mask_view(state)
        for token in range(1, len(tokens)):
            after = constraint.advance(state, token)
            assert (after != sg.DEAD) == bool(row[0] >> token & 1)
            if after != sg.DEAD and after not in states and len(states) < 60:
                states.append(after)


@settings(max_examples=60, deadline=None)
@given(grammars() | grammars("viable"), st.integers(0, 1 << 30), st.sampled_from([0, 1 << 30]))
def test_parts_and_the_walk_over_sets_make_the_same_masks(
    of: Grammar, seed: int, patience: int
) -> None:
    """Of random grammars: what reading each token says."""
    automaton = automaton_of(of)
    if automaton is not None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(masks, "PATIENCE", patience)
            check_masks(automaton, TOKENS, seed)
