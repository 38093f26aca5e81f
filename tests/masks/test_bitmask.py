"""Packing, unpacking and applying mask rows mean the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import GenerationError
from structgen.masks import bitmask

SIZES = [1, 31, 32, 33, 64, 95, 300]
TORCH_TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def naive_bits(row: npt.NDArray[np.int32], size: int) -> list[bool]:
    """Bit t % 32 of word t // 32, by integer arithmetic."""
    return [(int(row[t // 32]) & 0xFFFFFFFF) >> (t % 32) & 1 == 1 for t in range(size)]


def example(size: int, seed: int = 0, count: int = 3) -> npt.NDArray[np.int32]:
    """Random rows, with the bits beyond `size` set as well."""
    rng = np.random.default_rng(seed)
    shape = (count, -(-size // 32))
    return rng.integers(-(2**31), 2**31, shape, np.int64).astype(np.int32)


@given(st.lists(st.booleans(), min_size=1, max_size=200))
def test_pack_writes_the_bits_that_unpack_reads(bits: list[bool]) -> None:
    """Each token has its bit, where the contract says, and comes back."""
    row = bitmask.pack(np.array(bits))
    assert row.dtype == np.int32
    assert row.shape == (-(-len(bits) // 32),)
    assert naive_bits(row, len(bits)) == bits
    assert bitmask.unpack(row, len(bits)).tolist() == bits


@pytest.mark.parametrize("size", SIZES)
def test_a_fresh_row_allows_nothing(size: int) -> None:
    """Allocated rows have the contract's shape and type, and no bit set."""
    rows = bitmask.allocate(4, size)
    assert rows.shape == (4, -(-size // 32))
    assert rows.dtype == np.int32
    assert not bitmask.unpack(rows, size).any()


@given(st.data())
def test_some_tokens_are_looked_up(data: st.DataObject) -> None:
    """In any order, also twice; the highest bit of a word, which is its sign, too."""
    size = data.draw(st.sampled_from(SIZES))
    row = example(size, data.draw(st.integers(0, 99)))[0]
    tokens = data.draw(st.lists(st.integers(0, size - 1)))
    bits = naive_bits(row, size)
    assert bitmask.allows(row, np.array(tokens, np.int64)).tolist() == [bits[t] for t in tokens]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_apply_refuses_exactly_what_has_no_bit_in_arrays(size: int, dtype: Any) -> None:
    """What has a bit keeps its value, all else is -inf, for contiguous arrays and others."""
    rows = example(size)
    allowed = np.array([naive_bits(row, size) for row in rows])
    logits = np.random.default_rng(1).normal(size=(3, 2 * size)).astype(dtype)
    for given_logits in (logits[:, :size].copy(), logits[:, ::2]):
        expected = np.where(allowed, given_logits, -np.inf)
        bitmask.apply(given_logits, rows)
        np.testing.assert_array_equal(given_logits, expected)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TORCH_TYPES, ids=str)
def test_apply_refuses_exactly_what_has_no_bit_in_tensors(size: int, dtype: torch.dtype) -> None:
    """The same for tensors of every floating type, contiguous and not."""
    rows = example(size)
    allowed = torch.tensor([naive_bits(row, size) for row in rows])
    logits = torch.tensor(np.random.default_rng(1).normal(size=(3, 2 * size))).to(dtype)
    for given_logits in (logits[:, :size].clone(), logits[:, ::2]):
        expected = torch.where(allowed, given_logits, torch.tensor(-torch.inf, dtype=dtype))
        bitmask.apply(given_logits, rows)
        assert torch.equal(given_logits, expected)


@pytest.mark.parametrize("size", SIZES)
def test_the_way_for_other_devices_gives_the_same(size: int) -> None:
    """Expanding the bits with tensor operations refuses what the kernel refuses."""
    rows = example(size)
    by_kernel = torch.arange(3.0 * size).reshape(3, size)
    by_tensor = by_kernel.clone()
    bitmask.apply(by_kernel, rows)
    bitmask._apply_on_device(by_tensor, rows)
    assert torch.equal(by_kernel, by_tensor)


@pytest.mark.parametrize("shape", [(2, 64), (3, 33), (3, 65)])
def test_apply_refuses_shapes_that_do_not_agree(shape: tuple[int, int]) -> None:
    """Too few rows or words of another vocabulary are an error, not a wrong mask."""
    with pytest.raises(GenerationError, match="mask rows"):
        bitmask.apply(np.zeros(shape, np.float32), bitmask.allocate(3, 32))
