"""Tests that both paths (Triton and torch) mask as the definition says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from structgen.errors import GenerationError
from structgen.generation import gpu
from structgen.generation.gpu import torch_path, triton_path
from structgen.masks import bitmask
from tests.generation.gpu.kernels import INTERPRETED, WHERE, masks_of, need_kernels

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
PATHS = [torch_path, triton_path]
SHAPES = [  # sequences, vocabulary, logits
    (1, 1, 1),
    (1, 1000, 1000),
    (3, 1024, 1024),
    (5, 31, 40),
    (32, 300, 320),
    (64, 130, 130),
]


def drawn_case(n: int, size: int, width: int, dtype: torch.dtype) -> tuple[torch.Tensor, Any]:
    """Logits [n, width] and masks bool[n, size]: full, empty, dense and sparse ones."""
    rng = np.random.default_rng(n + size + width)
    share = rng.choice([0.0, 0.02, 0.5, 0.98, 1.0], (n, 1))
    allowed = rng.random((n, size)) < share
    logits = torch.from_numpy(rng.normal(size=(n, width)) * 5).to(dtype)
    return logits.to(WHERE), allowed


def run(path: Any, logits: torch.Tensor, masks: Any, temperatures: Any = None) -> torch.Tensor:
    """A masked copy; the kernel takes blocks so small that there are several."""
    found = logits.clone()
    if path is triton_path:
        need_kernels()
        triton_path.apply(found, masks, temperatures, 128)
    else:
        torch_path.apply(found, masks, temperatures)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("path", PATHS, ids=["torch", "triton"])
def test_logits_stay_or_become_minus_infinity(path: Any, shape: Any, dtype: torch.dtype) -> None:
    """Bit for bit, for every length of a row, and -inf beyond the vocabulary."""
    n, size, width = shape
    logits, allowed = drawn_case(n, size, width, dtype)
    found = run(path, logits, masks_of(allowed))
    wide = np.zeros(logits.shape, np.bool_)
    wide[:, :size] = allowed
    expected = logits.masked_fill(torch.from_numpy(~wide).to(WHERE), -torch.inf)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("path", PATHS, ids=["torch", "triton"])
def test_a_mask_is_that_of_the_numpy_path(path: Any) -> None:
    """The same rows, applied by the CPU's kernels, give the same logits."""
    logits, allowed = drawn_case(4, 700, 700, torch.float32)
    expected = logits.cpu()
    bitmask.apply(expected, bitmask.pack(allowed))
    assert torch.equal(run(path, logits, masks_of(allowed)).cpu(), expected)


@pytest.mark.parametrize("path", PATHS, ids=["torch", "triton"])
def test_bits_past_the_vocabulary_mean_nothing(path: Any) -> None:
    """A row may have any bits there."""
    table = torch.full((1, 2), -1, dtype=torch.int32, device=WHERE)
    ids = np.zeros(1, np.int32)
    found = run(path, torch.zeros(1, 64, device=WHERE), gpu.DeviceMasks(table, ids, 40))
    assert torch.isfinite(found).sum() == 40


@pytest.mark.parametrize("path", PATHS, ids=["torch", "triton"])
def test_a_negative_id_allows_nothing(path: Any) -> None:
    """Whatever the table holds."""
    table = torch.full((1, 2), -1, dtype=torch.int32, device=WHERE)
    ids = np.array([-1, 0], np.int32)
    found = run(path, torch.zeros(2, 64, device=WHERE), gpu.DeviceMasks(table, ids, 64))
    assert torch.isfinite(found).sum(1).tolist() == [0, 64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("path", PATHS, ids=["torch", "triton"])
def test_temperatures_divide_what_is_left(path: Any, dtype: torch.dtype) -> None:
    """Each row by its own, computed in float32 and rounded once."""
    logits, allowed = drawn_case(6, 300, 310, dtype)
    temperatures = torch.tensor([0.1, 0.5, 0.7, 1.0, 1.3, 4.0], device=WHERE)
    found = run(path, logits, masks_of(allowed), temperatures)
    expected = (logits.float() / temperatures[:, None]).to(dtype)
    wide = torch.zeros(logits.shape, dtype=torch.bool)
    wide[:, :300] = torch.from_numpy(allowed)
    expected.masked_fill_(~wide.to(WHERE), -torch.inf)
    # Triton's interpreter rounds float32 to bfloat16 towards zero, which no GPU does.
    cut = path is triton_path and INTERPRETED and dtype == torch.bfloat16
    torch.testing.assert_close(found, expected, rtol=2**-7 if cut else 0, atol=0)


def test_rows_of_a_wider_tensor_are_masked_where_they_are() -> None:
    """A slice of columns is masked in place, and what is beside it stays."""
    need_kernels()
    logits, allowed = drawn_case(3, 200, 260, torch.float32)
    for path in PATHS:
        wide = logits.clone()
        if path is triton_path:
            triton_path.apply(wide[:, 30:230], masks_of(allowed), None, 128)
        else:
            torch_path.apply(wide[:, 30:230], masks_of(allowed), None)
        assert torch.equal(wide[:, :30], logits[:, :30])
        assert torch.equal(wide[:, 230:], logits[:, 230:])
        finite = torch.isfinite(wide[:, 30:230]).cpu().numpy()
        assert np.array_equal(finite, allowed)


@pytest.mark.parametrize("kind", ["dtype", "place"])
def test_the_public_function_serves_every_tensor(kind: str) -> None:
    """float64 logits, which the kernels do not know, and those on the CPU."""
    logits, allowed = drawn_case(3, 100, 100, torch.float64)
    if kind == "place":
        logits = logits.float()
    gpu.apply(logits, masks_of(allowed))
    assert np.array_equal(torch.isfinite(logits).cpu().numpy(), allowed)


@pytest.mark.parametrize("shape", [(2, 63), (3, 64), (64,)], ids=str)
def test_shapes_that_do_not_agree_are_refused(shape: tuple[int, ...]) -> None:
    """Too narrow, another number of rows, no rows at all."""
    masks = masks_of(np.ones((2, 64), np.bool_))
    with pytest.raises(GenerationError, match="masks for 64 tokens"):
        gpu.apply(torch.zeros(shape, device=WHERE), masks)
