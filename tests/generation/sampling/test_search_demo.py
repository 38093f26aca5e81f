"""Tests that searches find the demo model's most probable text, by enumeration."""

from __future__ import annotations

import pytest

import structgen as sg
from structgen import demo
from structgen.generation.sampling.api import posterior_of
from structgen.generation.sampling.exact import exact_law
from structgen.generation.sampling.search.best_first import BestFirst
from structgen.generation.sampling.search.monte_carlo import MonteCarlo

PROMPT = "Ticket: was open in May, then closed in June. Status now:"
SPEC = {"enum": ["open", "closed", "in progress"]}


@pytest.fixture(scope="module")
def generator() -> sg.Generator:
    """The demo model."""
    return sg.Generator(demo.model_path())


@pytest.fixture(scope="module")
def ranked(generator: sg.Generator) -> list[tuple[int, ...]]:
    """Every way to write one of the texts, the most probable first."""
    distribution = exact_law(posterior_of(generator, PROMPT, SPEC, max_tokens=8)).log_probs
    return sorted(distribution, key=lambda tokens: -distribution[tokens])


def test_best_first_finds_the_most_probable_texts_of_a_language_model(
    generator: sg.Generator, ranked: list[tuple[int, ...]]
) -> None:
    """In their order, all of them."""
    found = generator.sample(PROMPT, SPEC, sampler=BestFirst(), n=3, max_tokens=8)
    assert [sample.tokens for sample in found] == ranked[:3]


@pytest.mark.thorough
def test_tree_search_follows_a_score(
    generator: sg.Generator, ranked: list[tuple[int, ...]]
) -> None:
    """A user's score decides, whatever the model prefers."""
    score = lambda text: float(text == '"in progress"')  # noqa: E731
    found = generator.sample(
        PROMPT, SPEC, sampler=MonteCarlo(score=score, rollouts=25), n=1, max_tokens=8, seed=1
    )
    assert found[0].text == '"in progress"'
    assert found[0].tokens in ranked
