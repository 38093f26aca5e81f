"""Trees that grow from next-token distributions, each builder by another rule.

`Static` has a fixed shape, `Cape` a chain that is wider where confidence is low, `BestFirst` the
most probable continuations; `Dynamic` draws where a draw is most likely to be kept, and
`StochasticBeam` draws whole sequences without replacement.
"""

from __future__ import annotations

import heapq
import math
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice

import numpy as np

from structgen.generation.distribution import draw, largest
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import NONE, Context, Doubles, DraftTree, Scheme
from structgen.generation.speculation.trees.drawing import (
    Distribution,
    Distributions,
    Pick,
    add_children,
    add_drawn,
    without_end_tokens,
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A tree without tokens: for each draft node its parent, 0 being the root, siblings in order.

    Nodes are numbered from 1 on, those nearer to the root first.
    """

    parents: tuple[int, ...]

    @classmethod
    def uniform(cls, nodes: int, depth: int, width: int) -> Shape:
        """`width` children for every node, level by level, as long as there is room."""
        parents: list[int] = []
        level = range(1)
        for _ in range(depth):
            slots = (parent for parent in level for _ in range(width))
            first = len(parents)
            parents += islice(slots, nodes - first)
            level = range(first + 1, len(parents) + 1)
        return cls(tuple(parents))

    def children(self) -> list[list[int]]:
        """For each node its children, best first."""
        found: list[list[int]] = [[] for _ in range(len(self.parents) + 1)]
        for node, parent in enumerate(self.parents, 1):
            found[parent].append(node)
        return found

    def within(self, budget: Budget) -> Shape:
        """The part that a budget allows: the first nodes, the first children, the upper levels."""
        kept: list[int] = []
        slot, depths, counts = {0: 0}, {0: 0}, {0: 0}
        for node, parent in enumerate(self.parents, 1):
            fits = parent in slot and len(kept) < budget.nodes
            if fits and depths[parent] < budget.depth and counts[parent] < budget.width:
                kept.append(slot[parent])
                slot[node], depths[node], counts[node] = len(kept), depths[parent] + 1, 0
                counts[parent] += 1
        return Shape(tuple(kept))


@dataclass(frozen=True, slots=True)
class Static:
    """The same shape in every round: the widest that the budget allows, or a given one.

    pick: see `Pick`. "wor" is RSD's tree with constant branching and, with a planned shape,
    Sequoia's; "iid" is SpecTr's; "top" is that of Medusa. Each level is asked about at once.
    """

    pick: Pick = "wor"
    shape: Shape | None = None

    def grow(self, context: Context, budget: Budget, distributions: Distributions) -> DraftTree:
        """See `TreeBuilder`."""
        shape = self.shape or Shape.uniform(budget.nodes, budget.depth, budget.width)
        wanted = shape.within(budget).children()
        tree = DraftTree(context)
        level: deque[tuple[int, int]] = deque([(0, 0)])  # nodes of the tree, and of the shape
        while level:
            asked = [
                (node, slot)
                for node, slot in level
                if wanted[slot] and tree.estimates[node] >= budget.least and tree.may_go_on(node)
            ]
            level.clear()
            answers = distributions(tree, [node for node, _ in asked]) if asked else []
            for (node, slot), distribution in zip(asked, answers, strict=True):
                added = add_children(tree, node, distribution, len(wanted[slot]), self.pick)
                level += zip(added, wanted[slot], strict=False)
        return tree


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


@dataclass(frozen=True, slots=True)
class BestFirst:
    """The continuations that are most probable as a whole, none left to chance.

    Of all token sequences within the budget's depth and width it keeps the `budget.nodes` most
    probable (Svirschevski et al. 2024, SpecExec, section 4.1), as points, so every rule takes them.
    Levels are grown one after another, each with one question to the drafter about those nodes that
    may still be among the best. beam: at most so many of them; None sets no limit.
    """

    beam: int | None = None

    def grow(self, context: Context, budget: Budget, distributions: Distributions) -> DraftTree:
        """See `TreeBuilder`."""
        tree = DraftTree(context)
        best = Best(budget)
        level = [0]
        for _ in range(budget.depth):
            level = best.of(tree, level)[: self.beam]
            if not level:
                break
            answers = distributions(tree, level)
            level = [
                child
                for node, distribution in zip(level, answers, strict=True)
                for child in expand(tree, node, distribution, budget.width, best)
            ]
        return tree.part(best_nodes(tree, budget.nodes))


class Best:
    """The estimates of the best nodes of a tree so far, as many as the budget has room for."""

    def __init__(self, budget: Budget) -> None:
        # What is exactly as probable as the least is still worth it.
        self._heap = [math.nextafter(budget.least, -math.inf)] * budget.nodes

    @property
    def floor(self) -> float:
        """What a further node must exceed."""
        return self._heap[0] if self._heap else math.inf

    def add(self, estimate: float) -> None:
        """Count a further node."""
        heapq.heappushpop(self._heap, estimate)

    def of(self, tree: DraftTree, nodes: Iterable[int]) -> list[int]:
        """Those of the nodes that are among the best and may go on, most probable first."""
        found = [n for n in nodes if tree.estimates[n] >= self.floor and tree.may_go_on(n)]
        return sorted(found, key=lambda node: -tree.estimates[node])


def expand(
    tree: DraftTree, node: int, distribution: Distribution, width: int, best: Best
) -> list[int]:
    """Add the most probable children of a node, as long as they are among the best."""
    ids, probabilities = distribution
    ends = len(tree.context.constraint.vocabulary.eos_ids)  # what the tree may refuse
    added: list[int] = []
    for i in largest(probabilities, min(width + ends, len(ids))).tolist():
        probability = float(probabilities[i])
        if len(added) == width or tree.estimates[node] * probability <= best.floor:
            break
        child = tree.add(node, int(ids[i]), probability)
        if child != NONE:
            best.add(tree.estimates[child])
            added.append(child)
    return added


def best_nodes(tree: DraftTree, count: int) -> list[int]:
    """The `count` draft tokens with the largest estimates; with a node, its parent is there."""
    order = sorted(range(1, len(tree)), key=lambda node: (-tree.estimates[node], node))
    return order[:count]


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
