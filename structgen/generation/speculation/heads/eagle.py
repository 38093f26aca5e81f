"""`EagleHeads`: one decoder layer that predicts the target's next hidden states (EAGLE).

From the target's state at a token and the token after it, the layer predicts the target's next
state, from that the one after, and so on; the target's output layer turns states into logits
(EAGLE, Li et al. 2024, section 4.1). Here the layer also sees the token that the state belongs to,
so that it can look up where that token stood before, and what followed: most of what JSON
extraction needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

THETA = 10000.0  # the base of the rotary positions (Su et al. 2021)


class EagleHeads(nn.Module):
    """One decoder layer beside a target's embedding and output layer, tensors [V, d]."""

    name = "eagle"
    hidden = (-1,)
    depth = None

    def __init__(
        self, embedding: torch.Tensor, output: torch.Tensor, attention: int = 4, inner: int = 256
    ) -> None:
        """`attention`: number of attention heads; `inner`: width of the feed-forward part."""
        super().__init__()
        size = output.shape[1]
        self.attention = attention
        self.join = nn.Linear(2 * embedding.shape[1] + size, size, bias=False)
        self.before = nn.RMSNorm(size)
        self.queries = nn.Linear(size, size, bias=False)
        self.memory = nn.Linear(size, 2 * size, bias=False)  # keys and values
        self.mix = nn.Linear(size, size, bias=False)
        self.between = nn.RMSNorm(size)
        self.gate = nn.Linear(size, 2 * inner, bias=False)
        self.down = nn.Linear(inner, size, bias=False)
        self.after = nn.RMSNorm(size)
        self.embedding: torch.Tensor
        self.output: torch.Tensor
        self.register_buffer("embedding", embedding.detach(), persistent=False)
        self.register_buffer("output", output.detach(), persistent=False)

    @classmethod
    def of(cls, model: Any, config: dict[str, int]) -> EagleHeads:
        """For a transformers model, in the sizes of `config`."""
        embedding = model.get_input_embeddings().weight.float()
        return cls(embedding, model.get_output_embeddings().weight.float(), **config)

    @property
    def config(self) -> dict[str, int]:
        """What `of` needs to know."""
        return {"attention": self.attention, "inner": self.down.in_features}

    def join_inputs(
        self, states: torch.Tensor, tokens: torch.Tensor, followers: torch.Tensor
    ) -> torch.Tensor:
        """[..., d]: a state, the token that it belongs to, and the token after that, as one."""
        parts = [states, self.embedding[tokens], self.embedding[followers]]
        entered: torch.Tensor = self.join(torch.cat(parts, -1))
        return entered.to(states.dtype)  # training joins in half precision

    def keys_and_values(
        self, entered: torch.Tensor, positions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values [..., n, heads, d / heads] of n inputs at positions [..., n]."""
        keys, values = self.memory(self.before(entered)).chunk(2, -1)
        return _turned(self._split(keys), positions), self._split(values)

    def scaled_queries(self, entered: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Queries [..., n, heads, d / heads], scaled."""
        queries = _turned(self._split(self.queries(self.before(entered))), positions)
        scaled: torch.Tensor = queries * queries.shape[-1] ** -0.5
        return scaled

    def output_states(self, entered: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """The predicted states [..., n, d], given what attention has seen [..., n, heads, ...]."""
        mixed = entered + self.mix(seen.flatten(-2))
        gate, up = self.gate(self.between(mixed)).chunk(2, -1)
        states: torch.Tensor = self.after(mixed + self.down(nn.functional.silu(gate) * up))
        return states

    def begin(self) -> EagleReader:
        """Start on a text."""
        return EagleReader(self)

    def _split(self, states: torch.Tensor) -> torch.Tensor:
        return states.view(*states.shape[:-1], self.attention, -1)


class EagleReader:
    """The layer at work on one text, with keys and values of the inputs it has read.

    An input is a pair of neighbouring tokens: input i has token i, its state, and token i + 1.
    """

    def __init__(self, heads: EagleHeads) -> None:
        self._heads = heads
        empty = heads.output.new_empty((0, heads.attention, 0))
        self._keys, self._values = empty, empty
        self._length = 0  # inputs that are certain
        self._states = empty  # of the draft's nodes
        self._tokens: list[int] = []
        self._ancestors: list[list[int]] = []  # inputs of the draft that a node sees

    @torch.inference_mode()
    def read(self, hidden: torch.Tensor, tokens: Sequence[int]) -> npt.NDArray[np.float32]:
        """Read the new inputs with their true states; the last of them predicts."""
        heads = self._heads
        states = hidden[:, 0].to(heads.output.device, heads.output.dtype)
        pairs = torch.tensor(tokens)
        positions = torch.arange(self._length, self._length + len(states))
        entered = heads.join_inputs(states, pairs[:-1], pairs[1:])
        keys, values = heads.keys_and_values(entered, positions.to(entered.device))
        certain = self._length
        self._keys = torch.cat([self._keys[:certain], keys]) if certain else keys
        self._values = torch.cat([self._values[:certain], values]) if certain else values
        self._length += len(states)
        self._tokens, self._ancestors = [tokens[-1]], [[]]
        mask = torch.ones((1, self._length), dtype=torch.bool)
        self._states = self._predict(entered[-1:], positions[-1:], mask)
        row: npt.NDArray[np.float32] = self._logits(self._states)[0]
        return row

    @torch.inference_mode()
    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> npt.NDArray[np.float32]:
        """Read an input for each node: its parent with the predicted state, and its own token."""
        heads = self._heads
        first = len(self._keys)
        own = [self._tokens[parent] for parent in parents]
        entered = heads.join_inputs(
            self._states[list(parents)], torch.tensor(own), torch.tensor(list(tokens))
        )
        depths = [len(self._ancestors[parent]) for parent in parents]
        positions = self._length + torch.tensor(depths)
        keys, values = heads.keys_and_values(entered, positions.to(entered.device))
        self._keys = torch.cat([self._keys, keys])
        self._values = torch.cat([self._values, values])
        mask = torch.zeros((len(tokens), len(self._keys)), dtype=torch.bool)
        mask[:, : self._length] = True
        for i, parent in enumerate(parents):
            seen = [*self._ancestors[parent], first + i]
            mask[i, seen] = True
            self._ancestors.append(seen)
        self._tokens += tokens
        states = self._predict(entered, positions, mask)
        self._states = torch.cat([self._states, states])
        return self._logits(states)

    def _predict(
        self, entered: torch.Tensor, positions: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """The states after n inputs, which attend to what mask bool[n, inputs] allows."""
        queries = self._heads.scaled_queries(entered, positions.to(entered.device))
        scores = torch.einsum("qhd,khd->hqk", queries, self._keys)
        scores = scores.masked_fill(~mask.to(scores.device), -torch.inf)
        seen = torch.einsum("hqk,khd->qhd", scores.softmax(-1), self._values)
        return self._heads.output_states(entered, seen)

    def _logits(self, states: torch.Tensor) -> npt.NDArray[np.float32]:
        found: npt.NDArray[np.float32] = (states @ self._heads.output.T).float().cpu().numpy()
        return found


def _turned(states: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Rotary positions: states [..., n, heads, size] at positions int[..., n]."""
    half = states.shape[-1] // 2
    steps = THETA ** (-torch.arange(half, device=states.device, dtype=torch.float32) / half)
    angles = (positions[..., None] * steps)[..., None, :]
    sine, cosine = angles.sin().to(states.dtype), angles.cos().to(states.dtype)
    left, right = states[..., :half], states[..., half:]
    return torch.cat([left * cosine - right * sine, left * sine + right * cosine], -1)
