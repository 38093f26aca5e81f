"""`JacobiDrafter`: a chain drawn from the target's logits along the last draft.

Speculative Jacobi Decoding (Teng et al. 2024), for text under a grammar: the conditionals of the
last iteration are the distribution that the next draft is drawn from, and the rule of speculative
sampling accepts or corrects it: nothing is lost even where a conditional was computed from other
tokens.
"""

from __future__ import annotations

from structgen.generation.distribution import draw
from structgen.generation.speculation.drafters.guessing import LearnsNothing
from structgen.generation.speculation.drafters.jacobi.trajectory import Trajectory
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.masked import masked_law
from structgen.generation.speculation.tree import Context, DraftTree, Draws, Scheme


class JacobiDrafter:
    """Draws a chain of `window` tokens, each from what the target said there last time."""

    name = "jacobi"
    hidden: tuple[int, ...] = ()

    def __init__(self, window: int = 8) -> None:
        self.window = window

    def begin(self, context: Context) -> JacobiSession:
        """Start on a text."""
        return JacobiSession(self.window)


class JacobiSession(LearnsNothing):
    """The drafter at work on one text."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._trajectory = Trajectory()
        self._chain: list[int] = []

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """One token drawn for each position, from its distribution masked by the grammar there."""
        tree = DraftTree(context)
        node, self._chain = 0, []
        position = len(context.tokens)
        for depth in range(min(self._window, budget.nodes, budget.depth)):
            row = self._trajectory.row(position + depth)
            if row is None or not tree.may_go_on(node) or tree.estimates[node] < budget.least:
                break
            ids, distribution = masked_law(context, tree.states[node], row)
            if not len(ids):
                break
            at = draw(distribution, context.rng)
            draws = Draws(Scheme.IID, ids, distribution, (int(ids[at]),))
            [node] = tree.add_draws(node, draws, [float(distribution[at])])
            self._chain.append(int(ids[at]))
        return tree

    def observe(self, context: Context, seen: Round) -> None:
        """Keep the logits at the positions that are still to be written."""
        self._trajectory.observe(context, seen, self._chain)
        self._chain = []
