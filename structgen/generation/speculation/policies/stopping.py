"""`Threshold` and `Confidence`: stop a draft while it is being made.

Both look at tokens that are in the draft already, never at one that might be added: a drawn token
is kept or not drawn, but never dropped because of what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.policies.checks import check_share
from structgen.generation.speculation.policies.outcomes import confidence
from structgen.generation.speculation.tree import Context, DraftTree

#: The probability that a node is kept once its parent is: a drafter's estimate, or a trained head.
Acceptance = Callable[[DraftTree, int], float]


@dataclass(frozen=True)
class Threshold:
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

    def budget(self, context: Context) -> Budget:
        """The largest size."""
        return self.size

    def keep_going(self, tree: DraftTree, node: int) -> bool:
        """Whether all tokens down to `node` are kept with probability of at least 1 - threshold."""
        kept = 1.0
        while node > 0:
            kept *= self.accepted(tree, node)
            node = tree.parents[node]
        return 1.0 - kept <= self.threshold

    def observe(self, context: Context, seen: Round) -> None:
        """Nothing is learned."""


@dataclass(frozen=True)
class Confidence:
    """Goes on until the drafter is unsure of the token it wrote last (Kangaroo, section 3.2).

    threshold: the smallest confidence, its estimate of the last token, at which it goes on.
    """

    threshold: float = 0.4
    size: Budget = field(default_factory=lambda: Budget(nodes=16))

    def __post_init__(self) -> None:
        check_share("threshold", self.threshold)

    def budget(self, context: Context) -> Budget:
        """The largest size."""
        return self.size

    def keep_going(self, tree: DraftTree, node: int) -> bool:
        """Whether the drafter is confident of the token at `node`."""
        return node == 0 or confidence(tree, node) >= self.threshold

    def observe(self, context: Context, seen: Round) -> None:
        """Nothing is learned."""
