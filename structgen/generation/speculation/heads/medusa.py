"""`MedusaHeads`: a head for each of the next positions (Medusa).

Head k turns the state that predicted the last token into one that predicts the token k positions
later, by a residual block, and the target's own output layer reads it (Cai et al. 2024, section
2.1.1; there each head has an output layer of its own, which begins as the target's).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn


class MedusaHeads(nn.Module):
    """`count` heads beside a target's output layer, a tensor [V, d]."""

    name = "medusa"
    hidden = (-1,)

    def __init__(self, output: torch.Tensor, count: int = 4) -> None:
        super().__init__()
        size = output.shape[1]
        blocks = [nn.Linear(size, size) for _ in range(count)]
        for block in blocks:
            nn.init.zeros_(block.weight)  # at first a head thinks that the last token comes again
            nn.init.zeros_(block.bias)
        self.blocks = nn.ModuleList(blocks)
        self.output: torch.Tensor
        self.register_buffer("output", output.detach(), persistent=False)

    @classmethod
    def of(cls, model: Any, config: dict[str, int]) -> MedusaHeads:
        """For a transformers model, in the sizes of `config`."""
        return cls(model.get_output_embeddings().weight.float(), **config)

    @property
    def config(self) -> dict[str, int]:
        """What `of` needs to know."""
        return {"count": len(self.blocks)}

    @property
    def depth(self) -> int:
        """A head for each position."""
        return len(self.blocks)

    def forward(self, states: torch.Tensor) -> list[torch.Tensor]:
        """States [..., d] of the last layer, as each head changes them."""
        return [states + nn.functional.silu(block(states)) for block in self.blocks]

    def begin(self) -> MedusaReader:
        """Start on a text."""
        return MedusaReader(self)


class MedusaReader:
    """The distributions for one text: the same for all nodes of a depth."""

    def __init__(self, heads: MedusaHeads) -> None:
        self._heads = heads
        self._rows: list[npt.NDArray[np.float32]] = []
        self._depths = [0]  # of the draft's nodes

    @torch.inference_mode()
    def read(self, hidden: torch.Tensor, tokens: Sequence[int]) -> npt.NDArray[np.float32]:
        """What every head says about the last state read."""
        output = self._heads.output
        states = hidden[-1, 0].to(output.device, output.dtype)
        logits = torch.stack(self._heads(states)) @ output.T
        self._rows = list(logits.float().cpu().numpy())
        self._depths = [0]
        return self._rows[0]

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> npt.NDArray[np.float32]:
        """What the head for each node's depth says."""
        depths = [self._depths[parent] + 1 for parent in parents]
        self._depths += depths
        return np.stack([self._rows[depth] for depth in depths])
