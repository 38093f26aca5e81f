"""Monte Carlo tree search: the texts with the best score, by PUCT, rollouts and backups.

It balances what has scored well against what the model finds probable and was hardly tried. Texts
are chosen, not drawn, so their `log_weight` is nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from structgen.automata.interface import DEAD
from structgen.generation.checks import check
from structgen.generation.distribution import row_rng
from structgen.generation.sampling.interfaces import Doubles, Place
from structgen.generation.sampling.posterior import Posterior, UsageMeter
from structgen.generation.sampling.results import Samples
from structgen.generation.sampling.samplers.steps import MaskStep
from structgen.generation.sampling.search.tree import (
    Node,
    Score,
    Strategy,
    Tree,
    check_options,
    chosen_samples,
    search,
    text_at,
)

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
        """A node to expand; None where the descent ended in a whole text or a dead end."""
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
        """One more token for each rollout; those that have ended or failed are dropped."""
        posterior = tree.posterior
        left = []
        for rollout, row in zip(rollouts, rows, strict=True):
            step = self._stepper.step(posterior, rollout.place, row, self._rng)
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
        """Record a whole text that the descent has reached."""
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


@dataclass(frozen=True, slots=True)
class MonteCarlo:
    """The `n` best texts by a score that Monte Carlo tree search finds, the best first.

    From a prefix that looks promising texts are drawn as the model continues it under the
    constraint, and scored; the score is backed up to all their prefixes. Next comes the child
    with the highest Q + exploration * P * sqrt(N) / (1 + n): Q, its best score (backup="max", as in
    PG-TD, arXiv 2303.05510) or its mean score, scaled to 0..1 over all scores so far; P, its
    probability; N and n, the visits of its parent and its own (PUCT, AlphaGo Zero). What is known
    to the end is not visited again: with enough budget the best text of all is found.

    score: from text to number, asked once for each whole text; None takes the log-probability with
    the potentials' factors. budget: most prefixes that the model is asked for. rollouts: texts that
    are drawn from each new prefix. batch: prefixes that are tried together. width: most children of
    a prefix; None takes all that the constraint allows.
    """

    score: Score | None = None
    budget: int = 4096
    rollouts: int = 1
    exploration: float = 1.0
    backup: Literal["max", "mean"] = "max"
    batch: int = 8
    width: int | None = None

    def __post_init__(self) -> None:
        check("backup", self.backup, self.backup in {"max", "mean"}, '"max" or "mean"')
        check("exploration", self.exploration, 0 <= self.exploration < math.inf, "0 or more")

    def draw(self, posterior: Posterior, n: int, seed: int | None = None) -> Samples:
        """The `n` best found. TruncatedError when fewer are found in budget."""
        check_options(n, self.budget, self.batch, self.rollouts, self.width)
        meter = UsageMeter(posterior)
        tree = Tree(posterior, self.budget, self.width)
        score = self.score

        def value(place: Place, weight: float) -> float:
            return weight if score is None else float(score(text_at(posterior, place)))

        planner = Planner(tree, value, self.rollouts, self.exploration, self.backup, seed)
        search(tree, planner, self.batch)
        found = sorted(planner.found.items(), key=lambda one: -one[1].value)
        return chosen_samples(posterior, [(place, seen.logp) for place, seen in found], n, meter)
