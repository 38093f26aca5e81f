"""Tests that forced text is drafted as the tokenizer cuts it."""

from __future__ import annotations

import gc
import re
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.interface import DEAD
from structgen.generation.speculation.drafters.forced import (
    ByteTokenizer,
    ForcedDrafter,
    ForcedText,
)
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import Context, DraftTree
from tests.generation.models import build_tokenizer
from tests.generation.speculation.toys import allowed, make_context

WORDS = [b"<end>", b"a", b"b", b"c", b"d", b"ab", b"cd", b"bc", b"abc", b"dd"]


def longest_first(text: str) -> list[int]:
    """A tokenizer that takes the longest token each time."""
    names = sorted((word.decode() for word in WORDS[1:]), key=len, reverse=True)
    return [WORDS.index(m.encode()) for m in re.findall("|".join(names), text)]


VOCABULARY = sg.Vocabulary(WORDS, eos_ids=[0], encode=longest_first)


def draft(pattern: str, few: int) -> list[list[bytes]]:
    """The paths to the leaves of what is drafted from the start."""
    constraint = sg.compile(sg.Regex(pattern), VOCABULARY)
    context = make_context(constraint, [WORDS.index(b"d")])
    tree = ForcedDrafter(few).begin(context).propose(context, Budget(nodes=20))
    return sorted([WORDS[t] for t in tree.path(leaf)] for leaf in tree.leaves())


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("abcd", [b"abc", b"d"]),
        ("abcda", [b"abc", b"d", b"a"]),
        ("abcd(a|c)", [b"abc", b"d"]),
        ("aba(a|b)", [b"ab"]),  # the last a may become ab, so it waits
        ("aba(a|c)", [b"ab", b"a"]),
        ("cd(d|a)", []),  # c and dd it may be
        ("(a|b)c", []),
    ],
)
def test_forced_text_is_cut_as_the_tokenizer_cuts(pattern: str, wanted: list[bytes]) -> None:
    """Without the last tokens where what follows could have a part in them."""
    constraint = sg.compile(sg.Regex(pattern), VOCABULARY)
    tokens = ForcedText(constraint.vocabulary).tokens(constraint, constraint.start, ())
    assert [WORDS[t] for t in tokens] == wanted


def test_tokens_before_are_cut_together_with_what_is_forced() -> None:
    """Behind an "a" that stands for itself, b stays b; behind others the tokenizer decides."""
    byte_tokenizer = ByteTokenizer(VOCABULARY)
    a, b, ab, cd = (WORDS.index(word) for word in (b"a", b"b", b"ab", b"cd"))
    assert byte_tokenizer.tokenize_after([a], b"b") == [b]  # "ab" would change the token before
    assert byte_tokenizer.tokenize_after([ab], b"cd") == [cd]
    assert byte_tokenizer.tokenize_after([0, cd], b"ab") == [ab]  # the end token is no text


def test_bytes_that_end_inside_a_character_are_cut_before_it() -> None:
    """A tokenizer takes text."""
    tokenizer = build_tokenizer()
    vocabulary = sg.Vocabulary.from_transformers(tokenizer)
    byte_tokenizer = ByteTokenizer(vocabulary)
    assert vocabulary.decode_bytes(byte_tokenizer.cut("abé".encode()[:-1])) == b"ab"
    assert byte_tokenizer.cut("é".encode()[:1]) == []


def test_few_choices_are_all_drafted() -> None:
    """Each is followed by what it forces; of many, none is."""
    assert draft("(ac|bd)dda", few=4) == [
        [b"a", b"cd", b"d", b"a"],
        [b"b", b"dd", b"d", b"a"],
    ]
    assert draft("(ac|bd)dda", few=1) == [[]]


def test_chains_do_not_branch() -> None:
    """A model that reads chains gets one of the choices."""
    constraint = sg.compile(sg.Regex("(ac|bd)dda"), VOCABULARY)
    context = make_context(constraint)
    context.chain = True
    tree = ForcedDrafter(4).begin(context).propose(context, Budget(nodes=20, width=1))
    assert all(len(children) <= 1 for children in tree.children)


@settings(max_examples=60, deadline=None)
@given(
    pattern=st.text("abcd(|)?", min_size=1, max_size=12).filter(
        lambda p: _compiles(p) and not re.fullmatch(p, "")
    )
)
def test_forced_bytes_are_spelled(pattern: str) -> None:
    """From every state near the start: the tokens write a beginning of what is forced."""
    try:
        constraint = sg.compile(sg.Regex(pattern), VOCABULARY)
    except sg.errors.StructgenError:
        return
    known = ForcedText(constraint.vocabulary)
    states = [constraint.start]
    for state in states[:12]:
        forced = constraint.forced_bytes(state)
        tokens = known.tokens(constraint, state, (4,))
        assert forced.startswith(VOCABULARY.decode_bytes(tokens))
        choices = list(known.choices(constraint, state))
        assert choices in ([], allowed(constraint, state))
        states += [
            after
            for t in allowed(constraint, state)
            if (after := constraint.advance(state, t)) >= 0 and after not in states
        ]


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def test_what_is_forced_is_drafted_behind_every_leaf() -> None:
    """Of another draft, within the budget of both."""
    constraint = sg.compile(sg.Regex("(a|b)ccdda"), VOCABULARY)
    context = make_context(constraint, (4,))
    for nodes in (2, 4, 5, 20):
        tree = DraftTree(context)
        tree.add(0, WORDS.index(b"a"), 0.6)
        tree.add(0, WORDS.index(b"b"), 0.3)
        ForcedDrafter().extend(tree, Budget(nodes=nodes))
        assert len(tree) - 1 <= nodes
        assert len(tree) > 3 or nodes == 2
    assert [len(tree.path(leaf)) for leaf in tree.leaves()] == [5, 5]


def test_a_constraint_that_is_no_longer_used_is_freed() -> None:
    """What is remembered of it does not keep it."""
    drafter = ForcedDrafter()

    def use() -> weakref.ref[object]:
        constraint = sg.compile(sg.Regex("abcd(a|c)"), VOCABULARY)
        context: Context = make_context(constraint)
        session = drafter.begin(context)
        assert len(session.propose(context, Budget(nodes=4))) > 1
        return weakref.ref(constraint)

    kept = use()
    gc.collect()
    assert kept() is None


def test_advancing_over_what_is_forced_is_possible() -> None:
    """With a tokenizer of transformers, from the start of a JSON object with one key."""
    vocabulary = sg.Vocabulary.from_transformers(build_tokenizer())
    schema = {"type": "object", "properties": {"k": {"const": "abab"}}, "required": ["k"]}
    spec = sg.JsonSchema({**schema, "additionalProperties": False}, whitespace="compact")
    constraint = sg.compile(spec, vocabulary)
    tokens = ForcedText(constraint.vocabulary).tokens(constraint, constraint.start, ())
    state = constraint.start
    for token in tokens:
        state = constraint.advance(state, token)
        assert state != DEAD
    assert vocabulary.decode_bytes(tokens) == b'{"k":"abab"}'
