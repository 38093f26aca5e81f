"""`HybridDrafter`: one draft of several drafters, the most promising or all in one tree.

What the grammar forces is added after each draft before they are compared, and the best nodes are
kept within the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from structgen.errors import GenerationError
from structgen.generation.speculation.drafters.forced import ForcedDrafter
from structgen.generation.speculation.interfaces import Budget, Drafter, Round, Session
from structgen.generation.speculation.names import check_drafter
from structgen.generation.speculation.tree import NONE, Context, DraftTree
from structgen.generation.speculation.trees.merge import merge


class HybridDrafter:
    """Several drafters as one.

    mode: "best" takes the draft of which most tokens are expected to be kept (SuffixDecoding's
    hybrid), "merge" makes one tree of all drafts. forced: adds what the grammar forces after every
    leaf; None: it is not added.
    """

    def __init__(
        self,
        drafters: Sequence[Drafter],
        mode: Literal["best", "merge"] = "merge",
        forced: ForcedDrafter | None = None,
    ) -> None:
        if not drafters:
            raise GenerationError("there is no drafter", expected="one or more")
        for drafter in drafters:
            check_drafter(drafter)
        self.drafters = tuple(drafters)
        self.mode = mode
        self.forced = forced
        names = [
            getattr(d, "name", type(d).__name__) for d in (*drafters, *([forced] if forced else []))
        ]
        self.name = "+".join(names)

    @property
    def hidden(self) -> tuple[int, ...]:
        """All layers that one of them needs."""
        return tuple(sorted({layer for drafter in self.drafters for layer in drafter.hidden}))

    def begin(self, context: Context) -> HybridSession:
        """Start all of them on a text."""
        return HybridSession(self, [drafter.begin(context) for drafter in self.drafters])


class HybridSession:
    """Several drafters at work on one text."""

    def __init__(self, drafter: HybridDrafter, sessions: Sequence[Session]) -> None:
        self._drafter = drafter
        self._sessions = sessions
        self._alone: list[tuple[DraftTree, int]] = []  # each one's tree, with its own nodes

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """Ask all of them, each with the whole budget."""
        trees = [session.propose(context, budget) for session in self._sessions]
        self._alone = [(tree, len(tree)) for tree in trees]
        if self._drafter.forced is not None:
            roomy = replace(budget, nodes=2 * budget.nodes)
            for tree in trees:
                self._drafter.forced.extend(tree, roomy)
        if self._drafter.mode == "merge":
            return merge(trees, budget)
        cut = [t if len(t) <= budget.nodes + 1 else merge([t], budget) for t in trees]
        return max(cut, key=lambda tree: tree.expected)

    def credits(self, tokens: Sequence[int]) -> list[str]:
        """The first drafter whose own tree has the token there; else it is forced."""
        names = [getattr(d, "name", type(d).__name__) for d in self._drafter.drafters]
        nodes, found = [0] * len(names), []
        for token in tokens:
            nodes = [
                NONE if node == NONE else tree.child(node, token)
                for node, (tree, _) in zip(nodes, self._alone, strict=True)
            ]
            own = (
                name
                for name, node, (_, size) in zip(names, nodes, self._alone, strict=True)
                if 0 <= node < size
            )
            found.append(next(own, "forced"))
        return found

    def observe(self, context: Context, seen: Round) -> None:
        """Let all of them learn, each from the hidden states that it asked for."""
        for drafter, session in zip(self._drafter.drafters, self._sessions, strict=True):
            session.observe(context, _seen_by(drafter, self._drafter.hidden, seen))

    def end(self, context: Context) -> None:
        """End all sessions."""
        for session in self._sessions:
            session.end(context)


def _seen_by(drafter: Any, hidden: tuple[int, ...], seen: Round) -> Round:
    """A round with the layers of one drafter only."""
    if seen.hidden is None or tuple(drafter.hidden) == hidden:
        return seen
    return replace(seen, hidden=seen.hidden[:, [hidden.index(layer) for layer in drafter.hidden]])
