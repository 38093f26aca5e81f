"""`Head`: logits of a few tokens only, by those rows of the output layer.

Where the mask allows few tokens, most of the output layer computes logits that are not needed; in
small draft models it is most of the work (VocabTrim: Goel et al. 2025, with a set of tokens fixed
beforehand; here it is what the mask allows at each node).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.tree import Ids

_SHARE = 8  # gathering rows pays when it is at most one in so many


class Head:
    """The output layer of a model. `trimmed`: whether some of its rows can be computed alone."""

    def __init__(self, target: HuggingFaceTarget, trim: bool = True) -> None:
        """`trim`: False always computes all rows."""
        self._vocab_size = target.vocab_size
        self._layer: Any = target.model.get_output_embeddings()
        self.trimmed = trim and self._agrees(target)

    def suffices(self, wanted: Sequence[Ids]) -> bool:
        """Whether the logits of these tokens, int64[k] for each node, are had by rows alone."""
        most = self._vocab_size // _SHARE if self.trimmed else 0
        counts = [len(ids) for ids in wanted]
        if sum(counts) <= most or max(counts) > most:  # decided without the union
            return sum(counts) <= most
        return len(_union(wanted)) <= most

    @torch.inference_mode()
    def rows(self, states: torch.Tensor, wanted: Sequence[Ids]) -> list[npt.NDArray[Any]]:
        """For each node with a state of states[n, d], float32 or float64[k]: its tokens' logits."""
        union = _union(wanted)
        index = torch.from_numpy(union).to(states.device)
        logits = states @ self._layer.weight.index_select(0, index).T
        bias = getattr(self._layer, "bias", None)
        if bias is not None:
            logits = logits + bias[index]
        wide = logits if logits.dtype == torch.float64 else logits.float()
        found = wide.cpu().numpy()
        return [found[i, np.searchsorted(union, ids)] for i, ids in enumerate(wanted)]

    def _agrees(self, target: HuggingFaceTarget) -> bool:
        """Whether the head's rows give the model's logits; some models scale or cap them."""
        if not isinstance(self._layer, torch.nn.Linear) or not target.takes_trees:
            return False
        cache, _ = target.prefill([[0]])
        logits = target.forward(cache, [[1]], None, (-1,))
        if logits.hidden is None:
            return False
        expected = logits.numpy()[0]
        every = np.arange(self._vocab_size)
        found = self.rows(logits.hidden[0][:, 0], [every])[0]
        return bool(np.abs(found - expected).max() <= 0.01 * np.abs(expected).max())


def _union(wanted: Sequence[Ids]) -> Ids:
    return np.unique(np.concatenate(wanted)) if len(wanted) > 1 else wanted[0]
