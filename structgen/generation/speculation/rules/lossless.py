"""Lossless acceptance rules: whatever was drafted, the text keeps its distribution.

`SampleCompare` looks at tokens only, `RecursiveRejection` tries one drawn child after another, and
`KSeq` knows how many independent draws there are. Of the second: let x be drawn from q, and kept
with probability min(1, p(x) / q(x)). The token y is then kept with probability min(p(y), q(y)),
something is refused with probability sum max(p - q, 0), and a draw from the residual distribution,
proportional to max(p - q, 0), makes up for it: together p(y). Where that residual is itself drawn
from by trying the next child, the same holds of it, so p is preserved for any number of children.
Each step is exact given those before it, hence the number of children may depend on what was drawn
so far.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from structgen.generation.speculation.interfaces import Fork, Plan
from structgen.generation.speculation.tree import Doubles, Scheme

_ROUNDING = 1e-14  # what differs by no more than this differs by rounding


def residual(p: Doubles, q: Doubles) -> Doubles:
    """float64[k]: max(p - q, 0), made to sum to 1; p itself where nothing but rounding is left.

    So a token that p excludes stays excluded, whatever the rounding.
    """
    rest: Doubles = np.maximum(p - q, 0.0)
    total = rest.sum()
    return rest / total if total > _ROUNDING else p


class SampleCompare:
    """Draws a token from the target's distribution; a child with that token is kept.

    Right for any children, however they were chosen, and reproducible: with the same random numbers
    it writes the very tokens that are written without drafts.
    """

    schemes = frozenset(Scheme)
    lossless = True

    def plan(self, fork: Fork) -> Plan:
        """Nothing is accepted on other grounds: the residual is the distribution itself."""
        return Plan(np.zeros(len(fork.drawn) + len(fork.points)), fork.p)


class RecursiveRejection:
    """Tries the drawn children in their order, each against what those before have left of p.

    With one child this is speculative sampling (Leviathan et al. 2023, theorem 3.5; Chen et al.
    2023); with independent ones multi-round rejection; without replacement it is recursive
    rejection sampling (Jeon et al. 2024, RSD, theorem 3.1; Yang et al. 2024), which knows that what
    was refused does not come again, and so accepts more. O(children * k).
    """

    schemes = frozenset(Scheme)
    lossless = True

    def plan(self, fork: Fork) -> Plan:
        """The probabilities of each child, and of what is left of the distribution."""
        p, q = fork.p, fork.q
        accept = np.zeros(len(fork.children))
        left = 1.0
        for i, x in enumerate(fork.drawn):
            if q is None or left == 0.0 or q[x] == 0.0:
                break
            kept = min(1.0, p[x] / q[x])
            accept[i] = left * kept
            left *= 1.0 - kept
            p = residual(p, q)
            if fork.scheme is not Scheme.IID:
                q = q.copy()
                q[x] = 0.0
                q /= q.sum() or 1.0
        return Plan(accept, left * p)


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
