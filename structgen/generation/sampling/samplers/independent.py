"""Samplers of independent attempts: `Mask` and `Awrs`, weighted, and `Rejection`, exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from structgen.generation.checks import check_count
from structgen.generation.distribution import draw, row_rng
from structgen.generation.sampling.posterior import Posterior, UsageMeter
from structgen.generation.sampling.results import Sample, Samples, check_found, mean_weight
from structgen.generation.sampling.samplers.particles import Group, Particle, log_mean, run
from structgen.generation.sampling.samplers.steps import AwrsStep, FreeStep, MaskStep, Stepper

BATCH = 32  #: particles that run together

RunGroups = Callable[[list[np.random.Generator]], list[Group]]
RunRound = Callable[[list[np.random.Generator]], Iterable[Particle]]


@dataclass(frozen=True, slots=True)
class Mask:
    """Local masking, the usual constrained decoding: quick, but with a distorted distribution.

    max_attempts: of one sample; an attempt fails where the budget ends before the text does.
    """

    max_attempts: int = 100

    def draw(self, posterior: Posterior, n: int, seed: int | None) -> Samples:
        """`n` weighted samples. TruncatedError when too many attempts fail."""
        return weighted(posterior, MaskStep(), n, seed, self.max_attempts)


@dataclass(frozen=True, slots=True)
class Awrs:
    """The distribution of `Mask`, by testing single tokens: for constraints without masks.

    max_rejects: see `AwrsStep`. max_attempts: see `Mask`.
    """

    max_rejects: int | None = None
    max_attempts: int = 100

    def draw(self, posterior: Posterior, n: int, seed: int | None) -> Samples:
        """`n` weighted samples. TruncatedError when too many attempts fail."""
        return weighted(posterior, AwrsStep(self.max_rejects), n, seed, self.max_attempts)


@dataclass(frozen=True, slots=True)
class Rejection:
    """The model alone, tried until the text fits: exact, and slow where that is rare.

    max_attempts: of all samples together.
    """

    max_attempts: int = 10_000

    def draw(self, posterior: Posterior, n: int, seed: int | None) -> Samples:
        """`n` independent samples of the posterior. TruncatedError when not enough fit."""

        def run_round(rngs: list[np.random.Generator]) -> list[Particle]:
            return [particle for [particle] in run(posterior, FreeStep(), 1, rngs)]

        sizes = (n, BATCH, self.max_attempts)
        return exact_samples(posterior, *draw_rounds(posterior, run_round, sizes, seed))


def draw_rounds(
    posterior: Posterior, run_round: RunRound, sizes: tuple[int, int, int], seed: int | None
) -> tuple[list[Sample], list[float], UsageMeter]:
    """Rounds of attempts until `n` succeed: the samples, and the log-weights of all so far.

    sizes: n, attempts in a round, most attempts. Of the last round, attempts after the n-th success
    are left out; which attempts succeed first must not depend on how long they take.
    """
    n, batch, most = sizes
    check_count("n", n)
    check_count("batch", batch)
    meter = UsageMeter(posterior)
    samples: list[Sample] = []
    weights: list[float] = []
    while len(samples) < n and len(weights) < most:
        first = len(weights)
        rngs = [row_rng(seed, i) for i in range(first, min(first + batch, most))]
        for one in run_round(rngs):
            weights.append(one.log_weight)
            if one.log_weight > -math.inf:
                logs = one.logp_model, one.logp_proposal, one.log_weight
                samples.append(posterior.sample(one.place, *logs))
            if len(samples) == n:
                break
    check_found(len(samples), n, len(weights))
    return samples, weights, meter


def weighted(
    posterior: Posterior, stepper: Stepper, n: int, seed: int | None, max_attempts: int
) -> Samples:
    """`n` independent samples whose tokens a stepper draws."""
    return from_groups(
        posterior, n, seed, max_attempts, BATCH, lambda r: run(posterior, stepper, 1, r)
    )


def from_groups(
    posterior: Posterior,
    n: int,
    seed: int | None,
    max_attempts: int,
    batch: int,
    run_groups: RunGroups,
) -> Samples:
    """One sample from each of `n` groups of particles, drawn by their weights.

    Its own weight is the group's mean, which keeps it proper. A group whose particles are all dead
    is made up for by a further one, but the estimate of the evidence takes the first `n` groups as
    they are: their number does not depend on their outcome.
    """
    check_count("n", n)
    meter = UsageMeter(posterior)
    samples: list[Sample] = []
    attempts: list[float] = []
    while len(samples) < n and len(attempts) < max_attempts * n:
        wanted = n - len(samples)
        rngs = [row_rng(seed, len(attempts) + i) for i in range(min(wanted, batch))]
        for group, rng in zip(run_groups(rngs), rngs, strict=True):
            weights = np.array([particle.log_weight for particle in group])
            mean = log_mean(weights)
            attempts.append(mean)
            if mean > -math.inf:
                chosen = group[draw(np.exp(weights - weights.max()), rng)]
                logp = chosen.logp_proposal if len(group) == 1 else math.nan
                samples.append(posterior.sample(chosen.place, chosen.logp_model, logp, mean))
    check_found(len(samples), n, len(attempts))
    return Samples(tuple(samples), np.array(attempts[:n]), **meter.read())


def exact_samples(
    posterior: Posterior, samples: list[Sample], attempts: list[float], meter: UsageMeter
) -> Samples:
    """Samples of attempts that went on until the last of them succeeded.

    The last attempt is a success by construction, so the estimate leaves it out (as the unbiased
    one of the negative binomial distribution does), unless it is the only one.
    """
    counted = np.array(attempts[:-1] if len(samples) > 1 else attempts)
    exact = not posterior.potentials
    if exact:
        evidence = math.log(mean_weight(counted).value)
        samples = [replace(sample, log_weight=evidence) for sample in samples]
    return Samples(tuple(samples), counted, exact=exact, **meter.read())
