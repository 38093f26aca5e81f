"""Monte Carlo tree search: selection by PUCT, rollouts under the constraint, backups.

`structgen.generation.sampling.search.search.MonteCarlo` says what is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from structgen.automata.interface import DEAD
from structgen.generation.distribution import row_rng
from structgen.generation.sampling.interfaces import Doubles, Place
from structgen.generation.sampling.samplers.mask import MaskStep
from structgen.generation.sampling.search.tree import Node, Strategy, Tree

Value = Callable[[Place, float], float]  # of a whole text, with the log of its weighed probability


class ScoredText(NamedTuple):
    """A whole text: its log-probability under the model, and its value."""

    logp: float
    value: float


class Rollout(NamedTuple):
    """A text that is being drawn from a node on: its context so far, and its log-probability."""

    node: Node
    place: Place
    logp: float


class Planner(Strategy):
    """Selection by PUCT, rollouts under the constraint, and backups.

    Attributes: `found`, all whole texts that were met, by their places.
    """

    def __init__(
        self,
        tree: Tree,
        value: Value,
        rollouts: int,
        exploration: float,
        backup: str,
        seed: int | None,
    ) -> None:
        self.found: dict[Place, ScoredText] = {}
        self._value = value
        self._rollouts = rollouts
        self._exploration = exploration
        self._mean = backup == "mean"
        self._rng = row_rng(seed, 0)
        self._stepper = MaskStep()
        self._low, self._high = math.inf, -math.inf
        if tree.root.ended:
            self._reach(tree, tree.root)

    def select(self, tree: Tree, most: int) -> list[Node]:
        """Down the tree from the root, once for each node; the visits are counted on the way."""
        nodes: list[Node] = []
        while len(nodes) < most and not tree.root.closed:
            leaf = self._descend(tree)
            if leaf in nodes:  # expand this one first
                break
            if leaf is not None:
                nodes.append(leaf)
        return nodes

    def update(self, tree: Tree, nodes: Sequence[Node]) -> None:
        """Draw texts from the nodes on, all together, as far as the budget goes."""
        rollouts = [Rollout(n, n.place, n.logp) for n in nodes for _ in range(self._rollouts)]
        first = np.repeat(np.arange(len(nodes)), self._rollouts)
        rollouts = self._step(tree, rollouts, tree.rows[first])
        while rollouts and tree.left > 0:
            rollouts = rollouts[: tree.left]
            rollouts = self._step(
                tree, rollouts, tree.posterior.log_probs([d.place for d in rollouts])
            )

    def _descend(self, tree: Tree) -> Node | None:
        """A node that is to be expanded; None where the way ended in a text, or in nothing."""
        node = tree.root
        while True:
            node.visits += 1
            if node.wants_expansion:
                return node
            child = self._choose(tree, node)
            if child is None:
                if all(one.closed for one in node.children) and not tree.has_more(node):
                    tree.close(node)
                return None
            if child.ended:
                child.visits += 1
                self._reach(tree, child)
                return None
            node = child

    def _choose(self, tree: Tree, node: Node) -> Node | None:
        """The child with the highest bound: one that is there, or the best of those that are not.

        None where there is none, or where more must be ranked first.
        """
        scale = self._exploration * math.sqrt(node.visits)
        best, bound = None, -math.inf
        for child in node.children:
            if not child.closed:
                here = self._quality(child) + scale * child.prior / (1 + child.visits)
                if here > bound:
                    best, bound = child, here
        if tree.has_more(node) and node.ranking is not None and not node.ranking.used_up:
            fresh = self._quality(node) + scale * node.ranking.next_prior
            if fresh > bound:
                return tree.next_child(node) or best
        return best

    def _quality(self, node: Node) -> float:
        """What was found below a node, from 0, the worst seen anywhere, to 1."""
        if node.best == -math.inf or self._low >= self._high:
            return 0.0
        value = node.total / node.count if self._mean else node.best
        return (value - self._low) / (self._high - self._low)

    def _step(self, tree: Tree, rollouts: Sequence[Rollout], rows: Doubles) -> list[Rollout]:
        """One more token for each draft; those that have ended or come to nothing leave."""
        posterior = tree.posterior
        places = [rollout.place for rollout in rollouts]
        steps = self._stepper.steps(posterior, places, rows, [self._rng] * len(rollouts))
        left = []
        for rollout, step, row in zip(rollouts, steps, rows, strict=True):
            if step.token is None:
                continue
            place = posterior.after(rollout.place, step.token)
            if place.state == DEAD:
                continue
            rollout = Rollout(rollout.node, place, rollout.logp + float(row[step.token]))
            if posterior.ended(place):
                self._record(tree, rollout)
            else:
                left.append(rollout)
        return left

    def _reach(self, tree: Tree, node: Node) -> None:
        """The search has come to a whole text."""
        self._record(tree, Rollout(node, node.place, node.logp))
        tree.close(node)

    def _record(self, tree: Tree, rollout: Rollout) -> None:
        """Value a whole text, and back the value up to the nodes above it."""
        seen = self.found.get(rollout.place)
        if seen is None:
            factor = float(tree.posterior.log_factors([rollout.place])[0])
            if factor == -math.inf:
                return
            seen = ScoredText(rollout.logp, self._value(rollout.place, rollout.logp + factor))
            self.found[rollout.place] = seen
            self._low, self._high = min(self._low, seen.value), max(self._high, seen.value)
        rollout.node.add_value(seen.value)
