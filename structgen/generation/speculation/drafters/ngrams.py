"""Drafts from what the target found likely after the same tokens before.

`RecyclingDrafter` (Token Recycling, Luo et al. 2024): an adjacency matrix has for each token those
that the target last found most likely after it. The draft tree is the one whose nodes are most
probable if the chance of a candidate depends on its rank alone: a static tree, as in the paper,
from which the grammar takes away.

`TrigramDrafter` (ADED, Liu et al. 2024): a tri-gram matrix approximates the target, is updated
while it writes, and a draft weighs what is known to be likely against what was rarely tried.

`StandDrafter` (STAND, Song et al. 2025): an n-gram table keeps logits, not tokens, so that drafts
are drawn at random like the tokens of the target. Children are drawn without replacement by
perturbing the log probabilities with Gumbel noise, so the rule of recursive rejection sampling is
exact for them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD
from structgen.generation.distribution import largest, softmax
from structgen.generation.speculation.drafters.guessing import GuessDrafter, Guesses
from structgen.generation.speculation.drafters.state_classes import ClassOf, Kind, StateClasses
from structgen.generation.speculation.interfaces import Budget, LearnsNothing, Round
from structgen.generation.speculation.masked import distribution_over, masked_law
from structgen.generation.speculation.tree import Context, Doubles, DraftTree, Ids
from structgen.generation.speculation.trees.drawing import Distribution, add_children
from structgen.masks import bitmask

_WITHIN = 7.0  # nats below the best logit that are of interest: a thousandth of its probability


def likely(
    context: Context, state: int, row: npt.NDArray[Any], most: int
) -> list[tuple[int, float]]:
    """At most `most` tokens allowed in `state`, the most probable first, with probabilities.

    row: float[V], logits masked by nothing. The probabilities are shares of those of the allowed
    tokens that come near the best one, or of all if none does. [] for a row that knows nothing
    (-inf everywhere).
    """
    ids, values = _near(context, state, row)
    if not len(ids):
        return []
    distribution = softmax(values)
    chosen = largest(values, min(most, len(ids)))
    return list(zip(ids[chosen].tolist(), distribution[chosen].tolist(), strict=True))


def likeliest(context: Context, state: int, row: npt.NDArray[Any], most: int) -> tuple[int, ...]:
    """The same without probabilities."""
    ids, values = _near(context, state, row)
    return tuple(ids[largest(values, min(most, len(ids)))].tolist())


def _near(context: Context, state: int, row: npt.NDArray[Any]) -> tuple[Ids, Doubles]:
    """The allowed tokens whose logits are near the best of all, or all if none is; the logits."""
    best = row.max()
    if best > -np.inf:
        mask = bitmask.row_of(context.constraint, state, len(row))
        near = np.flatnonzero(row >= best - _WITHIN)
        near = near[bitmask.allows(mask, near)]
        if len(near):
            return near, row[near].astype(np.float64)
    ids, distribution = masked_law(context, state, row)
    return ids, np.log(distribution)


def verified(seen: Round) -> Iterator[int]:
    """Each node of a round from which a text may go on."""
    return (node for node, state in enumerate(seen.tree.states) if state >= 0)


RANKS = (0.55, 0.15, 0.08, 0.05, 0.03, 0.02, 0.015, 0.01)  # that a candidate is right, by rank
_MOST_ROWS = 1 << 16  # rows of the matrix

Matrix = dict[tuple[int, int], tuple[int, ...]]


@dataclass
class RecyclingGuesser(LearnsNothing):
    """Guesses from the matrix; its cursor is the last token."""

    matrix: Matrix
    ranks: tuple[float, ...]
    class_of: ClassOf | None

    def start(self, context: Context) -> int:
        """The last token."""
        self._constraint = context.constraint
        return context.tokens[-1]

    def guesses(self, cursor: int, state: int) -> Guesses:
        """The tokens that were likely after this one, by rank."""
        found = self.matrix.get((cursor, self._class(state)))
        if found is None:
            found = self.matrix.get((cursor, 0), ())
        return list(zip(found, self.ranks, strict=False))

    def follow(self, cursor: int, token: int) -> int:
        """The token itself."""
        return token

    def observe(self, context: Context, seen: Round) -> None:
        """Write down what is likely after each node, those not kept too."""
        tree = seen.tree
        if len(self.matrix) >= _MOST_ROWS:
            self.matrix.clear()
        self._constraint = context.constraint
        for node in verified(seen):
            token, state = tree.tokens[node], tree.states[node]
            found = likeliest(context, state, seen.logits[node], len(self.ranks))
            if found:
                self.matrix[token, 0] = self.matrix[token, self._class(state)] = found

    def _class(self, state: int) -> int:
        return 0 if self.class_of is None else self.class_of(self._constraint, state)


class RecyclingDrafter(GuessDrafter):
    """Drafts what the target found likely after the same token, in any text before.

    ranks: estimated probabilities that a candidate is right, by rank; their number is the width of
    the matrix. classes: rows for (token, class of the state) are kept beside those for tokens.
    """

    name = "recycling"

    def __init__(self, ranks: tuple[float, ...] = RANKS, classes: Kind | None = "mask") -> None:
        self.ranks = ranks
        self.matrix: Matrix = {}
        self._classes = None if classes is None else StateClasses(classes)

    def guesser(self, context: Context) -> RecyclingGuesser:
        """For a new text; all share the matrix."""
        class_of = None if self._classes is None else self._classes.of(context.constraint)
        return RecyclingGuesser(self.matrix, self.ranks, class_of)


Pair = tuple[int, int]  # the two tokens before; (-1, t) where only the last counts

_MOST_PAIRS = 1 << 15  # pairs of tokens that are remembered


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
            if len(self.table) >= _MOST_PAIRS:
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
class TrigramGuesser(LearnsNothing):
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


def _before(context: Context, seen: Round) -> int:
    """The token before the root of a round's tree; -1 if there is none."""
    index = len(context.tokens) - len(seen.written) - 2
    return context.tokens[index] if index >= 0 else -1


