"""Masks logits in place, or draws a token for each row, on the device where the logits are.

table.py ── mask rows ──▶ here ─┬─ triton_path.py   on a GPU
                                └─ torch_path.py    elsewhere, and for rows the kernels leave open
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from structgen.errors import GenerationError
from structgen.generation.distribution import Sampler
from structgen.generation.gpu import torch_path, triton_path
from structgen.generation.gpu.sheet import DrawnTokens, read_sheet, write_sheet
from structgen.generation.gpu.table import DeviceMasks
from structgen.kernels.gpu import columns
from structgen.masks import bitmask


@torch.inference_mode()
def apply(
    logits: torch.Tensor, masks: DeviceMasks, temperatures: torch.Tensor | None = None
) -> None:
    """Set what the masks do not allow to -inf in place, and divide the rest by a temperature.

    logits: floating [n, width], at least as wide as the vocabulary and contiguous within rows;
    what is beyond the vocabulary becomes -inf too. temperatures: float32[n] > 0, on the device.
    GenerationError when the shapes do not agree.
    """
    _check(logits, masks)
    path = triton_path if triton_path.serves(logits) else torch_path
    path.apply(logits, masks, temperatures)


@torch.inference_mode()
def draw(
    logits: torch.Tensor,
    masks: DeviceMasks,
    samplers: Sequence[Sampler],
    uniforms: Sequence[float],
) -> DrawnTokens:
    """Draw a token for each row, as `Sampler.choose` would from the logits that are allowed.

    The logits stay as they are. uniforms[i] in [0, 1) decides row i's draw, unless it is greedy.
    Only the tokens and their numbers travel back. GenerationError when the shapes do not agree.
    """
    _check(logits, masks)
    if logits.device.type == "mps":  # which has no doubles; its memory is the CPU's
        logits = logits.cpu()
        masks = DeviceMasks(masks.table.cpu(), masks.ids, masks.vocab_size)
    sheet = write_sheet(samplers, uniforms, masks.ids, pinned=logits.is_cuda)
    path = triton_path if triton_path.serves(logits) else torch_path
    path.draw(logits, masks, sheet)
    if logits.is_cuda:
        torch.cuda.current_stream(logits.device).synchronize()
    if columns.UNDECIDED in sheet.numpy()[:, columns.TOKEN].tolist():
        _draw_rest(logits, masks, sheet)
    return read_sheet(sheet)


def _draw_rest(logits: torch.Tensor, masks: DeviceMasks, sheet: torch.Tensor) -> None:
    """Fill the lines of undecided rows, by the torch path, which decides all."""
    rest = np.flatnonzero(sheet.numpy()[:, columns.TOKEN] == columns.UNDECIDED)
    index = torch.from_numpy(rest)
    lines = sheet[index]
    those = DeviceMasks(masks.table, masks.ids[rest], masks.vocab_size)
    torch_path.draw(logits[index.to(logits.device)], those, lines)
    sheet[index] = lines


def _check(logits: torch.Tensor, masks: DeviceMasks) -> None:
    if (
        logits.ndim != 2
        or len(logits) != len(masks.ids)
        or logits.shape[1] < masks.vocab_size
        or masks.table.shape[1] != bitmask.words(masks.vocab_size)
        or logits.stride(1) != 1
    ):
        raise GenerationError(
            f"logits of shape {tuple(logits.shape)} and strides {logits.stride()}, "
            f"{len(masks.ids)} masks for {masks.vocab_size} tokens in {masks.table.shape[1]} words",
            expected="logits [n, V] or wider, contiguous within rows, for n masks of V tokens",
            hint="size the vocabulary by the model's logits",
        )
