"""The exact distribution and acceptance of a rule, by enumerating all draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from structgen.generation.speculation.interfaces import AcceptRule, Fork
from structgen.generation.speculation.tree import Doubles, Scheme

Drawn = tuple[int, ...]


class Exact(NamedTuple):
    """What a rule does on average.

    distribution: float64[k], of the token written. acceptance: probability that it is a child's.
    """

    distribution: Doubles
    acceptance: float


def outcomes(
    q: Doubles, scheme: Scheme, count: int, enough: Callable[[Drawn], bool] | None = None
) -> Iterator[tuple[Drawn, float]]:
    """All that `count` draws can give, in order, each with its probability.

    Draws without replacement end with the tokens; ADAPTIVE ones where `enough` says so of those
    drawn so far. O(k^count).
    """

    def further(drawn: Drawn, mass: float, distribution: Doubles) -> Iterator[tuple[Drawn, float]]:
        total = distribution.sum()
        stopped = scheme is Scheme.ADAPTIVE and enough is not None and enough(drawn)
        if len(drawn) == count or total == 0.0 or stopped:
            yield drawn, mass
            return
        for token in np.flatnonzero(distribution).tolist():
            rest = distribution
            if scheme is not Scheme.IID:
                rest = distribution.copy()
                rest[token] = 0.0
            yield from further((*drawn, token), mass * distribution[token] / total, rest)

    yield from further((), 1.0, q)


def exactly(
    rule: AcceptRule,
    p: Doubles,
    q: Doubles,
    scheme: Scheme,
    count: int,
    points: tuple[int, ...] = (),
    enough: Callable[[Drawn], bool] | None = None,
) -> Exact:
    """What becomes of a fork with these points and `count` draws, averaged over the draws.

    p, q: float64[k]. For a lossless rule the distribution is p; see `outcomes` for the rest.
    """
    distribution, acceptance = np.zeros(len(p)), 0.0
    for drawn, mass in outcomes(q, scheme, count, enough):
        others = tuple(point for point in points if point not in drawn)
        fork = Fork(p, q, drawn, others, scheme)
        plan = rule.plan(fork)
        written = plan.residual.copy()
        np.add.at(written, list(fork.children), plan.accept)
        distribution += mass * written
        acceptance += mass * float(written[list(set(fork.children))].sum())
    return Exact(distribution, acceptance)
