"""In: random keys and values. Out: proof that the kernels' hash tables are dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.jit import kernels
from tests.kernels.served import hash_table

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
# what keys look like in use: a context or label in the low bits, a context in the high ones
KEYS = st.integers(0, 40) | st.builds(
    lambda a, b: a << 32 | b, st.integers(0, 60), st.integers(0, 9)
)
VALUES = st.integers(-1, 2**40)
ENTRIES = st.lists(st.tuples(KEYS, VALUES), max_size=16)


@given(ENTRIES, st.lists(KEYS, max_size=20))
def test_lookup_gives_what_was_inserted_last(
    entries: list[tuple[int, int]], others: list[int]
) -> None:
    """A half full table answers like a dict, with UNKNOWN for keys that it does not have."""
    k = kernels("tables")
    table, twin = hash_table(32), dict[int, int]()
    for key, value in entries:
        k.insert(table, key, value)
        twin[key] = value
        assert int(k.lookup(table, key)) == value
    for key in [*others, *twin]:
        assert int(k.lookup(table, key)) == twin.get(key, k.UNKNOWN)
    assert np.count_nonzero(table[:, 0] != -1) == len(twin)


@given(ENTRIES, st.sampled_from([32, 64, 256]))
def test_a_larger_table_has_the_same_entries(entries: list[tuple[int, int]], size: int) -> None:
    """`rehash` moves every entry, and nothing else, to the new table."""
    k = kernels("tables")
    table = hash_table(32)
    for key, value in entries:
        k.insert(table, key, value)
    larger = hash_table(size)
    k.rehash(table, larger)
    twin = dict(entries)
    assert {int(a): int(b) for a, b in larger if a != -1} == twin
    for key in [*twin, 41, 42 << 32]:
        assert int(k.lookup(larger, key)) == twin.get(key, k.UNKNOWN)


def test_no_code_can_be_taken_for_another_or_for_a_pair() -> None:
    """The codes are distinct and negative, pairs are not."""
    k = kernels("tables")
    codes = [k.DEAD, k.NEED_ROW, k.NEED_EVENT, k.NEED_SPACE, k.UNKNOWN]
    assert len(set(codes)) == len(codes)
    assert max(codes) < 0
    assert all(code < k.DEAD for code in codes[1:])
