"""`Disco`: a learnt classifier decides whether drafting goes on."""

from __future__ import annotations

import math
import threading

import numpy as np

from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.policies.checks import check_share
from structgen.generation.speculation.policies.outcomes import confidence, outcomes
from structgen.generation.speculation.tree import Context, Doubles, DraftTree

_EDGE = 1e-4  # probabilities are kept this far from 0 and 1


class Disco:
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

    def budget(self, context: Context) -> Budget:
        """The largest size."""
        return self.size

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
