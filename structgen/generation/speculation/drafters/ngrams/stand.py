"""`StandDrafter`: drafts drawn from the logits that the target had after the same n-gram.

STAND (Song et al. 2025): an n-gram table keeps logits, not tokens, so that drafts are drawn at
random like the target's own tokens. Children are drawn without replacement by perturbing the log
probabilities with Gumbel noise, so the rule of recursive rejection sampling is exact for them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structgen.automata.interface import DEAD
from structgen.generation.speculation.drafters.guessing import LearnsNothing
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.tree import Context, Doubles, DraftTree, Draws, Ids, Scheme

_MOST_KEYS = 1 << 15  # n-grams that are remembered


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
        if len(self.table) >= _MOST_KEYS:
            self.table.clear()
        found = Logits(ids.astype(np.int64), row[ids].astype(np.float64))
        for gram in grams:
            self.table[gram] = found

    def law(self, gram: tuple[int, ...], context: Context, state: int) -> tuple[Ids, Doubles]:
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
                ids, values = found.ids[allowed], found.values[allowed]
                if context.sampler.greedy:
                    distribution = np.exp(values - values.max())
                    distribution /= distribution.sum()
                else:
                    distribution = context.sampler.distribution(values)
                return ids[distribution > 0], distribution[distribution > 0]
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
            ids, distribution = self.drafter.law(gram, context, tree.states[node])
            draws = draw_without_replacement(
                ids, distribution, min(room, budget.width), context.rng
            )
            if draws is None:
                continue
            estimates = [float(distribution[np.searchsorted(ids, token)]) for token in draws.tokens]
            for child in tree.add_draws(node, draws, estimates):
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


def draw_without_replacement(
    ids: Ids, distribution: Doubles, count: int, rng: np.random.Generator
) -> Draws | None:
    """At most `count` tokens drawn without replacement, in order; None where there are none.

    ids: int64[k], ascending; law: float64[k], positive. The largest of log law + Gumbel
    noise (Kool, van Hoof and Welling 2019, section 2.3).
    """
    count = min(count, len(ids))
    if count <= 0:
        return None
    scores = np.log(distribution) + rng.gumbel(size=len(distribution))
    order = np.argsort(-scores)[:count]
    return Draws(Scheme.WOR, ids, distribution, tuple(ids[order].tolist()))
