"""Tests that a text which ends in the middle of a draft is what it is without drafts.

The drafter here knows what will be written, so that whole drafts are accepted and everything (the
budget, a mode, a stop sequence, the text) ends in the middle of one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

import structgen as sg
from structgen.errors import TruncatedError
from structgen.generation import penalties
from structgen.generation.generator import Generator
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.tree import NONE, Context, DraftTree
from tests.generation.speculation.toys import RandomDrafter

SIX = Fixed(Budget(nodes=6, depth=6, width=2))


@dataclass
class Foresight:
    """Drafts the tokens that will be written, and a wrong one beside the first."""

    tokens: Sequence[int]
    ends: Sequence[int] = ()
    hidden: tuple[int, ...] = ()

    def begin(self, context: Context) -> Foresight:
        """There is one text."""
        return self

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """As far as the budget goes; end tokens are tried, too."""
        tree, node = DraftTree(context), 0
        for token in self.tokens[len(context.written) :][: budget.nodes - 1]:
            assert all(tree.add(node, end) == NONE for end in self.ends)
            node = tree.add(node, token)
            if node == NONE:
                break
        tree.add(0, (tree.tokens[-1] + 1) % 90)
        return tree

    def observe(self, context: Context, seen: Round) -> None:
        """Nothing is learned."""

    def end(self, context: Context) -> None:
        """There is nothing to end."""


def both(generator: Generator, spec: Any, **options: Any) -> tuple[Any, Any]:
    """The text without drafts, and with drafts of what it is; all that is told of them is equal."""
    plain = generator.generate("ab", spec, **options)
    drafter = Foresight(plain.tokens, generator.vocabulary.eos_ids)
    stream = generator.stream("ab", spec, speculate=Speculation(drafter, policy=SIX), **options)
    pieces = list(stream)
    fast = stream.result
    for name in ("text", "tokens", "value", "finish_reason", "prompt_tokens"):
        assert getattr(fast, name) == getattr(plain, name)
    assert "".join(pieces) == fast.text
    assert fast.logprob_masked == pytest.approx(plain.logprob_masked, abs=1e-9)
    for other in (RandomDrafter(None), RandomDrafter(None, seed=9)):
        guessed = generator.generate("ab", spec, speculate=Speculation(other), **options)
        assert (guessed.tokens, guessed.text) == (plain.tokens, plain.text)
    return plain, fast


OBJECT = sg.JsonSchema(
    {
        "type": "object",
        "properties": {"k": {"type": "string"}, "n": {"type": "array", "maxItems": 3}},
        "required": ["k", "n"],
    },
    whitespace="compact",
)


@pytest.mark.thorough
def test_the_budget_may_end_anywhere_in_a_draft(double: Generator) -> None:
    """For budgets from the least: closed at the same token, by the same tokens."""
    reasons = set()
    for max_tokens in range(11, 40, 5):
        plain, fast = both(double, OBJECT, max_tokens=max_tokens, seed=max_tokens % 3)
        assert len(fast.tokens) <= max_tokens
        assert fast.stats.tokens_per_forward > 1.5
        reasons.add(plain.finish_reason)
    assert "closed" in reasons


def test_a_budget_that_raises_raises_in_a_draft(double: Generator) -> None:
    """With the same text so far."""
    for max_tokens in (5, 6, 11):
        options: dict[str, Any] = {
            "max_tokens": max_tokens,
            "seed": 4,
            "on_truncation": "raise",
        }
        texts = []
        longer = double.generate("ab", OBJECT, max_tokens=40, seed=4)
        drafter = Foresight(longer.tokens)
        for speculate in (None, Speculation(drafter, policy=SIX)):
            with pytest.raises(TruncatedError) as caught:
                double.generate("ab", OBJECT, speculate=speculate, **options)
            texts.append(caught.value.text)
        assert texts[0] == texts[1]


THINK = sg.sequence(
    sg.Tag("<think>", None, "</think>"),
    sg.JsonSchema({"enum": [{"k": "ab"}, {"k": "abab"}, 7]}, whitespace="compact"),
)


@pytest.mark.thorough
def test_a_mode_switches_in_the_middle_of_a_draft(double: Generator) -> None:
    """From thinking to JSON: drafts run across the border and are kept."""
    bias = penalties.Bias(dict.fromkeys("<", 6.0))
    across = 0
    for seed in range(12):
        _, fast = both(double, THINK, seed=seed, max_tokens=60, transforms=[bias])
        thought, answer = fast.value
        assert "</think>" not in thought
        assert answer in ({"k": "ab"}, {"k": "abab"}, 7)
        # Each draft has five right tokens: were they to end at the border, more would be needed.
        across += fast.stats.forwards <= -(-(len(fast.tokens) - 1) // 6)
    assert across == 12


@pytest.mark.thorough
def test_tags_may_come_and_go_within_drafts(double: Generator) -> None:
    """Free text, a tag, free text again; the end of text inside a draft is refused there."""
    tag = sg.Tag("<a>", sg.Regex("[ab]{1,3}"), "</a>")
    spec = sg.Tags((tag,), triggers=("<",), at_least=1, at_most=2)
    bias = penalties.Bias({"<": 5.0})
    found = set()
    for seed in range(12):
        _, fast = both(double, spec, seed=seed, max_tokens=40, stop="eos", transforms=[bias])
        found.add(sum(not isinstance(piece, str) for piece in fast.value))
    assert found == {1, 2}


def test_special_tokens_may_be_triggers(double: Generator) -> None:
    """A special token opens the tag and another closes it, in the middle of drafts."""
    spec = sg.sequence(sg.Tag("<pad>", None, "<s>"), sg.Choice(["ab", "abab"]))
    vocabulary = double.vocabulary
    opens, closes = (
        next(t for t in vocabulary.special_ids if vocabulary.token_bytes(t) == text)
        for text in (b"<pad>", b"<s>")
    )
    bias = penalties.Bias({opens: 9.0, closes: 4.0})
    specials = 0
    for seed in range(8):
        _, fast = both(double, spec, seed=seed, max_tokens=40, transforms=[bias])
        assert fast.value[1] in {"ab", "abab"}
        specials += {opens, closes} <= set(fast.tokens)
    assert specials > 4


def test_the_end_token_is_no_draft(double: Generator) -> None:
    """It is refused as a draft, and ends the text when it is drawn."""
    reasons = set()
    for seed in range(12):
        _, fast = both(double, sg.Regex("[ab]*"), seed=seed, max_tokens=30, stop="eos")
        reasons.add(fast.finish_reason)
    assert "eos" in reasons


@pytest.mark.thorough
def test_stop_sequences_end_texts_in_drafts(double: Generator) -> None:
    """Before the stop where that may be, behind it where it must be; nothing of it is shown."""
    reasons = set()
    for seed, spec in itertools.product(range(8), (sg.Regex("[ab: ]*"), OBJECT)):
        plain, fast = both(
            double, spec, seed=seed, max_tokens=40, stop_sequences=["b ", "aa", '","']
        )
        assert fast.stats.tokens == len(plain.tokens)
        reasons.add((spec is OBJECT, fast.finish_reason))
    assert {(False, "stop"), (True, "stop")} <= reasons


def test_partial_values_grow_while_drafts_are_kept(double: Generator) -> None:
    """After every piece what was final stays, and the last is the value."""
    for seed in range(6):
        plain = double.generate("ab", OBJECT, seed=seed, max_tokens=40)
        speculate = Speculation(Foresight(plain.tokens), policy=SIX)
        stream = double.stream("ab", OBJECT, seed=seed, max_tokens=40, speculate=speculate)
        finals: dict[str, Any] = {}
        pieces = 0
        for _ in stream:
            pieces += 1
            now = dict(stream.partial.finals())
            assert {pointer: now[pointer] for pointer in finals} == finals
            finals = now
        assert stream.partial.open is None
        assert stream.partial.value == plain.value
        assert pieces < len(plain.tokens)
