"""Lists of edits make the row that setting and clearing bits makes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from tests.kernels.served import opened

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
WORDS = 6
TOKENS = st.integers(-1, 32 * WORDS - 1)


@given(st.lists(TOKENS), st.lists(st.tuples(st.booleans(), TOKENS)), st.integers(1, 2 * WORDS))
def test_changes_are_those_of_a_set(
    first: list[int], steps: list[tuple[bool, int]], room: int
) -> None:
    """However little room there is, the row is that of a set; only words that differ are named."""
    k = kernels("masks.row_edits")
    wanted = {token for token in first if token >= 0}
    base = row_of(wanted)
    base.flags.writeable = False
    changes = k.RowEdits(base, np.zeros(WORDS, np.int32), np.zeros(room, np.int32))
    out = np.zeros(2 * WORDS, np.int32)
    for _ in range(2):  # the second time nothing must be left of the first
        now = set(wanted)
        for into, token in steps:
            opened(k.admit if into else k.refuse)(changes, token)
            now = (now | {token} if into else now - {token}) - {-1}
        count = k.collect(changes, out)
        row = base.copy()
        k.apply(row, out[: 2 * count])
        assert row.tolist() == row_of(now).tolist()
        assert sorted(out[: 2 * count : 2].tolist()) == np.flatnonzero(row != base).tolist()


def row_of(tokens: set[int]) -> npt.NDArray[np.int32]:
    """The row with the bits of tokens."""
    bits = np.zeros(32 * WORDS, np.uint8)
    bits[sorted(tokens)] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)
