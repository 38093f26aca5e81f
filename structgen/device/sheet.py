"""In: samplers and uniform numbers, one of each per row. Out: the sheet that a GPU draws by.

A sheet is float64[n, COLUMNS]. The first columns say how to draw, the last take what came of it; so
that one small copy goes to the GPU for a step, and one comes back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.decode.sampling import Sampler

NOTHING = -2  # the token where the row allows none
UNDECIDED = -1  # the token where the kernels could not tell; never seen by callers of `draw`

TEMPERATURE = 0  # 0 is greedy
TOP_K = 1  # 0 is off
TOP_P = 2
LOG_MIN_P = 3
UNIFORM = 4  # in [0, 1): decides the draw
TOKEN = 5
LOGIT = 6  # of the token
LOG_RAW = 7  # log of the sum of exponentials of all logits
LOG_MASKED = 8  # the same of the allowed ones
COLUMNS = 9


class Draws(NamedTuple):
    """What was drawn for n rows.

    tokens: int64[n], NOTHING where the mask allows no token of positive probability. logits:
    float64[n], of the tokens. log_raw, log_masked: float64[n], log of the sum of exponentials of
    all logits of the row, and of the allowed ones.
    """

    tokens: npt.NDArray[np.int64]
    logits: npt.NDArray[np.float64]
    log_raw: npt.NDArray[np.float64]
    log_masked: npt.NDArray[np.float64]


def read_sheet(sheet: npt.NDArray[np.float64]) -> Draws:
    """What a sheet float64[n, COLUMNS] says was drawn."""
    return Draws(
        sheet[:, TOKEN].astype(np.int64),
        sheet[:, LOGIT],
        sheet[:, LOG_RAW],
        sheet[:, LOG_MASKED],
    )


def write_sheet(samplers: Sequence[Sampler], uniforms: Sequence[float]) -> npt.NDArray[np.float64]:
    """float64[n, COLUMNS]; uniforms[i] in [0, 1) decides row i's draw, unless it is greedy."""
    sheet = np.zeros((len(samplers), COLUMNS))
    sheet[:, UNIFORM] = uniforms
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
    return sheet
