"""`Cape`: a chain of best guesses, with more candidates where confidence is low."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from structgen.generation.distribution import largest
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import NONE, Context, DraftTree
from structgen.generation.speculation.trees.drawing import add_children, without_end_tokens
from structgen.generation.speculation.trees.interfaces import Distributions


@dataclass(frozen=True, slots=True)
class Cape:
    """A chain of the most probable tokens; beside each, more candidates the less probable it is.

    limits, counts: at confidence below limits[i], counts[i] candidates in all, the last of `counts`
    above all limits (Du et al. 2024, GliDe with CaPE, section 3.3 and its table). The chain comes
    first: candidates take what it leaves of the budget, those near the root before others.
    """

    limits: tuple[float, ...] = (0.3, 0.6, 0.8)
    counts: tuple[int, ...] = (7, 5, 3, 1)

    def grow(self, context: Context, budget: Budget, distributions: Distributions) -> DraftTree:
        """See `TreeBuilder`."""
        tree = DraftTree(context)
        seen = []
        node = 0
        for _ in range(min(budget.depth, budget.nodes)):
            if node == NONE or not tree.may_go_on(node) or tree.estimates[node] < budget.least:
                break
            [distribution] = distributions(tree, [node])
            seen.append((node, distribution))
            [node] = add_children(tree, node, distribution, 1, "top") or [NONE]
        for parent, distribution in seen:
            ids, probabilities = without_end_tokens(context, distribution)
            if not len(ids):
                continue
            wanted = self.counts[bisect_right(self.limits, float(probabilities.max()))]
            order = largest(probabilities, min(wanted, budget.width, len(ids)))
            for i in order[1:].tolist()[: budget.nodes + 1 - len(tree)]:
                tree.add(parent, int(ids[i]), float(probabilities[i]))
        return tree