_MOST_GRAMS = 1 << 15  # n-grams that are remembered


class Logits(NamedTuple):
    """The largest logits float64[k] of a node, and their tokens int64[k]."""

    ids: Ids
    values: Doubles


class StandDrafter:
    """Draws drafts from the logits that the target had after the same n-gram, in any text before.

    order: tokens of the longest n-gram. kept: logits of a node that are remembered.
    """

    name = "stand"
    hidden: tuple[int, ...] = ()

    def __init__(self, order: int = 4, kept: int = 16) -> None:
        self.order = order
        self.kept = kept
        self.table: dict[tuple[int, ...], Logits] = {}

    def begin(self, context: Context) -> StandSession:
        """Start on a text; all share the table."""
        return StandSession(self)

    def learn(self, grams: list[tuple[int, ...]], row: Doubles) -> None:
        """What the target said after some n-grams. row: float[V], masked by nothing."""
        size = len(row)
        ids = np.arange(size)
        if size > self.kept:
            ids = np.sort(np.argpartition(row, size - self.kept)[-self.kept :])
        ids = ids[row[ids] > -np.inf]
        if not len(ids):
            return
        if len(self.table) >= _MOST_GRAMS:
            self.table.clear()
        found = Logits(ids.astype(np.int64), row[ids].astype(np.float64))
        for gram in grams:
            self.table[gram] = found

    def law(self, gram: tuple[int, ...], context: Context, state: int) -> Distribution:
        """The distribution of the longest n-gram known: ids int64[k], probabilities float64[k].

        Masked by the constraint, then by the text's own sampler; empty where nothing is known.
        """
        advance = context.constraint.advance
        for first in range(len(gram)):
            found = self.table.get(gram[first:])
            if found is None:
                continue
            allowed = np.array([advance(state, t) != DEAD for t in found.ids.tolist()], np.bool_)
            if allowed.any():
                return distribution_over(context, found.ids[allowed], found.values[allowed])
        return np.zeros(0, np.int64), np.zeros(0)


@dataclass
class StandSession(LearnsNothing):
    """The drafter at work on one text."""

    drafter: StandDrafter

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """Draw children of the nodes that are most probably reached, while there is room.

        Whether a node gets children, and how many, is decided before they are drawn.
        """
        tree = DraftTree(context)
        order = self.drafter.order
        heap = [(-1.0, 0, tuple(context.tokens[-order:]))]
        while heap:
            reached, node, gram = heapq.heappop(heap)
            room = budget.nodes + 1 - len(tree)
            if room <= 0 or -reached < budget.least:
                break
            if tree.depths[node] >= budget.depth or not tree.may_go_on(node):
                continue
            distribution = self.drafter.law(gram, context, tree.states[node])
            for child in add_children(tree, node, distribution, min(room, budget.width), "wor"):
                gram_then = (*gram, tree.tokens[child])[-order:]
                heapq.heappush(heap, (-tree.estimates[child], child, gram_then))
        return tree

    def observe(self, context: Context, seen: Round) -> None:
        """Remember the logits of every node, under its n-grams."""
        order, tree = self.drafter.order, seen.tree
        root = context.tokens[: len(context.tokens) - len(seen.written)][-order:]
        for node in range(len(tree)):
            gram = (*root, *tree.path(node))[-order:]
            grams = [gram[first:] for first in range(len(gram))]
            self.drafter.learn(grams, seen.logits[node])
