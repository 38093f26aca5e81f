"""The kernels' hash tables behave as dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from tests.helpers.naive import random_machine
from tests.kernels.served import Served, hash_table, opened

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
# what keys look like in use: a label or byte in the low bits, a frame or context in the high ones
KEYS = st.integers(0, 40) | st.builds(
    lambda a, b: a << 32 | b, st.integers(0, 60), st.integers(0, 9)
)
VALUES = st.integers(-1, 2**40)
# frame, context below, text taken, positions ticked off
CONTEXTS = st.tuples(st.integers(0, 3), *[st.integers(-1, 3)] * 4)
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


@given(st.lists(CONTEXTS, max_size=16), st.sampled_from([32, 64]))
def test_a_larger_table_of_contexts_has_the_same(
    columns: list[tuple[int, int, int, int, int]], size: int
) -> None:
    """Each stack node has its own number, before and after `rehash_nodes`."""
    k, served = kernels("tables"), Served(random_machine(0))
    numbers = {key: served.ask(kernels("parser.step").stack_node_of, *key) for key in columns}
    assert len(set(numbers.values())) == len(numbers)
    larger = np.full(size, -1, np.int32)
    k.rehash_nodes(served.tables.stack_nodes, served.tables.node_slots, larger)
    assert sorted(larger[larger >= 0]) == sorted(numbers.values())
    served.tables = served.tables._replace(node_slots=larger)
    for key, number in numbers.items():
        assert int(opened(kernels("parser.step").stack_node_of)(served.tables, *key)) == number
        frame, parent, taken, ticked, kept = key
        row = [frame, parent, taken, number, ticked, -1, kept]
        assert served.tables.stack_nodes[number].tolist() == row


def test_no_code_can_be_taken_for_another_or_for_a_pair() -> None:
    """The codes are distinct and negative, positions are not."""
    k = kernels("tables")
    needs = [getattr(k, name) for name in dir(k) if name.startswith("NEED_")]
    assert len(needs) == 7
    codes = [k.DEAD, k.UNKNOWN, *needs]
    assert len(set(codes)) == len(codes)
    assert max(codes) < 0
    assert all(code < k.DEAD for code in codes[1:])
