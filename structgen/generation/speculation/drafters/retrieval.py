"""`RetrievalDrafter`: a retrieved tree, pruned by another drafter's probabilities (RASD).

Quan et al. 2025: what is retrieved is cheap but says little about how likely it is. Where the other
drafter has looked, its probabilities decide which retrieved branches are worth verifying; both
trees are then merged by the longest common prefix.
"""

from __future__ import annotations

from collections.abc import Sequence

from structgen.generation.speculation.drafters.hybrid import HybridDrafter, HybridSession
from structgen.generation.speculation.interfaces import Budget, Drafter, Session
from structgen.generation.speculation.tree import NONE, Context, DraftTree
from structgen.generation.speculation.trees.merge import merge


class RetrievalDrafter(HybridDrafter):
    """Fuses the tree of a drafter that retrieves with that of another.

    retrieval, draft: the two. least: a retrieved branch is left out where the other drafter leaves
    at most this probability for all tokens that it did not draft.
    """

    def __init__(self, retrieval: Drafter, draft: Drafter, least: float = 0.05) -> None:
        super().__init__([retrieval, draft])
        self.least = least

    def begin(self, context: Context) -> RetrievalSession:
        """Start both on a text."""
        sessions = [drafter.begin(context) for drafter in self.drafters]
        return RetrievalSession(self, sessions, self.least)


class RetrievalSession(HybridSession):
    """Both drafters at work on one text."""

    def __init__(self, drafter: HybridDrafter, sessions: Sequence[Session], least: float) -> None:
        super().__init__(drafter, sessions)
        self._least = least

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """Both trees, the retrieved one pruned, fused within the budget."""
        retrieved, drafted = (session.propose(context, budget) for session in self._sessions)
        pruned = prune(retrieved, drafted, self._least)
        return merge([pruned, drafted], budget)


def prune(retrieved: DraftTree, drafted: DraftTree, least: float) -> DraftTree:
    """The retrieved tree without the branches that the draft's distribution makes improbable.

    At each node that both have and the draft went on from, a branch keeps its own probability if
    the draft has it, too, else at most what the draft leaves for others; not more than `least`:
    it is left out. A tree with children drawn at random is returned as it is: none may be left out.
    """
    if retrieved.draws:
        return retrieved
    pruned = DraftTree(retrieved.context)
    added, matches = {0: 0}, {0: 0}
    for node in range(1, len(retrieved)):
        parent = retrieved.parents[node]
        if parent not in added:
            continue
        share = retrieved.estimates[node] / retrieved.estimates[parent]
        match = matches.get(parent, NONE)
        if match != NONE and drafted.children[match]:
            child = drafted.child(match, retrieved.tokens[node])
            if child == NONE:
                share = min(share, _left_over(drafted, match))
                if share <= least:
                    continue
            else:
                matches[node] = child
        copy = pruned.add(added[parent], retrieved.tokens[node], min(share, 1.0))
        if copy != NONE:
            added[node] = copy
    return pruned


def _left_over(tree: DraftTree, node: int) -> float:
    """The probability of all tokens that are not children of a node."""
    reached = tree.estimates[node]
    return 1.0 - sum(tree.estimates[child] for child in tree.children[node].values()) / reached
