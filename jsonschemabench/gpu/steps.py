"""The ways to mask logits and draw tokens on a device, and the time of a step of each."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from structgen.generation import gpu
from structgen.generation.distribution import Sampler
from structgen.generation.gpu import sheet, triton_path
from structgen.masks import bitmask

Step = Callable[[int], object]


class Way(NamedTuple):
    """What a step does: `step` until its results are on the host, `launch` without waiting for it.

    What `launch` returns is to be kept until the device has finished.
    """

    step: Step
    launch: Step


POOL = 512  # distinct rows that the states of a run share
WARMUP = 20  # steps before the clock runs; in them the rows travel and kernels are compiled


class Pool:
    """A stand-in for a constraint, whose state i has the i-th of POOL random rows.

    Like the rows of a JSON Schema, half of them allow most tokens and half of them few.
    """

    def __init__(self, vocab_size: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.rows = np.stack(
            [
                bitmask.pack(rng.random(vocab_size) < share)
                for share in np.where(np.arange(POOL) % 2, 0.9, 0.001)
            ]
        )

    def fill_mask(self, state: int, row: npt.NDArray[np.int32]) -> None:
        """Copy the row of a state."""
        row[:] = self.rows[state]


def ways(
    pool: Pool, logits: torch.Tensor, masked: torch.Tensor, states: npt.NDArray[np.int64]
) -> dict[str, Way]:
    """By name: what step i does with the masks of states[i % len(states)], int64[steps, n].

    Drawing reads the logits [n, V]; masking changes `masked`, another tensor like it.
    """
    n, vocab_size = logits.shape
    table = gpu.RowTable(vocab_size, logits.device)
    constraints = [pool] * n
    numbers = np.random.default_rng(1).random((len(states), n)).tolist()
    temperatures = torch.full((n,), 0.7, device=logits.device)
    chosen = states.tolist()

    def masks(i: int) -> gpu.DeviceMasks:
        return table.masks(constraints, chosen[i % len(chosen)])

    def drawing(sampler: Sampler) -> Way:
        samplers = [sampler] * n

        def step(i: int) -> gpu.DrawnTokens:
            return gpu.draw(logits, masks(i), samplers, numbers[i % len(numbers)])

        def launch(i: int) -> torch.Tensor:
            those, drawn_by = masks(i), numbers[i % len(numbers)]
            lines = sheet.write_sheet(samplers, drawn_by, those.ids, pinned=True)
            triton_path.draw(logits, those, lines)
            return lines

        return Way(step, launch)

    def both(step: Step) -> Way:
        return Way(step, step)

    return {
        "mask by row numbers": both(lambda i: gpu.apply(masked, masks(i))),
        "mask by row numbers, temperature": both(
            lambda i: gpu.apply(masked, masks(i), temperatures)
        ),
        "mask and argmax": drawing(Sampler(0.0)),
        "mask and draw": drawing(Sampler(0.7)),
        "mask and draw, top-k 50, top-p 0.9": drawing(Sampler(0.7, 50, 0.9)),
        "copy rows, mask by torch or the CPU's kernel": both(
            lambda i: bitmask.apply(masked, pool.rows[states[i % len(states)]])
        ),
    } | {name: both(step) for name, step in _xgrammar(pool, masked, states).items()}


def _xgrammar(pool: Pool, logits: torch.Tensor, states: npt.NDArray[np.int64]) -> dict[str, Step]:
    """xgrammar's own function on copied rows, where it is installed."""
    if importlib.util.find_spec("xgrammar") is None:
        return {}
    import xgrammar

    backend: Any = "triton" if logits.is_cuda else "cpu"
    if not logits.is_cuda and logits.dtype != torch.float32:
        return {}  # which is all that its CPU function takes
    rows = torch.from_numpy(pool.rows)
    held = rows[: logits.shape[0]].clone()
    if logits.is_cuda:
        held = held.pin_memory()

    def step(i: int) -> None:
        torch.index_select(rows, 0, torch.from_numpy(states[i % len(states)]), out=held)
        there = held.to(logits.device, non_blocking=True)
        xgrammar.apply_token_bitmask_inplace(logits, there, backend=backend)

    return {f"xgrammar: copy rows, mask ({backend})": step}


def microseconds_behind(model: Callable[[], object], step: Step, steps: int) -> float:
    """The median time from the end of the model's step on a GPU until `step` behind it is done.

    The host prepares the step and launches its kernels while the GPU is busy with the model.
    """
    event: Any = torch.cuda.Event
    begin, end = event(enable_timing=True), event(enable_timing=True)
    times = []
    for i in range(steps):
        model()
        begin.record()
        _kept = step(i)
        end.record()
        end.synchronize()
        times.append(1000.0 * begin.elapsed_time(end))
    return float(np.median(times))


def microseconds(step: Step, steps: int, *, cuda: bool) -> npt.NDArray[np.float64]:
    """float64[steps]: the time of each, until the device has finished."""
    times = np.empty(steps)
    for i in range(-WARMUP, steps):
        if cuda:
            torch.cuda.synchronize()
        start = time.perf_counter_ns()
        step(i)
        if cuda:
            torch.cuda.synchronize()
        if i >= 0:
            times[i] = (time.perf_counter_ns() - start) / 1000
    return times
