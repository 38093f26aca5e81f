"""Simulated rounds of speculation, without a model, for the tests of policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from structgen.generation.speculation.interfaces import Budget, LengthPolicy, Round
from structgen.generation.speculation.tree import Context, DraftTree
from tests.generation.speculation.toys import make_context, toy_constraint

PATTERN = "a{0,400}"
TOKEN, OTHER = 1, 2  # b"a", which is drafted, and what is written where that is wrong


def endless_context(seed: int = 0) -> Context:
    """A text of letters that goes on and on."""
    context = make_context(toy_constraint(PATTERN), remaining=10**9)
    context.rng = np.random.default_rng(seed)
    return context


def chain(context: Context, estimates: Sequence[float]) -> DraftTree:
    """A draft of letters, each with this probability given the one before; it may be cut short."""
    tree, node = DraftTree(context), 0
    for estimate in estimates:
        node = tree.add(node, TOKEN, estimate)
        if node < 0:
            break
    return tree


def round_of(
    tree: DraftTree, right: int, seconds: float = 1.0, draft_seconds: float = 0.0
) -> Round:
    """A round in which so many tokens of a chain are right, be they drafted or not."""
    logits = np.zeros((len(tree), 6))
    kept = min(right, len(tree) - 1)
    path = tuple(range(1, kept + 1))
    written = (TOKEN,) * kept + (TOKEN if right > kept else OTHER,)
    return Round(tree, path, written, logits, None, draft_seconds, seconds, 1, len(tree))


@dataclass
class Environment:
    """Chains whose tokens are kept with probability `share`; a pass over n tokens takes time(n)."""

    share: float
    time: Callable[[int], float]
    seed: int = 0
    tokens: int = 0
    seconds: float = 0.0
    lengths: list[int] = field(default_factory=list)

    def rate(self, length: int) -> float:
        """Expected tokens per second of drafts of this length."""
        expected = sum(self.share**n for n in range(length + 1))
        return expected / self.time(length + 1)

    def best(self, most: int) -> int:
        """The best length."""
        return max(range(most + 1), key=self.rate)

    def run(self, policy: LengthPolicy, rounds: int) -> float:
        """Tokens per second of the last half of the rounds."""
        rng = np.random.default_rng(self.seed)
        context = endless_context(self.seed + 1)
        for number in range(rounds):
            if number == rounds // 2:
                self.tokens, self.seconds = 0, 0.0
            budget: Budget = policy.budget(context)
            length = min(budget.nodes, budget.depth) if budget.nodes else 0
            self.lengths.append(length)
            tree = chain(context, [self.share] * length)
            kept = 0
            while kept < length and rng.random() < self.share:
                kept += 1
            seconds = self.time(length + 1)
            self.tokens += kept + 1
            self.seconds += seconds
            policy.observe(context, round_of(tree, kept, seconds))
        return self.tokens / self.seconds
