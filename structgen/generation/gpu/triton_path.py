"""Masking and drawing with the Triton kernels of `structgen.kernels.gpu`, on a GPU."""

from __future__ import annotations

import importlib.util
from functools import cache
from types import ModuleType
from typing import Any

import torch

from structgen.generation.gpu.table import DeviceMasks

BLOCK = 1024  # logits that one program takes
# What a program of each kernel gets: warps, and registers per thread at most where they can be
# limited (0: no limit). Tuned on an H200; with fewer registers more
# programs run at once, and with fewer warps less time goes into waiting for each other.
SHARES = {"apply_rows": (8, 0), "summarize": (2, 56), "choose": (8, 128)}
_DTYPES = (torch.float32, torch.float16, torch.bfloat16)
_compiled: dict[Any, Any] = {}  # by name, device and what the arguments are like


@cache
def _kernels() -> ModuleType | None:
    """The kernels, None where Triton is not installed."""
    if importlib.util.find_spec("triton") is None:
        return None
    from structgen.kernels.gpu import rows

    return rows


def serves(logits: torch.Tensor) -> bool:
    """Whether the kernels can be used: on a GPU, with Triton, for types other than float64."""
    return logits.is_cuda and logits.dtype in _DTYPES and _kernels() is not None


def apply(
    logits: torch.Tensor,
    masks: DeviceMasks,
    temperatures: torch.Tensor | None,
    block: int = BLOCK,
) -> None:
    """See `structgen.generation.gpu.apply`."""
    n, width = logits.shape
    ids = masks.ids_there()
    _launch("apply_rows", (n, -(-width // block)), logits, masks.table, ids,
            ids if temperatures is None else temperatures.float(),  # ids: not looked at
            width, logits.stride(0), masks.vocab_size, temperatures is not None, block)  # fmt: skip


def draw(logits: torch.Tensor, masks: DeviceMasks, sheet: torch.Tensor, block: int = BLOCK) -> None:
    """Fill the last columns of the sheet, with UNDECIDED for rows that need the other path.

    The sheet is in pinned memory, and to be kept until the GPU has finished: this does not wait.
    """
    n, width = logits.shape
    k: Any = _kernels()
    there = sheet.to(logits.device, non_blocking=True)
    blocks = 1 << (-(-width // block) - 1).bit_length()
    size = n, k.record_size(blocks, block)
    records = torch.empty(size, dtype=torch.float64, device=logits.device)
    given = logits, masks.table, there, records
    stride, vocab_size = logits.stride(0), masks.vocab_size
    _launch("summarize", (n, blocks), *given, width, stride, vocab_size, block, blocks)
    _launch("choose", (n, 1), *given, sheet, stride, vocab_size, block, blocks)


def options(name: str, *, limited: bool) -> dict[str, Any]:
    """What Triton is asked for when it compiles a kernel; limited: whether registers can be."""
    warps, registers = SHARES[name]
    # Fusing products into sums would round otherwise than the other path does.
    asked = {"num_warps": warps, "enable_fp_fusion": False}
    return asked | {"maxnreg": registers} if registers and limited else asked


def _launch(name: str, grid: tuple[int, int], *arguments: Any) -> None:
    """Run a kernel on the device of its first argument, which need not be the current one."""
    # What Triton compiles for: types, numbers (one or divisible by 16), and whether memory begins
    # at a multiple of 16 bytes. To find that out again takes it longer than all else in a step.
    like = [(a.dtype, a.data_ptr() % 16) if isinstance(a, torch.Tensor) else a for a in arguments]
    key = name, arguments[0].device, *like
    found = _compiled.get(key)
    kernel = (getattr(_kernels(), name) if found is None else found)[*grid, 1]
    with torch.cuda.device_of(arguments[0]):  # type: ignore[no-untyped-call]
        if found is None:
            asked = options(name, limited=torch.version.cuda is not None)
            _compiled[key] = kernel(*arguments, **asked)
        else:
            kernel(*arguments)
