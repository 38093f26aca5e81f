"""`Layered`: runs some of the layers of a transformers model, with the same weights."""

from __future__ import annotations

import copy
import itertools
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import torch

from structgen.errors import ModelError
from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.models.trim import Head

_NORMS = ("norm", "ln_f", "final_layernorm", "final_layer_norm", "norm_f")
_KEPT = 8  # sets of layers whose models are kept; they are small, as they own no weights


class Layered:
    """A model by its layers. Attributes: `target`, with all of them; `depth`, how many."""

    def __init__(self, target: HuggingFaceTarget, trim: bool = True) -> None:
        """ModelError when the layers are not found."""
        self.target = target
        self._trim = trim
        self._layers = _layers_of(target.model.base_model)[1]
        self.depth = len(self._layers)
        self._parts: OrderedDict[tuple[int, ...], tuple[HuggingFaceTarget, Head]] = OrderedDict()
        self._lock = threading.Lock()

    def part(self, layers: Sequence[int]) -> tuple[HuggingFaceTarget, Head]:
        """The model of these layers, in this order. ModelError when one does not exist."""
        key = tuple(layers)
        if not key or not all(0 <= layer < self.depth for layer in key):
            raise ModelError(f"layers are {key}", expected=f"some of 0 to {self.depth - 1}")
        with self._lock:
            if key not in self._parts:
                part = HuggingFaceTarget(with_layers(self.target.model, key))
                part = part.with_trees() or part
                self._parts[key] = part, Head(part, self._trim)
            self._parts.move_to_end(key)
            while len(self._parts) > _KEPT:
                self._parts.popitem(last=False)
            return self._parts[key]

    @torch.inference_mode()
    def run(self, layer: int, states: torch.Tensor, first: int) -> torch.Tensor:
        """States [n, tokens, d] after one layer; the tokens see one another, and nothing before.

        first: the position of the first token.
        """
        base = with_layers(self.target.model, (layer,)).base_model
        name, _ = self._norm()
        setattr(base, name, torch.nn.Identity())
        positions = torch.arange(first, first + states.shape[1], device=states.device)[None]
        found: torch.Tensor = base(
            inputs_embeds=states, position_ids=positions, use_cache=False
        ).last_hidden_state
        return found

    @torch.inference_mode()
    def logits(self, states: torch.Tensor) -> npt.NDArray[Any]:
        """float[n, V]: what the model would say if it ended with these states [n, d]."""
        layer = self.target.model.get_output_embeddings()
        rows: torch.Tensor = layer(self._norm()[1](states))
        return (rows if rows.dtype == torch.float64 else rows.float()).cpu().numpy()

    def check_runs(self) -> None:
        """ModelError unless layers can be run one by one, as `run` does."""
        _, logits = self.target.prefill([[1, 2, 3]], (0, 1))
        if logits.hidden is None:
            raise ModelError("the model gives no hidden states")
        before, after = logits.hidden[0].unbind(1)
        found = self.run(0, before[None], 0)[0]
        if (found - after).abs().max() > 0.01 * after.abs().max():
            raise ModelError(
                f"the layers of {type(self.target.model).__name__} cannot be run one by one",
                hint="choose layers with Swift instead",
            )

    def _norm(self) -> tuple[str, Any]:
        base = self.target.model.base_model
        for name in _NORMS:
            if hasattr(base, name):
                return name, getattr(base, name)
        raise ModelError(f"{type(base).__name__} has no known norm after its layers")


def with_layers(model: Any, layers: Sequence[int]) -> Any:
    """A model of these layers of `model`, in this order, that shares all weights with it.

    Modules are copied, tensors are not; the layers are renumbered, so its cache is its own.
    """
    # A deep copy whose memo maps every tensor to itself: modules are new, weights are shared.
    tensors = itertools.chain(model.parameters(), model.buffers())
    copied = copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
    name, found = _layers_of(copied.base_model)
    chosen = [found[layer] for layer in layers]
    for number, layer in enumerate(chosen):
        for module in layer.modules():
            if hasattr(module, "layer_idx"):
                module.layer_idx = number
    setattr(copied.base_model, name, torch.nn.ModuleList(chosen))
    for config in {id(part.config): part.config for part in (copied, copied.base_model)}.values():
        inner = config.get_text_config()
        kinds = getattr(inner, "layer_types", None)
        inner.num_hidden_layers = len(layers)
        if kinds is not None:
            inner.layer_types = [kinds[layer] for layer in layers]
    return copied


def _layers_of(base: Any) -> tuple[str, Any]:
    """The list of a model's layers, and its name."""
    count = base.config.get_text_config().num_hidden_layers
    for name, module in base.named_children():
        if isinstance(module, torch.nn.ModuleList) and len(module) == count:
            return name, module
    raise ModelError(
        f"{type(base).__name__} has no list of {count} layers",
        hint="draft with a smaller model instead",
    )
