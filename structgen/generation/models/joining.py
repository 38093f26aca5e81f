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
    states. `other` must not be used afterwards.
    """
    if cache.tree is not None or other.tree is not None:
        return False
    layers, others = cache.past.layers, other.past.layers
    if len(layers) != len(others) or not all(map(_is_plain, (*layers, *others))):
        return False
    width = max(cache.alive.shape[1], other.alive.shape[1])
    for layer, added in zip(layers, others, strict=True):
        plain: Any = layer
        plain.keys = torch.cat([_padded(plain.keys, width), _padded(_of(added, "keys"), width)])
        plain.values = torch.cat(
            [_padded(plain.values, width), _padded(_of(added, "values"), width)]
        )
    missing = [width - part.shape[1] for part in (cache.alive, other.alive)]
    cache.alive = torch.cat(
        [
            torch.nn.functional.pad(part, (count, 0), value=False)
            for part, count in zip((cache.alive, other.alive), missing, strict=True)
        ]
    )
    cache.fresh = 0
    return True


def _is_plain(layer: Any) -> bool:
    return type(layer) is DynamicLayer and layer.keys is not None and layer.values is not None


def _of(layer: Any, name: str) -> torch.Tensor:
    found: torch.Tensor = getattr(layer, name)
    return found


def _padded(part: torch.Tensor, width: int) -> torch.Tensor:
    """Keys or values [rows, heads, slots, d] with empty slots in front, `width` in all."""
    missing = width - part.shape[2]
    return torch.nn.functional.pad(part, (0, 0, missing, 0)) if missing else part
