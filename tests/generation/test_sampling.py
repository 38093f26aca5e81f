"""Tests each sampling transform against its definition."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import GenerationError
from structgen.generation.distribution import (
    Sampler,
    draw,
    row_rng,
    softmax,
    with_min_p,
    with_temperature,
    with_top_k,
    with_top_p,
)

Doubles = npt.NDArray[np.float64]

# Weights in sixteenths, so that sums of probabilities can be compared without rounding.
weights = st.lists(st.integers(0, 16), min_size=1, max_size=9).filter(any)


def logs(counts: list[int]) -> Doubles:
    """Log-weights of whole numbers; log 0 is -inf."""
    return np.array([math.log(c) if c else -math.inf for c in counts])


def kept(transformed: Doubles) -> set[int]:
    """The tokens that a transform left."""
    return {i for i, value in enumerate(transformed) if value > -math.inf}


def ranked(counts: list[int]) -> list[int]:
    """Tokens by falling weight, equals by rising id."""
    return sorted(range(len(counts)), key=lambda i: (-counts[i], i))


@given(weights, st.integers(1, 12))
def test_top_k_keeps_the_k_heaviest(counts: list[int], k: int) -> None:
    """The k heaviest tokens stay with their weights, the smaller ids among equals."""
    found = with_top_k(logs(counts), k)
    expected = {i for i in ranked(counts)[:k] if counts[i]}
    assert kept(found) == expected
    assert all(found[i] == logs(counts)[i] for i in expected)


@given(weights, st.integers(1, 64))
def test_top_p_keeps_the_fewest_tokens_that_reach_p(counts: list[int], share: int) -> None:
    """No smaller set of tokens has that much probability; among equal sets the heaviest stays."""
    p = share / 64 - 1e-9  # away from sums that rounding could push either way
    found = kept(with_top_p(logs(counts), p))
    total = sum(counts)

    def mass(tokens: tuple[int, ...]) -> Fraction:
        return Fraction(sum(counts[i] for i in tokens), total)

    by_size = (
        tokens
        for size in range(1, len(counts) + 1)
        for tokens in itertools.combinations(range(len(counts)), size)
    )
    fewest = next(len(tokens) for tokens in by_size if mass(tokens) >= p)
    assert found == {i for i in ranked(counts)[:fewest] if counts[i]}


@given(weights, st.integers(0, 16))
def test_min_p_keeps_what_is_near_the_heaviest(counts: list[int], share: int) -> None:
    """A token stays iff its weight is at least min_p times the largest weight."""
    p = max(share / 16 - 1e-9, 0.0)
    expected = {i for i, c in enumerate(counts) if c and c >= p * max(counts)}
    assert kept(with_min_p(logs(counts), p)) == expected


@given(weights, st.sampled_from([0.25, 0.5, 1.0, 2.0, 5.0]))
def test_temperature_is_a_power_of_the_weights(counts: list[int], temperature: float) -> None:
    """At temperature T the probabilities are the weights to the power of 1/T, normalised."""
    powers = [c ** (1 / temperature) for c in counts]
    expected = [power / sum(powers) for power in powers]
    np.testing.assert_allclose(softmax(with_temperature(logs(counts), temperature)), expected)


@given(weights)
def test_neutral_settings_change_nothing(counts: list[int]) -> None:
    """The default sampler draws from the weights as they are."""
    expected = np.array(counts) / sum(counts)
    np.testing.assert_allclose(Sampler().distribution(logs(counts)), expected, atol=1e-15)


@given(weights, st.sampled_from([1e-320, 1e-3, 0.7]), st.integers(1, 4), st.integers(1, 9))
def test_the_most_probable_token_always_stays(
    counts: list[int], temperature: float, k: int, tenths: int
) -> None:
    """No setting leaves nothing, or drops the heaviest token."""
    sampler = Sampler(temperature, k, tenths / 10, tenths / 10)
    distribution = sampler.distribution(logs(counts))
    assert distribution[ranked(counts)[0]] > 0
    assert distribution.sum() == pytest.approx(1)


def test_transforms_come_in_the_stated_order() -> None:
    """Temperature, then top-k, then top-p of what is left, then min-p of what is left then."""
    logits = logs([8, 4, 2, 1, 1])
    # Temperature 0.5 squares: 64 16 4 1 1. Top-k 3 leaves 64 16 4, of which 64 + 16 reach 0.9 of
    # 84 (of the original 16, 8 + 4 would not). Then 16 is a quarter of 64: 0.3 drops it, 0.2 not.
    assert kept(np.log(Sampler(0.5, 3, 0.9, 0.2).distribution(logits) + 1e-300)[:2]) == {0, 1}
    assert (Sampler(0.5, 3, 0.9, 0.2).distribution(logits) > 0).tolist() == [True] * 2 + [False] * 3
    assert (Sampler(0.5, 3, 0.9, 0.3).distribution(logits) > 0).tolist() == [True] + [False] * 4


def test_top_p_looks_far_enough_in_a_flat_distribution() -> None:
    """Where thousands of tokens are needed to reach p, thousands are kept."""
    assert len(kept(with_top_p(np.zeros(5000), 0.9 - 1e-9))) == 4500


def test_greedy_takes_the_first_of_the_largest() -> None:
    """Temperature 0 has one possible token, and needs no random numbers."""
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    logits = np.array([1.0, 3.0, -math.inf, 3.0])
    assert Sampler(temperature=0).choose(logits, rng) == 1
    assert Sampler(temperature=0).distribution(logits).tolist() == [0, 1, 0, 0]
    assert rng.bit_generator.state == before


class FixedRandom(np.random.Generator):
    """Returns the number it was told."""

    def __init__(self, value: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.value = value

    def random(self, *args: object, **kwargs: object) -> float:  # type: ignore[override]
        """The one number."""
        return self.value


@pytest.mark.parametrize("value", [0.0, 0.25, 0.5, math.nextafter(1.0, 0.0)])
def test_a_token_of_probability_zero_is_never_drawn(value: float) -> None:
    """Not at the ends of the interval and not on the edge between two tokens."""
    distribution = np.array([0.0, 0.25, 0.0, 0.25, 0.0, 0.5, 0.0])
    assert distribution[draw(distribution, FixedRandom(value))] > 0


@given(weights)
def test_drawing_inverts_the_cumulative_distribution(counts: list[int]) -> None:
    """Equally spaced numbers give each token as often as its weight says."""
    total = sum(counts)
    drawn = [draw(np.array(counts) / total, FixedRandom((i + 0.5) / total)) for i in range(total)]
    assert [drawn.count(i) for i in range(len(counts))] == counts


def test_drawing_from_many_tokens_is_as_exact() -> None:
    """The same for thousands of tokens, with long runs that have no weight at all."""
    counts = np.random.default_rng(0).integers(0, 4, 3000)
    counts[400:1600] = counts[2000:2600] = counts[-5:] = 0
    total = int(counts.sum())
    drawn = [draw(counts / 7.0, FixedRandom((i + 0.5) / total)) for i in range(total)]
    assert np.array_equal(np.bincount(drawn, minlength=3000), counts)
    ends = [draw(counts / 7.0, FixedRandom(u)) for u in (0.0, math.nextafter(1.0, 0.0))]
    assert ends == [np.flatnonzero(counts)[0], np.flatnonzero(counts)[-1]]


def test_a_number_on_an_edge_belongs_to_the_token_above() -> None:
    """Also where the edge lies between two of the blocks in which many weights are summed."""
    assert [draw(np.ones(1024), FixedRandom(i / 1024)) for i in (0, 1, 511, 512, 513, 1023)] == [
        *(0, 1, 511, 512, 513, 1023)
    ]
    late = np.zeros(1024)
    late[700] = 0.3
    assert [draw(late, FixedRandom(u)) for u in (0.0, 0.5, math.nextafter(1.0, 0.0))] == [700] * 3


@pytest.mark.thorough
def test_draws_follow_the_distribution() -> None:
    """20,000 seeded draws through all transforms agree with `distribution` (chi-square)."""
    rng = np.random.default_rng(7)
    logits = rng.normal(size=40) * 2
    sampler = Sampler(temperature=1.3, top_k=20, top_p=0.95, min_p=0.02)
    distribution = sampler.distribution(logits)
    counts = np.bincount([sampler.choose(logits, rng) for _ in range(20_000)], minlength=40)
    support = distribution > 0
    assert not counts[~support].any()
    expected = distribution[support] * 20_000
    statistic = float((((counts[support] - expected) ** 2) / expected).sum())
    freedom = int(support.sum()) - 1
    assert freedom > 5
    assert statistic < freedom + 5 * math.sqrt(2 * freedom)  # five standard deviations


def test_a_row_s_numbers_depend_on_seed_and_sample_alone() -> None:
    """The same pair gives the same stream, another seed or sample another one."""
    streams = {
        (seed, sample): tuple(row_rng(seed, sample).random(4).tolist())
        for seed in (0, 1, 2**70)
        for sample in (0, 1)
    }
    assert len(set(streams.values())) == len(streams)
    assert tuple(row_rng(1, 1).random(4).tolist()) == streams[1, 1]
    assert row_rng(None, 0).random() != row_rng(None, 0).random()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_k", 0),
        ("top_k", 1.5),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("min_p", -0.1),
        ("min_p", math.nan),
    ],
)
def test_a_number_out_of_range_is_refused_by_name(name: str, value: float) -> None:
    """The error says which setting, what it was and what it may be."""
    with pytest.raises(GenerationError, match=rf"{name} is {value!r} \(expected "):
        Sampler(**{name: value})  # type: ignore[arg-type]
