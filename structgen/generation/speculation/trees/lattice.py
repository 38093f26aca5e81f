"""`Lattice`: a tree from guesses for several positions, independent of each other."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from structgen.generation.distribution import largest
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import NONE, Context, Doubles, DraftTree, Ids
from structgen.generation.speculation.trees.interfaces import Distribution

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
