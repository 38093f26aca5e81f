"""Serves a model with sliding windows as a target that keeps all it has read, and takes trees.

The model's own cache drops what has left the window, so nothing can be taken back. Here windows are
masks, made of the positions of tokens: siblings, padding and what was refused do not shift them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from structgen.generation.models.target import HuggingFaceTarget, RowCache, seen_by
from structgen.generation.models.torch_logits import TorchLogits

_FULL, _SLIDING = "full_attention", "sliding_attention"  # as transformers names kinds of layers
_REFUSALS = (TypeError, ValueError, RuntimeError, AttributeError, KeyError, IndexError)


class WindowTarget(HuggingFaceTarget):
    """A model whose layers see a window, or all; the cache grows with the text."""

    def __init__(self, model: Any, window: int, mixed: bool) -> None:
        """window: tokens that a layer sees. mixed: whether other layers see all."""
        super().__init__(model)
        self.takes_trees = True
        self._window = window
        self._mixed = mixed

    def forward(
        self,
        cache: RowCache,
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]] | None = None,
        hidden: Sequence[int] = (),
        *,
        scored: bool = True,
    ) -> TorchLogits:
        """See `HuggingFaceTarget`; a chain is a tree here, all of which counts."""
        if parents is not None:
            return super().forward(cache, tokens, parents, hidden, scored=scored)
        cache.tree = None
        chains = [range(-1, len(row) - 1) for row in tokens]
        logits = super().forward(cache, tokens, chains, hidden, scored=scored)
        cache.tree = None
        return logits

    def _new_cache(self) -> Cache:
        return DynamicCache()

    def _tree_mask(self, alive: torch.Tensor, sees: torch.Tensor, width: int) -> Any:
        """The mask of the windows, and where layers differ that of all tokens."""
        seen = seen_by(alive, sees, width)
        depths = alive.sum(1, keepdim=True) + sees.sum(-1) - 1
        places = torch.cat([alive.cumsum(1) - 1, depths], 1)
        near = places[:, -width:, None] - places[:, None, :] < self._window
        windows = self._additive(seen & near[:, None])
        return {_FULL: self._additive(seen), _SLIDING: windows} if self._mixed else windows


def widened(target: HuggingFaceTarget) -> WindowTarget | None:
    """The target with windows as masks, if its model takes them; it is tried."""
    config = target.model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or [_SLIDING])
    window = getattr(config, "sliding_window", None)
    layers = DynamicCache(config=target.model.config).layers
    sliding = [type(layer) is DynamicSlidingWindowLayer for layer in layers]
    known = kinds <= {_FULL, _SLIDING} and "position_ids" in target._accepts
    if not known or not isinstance(window, int) or not any(sliding):
        return None
    if not all(type(layer) in {DynamicLayer, DynamicSlidingWindowLayer} for layer in layers):
        return None
    wide = WindowTarget(target.model, window, mixed=not all(sliding))
    return wide if _agrees(target, wide) else None


@torch.inference_mode()
def _agrees(target: HuggingFaceTarget, wide: WindowTarget) -> bool:
    """Whether siblings are read as if each were alone."""
    prompt, siblings = [1, 2, 3, 4], [5, 6]
    expected = target.prefill([[*prompt, token] for token in siblings])[1].numpy()
    try:
        cache, _ = wide.prefill([prompt])
        found = wide.forward(cache, [siblings], [[-1, -1]]).numpy()
    except _REFUSALS:
        return False
    apart = abs(expected[0] - expected[1]).max()
    return bool(abs(found - expected).max() < 0.1 * apart)
