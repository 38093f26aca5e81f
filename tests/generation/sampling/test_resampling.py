"""Tests that each kind of resampling keeps the weights on average."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import GenerationError
from structgen.generation.sampling.samplers.resampling import RESAMPLING, Resampling, resample

WEIGHTS = st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(sum)


class Grid:
    """Random numbers that are all the same point of a grid."""

    def __init__(self, point: float) -> None:
        self.point = point

    def random(self, count: int | None = None) -> object:
        """The point, `count` times."""
        return self.point if count is None else np.full(count, self.point)


def counts(kind: Resampling, weights: object, count: int, rng: object) -> object:
    """How often each index was drawn."""
    found = resample(kind, weights, count, rng)  # type: ignore[arg-type]
    assert len(found) == count
    assert (np.diff(found) >= 0).all()
    return np.bincount(found, minlength=len(weights))  # type: ignore[arg-type]


@pytest.mark.thorough
@given(parts=WEIGHTS, count=st.integers(1, 9))
def test_the_mean_counts_are_the_weights(parts: list[int], count: int) -> None:
    """Over all random numbers, index i comes count * weight times; by a fine grid."""
    weights = np.array(parts) / sum(parts)
    points = (np.arange(500) + 0.5) / 500
    for kind in RESAMPLING:
        total = sum(counts(kind, weights, count, Grid(u)) for u in points)  # type: ignore[misc]
        assert total / 500 == pytest.approx(count * weights, abs=0.02 * count)


@given(parts=WEIGHTS, count=st.integers(1, 9), seed=st.integers(0, 99))
def test_systematic_counts_are_the_mean_rounded(parts: list[int], count: int, seed: int) -> None:
    """Down or up; and an index of weight 0 is never drawn, under any kind."""
    weights = np.array(parts) / sum(parts)
    found = counts("systematic", weights, count, np.random.default_rng(seed))
    assert (np.abs(found - count * weights) < 1 + 1e-9).all()  # type: ignore[operator]
    for kind in RESAMPLING:
        drawn = resample(kind, weights, count, np.random.default_rng(seed))
        assert (weights[drawn] > 0).all()


def test_multinomial_draws_are_independent() -> None:
    """Two draws of two halves agree half of the time, where systematic ones never do."""
    halves = np.array([0.5, 0.5])
    rng = np.random.default_rng(1)
    same = [len(set(resample("multinomial", halves, 2, rng))) == 1 for _ in range(2000)]
    assert np.mean(same) == pytest.approx(0.5, abs=0.04)
    assert all(len(set(resample("systematic", halves, 2, rng))) == 2 for _ in range(50))


def test_an_unknown_kind_is_refused() -> None:
    """With the kinds that there are."""
    with pytest.raises(GenerationError, match="stratified, systematic, multinomial"):
        resample("residual", np.array([1.0]), 1, np.random.default_rng(0))  # type: ignore[arg-type]
