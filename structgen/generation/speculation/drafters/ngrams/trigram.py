"""`TrigramDrafter`: drafts from a trigram approximation of the target.

ADED (Liu et al. 2024): a tri-gram matrix approximates the target, is updated while it writes, and a
draft weighs what is known to be likely against what was rarely tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from structgen.generation.speculation.drafters.guessing import GuessDrafter, Guesses
from structgen.generation.speculation.drafters.ngrams.likely import likely, verified
from structgen.generation.speculation.interfaces import Round
from structgen.generation.speculation.tree import Context

Pair = tuple[int, int]  # the two tokens before; (-1, t) where only the last counts

_MOST_KEYS = 1 << 15  # pairs of tokens that are remembered


@dataclass(slots=True)
class Continuations:
    """What may follow a pair of tokens: running means of probabilities, and how often drafted."""

    means: dict[int, float]
    drafted: dict[int, int]


class TrigramDrafter(GuessDrafter):
    """Drafts what the target found likely after the same two tokens, or after the last one.

    width: continuations kept for a pair. rate: weight of the newest probability in the mean.
    explore: weight of what was drafted seldom, as in the search of AlphaZero.
    """

    name = "trigram"

    def __init__(self, width: int = 8, rate: float = 0.5, explore: float = 0.1) -> None:
        self.width = width
        self.rate = rate
        self.explore = explore
        self.table: dict[Pair, Continuations] = {}

    def guesser(self, context: Context) -> TrigramGuesser:
        """For a new text; all share the table."""
        return TrigramGuesser(self)

    def learn(self, pair: Pair, found: list[tuple[int, float]]) -> Continuations:
        """The target's probabilities after a pair of tokens; returns what is known now."""
        known = self.table.get(pair)
        if known is None:
            if len(self.table) >= _MOST_KEYS:
                self.table.clear()
            made = self.table[pair] = Continuations(dict(found), {})
            return made
        means = {token: (1.0 - self.rate) * mean for token, mean in known.means.items()}
        for token, probability in found:
            means[token] = means.get(token, 0.0) + self.rate * probability
        kept = sorted(means, key=means.__getitem__, reverse=True)[: self.width]
        drafted = {token: count for token, count in known.drafted.copy().items() if token in kept}
        made = self.table[pair] = Continuations({token: means[token] for token in kept}, drafted)
        return made

    def guesses(self, pair: Pair) -> Guesses:
        """The continuations of a pair: means, raised where little was drafted; at most 1 in all."""
        known = self.table.get(pair) or self.table.get((-1, pair[1]))
        if known is None:
            return []
        drafted = known.drafted
        root = math.sqrt(1.0 + sum(drafted.copy().values()))
        scores = [
            (token, mean * (1.0 + self.explore * root / (1.0 + drafted.get(token, 0))))
            for token, mean in known.means.items()
        ]
        total = max(1.0, sum(score for _, score in scores))
        return sorted(((t, s / total) for t, s in scores), key=lambda guess: -guess[1])


@dataclass
class TrigramGuesser:
    """Guesses from the table; its cursor is the last two tokens."""

    drafter: TrigramDrafter

    def start(self, context: Context) -> Pair:
        """The last two tokens."""
        return context.tokens[-2] if len(context.tokens) > 1 else -1, context.tokens[-1]

    def guesses(self, cursor: Pair, state: int) -> Guesses:
        """The continuations in the table."""
        return self.drafter.guesses(cursor)

    def follow(self, cursor: Pair, token: int) -> Pair:
        """The last two tokens, one further."""
        return cursor[1], token

    def observe(self, context: Context, seen: Round) -> None:
        """Update the table at every node, and count what was drafted."""
        tree = seen.tree
        before = _before(context, seen)
        for node in verified(seen):
            found = likely(context, tree.states[node], seen.logits[node], self.drafter.width)
            if not found:
                continue
            parent = tree.parents[node]
            last = tree.tokens[node]
            pair = (tree.tokens[parent] if parent >= 0 else before, last)
            for key in (pair, (-1, last)):
                drafted = self.drafter.learn(key, found).drafted
                for token in tree.children[node]:
                    drafted[token] = drafted.get(token, 0) + 1

    def end(self, context: Context) -> None:
        """Nothing ends: the table is shared."""


def _before(context: Context, seen: Round) -> int:
    """The token before the root of a round's tree; -1 if there is none."""
    index = len(context.tokens) - len(seen.written) - 2
    return context.tokens[index] if index >= 0 else -1
