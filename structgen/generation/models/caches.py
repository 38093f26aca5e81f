"""Finds out how a model of transformers takes the cache of what it has read.

The argument has had several names, of which more than one may be accepted at a time. So the model
is tried: it reads one token, and its output shows under which name it hands its cache on. A name
counts if the model, given a cache under it, writes what it reads into that cache.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
import transformers
from transformers.cache_utils import Cache, CacheLayerMixin

from structgen.errors import ModelError
from structgen.util.versions import release

# Tried last unless the model declares them: its output may carry no cache unless it is given one.
_USUAL = ("cache", "past_key_values", "cache_params")
_REFUSALS = (TypeError, ValueError, RuntimeError, AttributeError, LookupError)
_SHARED_STATES = (5, 5)  # the first transformers whose recurrent models write to the common Cache


@torch.no_grad()
def cache_argument(model: Any, new_cache: Callable[[], Cache]) -> str:
    """The name of the argument by which `model` takes a cache, found by reading single tokens.

    ModelError if it writes to no cache that `new_cache` makes, whatever the name.
    """
    device = model.get_input_embeddings().weight.device
    token = torch.zeros((1, 1), dtype=torch.int64, device=device)
    given = {"input_ids": token, "attention_mask": torch.ones_like(token), "use_cache": True}
    reason = ""
    try:
        offered = _carriers(model(**given))
    except _REFUSALS as error:
        offered, reason = [], _in_a_line(error)
    for name in dict.fromkeys([*offered, *_declared(model), *_USUAL]):
        cache = new_cache()
        try:
            model(**given, **{name: cache})
        except _REFUSALS as error:
            reason = reason or _in_a_line(error)
            continue
        if has_read(cache):
            return name
    old = release(transformers.__version__) < _SHARED_STATES
    raise ModelError(
        f"{type(model).__name__} takes no cache of what it has read{reason and f' ({reason})'}",
        expected="a model whose forward takes a transformers Cache, and writes to it",
        hint="recurrent and hybrid models need transformers 5.5 or newer" if old else "",
    )


def has_read(cache: Cache) -> bool:
    """Whether anything was written to the cache: keys and values, or states."""
    return any(tensor.numel() for layer in cache.layers for tensor in _tensors(vars(layer)))


def keeps_states(layer: Any) -> bool:
    """Whether a cache layer keeps a recurrent state, beside keys and values or instead."""
    return hasattr(layer, "update_recurrent_state")


def keeps_only_states(layer: Any) -> bool:
    """Whether a cache layer keeps a recurrent state, and no keys and values."""
    return keeps_states(layer) and not isinstance(layer, CacheLayerMixin)


def _carriers(output: Any) -> list[str]:
    """Names of the output's fields that carry a cache."""
    if not isinstance(output, Mapping):
        return []
    return [name for name, value in output.items() if isinstance(value, Cache)]


def _declared(model: Any) -> Iterator[str]:
    """Names of the parameters of `forward` that are declared to be caches, or are called so."""
    for name, parameter in inspect.signature(model.forward).parameters.items():
        if "Cache" in str(parameter.annotation) or name in _USUAL:
            yield name


def _tensors(fields: Mapping[Any, Any]) -> Iterator[torch.Tensor]:
    values: Iterable[Any] = fields.values()
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, Mapping):
            yield from _tensors(value)


def _in_a_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]:.200}" if lines else type(error).__name__
