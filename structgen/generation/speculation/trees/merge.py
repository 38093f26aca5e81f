"""Merge draft trees of the same root into one, by prefix, most probable nodes first.

What several drafters agree on is read once (RASD, Quan et al. 2025, fuses by the longest prefix).
Children that were drawn at random stay together, all of them or none, which is decided before they
are looked at; where two drafters drew below one node, the draws of the second count as chosen
children. So do draws whose number was not fixed beforehand: whether there is room for them would
depend on what they are, and leaving them out for that would change the distribution of the text.
`Lattice` makes a tree of guesses for several positions that are independent of each other.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np

from structgen.generation.distribution import largest
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import NONE, Context, Doubles, DraftTree, Ids, Scheme
from structgen.generation.speculation.trees.drawing import Distribution


class _Candidate(NamedTuple):
    priority: float  # minus the probability of reaching it
    number: int  # breaks ties: first come, first served
    source: int  # which tree
    parent: int  # its parent in the tree that is made
    node: int  # itself there; for draws: the node that they are children of
    drawn: bool


def merge(trees: Sequence[DraftTree], budget: Budget) -> DraftTree:
    """The union of some trees of one context, of at most `budget.nodes` draft tokens.

    A node keeps the estimate of the tree that reaches it with the greatest probability.
    """
    merged = DraftTree(trees[0].context)
    heap: list[_Candidate] = []
    number = 0

    def consider(source: int, node: int, target: int) -> None:
        """The children of a tree's node, which is `target` in the merged tree."""
        nonlocal number
        tree = trees[source]
        together = None if target in merged.draws else tree.draws.get(node)
        if together is not None and together.scheme is Scheme.ADAPTIVE:
            together = None
        if together is not None:
            number += 1
            priority = -merged.estimates[target]
            heapq.heappush(heap, _Candidate(priority, number, source, target, node, True))
        for child in tree.children[node].values():
            if together is not None and tree.tokens[child] in together.tokens:
                continue
            number += 1
            share = tree.estimates[child] / tree.estimates[node]
            priority = -merged.estimates[target] * share
            heapq.heappush(heap, _Candidate(priority, number, source, target, child, False))

    for source in range(len(trees)):
        consider(source, 0, 0)
    while heap and len(merged) <= budget.nodes:
        candidate = heapq.heappop(heap)
        tree, parent = trees[candidate.source], candidate.parent
        added = (
            _with_draws(merged, parent, tree, candidate.node, budget)
            if candidate.drawn
            else _with_point(merged, parent, tree, candidate.node, budget)
        )
        for node, target in added:
            consider(candidate.source, node, target)
    return merged


def _with_point(
    merged: DraftTree, parent: int, tree: DraftTree, node: int, budget: Budget
) -> list[tuple[int, int]]:
    """Add one node; returns it with its node in the merged tree, if it has one."""
    token = tree.tokens[node]
    if merged.child(parent, token) == NONE and (
        len(merged.children[parent]) >= budget.width or merged.depths[parent] >= budget.depth
    ):
        return []
    share = tree.estimates[node] / tree.estimates[tree.parents[node]]
    target = merged.add(parent, token, min(share, 1.0))
    return [] if target == NONE else [(node, target)]


def _with_draws(
    merged: DraftTree, parent: int, tree: DraftTree, node: int, budget: Budget
) -> list[tuple[int, int]]:
    """Add what was drawn below a node, if there is room for it, whatever it is."""
    draws = tree.draws[node]
    room = budget.nodes + 1 - len(merged)
    if merged.depths[parent] >= budget.depth or len(draws.tokens) > room:
        return []
    if parent in merged.draws:  # another tree's came first
        return [
            pair
            for token in dict.fromkeys(draws.tokens)
            for pair in _with_point(merged, parent, tree, tree.child(node, token), budget)
        ]
    children = [tree.child(node, token) for token in draws.tokens]
    shares = [min(tree.estimates[child] / tree.estimates[node], 1.0) for child in children]
    targets = merged.add_draws(parent, draws, shares)
    return list(dict.fromkeys(zip(children, targets, strict=False)))


#: Log weights float64[k] of the tokens int64[k] after a token: how well they go together.
Bond = Callable[[int, Ids], Doubles]


@dataclass(frozen=True, slots=True)
class Lattice:
    """Searches the paths through a token lattice and the automaton at once.

    A drafter that guesses several positions in one pass, such as a diffusion model or parallel
    heads, gives for each position i a distribution of its own, masked by nothing, as the state
    there is not known. The search is best-first over pairs of a position and a state (with a bond
    also of the last token), by the log-probability so far and at best from there on (after Li et
    al. 2025, DiffuSpec, section 3.2), so what it completes first is the most probable path that the
    grammar allows. Each pair is continued once, by its best path; others end there, as leaves.
    bond: log weights of neighbours, at most 0, such as a trigram model's; None takes positions as
    independent.
    """

    bond: Bond | None = None

    def grow(self, context: Context, budget: Budget, lattice: Sequence[Distribution]) -> DraftTree:
        """A tree of at most `budget.nodes` tokens, all of them chosen, none drawn.

        lattice: for each position tokens int64[k] and their probabilities float64[k]. The
        `budget.width` best of those that are allowed are tried at each pair.
        """
        tree = DraftTree(context)
        lattice = lattice[: budget.depth]
        ahead = _best_ahead(lattice)
        order = count()  # among equals the first come
        waiting = [(-ahead[0], next(order), 0.0, NONE, 0, 1.0)]
        settled: set[tuple[int, int, int]] = set()
        while waiting and len(tree) <= budget.nodes:
            _, _, score, parent, token, share = heapq.heappop(waiting)
            node = 0 if parent == NONE else tree.add(parent, token, share)
            if node == NONE:
                continue
            depth = tree.depths[node]
            pair = depth, tree.states[node], -1 if self.bond is None else tree.tokens[node]
            if depth == len(lattice) or pair in settled or tree.estimates[node] < budget.least:
                continue
            settled.add(pair)
            for following, distribution, gain in self._allowed(
                tree, node, lattice[depth], budget.width
            ):
                total = score + gain
                key = -(total + ahead[depth + 1])
                heapq.heappush(waiting, (key, next(order), total, node, following, distribution))
        return tree

    def _allowed(
        self, tree: DraftTree, node: int, distribution: Distribution, width: int
    ) -> list[tuple[int, float, float]]:
        """The best allowed tokens after a node, their probabilities and log weights."""
        ids, probabilities = distribution
        with np.errstate(divide="ignore"):
            gains = np.log(probabilities)
        if self.bond is not None and node:
            gains = gains + self.bond(tree.tokens[node], ids)
        found: list[tuple[int, float, float]] = []
        constraint, state = tree.context.constraint, tree.states[node]
        for i in largest(gains, len(gains)).tolist() if len(gains) else ():
            if len(found) == width or gains[i] == -math.inf:
                break
            if constraint.advance(state, int(ids[i])) >= 0:
                found.append((int(ids[i]), float(probabilities[i]), float(gains[i])))
        return found


def _best_ahead(lattice: Sequence[Distribution]) -> list[float]:
    """For each position the sum of the largest log-probabilities from there on."""
    best = [
        math.log(float(distribution.max())) if len(distribution) else 0.0
        for _, distribution in lattice
    ]
    return [math.fsum(best[i:]) for i in range(len(best) + 1)]
