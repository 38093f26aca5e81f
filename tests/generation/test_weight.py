"""Tests that the loop draws from the model's distribution times token weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import structgen as sg
from structgen.errors import NoTokenError
from structgen.generation import sampling
from structgen.generation.sampling.samplers.prefix_trie import PrefixTrie
from tests.generation.models import build_model, build_tokenizer

Ids = npt.NDArray[np.int64]
CHOICES = sg.Choice(["true", "ab", "[", "é"])


@pytest.fixture(scope="module")
def generator() -> sg.Generator:
    """A random model behind its tokenizer."""
    tokenizer = build_tokenizer()
    return sg.Generator(build_model(tokenizer), tokenizer)


def shares(generator: sg.Generator, constraint: sg.Constraint, **options: Any) -> dict[str, float]:
    """How often each text comes."""
    results = generator.generate("x", constraint, n=400, seed=4, **options)
    texts = [result.text for result in results]
    return {text: texts.count(text) / len(texts) for text in set(texts)}


def test_the_distribution_is_multiplied_by_the_weights(generator: sg.Generator) -> None:
    """With weights that undo the first token's distribution, the first tokens are drawn uniformly.

    What is reported stays the model's: under itself, and under the mask.
    """
    constraint = sg.compile(CHOICES, generator.vocabulary)
    asked: set[int] = set()
    posterior = sampling.posterior_of(generator, "x", constraint, max_tokens=8)
    distribution = posterior.log_probs([posterior.start])[0]

    def weight(state: int, ids: Ids) -> npt.NDArray[np.float64]:
        asked.add(state)
        return -distribution[ids] if state == constraint.start else np.zeros(len(ids))

    first = len(posterior.allowed(posterior.start))
    results = generator.generate("x", constraint, n=600, seed=4, weight=weight)
    counts = np.bincount([result.tokens[0] for result in results])
    share = counts[counts > 0] / len(results)
    assert len(share) == first
    assert share == pytest.approx(np.full(first, 1 / first), abs=0.06)
    assert constraint.start in asked
    for result in results[:20]:
        assert result.token_logprobs_raw[0] == pytest.approx(
            distribution[result.tokens[0]], abs=1e-4
        )
        assert result.token_logprobs_masked[0] <= 0


def test_minus_infinity_refuses_a_token(generator: sg.Generator) -> None:
    """A text that begins with it never comes; where nothing is left, that is said."""
    constraint = sg.compile(CHOICES, generator.vocabulary)

    def no_letters(_: int, ids: Ids) -> npt.NDArray[np.float64]:
        texts = [generator.vocabulary.token_bytes(int(t)) for t in ids]
        return np.array([-np.inf if data[:1].isalpha() else 0.0 for data in texts])

    assert set(shares(generator, constraint, weight=no_letters)) <= {"[", "é"}
    with pytest.raises(NoTokenError):
        generator.generate(
            "x", constraint, weight=lambda _, ids: np.full(len(ids), -np.inf), seed=1
        )


def test_what_a_trie_has_learnt_guides_the_plain_loop(generator: sg.Generator) -> None:
    """Theta as weights: the loop draws the first token as the posterior would."""
    constraint = sg.compile(CHOICES, generator.vocabulary)
    trie = PrefixTrie()
    posterior = sampling.posterior_of(generator, "x", constraint, max_tokens=8, stop="eos")
    sampling.Asap(trie).draw(posterior, 200, 1)
    exact = sampling.exact_law(posterior)
    wanted: dict[int, float] = {}
    for tokens, logp in exact.log_probs.items():
        wanted[tokens[0]] = wanted.get(tokens[0], 0.0) + math.exp(logp)

    def weight(state: int, ids: Ids) -> npt.NDArray[np.float64]:
        root = trie.nodes[trie.root]
        return root.log_theta if state == constraint.start else np.zeros(len(ids))

    results = generator.generate(
        "x", constraint, n=600, seed=2, max_tokens=8, stop="eos", weight=weight
    )
    for token, share in wanted.items():
        found = np.mean([result.tokens[0] == token for result in results])
        assert found == pytest.approx(share, abs=0.06)
