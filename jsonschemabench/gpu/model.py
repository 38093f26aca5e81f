"""A decode step of a model of a given shape with random weights, to compare times with.

Random weights take as long as trained ones. The step is what any decoder must do at least: read all
weights and all cached keys and values once. On a GPU it is captured as a CUDA graph, so that masks
are not compared with the time of Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import linear, rms_norm, scaled_dot_product_attention, silu


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder with grouped attention and gated feed-forward layers; default: 8B."""

    layers: int = 32
    hidden: int = 4096
    heads: int = 32
    kv_heads: int = 8
    mlp: int = 14336
    vocab: int = 128256

    @property
    def head(self) -> int:
        """Size of a head."""
        return self.hidden // self.heads


class DecodeStep:
    """The logits of the next token of `batch` sequences of `context` tokens each."""

    def __init__(self, shape: Shape, batch: int, context: int, device: str, dtype: Any) -> None:
        self._shape = shape

        def random(*size: int) -> torch.Tensor:
            return torch.randn(size, device=device, dtype=dtype).mul_(0.02)

        kv = shape.kv_heads * shape.head
        h, m = shape.hidden, shape.mlp
        sizes = {"q": (h, h), "k": (kv, h), "v": (kv, h), "o": (h, h), "up": (m, h), "gate": (m, h)}
        self._layers = [
            {name: random(*size) for name, size in sizes.items()}
            | {"down": random(h, m)}
            | {part: random(batch, shape.kv_heads, context, shape.head) for part in ("K", "V")}
            for _ in range(shape.layers)
        ]
        self._output = random(shape.vocab, h)
        self._input = random(batch, h)

    @torch.inference_mode()
    def run(self) -> torch.Tensor:
        """Logits [batch, vocab]."""
        x = self._input
        for layer in self._layers:
            x = x + self._attend(rms_norm(x, (x.shape[-1],)), layer)
            y = rms_norm(x, (x.shape[-1],))
            y = silu(linear(y, layer["gate"])) * linear(y, layer["up"])
            x = x + linear(y, layer["down"])
        return linear(rms_norm(x, (x.shape[-1],)), self._output)

    def _attend(self, x: torch.Tensor, layer: dict[str, torch.Tensor]) -> torch.Tensor:
        """Attention of the new token; its own key and value take the last position in the cache."""
        batch, shape = len(x), self._shape
        query = linear(x, layer["q"]).view(batch, shape.heads, 1, shape.head)
        for part, name in (("K", "k"), ("V", "v")):
            layer[part][:, :, -1] = linear(x, layer[name]).view(batch, -1, shape.head)
        found = scaled_dot_product_attention(query, layer["K"], layer["V"], enable_gqa=True)
        return linear(found.view(batch, -1), layer["o"])

    def captured(self) -> Callable[[], object]:
        """A function that runs the step, as a CUDA graph on a GPU."""
        if not self._input.is_cuda:
            return self.run
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # warm up beside the stream that is captured
            self.run()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.run()
        return graph.replay
