"""Resampling of particles by their weights: stratified, systematic, multinomial."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from structgen.generation.checks import refuse
from structgen.generation.sampling.interfaces import Doubles

Resampling = Literal["stratified", "systematic", "multinomial"]
RESAMPLING: tuple[Resampling, ...] = ("stratified", "systematic", "multinomial")


def resample(
    kind: Resampling, weights: Doubles, count: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """int64[count], ascending: indices into weights float64[k], which sum to 1.

    Index i comes count * weights[i] times on average under each kind; `stratified` draws one number
    in each of `count` equal parts of [0, 1), `systematic` the same one in all of them (its counts
    are the mean rounded down or up), `multinomial` draws independently. Douc, Cappe & Moulines
    2005. GenerationError for a kind that does not exist.
    """
    if kind == "stratified":
        points = (np.arange(count) + rng.random(count)) / count
    elif kind == "systematic":
        points = (np.arange(count) + rng.random()) / count
    elif kind == "multinomial":
        points = np.sort(rng.random(count))
    else:
        refuse("resampling", kind, ", ".join(RESAMPLING))
    edges = np.cumsum(weights)
    found = np.searchsorted(edges, points * edges[-1], side="right")
    last = np.flatnonzero(weights)[-1]  # rounding may put a point on the upper edge
    indices: npt.NDArray[np.int64] = np.minimum(found, last).astype(np.int64)
    return indices
