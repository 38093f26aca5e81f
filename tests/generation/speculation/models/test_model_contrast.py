"""Tests that texts follow the contrast of a model and a weaker one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from structgen import demo
from structgen.errors import GenerationError
from structgen.generation.generator import Generator
from structgen.generation.speculation.models import Contrast, ModelDrafter
from tests.generation.models import build_model, build_tokenizer
from tests.generation.speculation.models.test_model_drafter import PROMPTS, generator, nearby
from tests.generation.speculation.toys import SPEC, allowed

__all__ = ["generator"]


def logits_after(model: Any, tokens: list[int]) -> Any:
    """Logits behind a sequence that is read in one go."""
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0, -1].numpy()


def test_the_best_token_is_that_of_the_contrast(generator: Generator) -> None:
    """Token by token, from both models' own readings of the whole text."""
    strong, weak = generator.target.model, nearby(generator, 0.05)
    contrast = Contrast(weak, strength=0.7, plausible=0.2)
    constraint = generator.specs.get(SPEC)[0]
    changed = 0
    for prompt in PROMPTS:
        result = generator.generate(
            prompt, constraint, temperature=0.0, max_tokens=16, transforms=[contrast],
            on_truncation="close",
        )  # fmt: skip
        text, state = list(generator.tokenizer(prompt)["input_ids"]), constraint.start
        for token in result.tokens[:8]:
            ids = np.array(allowed(constraint, state))
            own = logits_after(strong, text)[ids]
            score = 1.7 * own - 0.7 * logits_after(weak, text)[ids]
            score[own < own.max() + np.log(0.2)] = -np.inf
            assert token == ids[score.argmax()]
            changed += token != ids[own.argmax()]
            text.append(token)
            state = constraint.advance(state, token)
    assert changed > 0


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"seed": 4}])
def test_drafts_are_verified_against_the_contrast(
    generator: Generator, options: dict[str, Any]
) -> None:
    """The weak model drafts, and the texts are those without drafts."""
    drafter = ModelDrafter(nearby(generator, 0.05))
    options |= {"max_tokens": 24, "transforms": [Contrast(drafter.target)]}
    plain = generator.batch(PROMPTS, SPEC, **options)
    fast = generator.batch(PROMPTS, SPEC, speculate=drafter, **options)
    assert [a.tokens for a in plain] == [b.tokens for b in fast]


def test_no_strength_changes_nothing_that_is_plausible(generator: Generator) -> None:
    """With strength 0 the best token stays; beyond the weak model's context, too."""
    short = build_model(build_tokenizer(), context=2)
    for contrast in (Contrast(nearby(generator, 0.1), strength=0.0), Contrast(short)):
        options: dict[str, Any] = {"temperature": 0.0, "max_tokens": 24}
        plain = generator.generate(PROMPTS[1], SPEC, **options)
        found = generator.generate(PROMPTS[1], SPEC, transforms=[contrast], **options)
        assert found.tokens == plain.tokens


def test_what_makes_no_sense_is_refused(generator: Generator) -> None:
    """Numbers out of range, and a model with other tokens."""
    with pytest.raises(GenerationError, match="strength is -1"):
        Contrast(generator.target, strength=-1)
    with pytest.raises(GenerationError, match="plausible 0"):
        Contrast(generator.target, plausible=0)
    with pytest.raises(GenerationError, match="other tokens than the target"):
        generator.generate("a", SPEC, transforms=[Contrast(demo.draft_path())])
