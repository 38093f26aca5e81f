"""Each character leads a pair where it leads its halves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from tests.kernels.regular.test_state_spans import LAST, Span, spans


def leads(point: int, told: list[Span]) -> int:
    """Where spans lead by a code point, -1 for nowhere."""
    return next((state for low, high, state in told if low <= point <= high), -1)


@pytest.mark.nojit
@given(cases=st.lists(st.tuples(spans(0), spans(0)), max_size=4), joint=st.booleans())
def test_pairs_lead_where_their_halves_lead(
    cases: list[tuple[list[Span], list[Span]]], joint: bool
) -> None:
    """Where either ends, the pair ends as well, or has one half; equal pairs have one number."""
    k = kernels("regular.pairs")
    made = np.array([1, 0], np.int64)
    pairs = k.Pairs(np.zeros((64, 2), np.int32), np.full(128, -1, np.int32), made)
    for one, other in cases:
        given_spans = [np.array(each, np.int32).reshape(-1, 3) for each in (one, other)]
        out = np.full((2 * (len(one) + len(other)), 3), -7, np.int32)
        count = k.side_by_side(*given_spans, joint, pairs, out)
        found: list[Span] = [(low, high, to) for low, high, to in out[:count].tolist()]
        assert all(low <= high for low, high, _ in found)
        assert all(x[1] < y[0] for x, y in pairwise(found))
        for point in [*range(22), 0x7E, 0x7F, 0x80, 0x81, LAST - 2, LAST - 1, LAST]:
            wanted = leads(point, one), leads(point, other)
            at = leads(point, found)
            if (min if joint else max)(wanted) < 0:
                assert at < 0
            else:
                assert tuple(pairs.halves[at].tolist()) == wanted
    known = pairs.halves[: made[0]].tolist()
    assert len({*map(tuple, known)}) == len(known)
