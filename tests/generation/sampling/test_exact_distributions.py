"""Tests the distributions of samplers exactly, by enumerating every way they can go.

Nothing here is sampled: all draws are enumerated (tests/generation/sampling/exhaustive.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.errors import TruncatedError
from structgen.generation.sampling.exact import exact_law, kl
from structgen.generation.sampling.interfaces import Doubles, Tokens
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.registry import SequenceSampler
from structgen.generation.sampling.results import Samples
from structgen.generation.sampling.samplers.independent import Awrs, Mask, Rejection
from structgen.generation.sampling.samplers.prefix_trie import PrefixTrie
from structgen.generation.sampling.samplers.smc import Smc
from structgen.generation.sampling.samplers.trie_samplers import Asap, Cars
from structgen.generation.sampling.table import TableModel
from tests.generation.sampling.exhaustive import ScriptedDraws
from tests.generation.sampling.toys import (
    BITS,
    ONE,
    PATTERNS,
    RARE,
    ZERO,
    bits,
    evidence_by_text,
    letters,
    masked_law,
    posterior_distribution,
    seventeen,
)

Distribution = dict[Tokens, float]


def once(sampler: SequenceSampler, posterior: Posterior) -> Samples | None:
    """One attempt; None where it failed."""
    try:
        return sampler.draw(posterior, 1, 0)
    except TruncatedError:
        return None


def distributions(
    scripted: ScriptedDraws, run: Callable[[], Samples | None]
) -> tuple[dict[Tokens, float], dict[Tokens, float]]:
    """Of one attempt: the distribution of the outcome, and the mean weight, by sequence."""
    distribution: Distribution = {}
    weighed: Distribution = {}
    for probability, found in scripted.every_run(run):
        if found is not None:
            [sample] = found
            distribution[sample.tokens] = distribution.get(sample.tokens, 0.0) + probability
            weight = probability * math.exp(found.attempts[-1])
            weighed[sample.tokens] = weighed.get(sample.tokens, 0.0) + weight
    return distribution, weighed


def normalised(distribution: Distribution) -> Distribution:
    """The distribution, given that an attempt does not fail."""
    total = sum(distribution.values())
    return {y: p / total for y, p in distribution.items()}


def test_enumeration_finds_the_figures_of_the_seventeen_strings() -> None:
    """Z is 17/32, all strings are equally probable, and masking is 0.7538 nats away."""
    posterior = seventeen()
    distribution = exact_law(posterior)
    assert math.exp(distribution.log_evidence) == pytest.approx(17 / 32)
    assert [math.exp(p) for p in distribution.log_probs.values()] == pytest.approx([1 / 17] * 17)
    masked = masked_law(posterior)
    assert masked[RARE] == pytest.approx(0.5)
    assert distribution.kl_from(masked) == pytest.approx(0.7538, abs=5e-5)


def test_masking_follows_the_masked_distribution(scripted: ScriptedDraws) -> None:
    """What `mask` draws is what renormalising by hand gives: 0.7538 nats from the posterior."""
    posterior = seventeen()
    distribution, weighed = distributions(scripted, lambda: once(Mask(1), posterior))
    assert distribution == pytest.approx(masked_law(posterior))
    assert weighed == pytest.approx(evidence_by_text(posterior))
    assert kl(distribution, posterior_distribution(posterior)) == pytest.approx(0.7538, abs=5e-5)


@pytest.mark.parametrize(
    "sampler", [Mask(1), Rejection(1), Asap(max_attempts=1), Cars(None, 1, 1)], ids=repr
)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_weights_are_proper_for_every_sequence(
    pattern: str, sampler: SequenceSampler, scripted: ScriptedDraws
) -> None:
    """The mean of weight * 1{sequence} is the model's probability of it, dead ends and all."""
    posterior = letters(pattern, 11, max_tokens=3)
    _, weighed = distributions(scripted, lambda: once(sampler, posterior))
    assert weighed == pytest.approx(evidence_by_text(posterior))


@pytest.mark.parametrize("max_rejects", [None, 1])
@pytest.mark.parametrize("pattern", ["00|1[01]?", "0*11"])
def test_the_weights_of_awrs_are_proper_too(
    pattern: str, max_rejects: int | None, scripted: ScriptedDraws
) -> None:
    """Over all orders in which it can test the tokens of whole sequences."""
    model = TableModel.random(3, 4)
    posterior = Posterior(model, sg.compile(sg.Regex(pattern), BITS), max_tokens=3, stop="eos")
    _, weighed = distributions(scripted, lambda: once(Awrs(max_rejects, 1), posterior))
    assert weighed == pytest.approx(evidence_by_text(posterior))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rejection_is_exact(pattern: str, scripted: ScriptedDraws) -> None:
    """Given that it is accepted, an attempt follows the posterior."""
    posterior = letters(pattern, 3, max_tokens=3)
    distribution, _ = distributions(scripted, lambda: once(Rejection(1), posterior))
    assert normalised(distribution) == pytest.approx(posterior_distribution(posterior))


