"""Tests that both paths (Triton and torch) draw what `Sampler` draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.generation import gpu
from structgen.generation.distribution import Sampler, log_sum_exp
from structgen.generation.gpu import torch_path, triton_path
from structgen.generation.gpu.sheet import write_sheet
from structgen.kernels.gpu import columns
from tests.generation.gpu.kernels import WHERE, masks_of, need_kernels

PATHS = ["torch", "triton"]
BLOCK = 256  # logits of a program here, so that there are several blocks

SAMPLERS = [
    Sampler(0.0),
    Sampler(),
    Sampler(0.6),
    Sampler(3.0),
    Sampler(1.0, 1),
    Sampler(0.8, 20),
    Sampler(1.0, None, 0.9),
    Sampler(1.5, None, 0.5),
    Sampler(1.0, None, 1.0, 0.05),
    Sampler(0.7, 40, 0.95, 0.02),
    Sampler(2.0, 300, 0.99, 0.001),
    Sampler(1e-3, 5, 0.5),
]


class FixedRandom(np.random.Generator):
    """Returns the number it was told."""

    def __init__(self, value: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.value = value

    def random(self, *args: object, **kwargs: object) -> float:  # type: ignore[override]
        """The one number."""
        return self.value


def expected_line(
    logits: npt.NDArray[np.float64], allowed: npt.NDArray[np.bool_], sampler: Sampler, u: float
) -> list[float]:
    """Token, logit, and both normalizers, by the definition that decoding on a CPU uses."""
    ids = np.flatnonzero(allowed & (logits > -np.inf))
    if not len(ids):
        return [columns.NOTHING, -math.inf, log_sum_exp(logits), -math.inf]
    token = int(ids[sampler.choose(logits[ids], FixedRandom(u))])
    return [token, logits[token], log_sum_exp(logits), log_sum_exp(logits[ids])]


def draw_by_kernels(logits: torch.Tensor, masks: Any, lines: torch.Tensor, *block: int) -> None:
    """Fill the lines, and wait until that is done."""
    triton_path.draw(logits.to(WHERE), masks, lines, *block)
    if WHERE == "cuda":
        torch.cuda.synchronize()


def drawn(
    path: str, logits: torch.Tensor, allowed: Any, samplers: Any, uniforms: Any
) -> tuple[npt.NDArray[np.float64], int]:
    """What one path writes, and how many rows the kernels left to the other."""
    masks = masks_of(allowed)
    lines = write_sheet(samplers, uniforms, masks.ids, pinned=WHERE == "cuda")
    if path == "triton":
        need_kernels()
        draw_by_kernels(logits, masks, lines, BLOCK)
    else:
        torch_path.draw(logits.to(WHERE), masks, lines)
    found = lines[:, columns.TOKEN :].numpy()
    return found, int((found[:, 0] == columns.UNDECIDED).sum())


def check_line(row: int, line: Any, expected: list[float], *, exact: bool) -> None:
    """Assert that token and logit are the expected ones, and the sums as exact as is promised."""
    np.testing.assert_array_equal(line[:2], expected[:2], err_msg=f"row {row}")
    off = 1e-12 if exact else 1e-6
    np.testing.assert_allclose(line[2:], expected[2:], rtol=1e-12, atol=off, err_msg=f"row {row}")


def check(path: str, logits: torch.Tensor, allowed: Any, samplers: Any, uniforms: Any) -> int:
    """Assert that what was drawn is as defined; returns how many rows were left undecided."""
    found, undecided = drawn(path, logits, allowed, samplers, uniforms)
    wide = logits.double().cpu().numpy()
    for i, line in enumerate(found):
        if line[0] == columns.UNDECIDED:
            continue
        expected = expected_line(wide[i], allowed[i], samplers[i], uniforms[i])
        check_line(i, line, expected, exact=path == "torch" or samplers[i].temperature == 1.0)
    return undecided


def case(n: int, size: int, dtype: torch.dtype, spread: float = 3.0) -> tuple[torch.Tensor, Any]:
    """Logits [n, size + 5] and masks bool[n, size + 5] that allow nothing of the last 5."""
    rng = np.random.default_rng(n * size)
    logits = torch.from_numpy(rng.normal(size=(n, size + 5)) * spread).to(dtype)
    allowed = rng.random((n, size + 5)) < rng.choice([0.01, 0.5, 0.99], (n, 1))
    allowed[:, size:] = False
    return logits, allowed


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("path", PATHS)
def test_a_draw_is_that_of_the_sampler(path: str, dtype: torch.dtype) -> None:
    """Token and numbers, for every kind of sampler, with many equal logits in 16 bits."""
    logits, allowed = case(len(SAMPLERS), 600, dtype)
    uniforms = np.random.default_rng(1).random(len(SAMPLERS))
    assert check(path, logits, allowed, SAMPLERS, uniforms) == 0


@pytest.mark.thorough
@pytest.mark.parametrize("size", [1, 31, 255, 256, 257, 700])
@pytest.mark.parametrize("path", PATHS)
def test_every_length_of_a_row(path: str, size: int) -> None:
    """Shorter than a word, a block, a little more than a block, several blocks."""
    logits, allowed = case(3, size, torch.float32)
    allowed[:, 0] = True
    samplers = [Sampler(), Sampler(0.0), Sampler(0.9, 10, 0.9)]
    assert check(path, logits, allowed, samplers, [0.1, 0.2, 0.7]) == 0


@pytest.mark.thorough
def test_a_vocabulary_of_real_size() -> None:
    """128,256 tokens in blocks as on a GPU: the usual samplers are decided by the kernels."""
    need_kernels()
    logits, allowed = case(3, 128256, torch.bfloat16)
    allowed[:] = np.random.default_rng(3).random(allowed.shape) < [[0.9], [0.9], [0.001]]
    chosen = [Sampler(0.7, 50, 0.9), Sampler(0.6, None, 0.9), Sampler()]
    masks = masks_of(allowed)
    lines = write_sheet(chosen, [0.3, 0.6, 0.9], masks.ids, pinned=WHERE == "cuda")
    draw_by_kernels(logits, masks, lines)
    for i, line in enumerate(lines[:, columns.TOKEN :].numpy()):
        expected = expected_line(logits[i].double().numpy(), allowed[i], chosen[i], 0.3 * (i + 1))
        check_line(i, line, expected, exact=chosen[i].temperature == 1.0)


@pytest.mark.thorough
@pytest.mark.parametrize("path", PATHS)
def test_batches(path: str) -> None:
    """Many sequences with different samplers and numbers in one step."""
    logits, allowed = case(96, 60, torch.bfloat16)
    samplers = [SAMPLERS[i % (len(SAMPLERS) if i > 80 else 3)] for i in range(96)]
    assert check(path, logits, allowed, samplers, np.random.default_rng(2).random(96)) == 0


weights = st.lists(st.integers(0, 8), min_size=1, max_size=40).filter(any)
samplers = st.builds(
    Sampler,
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    st.none() | st.integers(1, 12),
    st.integers(1, 64).map(lambda share: share / 64 - 1e-5) | st.just(1.0),
    st.integers(0, 8).map(lambda share: max(share / 8 - 1e-5, 0.0)),
)


@pytest.mark.thorough
@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=12)
@given(weights, weights, samplers)
def test_distributions_with_many_equal_logits(
    path: str, counts: list[int], others: list[int], sampler: Sampler
) -> None:
    """Numbers spread over [0, 1) draw each token as often as the sampler's distribution says.

    What is not allowed lies above and between what is, so nothing of it may leak in.
    """
    allowed = np.array([True] * len(counts) + [False] * len(others))
    order = np.random.default_rng(len(allowed)).permutation(len(allowed))
    raw = np.array([math.log(c) if c else -math.inf for c in counts] + [c / 2 for c in others])
    logits = torch.from_numpy(np.tile(raw[order].astype(np.float32), (6, 1)))
    uniforms = [(i + 0.37) / 6 for i in range(6)]
    rows = np.tile(allowed[order], (6, 1))
    assert check(path, logits, rows, [sampler] * 6, uniforms) == 0


@pytest.mark.parametrize("path", PATHS)
def test_rows_that_allow_nothing(path: str) -> None:
    """No token at all, or only tokens of probability 0: NOTHING, whatever the sampler."""
    logits = torch.zeros(4, 300)
    logits[2:, 7] = -torch.inf
    allowed = np.zeros((4, 300), np.bool_)
    allowed[2:, 7] = True
    check(path, logits, allowed, [Sampler(), Sampler(0.0)] * 2, [0.5] * 4)
    found, _ = drawn(path, logits, allowed, [Sampler(), Sampler(0.0)] * 2, [0.5] * 4)
    assert found[:, 0].tolist() == [columns.NOTHING] * 4


@pytest.mark.parametrize("path", PATHS)
def test_ends_of_the_interval_draw_tokens_that_have_weight(path: str) -> None:
    """The smallest and the largest random number give the first and the last allowed token."""
    logits = torch.zeros(2, 600)
    allowed = np.zeros((2, 600), np.bool_)
    allowed[:, [3, 290, 590]] = True
    for sampler in (Sampler(), Sampler(1.0, 50), Sampler(1.0, None, 1.0, 0.1)):
        ends = [0.0, math.nextafter(1.0, 0.0)]
        found, _ = drawn(path, logits, allowed, [sampler] * 2, ends)
        assert found[:, 0].tolist() == [3, 590]


@pytest.mark.parametrize("path", PATHS)
def test_allowed_logits_far_below_the_others(path: str) -> None:
    """The mass of what is allowed is exact even where the model gives it probability 0."""
    logits, allowed = case(4, 500, torch.float32)
    logits[torch.from_numpy(allowed)] -= 2000
    samplers = [Sampler(), Sampler(0.5), Sampler(0.0), Sampler(1.0, 5, 0.8)]
    assert check(path, logits, allowed, samplers, [0.2, 0.4, 0.6, 0.8]) == 0


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter computes with numpy
def test_broken_logits_show_in_the_normalizer(path: str) -> None:
    """NaN or infinity among them: the log of the sum is not finite, so a row can say so."""
    logits = torch.zeros(2, 300)
    logits[0, 5], logits[1, 290] = torch.nan, torch.inf
    found, _ = drawn(path, logits, np.ones((2, 300), np.bool_), [Sampler()] * 2, [0.5] * 2)
    assert not np.isfinite(found[:, columns.LOG_RAW - columns.TOKEN]).any()


@pytest.mark.thorough
@pytest.mark.parametrize("size", [2000, 4500], ids=["tokens", "groups"])
def test_what_the_kernels_leave_undecided_is_drawn_all_the_same(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flat logits need more tokens to reach p than are compared, or than there are in the leading
    groups: the other path tells.
    """
    need_kernels()
    used: Any = triton_path.draw
    logits, allowed = case(3, size, torch.float32, spread=0.1)
    allowed[:, :size] |= np.arange(size) < 1100
    samplers = [Sampler(1.0, None, p) for p in (0.9, 1.0, 0.001)]
    uniforms = [0.1, 0.3, 0.5]
    assert check("triton", logits, allowed, samplers, uniforms) > 0
    monkeypatch.setattr(triton_path, "serves", lambda logits: True)
    monkeypatch.setattr(triton_path, "draw", lambda *given: used(*given, BLOCK))
    found = gpu.draw(logits.to(WHERE), masks_of(allowed), samplers, uniforms)
    for i, line in enumerate(zip(*found, strict=True)):
        expected = expected_line(logits[i].double().numpy(), allowed[i], samplers[i], uniforms[i])
        check_line(i, line, expected, exact=True)


@pytest.mark.thorough
def test_tokens_next_to_each_other_are_decided_by_the_kernels() -> None:
    """As those of numbers are in large vocabularies: more are in the leading groups than fit."""
    need_kernels()
    logits, allowed = case(3, 1500, torch.float32)
    allowed[:, :1400] = True
    samplers = [Sampler(1.0, 50), Sampler(0.7, 300, 0.9), Sampler(1.0, None, 1.0, 0.01)]
    assert check("triton", logits, allowed, samplers, [0.2, 0.5, 0.8]) == 0


def test_drawing_leaves_the_logits_alone() -> None:
    """They may be asked for other numbers afterwards."""
    logits, allowed = case(3, 100, torch.float32)
    there = logits.to(WHERE)
    gpu.draw(there, masks_of(allowed), [Sampler()] * 3, [0.5] * 3)
    assert torch.equal(there.cpu(), logits)
