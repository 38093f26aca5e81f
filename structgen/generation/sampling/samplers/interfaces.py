"""The protocols of samplers: `Stepper` draws single tokens, `SequenceSampler` whole texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from structgen.generation.sampling.interfaces import Doubles, Place
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.results import Samples


@dataclass(frozen=True, slots=True)
class Step:
    """One token, properly weighted.

    For every token t: E[exp(log_weight) * 1{token = t}] = p(t) if t is accepted, else 0, where p is
    the model's distribution of the next token. `token` is None, and log_weight -inf, where none was
    found.
    log_proposal: log of the probability with which the token was drawn; nan where it is unknown.
    """

    token: int | None
    log_weight: float
    log_proposal: float


class Stepper(Protocol):
    """Draws one token for each of several contexts; the inner sampler of SMC."""

    def steps(
        self,
        posterior: Posterior,
        places: Sequence[Place],
        log_probs: Doubles,
        rngs: Sequence[np.random.Generator],
    ) -> list[Step]:
        """A step for each context, given the model's log_probs float64[len(places), V] there."""


class SequenceSampler(Protocol):
    """A way to sample; what `sampling.draw` and `generate(sampler=...)` run."""

    def draw(self, posterior: Posterior, n: int, seed: int | None) -> Samples:
        """`n` samples; equal seeds give equal samples. GenerationError when it cannot."""
