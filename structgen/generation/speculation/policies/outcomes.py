"""Which draft tokens of a round were tested, and which of them were kept."""

from __future__ import annotations

from collections.abc import Iterator

from structgen.generation.speculation.interfaces import Round
from structgen.generation.speculation.tree import DraftTree


def outcomes(seen: Round) -> Iterator[tuple[int, bool]]:
    """(node, was it kept) of every node whose parent was reached and followed by a token.

    Nodes further down say nothing about themselves: their fate was decided above them.
    """
    kept = set(seen.path)
    reached = (0, *seen.path)
    for parent in reached[: len(seen.written)]:  # after the last one kept, the text may have ended
        for node in seen.tree.children[parent].values():
            yield node, node in kept


def confidence(tree: DraftTree, node: int) -> float:
    """What the drafter took for the probability of a node, given that its parent is reached."""
    return tree.estimates[node] / tree.estimates[tree.parents[node]]
