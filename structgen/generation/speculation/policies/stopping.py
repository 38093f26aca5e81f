"""Stop a draft while it is being made: `Threshold`, `Confidence` and `Disco`.

All look at tokens that are in the draft already, never at one that might be added: a drawn token is
kept or not drawn, but never dropped because of what it is.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from structgen.generation.checks import check_share
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.tree import Context, Doubles, DraftTree


def outcomes(seen: Round) -> Iterator[tuple[int, bool]]:
    """(node, was it kept) of every node whose parent was reached and followed by a token.

    Nodes further down say nothing about themselves: their fate was decided above them.
    """
    kept = set(seen.path)
    reached = (0, *seen.path)
    for parent in reached[: len(seen.written)]:  # after the last one kept, the text may have ended
        for node in seen.tree.children[parent].values():
            yield node, node in kept


def confidence(tree: DraftTree, node: int) -> float:
    """What the drafter took for the probability of a node, given that its parent is reached."""
    return tree.estimates[node] / tree.estimates[tree.parents[node]]


#: The probability that a node is kept once its parent is: a drafter's estimate, or a trained head.
Acceptance = Callable[[DraftTree, int], float]


class _WithinBudget:
    """The part of a policy that always gives its whole budget, and learns nothing."""

    size: Budget

    def budget(self, context: Context) -> Budget:
        """The largest size."""
        return self.size

    def observe(self, context: Context, seen: Round) -> None:
        """Nothing is learned."""


@dataclass(frozen=True)
class Threshold(_WithinBudget):
    """Goes on until some token of the path has probably been refused (SpecDec++, section 3.3).

    threshold: stop where P(some rejection on the path) is larger. accepted: how probable it is that
    a token is kept, given its parent; SpecDec++ trains a head for it, the drafter's own probability
    is the proxy. size: the budget within which that happens.
    """

    threshold: float = 0.7
    size: Budget = field(default_factory=lambda: Budget(nodes=16))
    accepted: Acceptance = confidence

    def __post_init__(self) -> None:
        check_share("threshold", self.threshold)

    def keep_going(self, tree: DraftTree, node: int) -> bool:
        """Whether all tokens down to `node` are kept with probability of at least 1 - threshold."""
        kept = 1.0
        while node > 0:
            kept *= self.accepted(tree, node)
            node = tree.parents[node]
        return 1.0 - kept <= self.threshold


@dataclass(frozen=True)
class Confidence(_WithinBudget):
    """Goes on until the drafter is unsure of the token it wrote last (Kangaroo, section 3.2).

    threshold: the smallest confidence, its estimate of the last token, at which it goes on.
    """

    threshold: float = 0.4
    size: Budget = field(default_factory=lambda: Budget(nodes=16))

    def __post_init__(self) -> None:
        check_share("threshold", self.threshold)

    def keep_going(self, tree: DraftTree, node: int) -> bool:
        """Whether the drafter is confident of the token at `node`."""
        return node == 0 or confidence(tree, node) >= self.threshold


_EDGE = 1e-4  # probabilities are kept this far from 0 and 1


class Disco(_WithinBudget):
    """Goes on where a classifier believes that the last draft token is kept (Mamou et al. 2024).

    The classifier is a logistic regression on the drafter's confidence in the token, its confidence
    in the whole path, and the depth; it learns from every token that was put to the test, by
    gradient steps whose size shrinks with what was seen (Adagrad, Duchi et al. 2011).
    """

    def __init__(
        self, size: Budget | None = None, *, threshold: float = 0.5, step: float = 0.3
    ) -> None:
        """threshold: the least probability of being kept at which drafting goes on."""
        check_share("threshold", threshold)
        check_share("step", step, least=1e-6)
        self.size = size or Budget(nodes=16)
        self._threshold = threshold
        self._step = step
        self._weights = np.array([0.0, 1.0, 0.0, 0.0])  # at first, the drafter is believed
        self._squares = np.ones(4)
        self._lock = threading.Lock()

    def kept(self, tree: DraftTree, node: int) -> float:
        """The probability that a draft token is kept, if its parent is."""
        return _logistic(float(self._weights @ self._features(tree, node)))

    def keep_going(self, tree: DraftTree, node: int) -> bool:
        """Whether the token at `node` is believed to be kept."""
        return node == 0 or self.kept(tree, node) >= self._threshold

    def observe(self, context: Context, seen: Round) -> None:
        """A gradient step for each token that was put to the test."""
        for node, kept in outcomes(seen):
            x = self._features(seen.tree, node)
            with self._lock:
                gradient = (_logistic(float(self._weights @ x)) - kept) * x
                self._squares = self._squares + gradient**2
                self._weights = self._weights - self._step * gradient / np.sqrt(self._squares)

    def _features(self, tree: DraftTree, node: int) -> Doubles:
        """float64[4]: 1, log odds of the token, log probability of the path, depth."""
        p = min(max(confidence(tree, node), _EDGE), 1 - _EDGE)
        path = math.log(max(tree.estimates[node], _EDGE))
        return np.array([1.0, math.log(p / (1 - p)), path, tree.depths[node] / self.size.depth])


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0
