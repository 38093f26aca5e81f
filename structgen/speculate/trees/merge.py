"""In: two draft trees of one place. Out: one, in which common beginnings are common."""

from __future__ import annotations

from structgen.speculate.tree import NONE, DraftTree
from structgen.speculate.trees.best_first import best_nodes


def merge(tree: DraftTree, other: DraftTree, nodes: int) -> None:
    """Add to `tree` what `other` has and it has not, most probable first, up to `nodes` in all.

    Trees are joined by prefix, as tries (Quan et al. 2025, RASD, section 3.3). What comes from
    `other` comes as points, also what was drawn there: lossless with every rule, as long as `other`
    was made without looking at what `tree` drew.
    """
    place = {0: 0}
    for node in best_nodes(other, len(other)):
        parent = place.get(other.parents[node], NONE)
        if parent == NONE:
            continue
        child = tree.child(parent, other.tokens[node])
        if child == NONE and len(tree) <= nodes:
            above = other.estimates[other.parents[node]]
            share = other.estimates[node] / above if above else 0.0
            child = tree.add(parent, other.tokens[node], share)
        place[node] = child
