"""Sequential Monte Carlo (SMC): populations of particles that are weighted and resampled.

Particles whose prefixes turn out unlikely to end well lose weight, and those that do well are
duplicated in their place. The mean weight of a population is an unbiased estimate of the evidence,
so one draw from it is a properly weighted sample. Potentials act as twists: each step is weighted
by what they say of the prefix, which the next step divides out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from structgen.generation.checks import check, check_count
from structgen.generation.sampling.interfaces import Doubles
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.results import Samples, effective_size, normalised
from structgen.generation.sampling.samplers.independent import BATCH, from_groups
from structgen.generation.sampling.samplers.particles import run
from structgen.generation.sampling.samplers.resampling import RESAMPLING, Resampling, resample
from structgen.generation.sampling.samplers.steps import AwrsStep, FreeStep, MaskStep, Stepper

STEPPERS: dict[str, Stepper] = {"mask": MaskStep(), "awrs": AwrsStep(), "free": FreeStep()}


@dataclass(frozen=True, slots=True)
class Smc:
    """The SMC sampler: each sample is drawn from a population of particles of its own.

    particles: in a population; 1 is the inner sampler by itself. inside: what draws a token:
    "mask", "awrs", "free" (the model alone) or a Stepper. resampling: see `resample`.
    threshold: resample when the effective sample size is below this share of the particles; 0
    never does, 1 always where weights differ. max_attempts: populations per sample; one fails if
    all its particles die.
    GenerationError for a number or name that makes no sense.
    """

    particles: int = 10
    inside: Literal["mask", "awrs", "free"] | Stepper = "mask"
    resampling: Resampling = "stratified"
    threshold: float = 0.5
    max_attempts: int = 100

    def __post_init__(self) -> None:
        check_count("particles", self.particles)
        fine = not isinstance(self.inside, str) or self.inside in STEPPERS
        check("inside", self.inside, fine, ", ".join(STEPPERS))
        fine = self.resampling in RESAMPLING
        check("resampling", self.resampling, fine, ", ".join(RESAMPLING))
        check("threshold", self.threshold, 0 <= self.threshold <= 1, "0 to 1")

    def draw(self, posterior: Posterior, n: int, seed: int | None) -> Samples:
        """`n` weighted samples. TruncatedError when too many populations die."""
        populations = partial(run, posterior, self.stepper, self.particles, resample=self.resample)
        batch = max(BATCH // self.particles, 1)
        return from_groups(posterior, n, seed, self.max_attempts, batch, populations)

    @property
    def stepper(self) -> Stepper:
        """The inner sampler, which draws single tokens."""
        return STEPPERS[self.inside] if isinstance(self.inside, str) else self.inside

    def resample(self, log_weights: Doubles, rng: np.random.Generator) -> list[int] | None:
        """The particles that go on, given float64[particles]; None where weights are even."""
        count = len(log_weights)
        if effective_size(log_weights) >= self.threshold * count * (1 - 1e-12):
            return None
        kept = resample(self.resampling, normalised(log_weights), count, rng)
        return [int(i) for i in kept]
