"""Draws a token under the mask, or from the model's own distribution without a mask.

The mask renormalises what is allowed; the mass it keeps is the token's weight. Texts drawn so
follow a distorted distribution, and their weights correct it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structgen.generation.distribution import draw, log_sum_exp
from structgen.generation.sampling.interfaces import Doubles, Place
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.samplers.awrs import AwrsStep
from structgen.generation.sampling.samplers.interfaces import Step

NO_TOKEN = Step(None, -math.inf, math.nan)


@dataclass(frozen=True, slots=True)
class MaskStep:
    """Draws under the mask; where masks are not exact, by rejection inside the mask."""

    def steps(
        self,
        posterior: Posterior,
        places: Sequence[Place],
        log_probs: Doubles,
        rngs: Sequence[np.random.Generator],
    ) -> list[Step]:
        """See `Stepper`."""
        if not posterior.exact_masks:
            return AwrsStep(among="allowed").steps(posterior, places, log_probs, rngs)
        return [
            self._step(posterior, place, row, rng)
            for place, row, rng in zip(places, log_probs, rngs, strict=True)
        ]

    @staticmethod
    def _step(posterior: Posterior, place: Place, row: Doubles, rng: np.random.Generator) -> Step:
        ids = posterior.allowed(place)
        logs = row[ids]
        mass = log_sum_exp(logs)
        if mass == -math.inf:
            return NO_TOKEN
        index = draw(np.exp(logs - mass), rng)
        return Step(int(ids[index]), mass, float(logs[index]) - mass)


@dataclass(frozen=True, slots=True)
class FreeStep:
    """Draws from the model's own distribution; a token that is not accepted ends the attempt."""

    def steps(
        self,
        posterior: Posterior,
        places: Sequence[Place],
        log_probs: Doubles,
        rngs: Sequence[np.random.Generator],
    ) -> list[Step]:
        """See `Stepper`."""
        found = []
        for place, row, rng in zip(places, log_probs, rngs, strict=True):
            token = draw(np.exp(row), rng)
            accepted = posterior.accepts(place, token)
            found.append(Step(token, 0.0, float(row[token])) if accepted else NO_TOKEN)
        return found
