"""Products of boolean matrices, by words of bits."""

from __future__ import annotations

import numpy as np
import pytest

from structgen.grammar.analysis.neighbours import product


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 64), (70, 2, 65), (4, 130, 129), (2, 0, 3)])
def test_products_say_what_is_joined_by_something(shape: tuple[int, int, int]) -> None:
    """As counting the ways does."""
    rng = np.random.default_rng(1)
    n, m, k = shape
    one, other = rng.random((n, m)) < 0.2, rng.random((m, k)) < 0.2
    assert (product(one, other) == (one.astype(int) @ other.astype(int) > 0)).all()
