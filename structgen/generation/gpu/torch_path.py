"""Masking and drawing with torch operations, on any device.

The same results as the kernels of `structgen.kernels.gpu.rows`, in several passes over the logits:
for devices without Triton, and for the rows that the kernels could not decide.
"""

from __future__ import annotations

import torch

from structgen.generation.gpu.table import DeviceMasks
from structgen.kernels.gpu import columns
from structgen.masks import bitmask


def allowed_tokens(masks: DeviceMasks, width: int) -> torch.Tensor:
    """bool[n, width]: what the masks allow; nothing from the end of the vocabulary on."""
    ids = masks.ids_there()[:, None]
    rows = torch.where(ids >= 0, masks.table[ids[:, 0].clamp(min=0).long()], 0)
    allowed = bitmask.unpack_tensor(rows, masks.vocab_size)
    return torch.nn.functional.pad(allowed, (0, width - masks.vocab_size))


def apply(logits: torch.Tensor, masks: DeviceMasks, temperatures: torch.Tensor | None) -> None:
    """See `structgen.generation.gpu.apply`."""
    refused = ~allowed_tokens(masks, logits.shape[1])
    if temperatures is not None:
        wide = logits if logits.dtype == torch.float64 else logits.float()
        logits.copy_(wide / temperatures[:, None].to(wide.dtype))
    logits.masked_fill_(refused, -torch.inf)


def draw(logits: torch.Tensor, masks: DeviceMasks, sheet: torch.Tensor) -> None:
    """Fill the last columns of sheet float64[n, COLUMNS]; see `structgen.generation.gpu.sheet`."""
    there = sheet.to(logits.device)
    _draw(logits, masks, there)
    sheet.copy_(there)


def _draw(logits: torch.Tensor, masks: DeviceMasks, sheet: torch.Tensor) -> None:
    values = logits.double()
    masked = values.masked_fill(~allowed_tokens(masks, logits.shape[1]), -torch.inf)
    sheet[:, columns.LOG_RAW] = torch.logsumexp(values, 1)
    sheet[:, columns.LOG_MASKED] = torch.logsumexp(masked, 1)
    top = masked.amax(1, keepdim=True)
    greedy = sheet[:, columns.TEMPERATURE] == 0.0
    first = (masked == top).int().argmax(1)
    token = torch.where(greedy, first, _sample(masked, top, sheet))
    token = torch.where(top[:, 0] > -torch.inf, token, columns.NOTHING)
    sheet[:, columns.TOKEN] = token.double()
    logit = values.gather(1, token.clamp(min=0)[:, None])[:, 0]
    sheet[:, columns.LOGIT] = torch.where(token >= 0, logit, -torch.inf)


def _sample(masked: torch.Tensor, top: torch.Tensor, sheet: torch.Tensor) -> torch.Tensor:
    """int64[n] tokens for the rows that are not greedy and allow something, else any number."""
    temperature = sheet[:, columns.TEMPERATURE, None]
    temperature = torch.where(temperature > 0.0, temperature, 1.0)
    scaled = (masked - torch.where(top > -torch.inf, top, 0.0)) / temperature
    log_min_p = sheet[:, columns.LOG_MIN_P, None]
    weights = torch.where(scaled >= log_min_p, scaled.exp(), 0.0)
    if bool(((sheet[:, columns.TOP_K] > 0) | (sheet[:, columns.TOP_P] < 1)).any()):
        weights = torch.where(_best(scaled, sheet), weights, 0.0)
    # The first token whose cumulative weight exceeds u times the total, as `distribution.draw`.
    sums = weights.cumsum(1)
    wanted = sheet[:, columns.UNIFORM, None] * sums[:, -1:]
    above = (sums > wanted) & (weights > 0)
    last = weights.shape[1] - 1 - (weights > 0).int().flip(1).argmax(1)
    return torch.where(above.any(1), above.int().argmax(1), last)


def _best(scaled: torch.Tensor, sheet: torch.Tensor) -> torch.Tensor:
    """bool[n, V]: what top-k keeps, and of that what top-p keeps; equals in the order of ids."""
    ordered, order = scaled.sort(dim=1, descending=True, stable=True)
    rank = torch.arange(scaled.shape[1], device=scaled.device)
    top_k, top_p = sheet[:, columns.TOP_K, None], sheet[:, columns.TOP_P, None]
    kept = (top_k <= 0) | (rank < top_k)
    weights = torch.where(kept, ordered.exp(), 0.0)
    reached = weights.cumsum(1)
    target = torch.where(top_p < 1.0, top_p * reached[:, -1:], torch.inf)
    kept[:, 1:] &= reached[:, :-1] < target
    return torch.zeros_like(kept).scatter_(1, order, kept)
