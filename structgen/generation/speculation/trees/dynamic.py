"""`Dynamic`: a tree drawn at random, always where a draw is most likely to be kept (DySpec)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from structgen.generation.distribution import draw
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import Context, Doubles, DraftTree, Scheme
from structgen.generation.speculation.trees.drawing import add_drawn, without_end_tokens
from structgen.generation.speculation.trees.interfaces import Distribution, Distributions


@dataclass(slots=True)
class _ChildDraws:
    """The distribution of a node's children, what is left of it, and what was drawn so far."""

    distribution: Distribution
    left: Doubles
    drawn: list[int] = field(default_factory=list)


class Dynamic:
    """Draws without replacement, always where the next draw has the best prospects (DySpec).

    The prospect of a draw is the estimate of its node times the mass not yet drawn there (Xiong et
    al. 2024, DySpec, algorithm 1): known before the token is, so the tree stays lossless, though
    its shape depends on what was drawn. The drafter is asked about all waiting nodes at once.
    """

    def grow(self, context: Context, budget: Budget, distributions: Distributions) -> DraftTree:
        """See `TreeBuilder`."""
        tree = DraftTree(context)
        by_node: dict[int, _ChildDraws] = {}
        order = count()  # among equal prospects, the first come
        waiting = [(-1.0, next(order), 0)]
        while waiting and len(tree) <= budget.nodes:
            prospect, _, node = heapq.heappop(waiting)
            deep = tree.depths[node] >= budget.depth
            if -prospect < budget.least or deep or not tree.may_go_on(node):
                continue
            if node not in by_node:
                _ask(tree, by_node, node, budget.depth, waiting, distributions)
            draws = by_node[node]
            if not len(draws.distribution[0]):
                continue
            # Draw there, then queue the child, and the node itself for its next draw.
            child = _draw(tree, node, draws)
            heapq.heappush(waiting, (-tree.estimates[child], next(order), child))
            left = float(draws.left.sum())
            if len(draws.drawn) < budget.width and left > 0.0:
                heapq.heappush(waiting, (-tree.estimates[node] * left, next(order), node))
        return tree


def _ask(
    tree: DraftTree,
    by_node: dict[int, _ChildDraws],
    node: int,
    depth: int,
    waiting: list[tuple[float, int, int]],
    distributions: Distributions,
) -> None:
    """Learn the distributions of this node and of all others that wait for theirs."""

    def others() -> Iterator[int]:
        for _, _, other in waiting:
            if other not in by_node and tree.depths[other] < depth and tree.may_go_on(other):
                yield other

    asked = [node, *others()]
    for one, distribution in zip(asked, distributions(tree, asked), strict=True):
        useful = without_end_tokens(tree.context, distribution)
        by_node[one] = _ChildDraws(useful, useful[1].copy())


def _draw(tree: DraftTree, node: int, draws: _ChildDraws) -> int:
    """Draw one more child."""
    index = draw(draws.left, tree.context.rng)
    draws.left[index] = 0.0
    draws.drawn.append(index)
    return add_drawn(tree, node, Scheme.ADAPTIVE, draws.distribution, draws.drawn)[-1]
