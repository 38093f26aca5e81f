"""Tests that decoding is the same where logits stay on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import LogitsProcessorList

from structgen.errors import ModelError, NoTokenError, TruncatedError, VocabularyError
from structgen.generation.generator import Generator
from structgen.generation.gpu import RowTable
from structgen.generation.interfaces import DrawingLogits
from structgen.generation.models.torch_logits import DeviceLogits
from structgen.generation.result import GenerationResult
from structgen.integrations import huggingface
from tests.generation.models import build_model
from tests.generation.naive import NaiveConstraint

PROMPTS = ["hello", "a longer prompt", ""]


def draw_on_device(generator: Generator) -> Generator:
    """Treat the CPU as an accelerator: mask and draw by what is used on one."""
    table = RowTable(generator.target.vocab_size, "cpu")

    def drawing_logits(rows: Any, hidden: Any) -> DeviceLogits:
        return DeviceLogits(rows, table, hidden)

    generator.target._logits = drawing_logits  # type: ignore[method-assign]
    return generator


@pytest.fixture(scope="module")
def drawing(model: Any, tokenizer: Any) -> Generator:
    """A Generator over the tiny model, with tokens drawn where the logits are."""
    return draw_on_device(Generator(model, tokenizer))


def assert_same(found: list[GenerationResult], expected: list[GenerationResult]) -> None:
    """Equal texts, and equal probabilities but for the order of sums."""
    for a, b in zip(found, expected, strict=True):
        assert (a.tokens, a.text, a.value, a.finish_reason) == (
            b.tokens, b.text, b.value, b.finish_reason)  # fmt: skip
        for name in ("token_logprobs_raw", "token_logprobs_masked", "mass_removed"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0},
        {"seed": 1},
        {"seed": 2, "temperature": 1.7, "stop": "eos"},
        {"seed": 3, "temperature": 0.8, "top_k": 3},
        {"seed": 4, "top_p": 0.7, "min_p": 0.01},
        {"seed": 5, "temperature": 2.0, "max_tokens": 9},
        {"seed": 6, "temperature": 3.0, "max_tokens": 7, "stop": "eos"},
    ],
    ids=str,
)
def test_results_are_those_of_the_cpu(
    generator: Generator,
    drawing: Generator,
    objects: NaiveConstraint,
    words: NaiveConstraint,
    options: dict[str, Any],
) -> None:
    """Greedy, sampled, cut to the likeliest, closed in time: token by token the same."""
    specs = [objects, words, objects]
    found = drawing.batch(PROMPTS, specs, n=3, **options)
    expected = generator.batch(PROMPTS, specs, n=3, **options)
    for a, b in zip(found, expected, strict=True):
        assert_same(a, b)


def test_texts_are_closed_with_the_model_s_probabilities(
    generator: Generator, drawing: Generator, objects: NaiveConstraint
) -> None:
    """Tokens that were not drawn but planned get their own logits."""
    options: dict[str, Any] = {"n": 20, "seed": 0, "temperature": 3.0, "max_tokens": 8}
    found = drawing.generate("x", objects, **options)
    assert any(result.finish_reason == "closed" for result in found)
    assert_same(found, generator.generate("x", objects, **options))


def test_errors_are_the_same(drawing: Generator, tokenizer: Any, words: NaiveConstraint) -> None:
    """A mask that allows nothing, a text that is cut, and logits that are no numbers."""
    impossible = NaiveConstraint(["ab"], drawing.vocabulary)
    impossible._allowed[impossible.start] = np.zeros(drawing.vocabulary.size, np.bool_)
    with pytest.raises(NoTokenError, match="allows 0 tokens here"):
        drawing.generate("x", impossible)
    with pytest.raises(TruncatedError, match="not finished after 1 tokens"):
        drawing.generate("x", NaiveConstraint(["abba"], drawing.vocabulary), max_tokens=1,
                         on_truncation="raise")  # fmt: skip
    broken = build_model(tokenizer)
    with torch.no_grad():
        broken.lm_head.weight[3] = torch.nan
    with pytest.raises(ModelError, match="are not finite"):
        draw_on_device(Generator(broken, tokenizer)).generate("x", words)


def test_only_an_accelerator_draws(generator: Generator, drawing: Generator) -> None:
    """On the CPU the logits are there already."""
    assert not isinstance(generator.target.prefill([[5]])[1], DrawingLogits)
    assert isinstance(drawing.target.prefill([[5]])[1], DrawingLogits)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_the_logits_processor_masks_there(
    generator: Generator, objects: NaiveConstraint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With scores on a device of their own, its masks are the same, for ended rows too."""
    inputs = generator.tokenizer(["x", "y"], return_tensors="pt")
    texts = []
    for there in (False, True):
        monkeypatch.setattr(huggingface, "elsewhere", lambda scores, there=there: there)
        torch.manual_seed(0)
        processor = huggingface.LogitsProcessor(objects)
        output = generator.target.model.generate(
            **inputs,
            logits_processor=LogitsProcessorList([processor]),
            do_sample=True,
            num_return_sequences=4,
            max_new_tokens=30,
        )
        texts.append(output.tolist())
        assert (processor._table is not None) == there
    assert texts[0] == texts[1]
    scores: Any = torch.zeros(1, 1000)
    with pytest.raises(VocabularyError, match="as many as the model has logits"):
        processor(inputs["input_ids"][:1], scores)
