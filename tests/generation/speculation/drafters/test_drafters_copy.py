"""Tests that values of the prompt are copied, however they are tokenized there."""

from __future__ import annotations

import re
from typing import Literal

import pytest

import structgen as sg
from structgen.generation.speculation.drafters.copy import CopyDrafter
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import Context
from tests.generation.speculation.toys import make_context

WORDS = [b"<end>", b" Nina", b"Nina", b" Hart", b"Hart", b"mann", b"name", b' "', b'"']
WORDS += [bytes([c]) for c in b" abcdefghijklmnopqrstuvwxyzNH0123456789:.,"]


def longest_first(text: str) -> list[int]:
    """A tokenizer that takes the longest token each time."""
    names = sorted((word.decode() for word in WORDS[1:]), key=len, reverse=True)
    return [WORDS.index(m.encode()) for m in re.findall("|".join(map(re.escape, names)), text)]


VOCABULARY = sg.Vocabulary(WORDS, eos_ids=[0], encode=longest_first)
STRING = '"[A-Za-z ]{1,20}"'


def context_after(prompt: str, written: str, pattern: str) -> Context:
    """A context in which this was written behind a prompt."""
    constraint = sg.compile(sg.Regex(pattern), VOCABULARY)
    context = make_context(constraint, longest_first(prompt), remaining=60)
    for token in longest_first(written):
        context.tokens.append(token)
        context.state = constraint.advance(context.state, token)
        assert context.state >= 0
    return context


def drafts(context: Context, unit: Literal["bytes", "tokens"] = "bytes") -> list[bytes]:
    """What is drafted first, and what besides: the bytes of each path."""
    tree = CopyDrafter(unit).begin(context).propose(context, Budget(nodes=12))
    leaves = sorted(tree.leaves(), key=lambda leaf: -tree.estimates[leaf])
    return [VOCABULARY.decode_bytes(tree.path(leaf)) for leaf in leaves]


PROMPT = "the lamp is for Nina Hartmann. name: Nina Hartmann, age: 36."


@pytest.mark.parametrize(
    ("written", "pattern", "wanted"),
    [
        ('name:"', f"name:{STRING}", b"Nina Hartmann"),  # a word behind the key, and so on
        ('"Nina', STRING, b" Hartmann"),
        ('"Nina Hart', STRING, b"mann"),
        ('"Nina Ha', STRING, b"rtmann"),
        ("name:", "name:[0-9]+", b"36"),  # only this may stand there
        ("", "[0-9]+", b"36"),
        ("", "(red|lamp)", b"lamp"),
    ],
)
def test_values_are_copied_with_tokens_of_their_own(
    written: str, pattern: str, wanted: bytes
) -> None:
    """As far as the grammar takes them."""
    found = drafts(context_after(PROMPT, written, pattern))
    assert any(path.startswith(wanted) for path in found), found


def test_behind_a_key_comes_what_stood_behind_it() -> None:
    """Not what stood first, though both would fit."""
    prompt = "4 lamps. age: 36. size: 27."
    for key, value in (("age", b"36"), ("size", b"27")):
        context = context_after(prompt, f"{key}:", "(age|size):[0-9]+")
        tree = CopyDrafter().begin(context).propose(context, Budget(nodes=2))
        assert VOCABULARY.decode_bytes(tree.path(2)) == value


def test_by_tokens_a_value_is_found_only_with_the_same_tokens() -> None:
    """Behind a quote, the name has others than behind a space."""
    context = context_after(PROMPT, '"Nina', STRING)
    assert drafts(context, "tokens") == [b""]
    assert drafts(context)[0].startswith(b" Hartmann")
    prose = context_after("for Nina Hart. " + PROMPT, "for Nina", "for [A-Za-z ]{1,20}")
    assert any(path.startswith(b" Hart") for path in drafts(prose, "tokens"))


def test_the_text_itself_is_copied_from() -> None:
    """A name that was written once comes again."""
    context = context_after("0", '"Nina Hartmann","Nina', f"{STRING},{STRING}")
    assert drafts(context)[0].startswith(b" Hartmann")
