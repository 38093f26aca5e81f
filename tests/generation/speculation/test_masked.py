"""Tests that masked distributions are those of the sampler over what is allowed."""

from __future__ import annotations

import numpy as np
import pytest

from structgen.automata.interface import DEAD
from structgen.generation.distribution import Sampler
from structgen.generation.speculation.masked import allowed_ids, masked_law
from structgen.generation.speculation.tree import Context
from tests.generation.speculation.toys import SIZE, allowed, make_context, toy_constraint


def context_with(**settings: float) -> Context:
    """A context of the toy constraint with this sampler."""
    context = make_context(toy_constraint())
    context.sampler = Sampler(**settings)  # type: ignore[arg-type]
    return context


def test_a_masked_distribution_covers_what_the_mask_allows() -> None:
    """Its ratios are those of the model; what the model excludes is left out."""
    context = context_with()
    logits = np.random.default_rng(0).normal(size=SIZE)
    ids, distribution = masked_law(context, context.state, logits)
    assert ids.tolist() == allowed(context.constraint, context.state)
    np.testing.assert_allclose(
        distribution, np.exp(logits[ids]) / np.exp(logits[ids]).sum(), rtol=1e-12
    )
    logits[ids[0]] = -np.inf
    assert masked_law(context, context.state, logits)[0].tolist() == ids[1:].tolist()


@pytest.mark.parametrize(("settings", "count"), [({"top_k": 1}, 1), ({"temperature": 0.0}, 5)])
def test_truncation_is_part_of_the_distribution(settings: dict[str, float], count: int) -> None:
    """Top-k leaves k; greedy decoding keeps the distribution at temperature 1 for estimates."""
    context = context_with(**settings)
    ids, distribution = masked_law(context, context.state, np.zeros(SIZE))
    assert len(ids) == count
    assert distribution.sum() == pytest.approx(1.0)


def test_dead_states_have_no_distribution() -> None:
    """Nothing is allowed there."""
    context = context_with()
    assert not len(allowed_ids(context, DEAD))
    assert [len(part) for part in masked_law(context, DEAD, np.zeros(SIZE))] == [0, 0]
