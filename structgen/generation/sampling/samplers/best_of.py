"""Best-of-n sampling: of several drawn texts, the one with the best score."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from structgen.generation.checks import check_count
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.registry import SequenceSampler, draw
from structgen.generation.sampling.results import Sample, Samples


@dataclass(frozen=True, slots=True)
class BestOf:
    """The best-of-n sampler: draws `of` texts for each sample, and keeps the best.

    inside: the sampler that draws them. score: from text to number; None takes the probability
    under the model. The chosen texts have no importance weight: `log_weight` is
    nan.
    """

    of: int = 8
    inside: str | SequenceSampler = "mask"
    score: Callable[[str], float] | None = None

    def draw(self, posterior: Posterior, n: int, seed: int | None) -> Samples:
        """`n` texts, each the best of `of`; the first found among equals."""
        check_count("n", n)
        check_count("of", self.of)
        drawn = draw(posterior, self.inside, n * self.of, seed)
        groups = [drawn[i : i + self.of] for i in range(0, len(drawn), self.of)]
        best = tuple(
            replace(max(group, key=self._score), log_weight=math.nan, logp_proposal=math.nan)
            for group in groups
        )
        return replace(drawn, samples=best, exact=False)

    def _score(self, sample: Sample) -> float:
        return sample.logp_model if self.score is None else self.score(sample.text)
