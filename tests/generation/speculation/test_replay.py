"""Tests that replaying recorded texts counts as writing them did."""

from __future__ import annotations

import pytest

import structgen as sg
from structgen.generation.generator import Generator
from structgen.generation.settings import Options
from structgen.generation.speculation.drafters.copy import CopyDrafter
from structgen.generation.speculation.drafters.forced import ForcedDrafter
from structgen.generation.speculation.drafters.suffix import SuffixDrafter
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.replay import Record, Replayed, replay
from structgen.generation.speculation.speculation import Speculation
from tests.generation.models import build_model, build_tokenizer

SPEC = sg.JsonSchema(
    {
        "type": "object",
        "properties": {"k": {"enum": ["ab", "abab", "true"]}},
        "required": ["k"],
        "additionalProperties": False,
    }
)


@pytest.mark.parametrize("make", [ForcedDrafter, CopyDrafter, SuffixDrafter])
def test_a_replay_counts_what_the_model_took(make: type) -> None:
    """As many passes, drafts and kept tokens, for drafters that learn from tokens alone."""
    tokenizer = build_tokenizer()
    generator = Generator(build_model(tokenizer).double(), tokenizer)
    prompts = ["true", '{"k": "ab"}', "abab ab"]
    speculate = Speculation(make(), policy=Fixed(Budget(nodes=8)))
    options: Options = {"seed": 3, "max_tokens": 60, "speculate": speculate}
    written = [generator.generate(prompt, SPEC, **options) for prompt in prompts]
    constraint, _ = generator.specs.get(SPEC)
    ids = [tuple(generator.tokenizer.encode(prompt)) for prompt in prompts]
    records = [Record(constraint, p, r.tokens) for p, r in zip(ids, written, strict=True)]
    done = replay(records, make(), Budget(nodes=8))
    assert done.left_out == []
    for text, result in zip(done.texts, written, strict=True):
        assert result.stats is not None
        assert (text.forwards, text.drafted, text.accepted) == (
            result.stats.forwards,
            result.stats.drafted,
            result.stats.accepted,
        )
    forwards = sum(text.forwards for text in done.texts)
    tokens = sum(len(result.tokens) - 1 for result in written)
    assert done.tokens_per_forward == pytest.approx(tokens / forwards)
    assert len(done.acceptance) == max(len(text.tried) for text in done.texts)


def test_texts_that_do_not_fit_are_left_out() -> None:
    """Cut ones, others, and empty ones; each is named."""
    words = [b"<end>", b"a", b"b"]
    vocabulary = sg.Vocabulary(words, eos_ids=[0])
    constraint = sg.compile(sg.Regex("abab?"), vocabulary)
    texts = {"whole": (1, 2, 1, 2), "short": (1, 2, 1), "cut": (1, 2), "other": (2,), "none": ()}
    records = [Record(constraint, (1,), text, name) for name, text in texts.items()]
    done = replay(records, ForcedDrafter())
    assert len(done.texts) == 2
    assert [line.split(":")[0] for line in done.left_out] == ["cut", "other", "none"]
    assert [text.tokens for text in done.texts] == [4, 4]  # an end token behind the short one


def test_nothing_replayed_is_nothing() -> None:
    """All figures are 0."""
    done = Replayed()
    assert (done.tokens_per_forward, done.accepted, done.drafted, done.acceptance) == (0, 0, 0, [])
    assert done.draft_seconds == 0
