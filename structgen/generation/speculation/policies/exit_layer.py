"""`Del`: chooses the exit layer and the draft length of an early-exit drafter.

Every pass of the target shows, for each layer, what would have been drafted from there. Comparing
that with what was written costs one output layer and no draft (DEL, Entezari Zarch et al. 2025,
section 3).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.generation.checks import check_share, check_some
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.masked import allowed_ids
from structgen.generation.speculation.policies.costs import CostTable
from structgen.generation.speculation.policies.stopping import confidence, outcomes
from structgen.generation.speculation.tree import Context, DraftTree

#: Logits float[n, V] of hidden states [n, d] of any layer: the last norm and the output layer.
Head = Callable[[Any], npt.NDArray[Any]]


class Del:
    """Chooses exit layer and length by the tokens per layer that they promise.

    An early-exit drafter asks `layer`, and names `layers` as the hidden states it needs. Of layers
    evaluated without drafting, the share of tokens that they would have drafted rightly is kept,
    recent ones counting more. Drafting stops early where the drafter's confidence is below the
    middle between those of kept and of refused tokens.
    """

    def __init__(
        self,
        layers: Sequence[int],
        depth: int,
        head: Head,
        size: Budget | None = None,
        costs: CostTable | None = None,
        *,
        memory: float = 0.95,
    ) -> None:
        """layers: exits, each the number of layers run before it; depth: layers of the model."""
        check_some("layers", len(layers))
        check_share("memory", memory)
        for layer in layers:
            check_share("layer", layer, least=1, most=depth - 1)
        self.layers = tuple(layers)
        self.size = size or Budget(nodes=8, depth=8, width=1)
        self.costs = costs or CostTable()
        self._depth = depth
        self._head = head
        self._memory = memory
        self._right = np.full(len(layers), 0.5)
        self._tried = np.ones(len(layers))
        self._sure = [0.5, 1.0]  # mean confidence in refused tokens, and in kept ones
        self._rows = 1
        self._lock = threading.Lock()

    @property
    def acceptance(self) -> list[float]:
        """For each of `layers`, the share of tokens that it would have drafted rightly."""
        found: list[float] = (self._right / self._tried).tolist()
        return found

    @property
    def layer(self) -> int:
        """The exit that promises most."""
        return self.choice()[0]

    def choice(self) -> tuple[int, int]:
        """(exit layer, draft tokens) with the most tokens per time; (the first layer, 0) if none.

        A draft of n tokens that are kept with probability a each gives (1 - a^(n+1)) / (1 - a), and
        costs n * layer / depth passes, and the pass that verifies it.
        """
        best, chosen = 1.0, (self.layers[0], 0)
        for layer, share in zip(self.layers, self.acceptance, strict=True):
            expected = 1.0
            for n in range(1, min(self.size.depth, self.size.nodes) + 1):
                expected += share**n
                cost = n * layer / self._depth + self.costs.ratio(n + 1, self._rows)
                if expected / cost > best:
                    best, chosen = expected / cost, (layer, n)
        return chosen

    def budget(self, context: Context) -> Budget:
        """A chain of the chosen length."""
        length = self.choice()[1]
        return replace(self.size, nodes=length, depth=length, width=1)

    def keep_going(self, tree: DraftTree, node: int) -> bool:
        """Whether the drafter is as confident of the token at `node` as it is of kept ones."""
        return node == 0 or confidence(tree, node) >= sum(self._sure) / 2

    def observe(self, context: Context, seen: Round) -> None:
        """See what each layer would have drafted at the nodes that were kept."""
        if seen.width < 1:
            return
        self.costs.observe(seen)
        nodes = [0, *seen.path][: len(seen.written)]
        hits = [] if seen.hidden is None or not nodes else self._hits(context, seen, nodes)
        with self._lock:
            self._rows = seen.rows
            for hit in hits:
                self._right = self._memory * self._right + hit
                self._tried = self._memory * self._tried + 1.0
            for node, kept in outcomes(seen):
                mean = self._sure[kept]
                self._sure[kept] = mean + 0.05 * (confidence(seen.tree, node) - mean)

    def _hits(
        self, context: Context, seen: Round, nodes: list[int]
    ) -> list[npt.NDArray[np.float64]]:
        """For each node float64[layers]: whether the layer's best allowed token was written."""
        allowed = [allowed_ids(context, seen.tree.states[node]) for node in nodes]
        hits = np.zeros((len(nodes), len(self.layers)))
        for j in range(len(self.layers)):
            logits = self._head(seen.hidden[nodes, j])
            for i, ids in enumerate(allowed):
                hits[i, j] = ids[int(np.argmax(logits[i][ids]))] == seen.written[i]
        return list(hits)
