"""Kernels apply mask rows to logits as plain loops do."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from tests.helpers.naive import bits, blocked

pytestmark = pytest.mark.nojit
SEEDS = st.integers(0, 10**6)
SIZES = st.integers(1, 100)  # tokens


def random_rows(
    size: int, count: int, rng: Random
) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Rows for `size` tokens with none, some or all of their bits set."""
    words = -(-size // 32)
    share = [rng.choice((0.0, 0.1, 0.5, 0.9, 1.0)) for _ in range(count)]
    rows = [bits((t for t in range(size) if rng.random() < p), words) for p in share]
    return np.array(rows, np.uint32).view(np.int32)


@given(SIZES, st.integers(1, 3), SEEDS)
@example(32, 1, 0)
@example(33, 1, 0)
def test_refused_tokens_get_minus_infinity(size: int, count: int, seed: int) -> None:
    """Logits keep their value where the bit is set and are -inf everywhere else."""
    rng = Random(seed)
    rows = random_rows(size, count, rng)
    logits = np.array([[rng.gauss(0, 9) for _ in range(size)] for _ in range(count)], np.float32)
    wanted = [
        blocked(line, row, -np.inf)
        for line, row in zip(logits.tolist(), rows.view(np.uint32).tolist(), strict=True)
    ]
    kernels("masks.apply").block_float32(logits, rows)
    assert logits.tolist() == wanted


@given(SIZES, st.integers(1, 3), SEEDS)
def test_sixteen_bit_logits_are_blocked_by_their_bit_pattern(
    size: int, count: int, seed: int
) -> None:
    """Each refused logit becomes exactly the given bit pattern, the others stay as they are."""
    rng = Random(seed)
    rows = random_rows(size, count, rng)
    logits = np.array(
        [[rng.randrange(2**16) for _ in range(size)] for _ in range(count)], np.uint16
    )
    refused = rng.choice((0xFC00, 0xFF80))  # -inf of float16, of bfloat16
    wanted = [
        blocked(line, row, refused)
        for line, row in zip(logits.tolist(), rows.view(np.uint32).tolist(), strict=True)
    ]
    kernels("masks.apply").block_uint16(logits, rows, refused)
    assert logits.tolist() == wanted


def test_the_logits_may_be_wider_or_narrower_than_the_rows() -> None:
    """Logits past the last word of the rows stay, and bits past the last logit are not touched."""
    rows = np.zeros((1, 1), np.int32)
    wide, narrow = np.ones((1, 40), np.float32), np.ones((1, 20), np.float32)
    kernels("masks.apply").block_float32(wide, rows)
    kernels("masks.apply").block_float32(narrow, rows)
    assert wide[0].tolist() == [-np.inf] * 32 + [1.0] * 8
    assert narrow[0].tolist() == [-np.inf] * 20
