"""Puts rows that were read apart into one cache, so that requests can join a batch under way.

Rows are padded on the left: slots that no row counts stand in front of the shorter keys and values.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import DynamicLayer

from structgen.generation.models.target import RowCache


@torch.inference_mode()
def join(cache: RowCache, other: RowCache) -> bool:
    """Append the rows of `other` to `cache`; False, with nothing changed, where that cannot be.

    It can where every layer keeps plain keys and values: not with sliding windows or recurrent
    states. Neither may have an open tree, and `other` must not be used afterwards.
    """
    layers: list[Any] = [*cache.past.layers, *other.past.layers]
    if any(type(layer) is not DynamicLayer or layer.keys is None for layer in layers):
        return False
    slots = max(cache.alive.shape[1], other.alive.shape[1])
    for layer, added in zip(cache.past.layers, other.past.layers, strict=True):
        for name in ("keys", "values"):  # [rows, heads, slots, d]
            parts = [_padded(getattr(one, name), slots, 2) for one in (layer, added)]
            setattr(layer, name, torch.cat(parts))
    cache.alive = torch.cat([_padded(one.alive, slots, 1) for one in (cache, other)])
    cache.fresh = 0
    return True


def _padded(part: torch.Tensor, slots: int, axis: int) -> torch.Tensor:
    """The tensor with so many slots along an axis, those that are new empty and in front."""
    missing = slots - part.shape[axis]
    if not missing:
        return part
    behind = part.ndim - 1 - axis  # axes, of which `pad` names the last one first
    return torch.nn.functional.pad(part, (*(0, 0) * behind, missing, 0))
