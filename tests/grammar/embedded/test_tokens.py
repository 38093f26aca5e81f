"""Tokens of the vocabulary in grammars: each stands for itself and not for its bytes."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.compose import filters
from structgen.errors import BudgetError, GrammarError, SpecError, UnsupportedSchemaError

TEXTS = [b"<end>", b"a", b"b", b"ab", b"<think>", b"</think>", b"", b"x"]
SPECIAL = [0, 4, 5, 6]
VOCABULARY = sg.Vocabulary(
    [*TEXTS, *(bytes((i,)) for i in range(256) if bytes((i,)) not in TEXTS)],
    eos_ids=[0],
    special_ids=SPECIAL,
)
# A grammar, and a pattern over the numbers of tokens, a letter each, that fits the same sequences.
# "ab" is token 3 or the tokens 1 and 2.
GRAMMARS: dict[str, tuple[Any, str]] = {
    "thought": (
        sg.Gbnf('root ::= <think> (!</think>)* </think> "ab"'),
        "4[123467]*5(12|3)",
    ),
    "by number": (sg.Gbnf('root ::= <[6]> ("a" | <[3]>) <[7]>?'), "6[13]7?"),
    "others": (sg.Gbnf('root ::= !<[3]> "b" | "a"'), "[124567]2|1"),
    "a text and itself": (sg.Gbnf('root ::= ("ab" | <[3]> "a") "x"'), "((12|3)|31)7"),
    "ranges": (sg.Lark("start: <[1-2,7]> <[^1-5]>+"), "[127][67]+"),
    "any": (sg.Lark('start: "a" <[*]>'), "1[1234567]"),
    "a grammar in a grammar": (sg.seq("a", sg.Lark("start: <[6]>"), "b").as_spec(), "162"),
    "in a sequence": (sg.sequence("a", sg.Gbnf("root ::= <[4]> | <[3]>"), "b"), "1[43]2"),
    "in alternatives": (
        sg.any_of(sg.Gbnf('root ::= <[3]> "a"'), sg.sequence("ab", sg.Gbnf("root ::= <[*]>"))),
        "31|(3|12)[1234567]",
    ),
    "beside a literal that names it": (
        sg.any_of("<think>b", sg.sequence(sg.Gbnf("root ::= <think>"), "a")),
        "4[12]",
    ),
    "in a tag": (
        sg.Tags((sg.Tag("a", sg.Lark("start: <[6]>+"), "b"),), text="none", at_most=1),
        "(16+2)?",
    ),
    "inside rules": (sg.Lark('start: pair*\npair: <think> "a"+ </think>'), "(41+5)*"),
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_sequences_of_tokens_are_those_of_the_pattern(name: str) -> None:
    """All sequences of up to four tokens; the mask allows a token iff `advance` does."""
    spec, pattern = GRAMMARS[name]
    constraint = sg.compile(spec, VOCABULARY)
    row = np.zeros(VOCABULARY.words, np.int32)
    fits = {""}
    states = {"": constraint.start}
    for length in range(1, 5):
        for tokens in itertools.product("1234567", repeat=length):
            text = "".join(tokens)
            before = states.get(text[:-1], sg.DEAD)
            if before == sg.DEAD:
                continue
            after = constraint.advance(before, int(text[-1]))
            constraint.fill_mask(before, row)
            assert (after != sg.DEAD) == bool(row[0] >> int(text[-1]) & 1)
            if after != sg.DEAD:
                states[text] = after
                fits.add(text)
    accepted = {text for text in fits if constraint.is_accepting(states[text])}
    every = ("".join(t) for n in range(5) for t in itertools.product("1234567", repeat=n))
    assert accepted == {text for text in every if re.fullmatch(pattern, text)}


def test_tokens_are_not_read_beside_another_spec() -> None:
    """Where only texts are compared, they are refused by name."""
    for spec in (
        sg.all_of(sg.Gbnf('root ::= "a" <[6]>'), sg.Regex("[ab]*")),
        sg.all_of(sg.Gbnf('root ::= "a" <[6]>'), filters.length(at_most=3, unit="tokens")),
    ):
        with pytest.raises(UnsupportedSchemaError, match="tokens of the vocabulary"):
            sg.compile(spec, VOCABULARY)


def test_a_special_token_is_not_read_as_its_text() -> None:
    """Neither from bytes, nor is it allowed where only its text would fit."""
    constraint = sg.compile(sg.Gbnf('root ::= <think> "a"'), VOCABULARY)
    assert constraint.advance_bytes(constraint.start, b"<think>") == sg.DEAD
    other = sg.compile(sg.Gbnf('root ::= "<think>" "a"'), VOCABULARY)
    assert other.advance(other.start, 4) == sg.DEAD


def test_end_tokens_end() -> None:
    """They are no token of those that stand for themselves."""
    constraint = sg.compile(sg.Gbnf('root ::= "a" (!<[1]>)*'), VOCABULARY)
    row = constraint.mask_view(constraint.start)
    assert not row[0] & 1
    state = constraint.advance(constraint.start, 1)
    assert constraint.mask_view(state)[0] & 1
    assert constraint.advance(state, 0) == sg.FINAL


@pytest.mark.parametrize("token", ["<[100000]>", "<missing>"])
def test_a_token_that_the_vocabulary_lacks_is_an_error(token: str) -> None:
    """It could never come."""
    with pytest.raises(SpecError, match="no token"):
        sg.compile(sg.Gbnf(f"root ::= {token}"), VOCABULARY)


@pytest.mark.parametrize("token", ["<", "<>", "<[x]>", "<[1-]>", "! <a>", "<a b"])
def test_what_is_no_token_is_refused(token: str) -> None:
    """With its place."""
    with pytest.raises(GrammarError) as caught:
        sg.Gbnf(f"root ::= {token}").rules()
    assert (caught.value.line, caught.value.column) == (1, 10)


def test_a_token_has_no_text_that_completes_it() -> None:
    """Before it; behind it there may be one."""
    constraint = sg.compile(sg.Gbnf('root ::= <[6]> "a"'), VOCABULARY)
    with pytest.raises(BudgetError):
        constraint.shortest_completion(constraint.start)
    assert constraint.shortest_completion(constraint.advance(constraint.start, 6)) == b"a"


def test_a_vocabulary_may_lack_bytes() -> None:
    """Then tokens are left out from which no others lead to the end."""
    small = sg.Vocabulary(TEXTS, eos_ids=[0], special_ids=SPECIAL)
    spec = sg.Gbnf('root ::= <think> "x" | "a" (<[6]> | "y") | "b" "y" | !<[1]> !<[1]> "z"')
    constraint = sg.compile(spec, small)
    for state, allowed in (
        (constraint.start, [1, 4]),
        (constraint.advance(constraint.start, 1), [6]),
        (constraint.advance(constraint.start, 4), [7]),
    ):
        row = constraint.mask_view(state)
        assert [t for t in range(len(TEXTS)) if row[0] >> t & 1] == allowed
        read = [t for t in range(len(TEXTS)) if constraint.advance(state, t) != sg.DEAD]
        assert read == allowed


def test_specs_with_tokens_are_saved_and_loaded(tmp_path: Any) -> None:
    """With the same masks."""
    constraint = sg.compile(GRAMMARS["thought"][0], VOCABULARY)
    state = constraint.advance(constraint.start, 4)
    constraint.mask_view(state)
    constraint.save(tmp_path / "thought")
    loaded = sg.load(tmp_path / "thought", VOCABULARY)
    assert (loaded.mask_view(loaded.advance(loaded.start, 4)) == constraint.mask_view(state)).all()
