"""In: Heads. Out: HeadDrafter, which makes trees of what they think comes next.

A level at a time: the laws of a level's nodes, masked by the grammar, give the candidates of the
next, and the best of these are asked about. Two ways to pick children. As points: the best nodes by
the product of the laws on their path, as Medusa's candidates (Cai et al. 2024, section 2.1.2) and
EAGLE-2's tree (Li et al. 2024, section 4), but masked while it grows. Drawn: without replacement
from the very laws (Jeong et al. 2024), for the rules that accept drawn children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.errors import GenerationError
from structgen.speculate.heads.interfaces import Heads, Reader
from structgen.speculate.interfaces import Budget, Context, Draws, Round, Scheme
from structgen.speculate.laws import masked_law
from structgen.speculate.tree import NONE, DraftTree


@dataclass(frozen=True)
class HeadDrafter:
    """Drafts by trained heads, on the target's hidden states.

    heads: Medusa's, an EAGLE, or any object of that protocol. drawn: draw the children at random
    from the heads' laws instead of taking the likeliest; SampleCompare is right for both.
    """

    heads: Heads
    drawn: bool = False

    @property
    def name(self) -> str:
        """That of the heads."""
        return self.heads.name

    @property
    def hidden(self) -> tuple[int, ...]:
        """Layers of the target that the heads read."""
        return self.heads.hidden

    def begin(self, context: Context) -> HeadSession:
        """Start on a text."""
        return HeadSession(self.heads, self.drawn)


class HeadSession:
    """Heads and what they have not read yet of one text."""

    def __init__(self, heads: Heads, drawn: bool) -> None:
        self._reader: Reader = heads.begin()
        self._most = heads.depth
        self._name = heads.name
        self._drawn = drawn
        self._unread: list[Any] = []  # hidden states, a tensor for each round
        self._count = 0  # tokens whose hidden states have come

    def observe(self, context: Context, seen: Round) -> None:
        """Keep the hidden states of the path; those of branches that were refused are dropped."""
        if seen.hidden is None:
            raise GenerationError(
                f"the target gives no hidden states, and {self._name} reads them",
                hint="speculate with a drafter that needs none, such as one that copies",
            )
        kept = seen.hidden if not self._count else seen.hidden[[0, *seen.path]]
        self._unread.append(kept)
        self._count += len(kept)

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """A tree of at most `budget.nodes` tokens."""
        depth = budget.depth if self._most is None else min(self._most, budget.depth)
        tree = DraftTree(context)
        if depth < 1 or not tree.may_go_on(0):
            return tree
        grow = self._draw if self._drawn else self._pick
        return grow(tree, self._read(context), context, budget, depth)

    def end(self, context: Context) -> None:
        """Let go of what was kept."""
        self._unread.clear()

    def _read(self, context: Context) -> npt.NDArray[Any]:
        """The law after the root, once everything is read that came since the last draft."""
        hidden = self._unread[0]
        if len(self._unread) > 1:
            import torch

            hidden = torch.cat(self._unread)
        self._unread.clear()
        begin = self._count - len(hidden)
        return self._reader.read(hidden, context.tokens[begin : self._count + 1])

    def _pick(
        self,
        tree: DraftTree,
        logits: npt.NDArray[Any],
        context: Context,
        budget: Budget,
        depth: int,
    ) -> DraftTree:
        """The likeliest nodes. More are looked at than are kept: then the best of all stay."""
        level, rows, numbers = [0], logits[None], {0: 0}
        for left in range(depth - 1, -1, -1):
            made = []
            for node, row in zip(level, rows, strict=True):
                ids, law = masked_law(context, tree.states[node], row)
                for i in _largest(law, budget.width):
                    if tree.estimates[node] * law[i] < budget.least:
                        break
                    made.append(tree.add(node, int(ids[i]), float(law[i])))
            worst = _nth_estimate(tree, budget.nodes)
            level = [n for n in made if n != NONE and tree.estimates[n] >= worst]
            level = [n for n in level if tree.may_go_on(n)][: budget.nodes]
            if not left or not level:
                break
            rows = self._level(tree, level, numbers)
        return _best(tree, budget.nodes, context)

    def _draw(
        self,
        tree: DraftTree,
        logits: npt.NDArray[Any],
        context: Context,
        budget: Budget,
        depth: int,
    ) -> DraftTree:
        """Drawn children; how many there are is decided before they are drawn."""
        level, rows, numbers = [0], logits[None], {0: 0}
        for left in range(depth - 1, -1, -1):
            made: list[int] = []
            for node, row in zip(level, rows, strict=True):
                ids, law = masked_law(context, tree.states[node], row)
                room = budget.nodes - len(tree) + 1
                count = min(budget.width, room, int((law > 0).sum()))
                if count < 1:
                    continue
                picked = context.rng.choice(len(ids), count, replace=False, p=law)
                draws = Draws(Scheme.WOR, ids, law, tuple(ids[picked].tolist()))
                made += tree.add_draws(node, draws, law[picked].tolist())
            level = sorted((n for n in made if tree.may_go_on(n)), key=lambda n: -tree.estimates[n])
            level = [n for n in level if tree.estimates[n] >= budget.least]
            level = level[: budget.nodes - len(tree) + 1]
            if not left or not level:
                break
            rows = self._level(tree, level, numbers)
        return tree

    def _level(
        self, tree: DraftTree, level: Sequence[int], numbers: dict[int, int]
    ) -> npt.NDArray[Any]:
        """The laws after the nodes of a level, which get the reader's next numbers."""
        parents = [numbers[tree.parents[node]] for node in level]
        for node in level:
            numbers[node] = len(numbers)
        return self._reader.level(parents, [tree.tokens[node] for node in level])


def _largest(law: npt.NDArray[np.float64], count: int) -> list[int]:
    """Indices of the largest, the largest first."""
    if len(law) > 4 * count:
        some = np.argpartition(-law, count)[:count]
        return [int(i) for i in some[np.argsort(-law[some], kind="stable")]]
    return [int(i) for i in np.argsort(-law, kind="stable")[:count]]


def _nth_estimate(tree: DraftTree, count: int) -> float:
    """The estimate of the draft's `count`-th likeliest node; 0 while there are fewer."""
    if len(tree) - 1 < count:
        return 0.0
    return sorted(tree.estimates, reverse=True)[count]


def _best(tree: DraftTree, count: int, context: Context) -> DraftTree:
    """The tree of the `count` likeliest nodes; a parent is never less likely than its child."""
    if len(tree) - 1 <= count:
        return tree
    order = sorted(range(1, len(tree)), key=lambda node: -tree.estimates[node])
    best = DraftTree(context)
    places = {0: 0}
    for node in sorted(order[:count]):
        parent = tree.parents[node]
        share = tree.estimates[node] / tree.estimates[parent]
        places[node] = best.add(places[parent], tree.tokens[node], share)
    return best
