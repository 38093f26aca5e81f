"""Tests that drafts by a model leave texts as they are, and are right themselves."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import structgen as sg
from structgen import demo
from structgen.errors import VocabularyError
from structgen.generation.generator import Generator
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.models import ModelDrafter
from structgen.generation.speculation.models.token_map import TokenMap
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.speculation import Speculation
from tests.generation.models import (
    OTHER_MERGES,
    build_model,
    build_tokenizer,
    mamba_model,
    sliding_model,
)
from tests.generation.speculation.toys import SPEC

SIZES = Fixed(Budget(nodes=7, depth=4, width=2))
PROMPTS = ["true", "ab ab ab", "k"]


@pytest.fixture(scope="module")
def generator() -> Generator:
    """A tiny random Llama in float64."""
    tokenizer = build_tokenizer()
    return Generator(build_model(tokenizer).double(), tokenizer)


def nearby(generator: Generator, noise: float) -> Any:
    """The generator's model with noise in its weights."""
    model = copy.deepcopy(generator.target.model)
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight += noise * torch.randn_like(weight)
    return model


def fitted(build: Any) -> Any:
    """A tiny model of another family, with the tiny tokenizer's tokens."""
    model = build()
    model.resize_token_embeddings(len(build_tokenizer()), mean_resizing=False)
    return model


def assert_same(generator: Generator, drafter: Any, **options: Any) -> list[Any]:
    """Texts with drafts are those without; returns their statistics."""
    plain = generator.batch(PROMPTS, SPEC, max_tokens=30, **options)
    speculate = Speculation(drafter, policy=SIZES)
    fast = generator.batch(PROMPTS, SPEC, max_tokens=30, speculate=speculate, **options)
    assert [(a.tokens, a.finish_reason) for a in plain] == [
        (b.tokens, b.finish_reason) for b in fast
    ]
    return [b.stats for b in fast]


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"seed": 5}, {"seed": 1, "top_p": 0.8}])
@pytest.mark.parametrize("kind", ["near", "far", "sliding", "mamba"])
def test_whatever_model_drafts_the_texts_stay(
    generator: Generator, kind: str, options: dict[str, Any]
) -> None:
    """A good drafter, a bad one, one with a window, and one that reads token by token."""
    model = {
        "near": lambda: nearby(generator, 0.02),
        "far": lambda: build_model(build_tokenizer(), seed=9),
        "sliding": lambda: fitted(sliding_model),
        "mamba": lambda: fitted(mamba_model),
    }[kind]()
    stats = assert_same(generator, ModelDrafter(model), **options)
    assert all(found.drafted for found in stats)


@pytest.mark.parametrize("trim", [True, False])
def test_the_target_itself_is_always_right(generator: Generator, trim: bool) -> None:
    """With temperature 0 every first choice is kept."""
    drafter = ModelDrafter(generator.target, trim=trim)
    chain = Speculation(drafter, policy=Fixed(Budget(nodes=4, depth=4, width=1)))
    for prompt in PROMPTS:
        result = generator.generate(
            prompt, SPEC, temperature=0.0, max_tokens=40, on_truncation="raise", speculate=chain
        )
        assert result.stats is not None
        assert result.stats.accepted == result.stats.drafted > 0


def test_texts_beyond_the_drafter_s_context_are_written_without_it(generator: Generator) -> None:
    """A drafter that cannot read so much proposes nothing more."""
    short = ModelDrafter(build_model(build_tokenizer(), context=16).double())
    stats = assert_same(generator, short, temperature=0.0)
    assert any(found.drafted for found in stats)
    none = ModelDrafter(build_model(build_tokenizer(), context=2).double())
    assert not any(found.drafted for found in assert_same(generator, none, temperature=0.0))


def test_a_drafter_may_read_a_shorter_prompt(generator: Generator) -> None:
    """What it reads instead is what `shorten` says."""
    seen = []

    def shorten(prompt: tuple[int, ...]) -> tuple[int, ...]:
        seen.append(prompt)
        return prompt[-1:]

    drafter = ModelDrafter(generator.target, shorten=shorten)
    assert_same(generator, drafter, temperature=0.0)
    assert len(seen) == len(PROMPTS)


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"seed": 5}])
def test_a_model_with_other_tokens_drafts_those_that_both_have(
    generator: Generator, options: dict[str, Any]
) -> None:
    """The text is spelled for it in its own tokens; drafts are the target's."""
    tokenizer = build_tokenizer(OTHER_MERGES, ["<start>"])
    drafter = ModelDrafter(build_model(tokenizer, seed=3), tokenizer)
    assert all(found.drafted for found in assert_same(generator, drafter, **options))


def test_token_maps_agree_byte_by_byte(generator: Generator) -> None:
    """Equal ids are equal bytes; whatever is read spells the same text."""
    ours = generator.vocabulary
    theirs = sg.Vocabulary.from_transformers(build_tokenizer(OTHER_MERGES, ["<start>"]))
    tokens = TokenMap.shared(ours, theirs)
    assert 0 < (tokens.ids < 0).sum() < ours.size
    for token in ours.text_ids.tolist():
        assert theirs.decode_bytes(tokens.read([token])) == ours.token_bytes(token)
        own = tokens.ids[token]
        assert own < 0 or theirs.token_bytes(own) == ours.token_bytes(token)
    with pytest.raises(VocabularyError, match="no token of the target's"):
        TokenMap.shared(sg.Vocabulary([b"x"]), sg.Vocabulary([b"y"]))


def test_the_shipped_draft_model_drafts_for_the_demo_model() -> None:
    """The same text in less than half of the forward passes."""
    generator = Generator(demo.model_path(), dtype="float32")
    drafter = ModelDrafter()
    prompt, schema = demo.EXAMPLES["person"]
    plain = generator.generate(prompt, schema, temperature=0.0)
    fast = generator.generate(prompt, schema, temperature=0.0, speculate=drafter)
    assert fast.text == plain.text
    assert fast.stats is not None
    assert fast.stats.tokens_per_forward > 2
    assert fast.stats.drafter == "model"
