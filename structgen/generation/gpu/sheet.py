"""The sheet float64[n, COLUMNS]: how to draw a token for each of n rows, and what was drawn.

The columns are those of `structgen.kernels.gpu.columns`. A sheet lies in (pinned) host memory: one
small copy takes it to the GPU for a step, and the GPU writes the results where the host reads them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from structgen.generation.distribution import Sampler
from structgen.kernels.gpu.columns import (
    COLUMNS,
    LOG_MASKED,
    LOG_RAW,
    LOGIT,
    ROW,
    TOKEN,
    UNIFORM,
)


class DrawnTokens(NamedTuple):
    """What was drawn for n rows.

    tokens: int64[n], NOTHING where the mask allows no token of positive probability. logits:
    float64[n], of the tokens. log_raw, log_masked: float64[n], log of the sum of exponentials of
    all logits of the row, and of the allowed ones; on a GPU within 1e-6 unless the temperature is 1
    (what is drawn is decided in float64 in any case).
    """

    tokens: npt.NDArray[np.int64]
    logits: npt.NDArray[np.float64]
    log_raw: npt.NDArray[np.float64]
    log_masked: npt.NDArray[np.float64]


def read_sheet(sheet: torch.Tensor) -> DrawnTokens:
    """What a sheet float64[n, COLUMNS] says was drawn."""
    lines = sheet.numpy()
    tokens = lines[:, TOKEN].astype(np.int64)
    return DrawnTokens(tokens, lines[:, LOGIT], lines[:, LOG_RAW], lines[:, LOG_MASKED])


def write_sheet(
    samplers: Sequence[Sampler],
    uniforms: Sequence[float],
    rows: npt.NDArray[np.int32],
    *,
    pinned: bool,
) -> torch.Tensor:
    """float64[n, COLUMNS]; uniforms[i] in [0, 1) decides row i's draw, unless it is greedy.

    pinned: in memory that a GPU can write to.
    """
    made = torch.empty((len(samplers), COLUMNS), dtype=torch.float64, pin_memory=pinned)
    sheet = made.numpy()
    sheet[:, UNIFORM] = uniforms
    sheet[:, ROW] = rows
    end = 0
    for _, same in groupby(samplers, key=id):  # usually one for all rows
        equal = list(same)
        sampler, start, end = equal[0], end, end + len(equal)
        sheet[start:end, :UNIFORM] = (
            sampler.temperature,
            min(sampler.top_k or 0, 0x7FFFFFFF),
            sampler.top_p,
            math.log(sampler.min_p) if sampler.min_p > 0.0 else -math.inf,
        )
    return made