ATTEMPTS = 3
SMALL = [
    bits("00|1[01]", 2),
    bits("000|01|1", 3),
    letters("a|bc|b", 5, max_tokens=2, stop="complete"),
]


@pytest.mark.parametrize("posterior", SMALL, ids=["00|1[01]", "000|01|1", "a|bc|b"])
def test_cars_is_exact_at_every_attempt(posterior: Posterior, scripted: ScriptedDraws) -> None:
    """Each attempt, given that it succeeds, follows the posterior, whatever was learnt before.

    Over all runs of three attempts with one trie; two successes in a row are independent.
    """
    distributions_of: list[Distribution] = [{} for _ in range(ATTEMPTS)]
    weighed: list[Distribution] = [{} for _ in range(ATTEMPTS)]
    pairs: dict[tuple[Tokens, Tokens], float] = {}

    def run() -> list[Samples | None]:
        trie = PrefixTrie()
        return [once(Cars(trie, 1, 1), posterior) for _ in range(ATTEMPTS)]

    for probability, found in scripted.every_run(run):
        for k, samples in enumerate(found):
            if samples is not None:
                y = samples[0].tokens
                distributions_of[k][y] = distributions_of[k].get(y, 0.0) + probability
                weight = probability * math.exp(samples.attempts[-1])
                weighed[k][y] = weighed[k].get(y, 0.0) + weight
        if found[1] is not None and found[2] is not None:
            pair = (found[1][0].tokens, found[2][0].tokens)
            pairs[pair] = pairs.get(pair, 0.0) + probability
    target = posterior_distribution(posterior)
    for k in range(ATTEMPTS):
        assert normalised(distributions_of[k]) == pytest.approx(target)
        assert weighed[k] == pytest.approx(evidence_by_text(posterior))
    accepted = [sum(distribution.values()) for distribution in distributions_of]
    assert accepted == sorted(accepted)
    assert accepted[-1] > accepted[0]
    firsts = {y: sum(p for (a, _), p in pairs.items() if a == y) for y in target}
    for (a, b), p in pairs.items():
        assert p / firsts[a] == pytest.approx(target[b])


@pytest.mark.parametrize("posterior", SMALL, ids=["00|1[01]", "000|01|1", "a|bc|b"])
def test_the_weights_of_asap_are_unbiased_at_every_iteration(
    posterior: Posterior, scripted: ScriptedDraws
) -> None:
    """Sample 1, 2 and 3 of a run: each one's weight has the right mean for each sequence."""
    weighed: list[Distribution] = [{} for _ in range(ATTEMPTS)]
    plain: list[Distribution] = [{} for _ in range(ATTEMPTS)]

    def run() -> list[Samples | None]:
        trie = PrefixTrie()
        return [once(Asap(trie, max_attempts=1), posterior) for _ in range(ATTEMPTS)]

    for probability, found in scripted.every_run(run):
        for k, samples in enumerate(found):
            if samples is not None:
                y, weight = samples[0].tokens, math.exp(samples[0].log_weight)
                weighed[k][y] = weighed[k].get(y, 0.0) + probability * weight
                plain[k][y] = plain[k].get(y, 0.0) + probability
    for k in range(ATTEMPTS):
        assert weighed[k] == pytest.approx(evidence_by_text(posterior))
    distances = [
        kl(normalised(distribution), posterior_distribution(posterior)) for distribution in plain
    ]
    assert distances[0] > distances[1] > distances[2] > 0


def test_asap_weighed_by_what_it_knows_afterwards_would_be_biased(scripted: ScriptedDraws) -> None:
    """A control that fails: theta as it is after the sample is not what the token was drawn by."""
    posterior = SMALL[0]
    biased: Distribution = {}

    def run() -> tuple[Samples | None, float]:
        trie = PrefixTrie()
        samples = once(Asap(trie, max_attempts=1), posterior)
        return samples, trie.log_theta  # what telescoping with the new theta would give

    for probability, (samples, log_theta) in scripted.every_run(run):
        if samples is not None:
            y = samples[0].tokens
            biased[y] = biased.get(y, 0.0) + probability * math.exp(log_theta)
    assert biased != pytest.approx(evidence_by_text(posterior), rel=0.05)


def test_masked_draws_on_new_ground_would_not_be_exact(scripted: ScriptedDraws) -> None:
    """A control that fails: what ASAp accepts, taken for CARS's samples, is not the posterior."""
    posterior = seventeen()
    distribution, _ = distributions(scripted, lambda: once(Asap(max_attempts=1), posterior))
    assert kl(normalised(distribution), posterior_distribution(posterior)) > 0.7


