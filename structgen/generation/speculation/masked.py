"""The masked distribution of the next token at a state of the constraint.

Drafts are drawn from it, and the very same numbers go into the acceptance ratio: masked, at the
temperature and truncation of the text (Leviathan et al. 2023, appendix A.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.generation.speculation.tree import Context, Doubles, Ids
from structgen.masks import bitmask


def allowed_ids(context: Context, state: int) -> Ids:
    """int64[k], ascending: the tokens that the mask of a state allows; none for DEAD and FINAL."""
    size = context.constraint.vocabulary.size
    row = bitmask.allocate(1, size)
    context.constraint.fill_mask(state, row[0])
    return np.flatnonzero(bitmask.unpack(row[0], size))


def masked_law(context: Context, state: int, logits: npt.NDArray[Any]) -> tuple[Ids, Doubles]:
    """The allowed tokens int64[k] with a finite logit, and their probabilities float64[k].

    logits: float[V], a drafter's or the target's. Empty where nothing is allowed. See
    `distribution_over`.
    """
    ids = allowed_ids(context, state)
    return distribution_over(context, ids, logits[ids])


def distribution_over(context: Context, ids: Ids, logits: npt.NDArray[Any]) -> tuple[Ids, Doubles]:
    """Those of the tokens int64[k] that may be drawn, and their probabilities.

    logits: float[k]. The sampler is the context's; a greedy one gives the distribution at
    temperature 1, so that estimates stay informative and draws stay varied.
    """
    values = logits.astype(np.float64)
    finite = values > -np.inf
    ids, values = ids[finite], values[finite]
    if not len(ids):
        return ids, values
    sampler = context.sampler
    if sampler.greedy:
        weights = np.exp(values - values.max())
        return ids, weights / weights.sum()
    distribution = sampler.distribution(values)
    kept = distribution > 0
    return ids[kept], distribution[kept]
