"""In: a sampler, a uniform number and a mask's row number per row. Out: what a GPU draws by.

A sheet is float64[n, COLUMNS] in the host's memory. The first columns say how to draw, the last
take what came of it; so that one small copy goes to the GPU for a step, and what comes back is
written by the GPU where the host reads it.
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

NOTHING = -2  # the token where the row allows none
UNDECIDED = -1  # the token where the kernels could not tell; never seen by callers of `draw`

TEMPERATURE = 0  # 0 is greedy
TOP_K = 1  # 0 is off
TOP_P = 2
LOG_MIN_P = 3
UNIFORM = 4  # in [0, 1): decides the draw
ROW = 5  # of the table of mask rows; negative for a row that allows nothing
TOKEN = 6
LOGIT = 7  # of the token
LOG_RAW = 8  # log of the sum of exponentials of all logits
LOG_MASKED = 9  # the same of the allowed ones
COLUMNS = 10


class Draws(NamedTuple):
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


def read_sheet(sheet: torch.Tensor) -> Draws:
    """What a sheet float64[n, COLUMNS] says was drawn."""
    lines = sheet.numpy()
    tokens = lines[:, TOKEN].astype(np.int64)
    return Draws(tokens, lines[:, LOGIT], lines[:, LOG_RAW], lines[:, LOG_MASKED])


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
