"""`KSeq`: SpecTr's acceptance rule for a fixed number of independent draws."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from structgen.generation.speculation.interfaces import Fork, Plan
from structgen.generation.speculation.rules.residual import residual
from structgen.generation.speculation.tree import Doubles, Scheme

_HALVINGS = 60


class KSeq:
    """Tries n independent draws in their order, each with probability min(1, p / (gamma q)).

    With beta the probability that one is kept, y is written by keeping a draw with probability
    min(q, p / gamma) * (1 + (1 - beta) + ... + (1 - beta)^(n - 1)); the residual is what p has more
    than that. gamma is the smallest number in [1, n] for which that is nowhere negative, found by
    bisection for each fork, as supports differ (Sun et al. 2023, SpecTr, section 4 and lemma 3).
    How many draws there are must be settled before they are made. O(k log k).
    """

    schemes = frozenset([Scheme.IID])
    lossless = True

    def plan(self, fork: Fork) -> Plan:
        """The probabilities of each child, and of what is left of the distribution."""
        p, q, count = fork.p, fork.q, len(fork.drawn)
        accept = np.zeros(len(fork.children))
        if q is None or not count:
            return Plan(accept, p)
        gamma = smallest_gamma(p, q, count)
        one = np.minimum(q, p / gamma)
        drawn = list(fork.drawn)
        kept = one[drawn] / q[drawn]
        left = np.cumprod([1.0, *(1.0 - kept)])
        accept[:count] = left[:-1] * kept
        return Plan(accept, left[-1] * residual(p, one * _tries(float(one.sum()), count)))


def smallest_gamma(p: Doubles, q: Doubles, count: int) -> float:
    """The smallest gamma in [1, count] with which `KSeq` is right; rounding errs to the large.

    It is where tries(beta(gamma)) = gamma, as the left side falls with beta and beta with gamma;
    beta is a sum over the tokens in the order of p / q, whose parts are known beforehand.
    """
    possible = q > 0.0
    ratios = p[possible] / q[possible]
    order = np.argsort(ratios)
    edges = ratios[order]
    below = np.concatenate([[0.0], np.cumsum(p[possible][order])])
    above = np.concatenate([np.cumsum(q[possible][order][::-1])[::-1], [0.0]])
    low, high = 1.0, float(count)
    for _ in range(_HALVINGS):
        gamma = (low + high) / 2.0
        i = bisect_left(edges, gamma)
        if _tries(float(below[i] / gamma + above[i]), count) <= gamma:
            high = gamma
        else:
            low = gamma
    return high


def _tries(beta: float, count: int) -> float:
    """The expected number of draws that are tried: the sum of (1 - beta)^i for i < count."""
    total, left = 0.0, 1.0
    for _ in range(count):
        total += left
        left *= max(1.0 - beta, 0.0)
    return total
