"""The masked distribution of the next token at a state of the constraint.

Drafts are drawn from it, and the very same numbers go into the acceptance ratio: masked, at the
temperature and truncation of the text (Leviathan et al. 2023, appendix A.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.generation.distribution import softmax
from structgen.generation.speculation.tree import Context, Doubles, Ids
from structgen.masks import bitmask


def allowed_ids(context: Context, state: int) -> Ids:
    """int64[k], ascending: the tokens that the mask of a state allows; none for DEAD and FINAL."""
    return bitmask.ids_of(context.constraint, state)


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
        return ids, softmax(values)
    distribution = sampler.distribution(values)
    kept = distribution > 0
    return ids[kept], distribution[kept]
