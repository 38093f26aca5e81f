"""Tests that cached log-probabilities equal those of reading the whole prefix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.errors import GenerationError
from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.sampling.interfaces import Doubles, Tokens
from structgen.generation.sampling.language_model import LanguageModel
from tests.generation.models import build_model, build_tokenizer

PROMPT = (5, 9, 77)
PREFIXES = st.lists(st.lists(st.integers(3, 8), max_size=5).map(tuple), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def network() -> Iterator[Any]:
    """A random Llama with a context of 96 tokens."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so small a model is slower with more
    yield build_model(build_tokenizer())
    torch.set_num_threads(threads)


def read_anew(network: Any, prefix: Tokens, temperature: float = 1.0) -> Doubles:
    """Log-probabilities after prompt and prefix, without any cache."""
    with torch.inference_mode():
        logits = network(torch.tensor([[*PROMPT, *prefix]])).logits[0, -1].double()
        found: Doubles = torch.log_softmax(logits / temperature, -1).numpy()
    return found


@settings(max_examples=15)
@given(calls=st.lists(PREFIXES, min_size=1, max_size=3))
def test_any_prefixes_in_any_order(network: Any, calls: list[list[Tokens]]) -> None:
    """Longer ones, shorter ones, forks, repeats: each row is what reading everything gives."""
    model = LanguageModel(HuggingFaceTarget(network), PROMPT)
    for prefixes in calls:
        found = model.log_probs(prefixes)
        for prefix, row in zip(prefixes, found, strict=True):
            np.testing.assert_allclose(row, read_anew(network, prefix), atol=2e-4)
            assert np.exp(row).sum() == pytest.approx(1.0)


def test_what_is_shared_is_read_once(network: Any) -> None:
    """Equal prefixes are one row, a longer one costs one token, one that is known costs none."""
    model = LanguageModel(HuggingFaceTarget(network), PROMPT)
    model.log_probs([()] * 8)
    assert (model.rows_read, model.tokens_read) == (1, len(PROMPT))
    model.log_probs([(4,), (4,), (5,)])
    assert (model.rows_read, model.tokens_read) == (3, len(PROMPT) + 2)
    model.log_probs([(4, 6), (4, 7), (5, 3), ()])
    assert (model.rows_read, model.tokens_read) == (6, len(PROMPT) + 5)
    model.log_probs([(4, 6), (4,)])
    assert model.rows_read == 6


def test_what_was_forgotten_is_read_again(network: Any) -> None:
    """With room for few rows the results stay the same."""
    model = LanguageModel(HuggingFaceTarget(network), PROMPT, memory=1)
    first = model.log_probs([(4, 5)])
    for token in range(3, 60):
        model.log_probs([(token,)])
    before = model.rows_read
    np.testing.assert_allclose(model.log_probs([(4, 5)]), first, atol=2e-4)
    assert model.rows_read == before + 1


def test_a_target_without_trees_reads_prompts_again(
    network: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a cache takes one token at a time, other prefixes go through `prefill`."""
    target = HuggingFaceTarget(network)
    target.takes_trees = False
    model = LanguageModel(target, PROMPT)
    for prefixes in ([(4,)], [(4, 5), (4, 6)], [(7, 7, 7)], [()]):
        for prefix, row in zip(prefixes, model.log_probs(prefixes), strict=True):
            np.testing.assert_allclose(row, read_anew(network, prefix), atol=2e-4)


def test_temperature_is_part_of_the_distribution(network: Any) -> None:
    """Logits are divided before they become probabilities; the identity says so."""
    target = HuggingFaceTarget(network)
    cold, warm = (LanguageModel(target, PROMPT, temperature=t) for t in (0.5, 2.0))
    for model in (cold, warm):
        row = model.log_probs([(4,)])[0]
        np.testing.assert_allclose(row, read_anew(network, (4,), model.temperature), atol=5e-4)
    assert len({cold.identity, warm.identity, LanguageModel(target, (5,)).identity}) == 3
    with pytest.raises(GenerationError, match="more than 0"):
        LanguageModel(target, PROMPT, temperature=0.0)


def test_the_context_limits_the_text(network: Any) -> None:
    """Room is what the prompt leaves of the context."""
    assert LanguageModel(HuggingFaceTarget(network), PROMPT).room == 96 - len(PROMPT)
