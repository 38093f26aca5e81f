"""The residual distribution max(p - q, 0), normalised."""

from __future__ import annotations

import numpy as np

from structgen.generation.speculation.tree import Doubles

_ROUNDING = 1e-14  # what differs by no more than this differs by rounding


def residual(p: Doubles, q: Doubles) -> Doubles:
    """float64[k]: max(p - q, 0), made to sum to 1; p itself where nothing but rounding is left.

    So a token that p excludes stays excluded, whatever the rounding.
    """
    rest: Doubles = np.maximum(p - q, 0.0)
    total = rest.sum()
    return rest / total if total > _ROUNDING else p
