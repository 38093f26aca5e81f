"""The largest acceptance probability that any lossless rule can have.

A rule moves the distribution of the children onto that of the target; what it moves without paying
is accepted. By duality of this transport no rule accepts more than 1 + min over sets T of tokens of
p(T) - Q(T), where Q(T) is the probability that all children lie in T, and some rule reaches it (Sun
et al. 2023, SpecTr; Hu et al. 2025, "Towards optimal multi-draft speculative decoding", section 4).
For draws with and without replacement the best T is a beginning of the tokens in the order of p/q.
"""

from __future__ import annotations

import numpy as np

from structgen.generation.speculation.tree import Doubles, Scheme

_STEP = 0.25  # of the logarithm of time; the integrals are exact to 1e-13 from 0.3 on
_TAIL = 40.0  # exp(-40) is nothing


def optimal_acceptance(
    p: Doubles, q: Doubles, scheme: Scheme, count: int, points: tuple[int, ...] = ()
) -> float:
    """The largest probability with which the token written can be one of the children.

    p, q: float64[k]. count: draws from q, fewer when there are fewer tokens. points: positions of
    children that are there for certain. O(k log k) for a given number of draws.
    """
    # The best T has all sure children and then the tokens with the smallest p / q, so only the
    # beginnings of one order have to be compared.
    sure = np.zeros(len(p), np.bool_)
    sure[list(points)] = True
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(q > 0.0, p / q, np.inf)
    order = np.lexsort((ratios, ~sure))
    first = max(len(points), 1)  # no set without all points has all children in it
    masses = np.cumsum(p[order])[first - 1 :]
    escapes = escape(q[order], scheme, count)[first - 1 :]
    return min(1.0, float(np.min(masses + escapes)))


def escape(q: Doubles, scheme: Scheme, count: int) -> Doubles:
    """float64[k]: the probability that not all draws are among the first i + 1 tokens.

    Draws without replacement are the order in which clocks ring, each after an exponential time of
    rate q. With r the mass of the later tokens, the draws escape if one of their clocks rings
    at a time t when fewer than `count` of theirs have rung: the integral of r exp(-r t) times the
    probability of that, a sum over independent clocks. On a logarithmic scale of t the trapezoidal
    rule converges exponentially (Trefethen & Weideman 2014, section 5).
    """
    if scheme is Scheme.IID:
        return 1.0 - np.minimum(np.cumsum(q), 1.0) ** count
    count = min(count, int((q > 0.0).sum()))
    behind = np.append(np.cumsum(q[::-1])[::-1][1:], 0.0)
    latest = np.log(_TAIL / behind[behind > 0.0].min(initial=1.0))
    times = np.exp(np.arange(-_TAIL, latest + _STEP, _STEP))
    rung = np.zeros((count, len(times)))  # the probability that c of the first clocks have
    rung[0] = 1.0
    found = np.zeros(len(q))
    for i, rate in enumerate(q):
        silent = np.exp(-rate * times)
        carried = rung[:-1] * (1.0 - silent)
        rung *= silent
        rung[1:] += carried
        waits = behind[i] * times
        found[i] = float((waits * np.exp(-waits)) @ rung.sum(0)) * _STEP
    return found
