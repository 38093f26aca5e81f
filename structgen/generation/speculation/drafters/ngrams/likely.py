"""The allowed tokens that the target's logits rank highest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.generation.distribution import largest, softmax
from structgen.generation.speculation.interfaces import Round
from structgen.generation.speculation.masked import masked_law
from structgen.generation.speculation.tree import Context, Doubles, Ids
from structgen.masks import bitmask

_WITHIN = 7.0  # nats below the best logit that are of interest: a thousandth of its probability


def likely(
    context: Context, state: int, row: npt.NDArray[Any], most: int
) -> list[tuple[int, float]]:
    """At most `most` tokens allowed in `state`, the most probable first, with probabilities.

    row: float[V], logits masked by nothing. The probabilities are shares of those of the allowed
    tokens that come near the best one, or of all if none does. [] for a row that knows nothing
    (-inf everywhere).
    """
    ids, values = _near(context, state, row)
    if not len(ids):
        return []
    distribution = softmax(values)
    chosen = largest(values, min(most, len(ids)))
    return list(zip(ids[chosen].tolist(), distribution[chosen].tolist(), strict=True))


def likeliest(context: Context, state: int, row: npt.NDArray[Any], most: int) -> tuple[int, ...]:
    """The same without probabilities."""
    ids, values = _near(context, state, row)
    return tuple(ids[largest(values, min(most, len(ids)))].tolist())


def _near(context: Context, state: int, row: npt.NDArray[Any]) -> tuple[Ids, Doubles]:
    """The allowed tokens whose logits are near the best of all, or all if none is; the logits."""
    best = row.max()
    if best > -np.inf:
        mask = bitmask.allocate(1, context.constraint.vocabulary.size)[0]
        context.constraint.fill_mask(state, mask)
        near = np.flatnonzero(row >= best - _WITHIN)
        near = near[bitmask.allows(mask, near)]
        if len(near):
            return near, row[near].astype(np.float64)
    ids, distribution = masked_law(context, state, row)
    return ids, np.log(distribution)


def verified(seen: Round) -> Iterator[int]:
    """Each node of a round from which a text may go on."""
    return (node for node, state in enumerate(seen.tree.states) if state >= 0)
