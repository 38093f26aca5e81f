"""Spans of code points laid over others take their place."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels

LAST = 0x10FFFF
Span = tuple[int, int, int]


@st.composite
def spans(draw: st.DrawFn, least: int) -> list[Span]:
    """Ascending spans, of which some touch, with states from `least` on."""
    points = st.one_of(st.integers(0, 20), st.sampled_from([0x7F, 0x80, LAST - 1, LAST]))
    cuts = sorted(draw(st.sets(points, max_size=8)))
    states = draw(st.lists(st.integers(least, 3), min_size=len(cuts), max_size=len(cuts)))
    ends = [*cuts[1:], LAST + 1][: len(cuts)]
    ranges = zip(cuts, ends, states, strict=True)
    found = [(low, after - 1, state) for low, after, state in ranges]
    return [span for span in found if draw(st.booleans())]


@pytest.mark.nojit
@given(below=spans(0), own=spans(-1))
def test_spans_are_laid_over_others(below: list[Span], own: list[Span]) -> None:
    """Each character leads where the upper spans say, if they have it, or else the lower ones."""
    as_array = [np.array(each, np.int32).reshape(-1, 3) for each in (below, own)]
    out = np.full((len(below) + 2 * len(own), 3), -7, np.int32)
    count = kernels("regular.state_spans").lay_over(*as_array, out)
    found: list[Span] = [(low, high, state) for low, high, state in out[:count].tolist()]
    assert all(low <= high for low, high, _ in found)
    assert all(high < low for (_, high, _), (low, _, _) in pairwise(found))

    def at(point: int, told: list[Span]) -> int | None:
        return next((state for low, high, state in told if low <= point <= high), None)

    for point in [*range(22), 0x7E, 0x7F, 0x80, 0x81, LAST - 2, LAST - 1, LAST]:
        wanted = at(point, own)
        wanted = at(point, below) if wanted is None else wanted
        assert at(point, found) == (None if wanted == -1 else wanted), point
