"""The Triton kernels for tests: on a GPU, in Triton's interpreter, or the test is skipped.

tests/conftest.py asks for the interpreter where there is no GPU; what has been imported without
that wish cannot be interpreted any more.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
import torch

from structgen.generation import gpu
from structgen.masks import bitmask

WHERE = "cuda" if torch.cuda.is_available() else "cpu"
INTERPRETED = WHERE == "cpu"


def need_kernels() -> None:
    """Skip the test, saying why, where the kernels cannot run."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    import triton

    if INTERPRETED and not triton.knobs.runtime.interpret:
        pytest.skip("there is no GPU, and TRITON_INTERPRET was not 1 when triton was imported")


class Table:
    """A constraint whose state i has the i-th of the given masks bool[n, V]."""

    def __init__(self, allowed: Any) -> None:
        self.rows = bitmask.pack(np.asarray(allowed, np.bool_))
        self.asked: list[int] = []

    def fill_mask(self, state: int, row: Any) -> None:
        """Copy the row, and note that it was asked for."""
        self.asked.append(state)
        row[:] = self.rows[state]


def masks_of(allowed: Any) -> gpu.DeviceMasks:
    """The masks bool[n, V] on the device, in a table with other rows before them."""
    allowed = np.asarray(allowed, np.bool_)
    table = gpu.RowTable(allowed.shape[1], WHERE)
    other = Table(np.arange(allowed.shape[1])[None] % np.array([[2], [3]]) == 0)
    table.masks([other, other], [0, 1])
    states = range(len(allowed))
    return table.masks([Table(allowed)] * len(allowed), list(states))
