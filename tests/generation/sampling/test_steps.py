"""Tests that each stepper is properly weighted, for every token.

AWRS is checked in exact rationals, over all orders in which tokens can be tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.generation.sampling.samplers.steps import (
    AwrsStep,
    FreeStep,
    MaskStep,
    Outcome,
    Stepper,
    first_accepted,
    without_replacement,
)
from tests.generation.sampling.exhaustive import ScriptedDraws
from tests.generation.sampling.toys import letters

WEIGHTS = st.lists(st.integers(0, 6), min_size=2, max_size=5).filter(sum)


def orders(p: Sequence[Fraction]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Every order of the possible tokens, with its probability as draws without replacement."""
    for order in permutations([t for t, q in enumerate(p) if q]):
        probability, left = Fraction(1), Fraction(1)
        for token in order:
            probability *= p[token] / left
            left -= p[token]
        yield order, probability


@pytest.mark.parametrize("max_rejects", [None, 1, 2, 3, 4])
@given(weights=WEIGHTS, accepted=st.lists(st.booleans(), min_size=5, max_size=5))
def test_awrs_is_properly_weighted_in_exact_rationals(
    max_rejects: int | None, weights: list[int], accepted: list[bool]
) -> None:
    """For every token, the mean of weight * 1{token} is p(token) if it is accepted, else 0."""
    p = [Fraction(w, sum(weights)) for w in weights]
    mean = [Fraction(0)] * len(p)
    for order, probability in orders(p):
        found = first_accepted(order, accepted.__getitem__, max_rejects)
        if found.token is not None:
            mean[found.token] += probability * found.weight(p)
    assert mean == [q if ok else 0 for q, ok in zip(p, accepted, strict=False)]


def test_further_loops_would_be_biased() -> None:
    """Why there is no knob for loops: of two halves, one accepted, two loops give 13/24.

    Trace 1 tests until it accepts x, and L further ones go on with x and without what was rejected
    so far; (1 - mass rejected in trace 1) * L / (all rejects + L) is right for L = 1 alone.
    """
    half = Fraction(1, 2)

    def mean(loops: int, left: int, rejects: int, lost: Fraction) -> Fraction:
        if not left:
            return (1 - lost) * Fraction(loops, rejects + loops)
        if rejects:  # the bad half is gone
            return mean(loops, left - 1, rejects, lost)
        return half * mean(loops, left - 1, 0, lost) + half * mean(loops, left - 1, 1, lost)

    def estimate(loops: int) -> Fraction:
        return half * mean(loops, loops, 0, Fraction(0)) + half * mean(loops, loops, 1, half)

    assert estimate(1) == half
    assert estimate(2) == Fraction(13, 24)


@pytest.mark.parametrize(
    "stepper",
    [MaskStep(), FreeStep(), AwrsStep(), AwrsStep(2), AwrsStep(among="all")],
    ids=repr,
)
@pytest.mark.parametrize("seed", range(6))
def test_a_stepper_is_properly_weighted(
    stepper: Stepper, seed: int, scripted: ScriptedDraws
) -> None:
    """The same for the steppers themselves, at the start of small languages."""
    pattern = ["a|ab", "(ab|ba)c?", "[abc]{2}|b"][seed % 3]
    posterior = letters(pattern, seed)
    place = posterior.start
    row = posterior.log_probs([place])
    rng = np.random.default_rng(0)
    mean = np.zeros(posterior.model.vocab_size)
    for probability, [step] in scripted.every_run(
        lambda: [stepper.step(posterior, place, row[0], rng)]
    ):
        if step.token is not None:
            mean[step.token] += probability * math.exp(step.log_weight)
    wanted = np.zeros_like(mean)
    allowed = posterior.allowed(place)
    wanted[allowed] = np.exp(row[0, allowed])
    assert mean == pytest.approx(wanted, abs=1e-12)


def test_awrs_makes_no_mask_and_tests_few_tokens() -> None:
    """No row is filled, and where most is accepted two tokens are tested."""
    posterior = letters("[abc]*", 1)
    posterior.constraint.fill_mask = None  # type: ignore[method-assign,assignment]  # not to be called
    row = posterior.log_probs([posterior.start])
    rngs = [np.random.default_rng(i) for i in range(200)]
    posterior.checks = 0
    for rng in rngs:
        step = AwrsStep().step(posterior, posterior.start, row[0], rng)
        assert step.token is not None
    assert 2 * 200 <= posterior.checks < 2 * 200 + 60


def test_a_small_rest_is_summed_up_and_not_subtracted() -> None:
    """With a rejected mass of nearly 1 the weight keeps its digits."""
    posterior = letters("c", 0)
    tiny = 1e-300
    with np.errstate(divide="ignore"):
        row = np.log(np.array([[1.0, 0.0, 0.0, tiny, 0.0, 0.0]]))
    step = AwrsStep().step(posterior, posterior.start, row[0], np.random.default_rng(0))
    assert step.token == 3
    assert step.log_weight == pytest.approx(math.log(tiny))
    assert Outcome(3, (0,)).weight([Fraction(1), 0, 0, Fraction(1, 10**300)]) == Fraction(
        1, 10**300
    )


def test_draws_without_replacement_follow_their_distribution() -> None:
    """All possible indices come, each once, and pairs as often as they should."""
    p = np.array([0.5, 0.0, 0.3, 0.2])
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    rng = np.random.default_rng(3)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(4000):
        order = tuple(without_replacement(logs, rng))
        counts[order] = counts.get(order, 0) + 1
    assert {frozenset(order) for order in counts} == {frozenset((0, 2, 3))}
    for order, count in counts.items():
        first, second = p[order[0]], p[order[1]] / (1 - p[order[0]])
        assert count / 4000 == pytest.approx(first * second, abs=0.03)
    many = np.zeros(1000)
    assert sorted(without_replacement(many, rng)) == list(range(1000))
