"""`StochasticBeam`: whole sequences drawn without replacement, level by level."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from structgen.generation.distribution import largest
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import Context, Doubles, DraftTree, Scheme
from structgen.generation.speculation.trees.drawing import add_drawn, without_end_tokens
from structgen.generation.speculation.trees.interfaces import Distribution, Distributions

_TINY = sys.float_info.min


@dataclass(frozen=True, slots=True)
class StochasticBeam:
    """On each level the sequences with the largest perturbed log-probabilities.

    A node's score is its log-probability plus Gumbel noise; its children's are drawn so that the
    largest equals it (Kool, van Hoof & Welling 2019, algorithm 1). The largest of Gumbel variables
    is independent of which one it is, so cutting by score, unlike cutting by probability, says
    nothing about what is cut, and the draft stays lossless (Jeon et al. 2024, RSD, section 3.2).
    beam: nodes on a level; None spreads the budget evenly over its depth.
    """

    beam: int | None = None

    def grow(self, context: Context, budget: Budget, distributions: Distributions) -> DraftTree:
        """See `TreeBuilder`."""
        tree = DraftTree(context)
        beam = self.beam or -(-budget.nodes // max(budget.depth, 1))
        level = {0: 0.0}  # nodes, and their scores
        for _ in range(budget.depth):
            room = min(1 if context.chain else beam, budget.nodes + 1 - len(tree))
            asked = [n for n in level if tree.estimates[n] >= budget.least and tree.may_go_on(n)]
            if not asked or room <= 0:
                break
            answers = [
                without_end_tokens(context, distribution)
                for distribution in distributions(tree, asked)
            ]
            scores = [
                _scores(tree.estimates[node], level[node], distribution, context.rng)
                for node, distribution in zip(asked, answers, strict=True)
            ]
            # Cut the level by score: only children whose perturbed score is among the best are
            # kept.
            everything = np.sort(np.concatenate(scores))
            floor = everything[-room] if len(everything) > room else -np.inf
            level = {}
            for node, distribution, perturbed in zip(asked, answers, scores, strict=True):
                above = min(int((perturbed >= floor).sum()), budget.width)
                best = largest(perturbed, above).tolist() if above else []
                added = add_drawn(tree, node, Scheme.ADAPTIVE, distribution, best) if best else []
                level |= {child: float(perturbed[i]) for child, i in zip(added, best, strict=True)}
        return tree


def _scores(
    estimate: float, score: float, distribution: Distribution, rng: np.random.Generator
) -> Doubles:
    """float64[k]: perturbed log-probabilities of the children, the largest of them `score`."""
    probabilities = distribution[1]
    if not len(probabilities):
        return probabilities
    noise = -np.log(rng.standard_exponential(len(probabilities)))
    free: Doubles = math.log(max(estimate, _TINY)) + np.log(probabilities) + noise
    # -log(exp(-score) - exp(-max) + exp(-free)), without leaving what numbers can hold.
    with np.errstate(divide="ignore"):
        shift = score - free + np.log(-np.expm1(free - free.max()))
    found: Doubles = score - np.maximum(shift, 0.0) - np.log1p(np.exp(-np.abs(shift)))
    return found
