"""The exact distribution of a posterior that is small enough to enumerate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from structgen.errors import BudgetError
from structgen.generation.distribution import log_sum_exp
from structgen.generation.sampling.interfaces import Place, Tokens
from structgen.generation.sampling.posterior import Posterior

MAX_PLACES = 100_000


@dataclass(frozen=True, slots=True)
class ExactDistribution:
    """A distribution of whole sequences: each one's natural log probability, and log Z.

    log_evidence: log of the probability (times potentials) that the model gives all of them
    together; -inf, with no sequences, when there are none.
    """

    log_probs: dict[Tokens, float]
    log_evidence: float

    def kl_from(self, other: Mapping[Tokens, float]) -> float:
        """KL(other || this) in nats, `other` in probabilities; inf for texts missing here."""
        return kl(other, {tokens: math.exp(logp) for tokens, logp in self.log_probs.items()})


def exact_law(posterior: Posterior, max_places: int = MAX_PLACES) -> ExactDistribution:
    """The exact posterior by enumeration. BudgetError above `max_places` prefixes."""
    found: dict[Tokens, float] = {}
    level: list[tuple[Place, float]] = [(posterior.start, 0.0)]
    seen = 0
    while level:
        ended = [(place, logp) for place, logp in level if posterior.ended(place)]
        factors = posterior.log_factors([place for place, _ in ended])
        for (place, logp), factor in zip(ended, factors, strict=True):
            if logp + factor > -math.inf:
                found[place.tokens] = logp + float(factor)
        level = _children(posterior, [(p, logp) for p, logp in level if not posterior.ended(p)])
        seen += len(level)
        if seen > max_places:
            raise BudgetError(
                f"there are more than {max_places} prefixes to enumerate",
                hint="give a smaller language or max_tokens, or estimate it from samples",
            )
    total = log_sum_exp(np.array(list(found.values())))
    return ExactDistribution({tokens: logp - total for tokens, logp in found.items()}, total)


def _children(posterior: Posterior, level: list[tuple[Place, float]]) -> list[tuple[Place, float]]:
    open_places = [(p, logp) for p, logp in level if posterior.remaining(p) > 0]
    if not open_places:
        return []
    log_probs = posterior.log_probs([place for place, _ in open_places])
    below = []
    for (place, logp), row in zip(open_places, log_probs, strict=True):
        for token in posterior.allowed(place).tolist():
            after = posterior.after(place, token)
            if after.state != -1 and row[token] > -math.inf:
                below.append((after, logp + float(row[token])))
    return below


def kl(distribution: Mapping[Tokens, float], reference: Mapping[Tokens, float]) -> float:
    """KL(distribution || reference) in nats; inf where `reference` gives probability 0."""
    total = 0.0
    for outcome, p in distribution.items():
        if p > 0:
            q = reference.get(outcome, 0.0)
            if q <= 0:
                return math.inf
            total += p * math.log(p / q)
    return total


def frequencies(outcomes: Iterable[Tokens]) -> dict[Tokens, float]:
    """The empirical distribution of a list of outcomes."""
    counts: dict[Tokens, int] = {}
    for outcome in outcomes:
        counts[outcome] = counts.get(outcome, 0) + 1
    total = sum(counts.values())
    return {outcome: count / total for outcome, count in counts.items()}
