"""`Clasp`: chooses the layers whose output comes nearest to that of all layers (CLaSp)."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from structgen.generation.speculation.interfaces import Round
from structgen.generation.speculation.models.layers import Layered
from structgen.generation.speculation.models.selectors import spread
from structgen.generation.speculation.tree import Context


class Clasp:
    """Chooses by dynamic programming over the last verified tokens (CLaSp: Chen et al. 2025).

    Of the ways to run some of the first i layers, the one whose states are most similar to those of
    all i is kept for each number of layers left out; the choice for all layers drafts. (The paper
    looks at one token, with the target's cache; here it is a few tokens that see one another.)
    """

    def __init__(self, share: float = 0.6, *, every: int = 8, window: int = 16) -> None:
        """share: of the layers, that are kept. every: rounds between choices. window: tokens."""
        self.share = share
        self.every = every
        self.window = window

    def hidden(self, model: Layered) -> tuple[int, ...]:
        """The states before each layer. ModelError when layers cannot be run one by one."""
        model.check_runs()
        return tuple(range(model.depth))

    def begin(self, model: Layered, context: Context) -> ClaspSelection:
        """See `Selector`."""
        return ClaspSelection(self, model)

    def choose(self, model: Layered, states: torch.Tensor, first: int) -> tuple[int, ...]:
        """The layers to run: states [tokens, depth, d] before each layer, of tokens from `first`.

        O(depth * skipped) runs of a layer over those tokens.
        """
        most = model.depth - max(1, round(self.share * model.depth))
        last = model.run(model.depth - 1, states[None, :, -1], first)[0]
        # By the number of layers left out so far: the path with states nearest to the full ones.
        best: dict[int, LayerPath] = {0: LayerPath((), states[:, 0])}
        for layer in range(model.depth):
            full = states[:, layer + 1] if layer + 1 < model.depth else last
            after = model.run(layer, torch.stack([way.states for way in best.values()]), first)
            ways: dict[int, list[LayerPath]] = {}
            for (skipped, way), new in zip(best.items(), after, strict=True):
                ways.setdefault(skipped, []).append(LayerPath((*way.layers, layer), new))
                ways.setdefault(skipped + 1, []).append(way)
            best = {skipped: _nearest(ways[skipped], full) for skipped in ways if skipped <= most}
        return best[most].layers


class LayerPath(NamedTuple):
    """Layers that were run, and the states [tokens, d] after them."""

    layers: tuple[int, ...]
    states: torch.Tensor


def _nearest(ways: list[LayerPath], full: torch.Tensor) -> LayerPath:
    """The path whose states are most similar to those of all layers: by their mean cosine."""
    cosine = torch.nn.functional.cosine_similarity
    return max(ways, key=lambda way: float(cosine(way.states, full, dim=-1).mean()))


class ClaspSelection:
    """Clasp at work on one text; a `Selection`."""

    def __init__(self, clasp: Clasp, model: Layered) -> None:
        self.layers = spread(model.depth, max(1, round(clasp.share * model.depth)))
        self._clasp = clasp
        self._model = model
        self._rounds = 0
        self._states: Any = None  # of the last tokens [tokens, depth, d]
        self._read = 0  # tokens whose states were seen

    def observe(self, context: Context, seen: Round) -> None:
        """Look at the states of what was kept, and every few rounds choose again."""
        if seen.hidden is None:
            return
        rows = seen.hidden if seen.width == 0 else seen.hidden[[0, *seen.path]]
        self._read += len(rows)
        known = rows if self._states is None else torch.cat([self._states, rows])
        self._states = known[-self._clasp.window :]
        if self._rounds % self._clasp.every == 0:
            first = self._read - len(self._states)
            self.layers = self._clasp.choose(self._model, self._states, first)
        self._rounds += 1

    def end(self, context: Context) -> None:
        """There is nothing to end."""
