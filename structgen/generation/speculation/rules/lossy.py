"""Lossy acceptance rules: they accept more than a lossless one, and change the distribution.

They are refused unless `Speculation(lossy=True)` says that this is wanted. What is written still
fits the constraint: no rule takes a token to which the masked distribution gives no probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from structgen.generation.speculation.interfaces import AcceptRule, Fork, Plan
from structgen.generation.speculation.rules.lossless import RecursiveRejection
from structgen.generation.speculation.tree import Doubles, Scheme

#: For each child of a fork (see `Fork.children`), how good it is: a trained head, another model.
Scorer = Callable[[Fork], Sequence[float]]

#: Another distribution of the tokens of a fork, float64[k], such as the model's own after it was
#: asked to reflect on the draft.
Second = Callable[[Fork], Doubles]


@dataclass(frozen=True, slots=True)
class Typical:
    """Keeps a child that is typical of the distribution: p > min(epsilon, delta * exp(-entropy)).

    The most probable one if there are several; without one, a token is drawn from the distribution
    (Cai et al. 2024, Medusa, section 2.3.1).
    """

    epsilon: float = 0.09
    delta: float = 0.3
    schemes = frozenset(Scheme)
    lossless = False

    def plan(self, fork: Fork) -> Plan:
        """All on one child, or nothing accepted."""
        positive = fork.p[fork.p > 0.0]
        entropy = -float((positive * np.log(positive)).sum())
        least = min(self.epsilon, self.delta * math.exp(-entropy))
        return _best(fork, [float(fork.p[child]) for child in fork.children], least)


@dataclass(frozen=True, slots=True)
class Judge:
    """Keeps the child that a scorer finds best, if its score exceeds a threshold.

    What counts is whether it is a good continuation, not whether the model would have said it
    (Bachmann et al. 2025, "Judge decoding"). Without such a child, a token is drawn from the
    distribution.
    """

    scorer: Scorer
    threshold: float = 0.5
    schemes = frozenset(Scheme)
    lossless = False

    def plan(self, fork: Fork) -> Plan:
        """All on one child, or nothing accepted."""
        return _best(fork, self.scorer(fork), self.threshold)


@dataclass(frozen=True, slots=True)
class Reflective:
    """Accepts by a mixture of the distribution and a second one.

    share: of the second, which is asked about every fork; only what the first distribution gives
    some probability can come (after Wang et al. 2025, "reflective verification"). rule: decides on
    the mixture.
    """

    second: Second
    share: float = 0.3
    rule: AcceptRule = field(default_factory=RecursiveRejection)
    lossless = False

    @property
    def schemes(self) -> frozenset[Scheme]:
        """The schemes of the inner rule."""
        return self.rule.schemes

    def plan(self, fork: Fork) -> Plan:
        """The plan for the mixture."""
        second = np.where(fork.p > 0.0, self.second(fork), 0.0)
        total = float(second.sum())
        if total <= 0.0:
            return self.rule.plan(fork)
        mixture = (1.0 - self.share) * fork.p + self.share / total * second
        return self.rule.plan(replace(fork, p=mixture))


def _best(fork: Fork, scores: Sequence[float], threshold: float) -> Plan:
    """Accept the possible child with the largest score above the threshold, if there is one."""
    accept = np.zeros(len(fork.children))
    possible = [i for i, child in enumerate(fork.children) if fork.p[child] > 0.0]
    best = max(possible, key=lambda i: scores[i], default=None)
    if best is None or scores[best] <= threshold:
        return Plan(accept, fork.p)
    accept[best] = 1.0
    return Plan(accept, np.zeros(len(fork.p)))