@pytest.mark.parametrize("inside", ["mask", "awrs", "free"])
@pytest.mark.parametrize("threshold", [0.0, 0.9, 1.0])
def test_smc_is_properly_weighted(inside: str, threshold: float, scripted: ScriptedDraws) -> None:
    """Two particles, all that can happen: the draw's weight has the right mean per sequence."""
    posterior = bits("00|1[01]?", 2)
    sampler = Smc(2, inside, "multinomial", threshold, max_attempts=1)  # type: ignore[arg-type]
    _, weighed = distributions(scripted, lambda: once(sampler, posterior))
    assert weighed == pytest.approx(evidence_by_text(posterior))


@pytest.mark.thorough
def test_one_particle_is_masking_and_five_are_nearly_right() -> None:
    """KL about .95 with one particle, about .01 with five; the estimates of Z agree.

    A random model over "(ab|ba)*c?" whose masked distribution is 0.948 nats away. The plug-in
    estimate of the KL has a floor of (sequences - 1) / 2n = 0.02, and is below what it would be by
    chance.
    """
    posterior = letters("(ab|ba)*c?", 34, max_tokens=6, concentration=0.3)
    target = posterior_distribution(posterior)
    assert kl(masked_law(posterior), target) == pytest.approx(0.948, abs=1e-3)
    evidence = math.exp(exact_law(posterior).log_evidence)
    found = {}
    for particles in (1, 5):
        samples = Smc(particles).draw(posterior, 2000, 1)
        counts: Distribution = {}
        for sample in samples:
            counts[sample.tokens] = counts.get(sample.tokens, 0.0) + 1 / len(samples)
        found[particles] = kl(counts, target)
        estimate = samples.satisfied
        assert abs(estimate.value - evidence) < 4 * estimate.standard_error
    assert found[1] == pytest.approx(0.95, abs=0.06)
    assert found[5] < 0.05


class Ones:
    """A potential that weighs a text by its ones, and guesses so on the way."""

    def log_prefix(self, prefixes: Sequence[Tokens]) -> Doubles:
        """A guess that is not the truth: half of each one's weight."""
        return np.array([0.5 * prefix.count(ONE) for prefix in prefixes])

    def log_complete(self, texts: Sequence[Tokens]) -> Doubles:
        """One nat for each one; two ones in a row are refused."""
        return np.array([-math.inf if t[-2:] == (ONE, ONE) else 1.0 * t.count(ONE) for t in texts])


class Refusing:
    """A constraint that refuses a token after one prefix, and whose mask does not know it."""

    exact_masks = False

    def __init__(self, inner: sg.Constraint, prefix: int, token: int) -> None:
        self._inner = inner
        self._refused = inner.advance(inner.start, prefix), token

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def advance(self, state: int, token: int) -> int:
        """DEAD for the one token."""
        return -1 if (state, token) == self._refused else self._inner.advance(state, token)


ALL = [
    Mask(1),
    Awrs(max_attempts=1),
    Rejection(1),
    Asap(max_attempts=1),
    Cars(None, 1, 1),
    Smc(1, max_attempts=1),
    Smc(2, resampling="multinomial", threshold=1.0, max_attempts=1),
]


@pytest.mark.parametrize("sampler", ALL, ids=repr)
def test_potentials_are_weighed(sampler: SequenceSampler, scripted: ScriptedDraws) -> None:
    """The mean of weight * 1{sequence} is the model's probability times the factor."""
    plain = bits("00|1[01]?", 2)
    wanted = {
        y: p * math.exp(Ones().log_complete([y])[0])
        for y, p in evidence_by_text(plain).items()
        if y[-2:] != (ONE, ONE)
    }
    posterior = Posterior(plain.model, plain.constraint, max_tokens=2, potentials=[Ones()])
    assert evidence_by_text(posterior) == pytest.approx(wanted)
    _, weighed = distributions(scripted, lambda: once(sampler, posterior))
    assert weighed == pytest.approx(wanted)


@pytest.mark.parametrize("sampler", ALL, ids=repr)
def test_masks_may_let_through_too_much(sampler: SequenceSampler, scripted: ScriptedDraws) -> None:
    """Where `advance` refuses what the mask allows, dead ends too, the weights stay proper."""
    plain = bits("00|1[01]", 2)
    for prefix, refused in ((ZERO, ZERO), (ONE, ZERO)):
        constraint: Any = Refusing(sg.compile(sg.Regex("00|1[01]"), BITS), prefix, refused)
        posterior = Posterior(plain.model, constraint, max_tokens=2)
        wanted = {y: p for y, p in evidence_by_text(plain).items() if y != (prefix, refused)}
        assert evidence_by_text(posterior) == pytest.approx(wanted)
        _, weighed = distributions(scripted, partial(once, sampler, posterior))
        assert weighed == pytest.approx(wanted)


def test_the_dead_are_not_drawn() -> None:
    """A group whose particles died in part draws from the others alone."""
    posterior = bits("00000|1[01]{4}", 5)
    samples = Smc(4, "free").draw(posterior, 50, 2)
    target = posterior_distribution(posterior)
    assert all(sample.tokens in target for sample in samples)
    assert np.isfinite([sample.log_weight for sample in samples]).all()
