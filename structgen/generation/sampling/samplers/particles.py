"""Groups of particles, extended token by token until all of them have ended.

One batch of the model per step serves all particles of all groups, and equal prefixes are computed
once. A group is what is resampled together; groups are independent, and each has its own random
numbers, so its outcome does not depend on how many there are beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from structgen.generation.distribution import log_sum_exp
from structgen.generation.sampling.interfaces import Doubles, Place
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.samplers.steps import Stepper

Resample = Callable[[Doubles, np.random.Generator], list[int] | None]


@dataclass(frozen=True, slots=True)
class Particle:
    """A prefix with its weight.

    logp_model, logp_proposal: of its tokens. log_weight: the importance weight so far, `log_twist`
    (the potentials' factor here) included; -inf once the particle is dead.
    """

    place: Place
    logp_model: float
    logp_proposal: float
    log_weight: float
    log_twist: float = 0.0


Group = list[Particle]


def run(
    posterior: Posterior,
    stepper: Stepper,
    size: int,
    rngs: Sequence[np.random.Generator],
    resample: Resample | None = None,
) -> list[Group]:
    """A finished group of `size` particles for each of `rngs`: ended, or dead (weight -inf).

    resample: given a group's log-weights float64[size], which particles go on in the places of
    all, or None to leave them; asked after each step as long as the group is alive.
    """
    twist = float(posterior.log_factors([posterior.start])[0])
    first = Particle(posterior.start, 0.0, 0.0, twist, twist)
    groups = [[first] * size for _ in rngs]
    while True:
        live = [
            (g, i)
            for g, group in enumerate(groups)
            for i, particle in enumerate(group)
            if _goes_on(posterior, particle)
        ]
        if not live:
            return groups
        _step(posterior, stepper, groups, live, rngs)
        if resample is not None:
            for g in dict.fromkeys(g for g, _ in live):
                groups[g] = _resampled(groups[g], resample, rngs[g])


def _goes_on(posterior: Posterior, particle: Particle) -> bool:
    return particle.log_weight > -math.inf and not posterior.ended(particle.place)


def _step(
    posterior: Posterior,
    stepper: Stepper,
    groups: list[Group],
    live: Sequence[tuple[int, int]],
    rngs: Sequence[np.random.Generator],
) -> None:
    """One more token for the particles `live`, in place."""
    particles = [groups[g][i] for g, i in live]
    places = [particle.place for particle in particles]
    log_probs = posterior.log_probs(places)
    steps = [
        stepper.step(posterior, place, row, rngs[g])
        for place, row, (g, _) in zip(places, log_probs, live, strict=True)
    ]
    after = [
        place if step.token is None else posterior.after(place, step.token)
        for place, step in zip(places, steps, strict=True)
    ]
    twists = posterior.log_factors(after)
    for k, (g, i) in enumerate(live):
        particle, step, twist = particles[k], steps[k], float(twists[k])
        if step.token is None or after[k].state == -1 or twist == -math.inf:
            groups[g][i] = replace(particle, log_weight=-math.inf)
            continue
        groups[g][i] = Particle(
            after[k],
            particle.logp_model + float(log_probs[k, step.token]),
            particle.logp_proposal + step.log_proposal,
            particle.log_weight + step.log_weight + twist - particle.log_twist,
            twist,
        )


def _resampled(group: Group, resample: Resample, rng: np.random.Generator) -> Group:
    """The group after resampling: all then have the mean weight, and the proposal is lost."""
    weights = np.array([particle.log_weight for particle in group])
    kept = resample(weights, rng) if (weights > -np.inf).any() else None
    if kept is None:
        return group
    mean = log_mean(weights)
    return [replace(group[i], log_weight=mean, logp_proposal=math.nan) for i in kept]


def log_mean(log_weights: Doubles) -> float:
    """Log of the mean of exponentials of float64[n]."""
    return log_sum_exp(log_weights) - math.log(len(log_weights))
