"""In: a row of the target's logits. Out: the tokens it finds most likely among the allowed ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.automaton import DEAD
from structgen.speculate.interfaces import Context, Round
from structgen.speculate.laws import masked_law

_WITHIN = 7.0  # nats below the best logit that are of interest: a thousandth of its probability
_CHECKED = 64  # tokens that are tried with the automaton; where there are more, the mask is asked


def likely(
    context: Context, state: int, row: npt.NDArray[Any], most: int
) -> list[tuple[int, float]]:
    """At most `most` tokens allowed in `state`, the most probable first, with probabilities.

    row: float[V], logits masked by nothing. The probabilities are shares of those of the allowed
    tokens that come near the best one. [] for a row that knows nothing (-inf everywhere).
    """
    best = row.max()
    if not np.isfinite(best):
        return []
    near = np.flatnonzero(row >= best - _WITHIN)
    if len(near) <= _CHECKED:
        advance = context.constraint.advance
        kept = [t for t in near.tolist() if advance(state, t) != DEAD]
        ids = np.array(kept, np.int64)
        law = np.exp(row[ids].astype(np.float64) - float(best))
    else:
        ids = np.zeros(0, np.int64)
    if not len(ids):
        ids, law = masked_law(context, state, row)
    if len(ids) > most:
        chosen = np.argpartition(law, len(law) - most)[-most:]
    else:
        chosen = np.arange(len(ids))
    chosen = chosen[np.argsort(-law[chosen], kind="stable")]
    total = law.sum()
    return [(int(ids[i]), float(law[i] / total)) for i in chosen]


def likeliest(context: Context, state: int, row: npt.NDArray[Any], most: int) -> tuple[int, ...]:
    """The same without probabilities, which is less work: only tokens near the best of all count,
    unless none of them is allowed.
    """
    best = row.max()
    if not best > -np.inf:
        return ()
    near = np.flatnonzero(row >= best - _WITHIN)
    values = row[near]
    if len(near) > _CHECKED:
        top = np.argpartition(values, len(near) - _CHECKED)[-_CHECKED:]
        near, values = near[top], values[top]
    advance = context.constraint.advance
    ranked = near[np.argsort(-values, kind="stable")].tolist()
    allowed = (token for token in ranked if advance(state, token) != DEAD)
    found = tuple(islice(allowed, most))
    return found or tuple(token for token, _ in likely(context, state, row, most))


def verified(seen: Round) -> Iterator[int]:
    """Each node of a round from which a text may go on."""
    return (node for node, state in enumerate(seen.tree.states) if state >= 0)
