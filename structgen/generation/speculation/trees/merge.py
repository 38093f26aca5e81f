"""Merges draft trees of the same root into one, by prefix, most probable nodes first.

What several drafters agree on is read once (RASD, Quan et al. 2025, fuses by the longest prefix).
Children that were drawn at random stay together, all of them or none, which is decided before they
are looked at; where two drafters drew below one node, the draws of the second count as chosen
children. So do draws whose number was not fixed beforehand: whether there is room for them would
depend on what they are, and leaving them out for that would change the distribution of the text.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import NONE, DraftTree, Scheme


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
