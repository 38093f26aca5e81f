"""In: logits and mask rows on a GPU. Out: masked logits, or drawn tokens, by Triton's kernels."""

from __future__ import annotations

import importlib.util
from functools import cache
from types import ModuleType
from typing import Any

import torch

from structgen.device.table import DeviceMasks

BLOCK = 4096  # logits that one program takes
_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


@cache
def _kernels() -> ModuleType | None:
    """The kernels, None where Triton is not installed."""
    if importlib.util.find_spec("triton") is None:
        return None
    from structgen.kernels import triton_rows

    return triton_rows


def serves(logits: torch.Tensor) -> bool:
    """Whether the kernels can be used: on a GPU, with Triton there; float64 they do not know."""
    return logits.is_cuda and logits.dtype in _DTYPES and _kernels() is not None


def apply(
    logits: torch.Tensor,
    masks: DeviceMasks,
    temperatures: torch.Tensor | None,
    block: int = BLOCK,
) -> None:
    """See `structgen.device.apply`."""
    width = logits.shape[1]
    grid = len(logits), -(-width // block)
    _launch("apply_rows", grid, logits, masks.table, masks.ids,
            masks.ids if temperatures is None else temperatures.float(),  # ids: not looked at
            width, logits.stride(0), masks.vocab_size, temperatures is not None, block)  # fmt: skip


def draw(logits: torch.Tensor, masks: DeviceMasks, sheet: torch.Tensor, block: int = BLOCK) -> None:
    """Fill the last columns of the sheet, with UNDECIDED for rows that need the other path."""
    n, width = logits.shape
    k: Any = _kernels()
    blocks = 1 << (-(-width // block) - 1).bit_length()
    size = blocks * k.RECORD.value + k.LEADS.value
    records = torch.empty((n, size), dtype=torch.float64, device=logits.device)
    given = logits, masks.table, masks.ids, sheet, records
    stride = logits.stride(0)
    _launch("summarize", (n, blocks), *given, width, stride, masks.vocab_size, block)
    _launch("choose", (n,), *given, stride, masks.vocab_size, block, blocks)


def _launch(name: str, grid: tuple[int, ...], *arguments: Any) -> None:
    """Run a kernel on the device of its first argument, which need not be the current one."""
    kernel = getattr(_kernels(), name)[grid]
    logits = arguments[0]
    # Fusing products into sums would round otherwise than the other path does.
    with torch.cuda.device_of(logits):  # type: ignore[no-untyped-call]
        kernel(*arguments, num_warps=8, enable_fp_fusion=False)
