"""Kernels mark, compare and intern the keys seen as sets."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.automata.pushdown.engine import Engine
from structgen.automata.pushdown.machine import KeySet
from structgen.automata.pushdown.tables import (
    keys_in,
    with_key_set,
    with_sets,
    write_key_set,
)
from structgen.kernels.build.decorators import interpreted
from structgen.kernels.build.loader import kernels
from structgen.schema.json_schema import JsonSchema
from tests.helpers.naive import random_machine
from tests.kernels.served import Served, opened

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
SIZES = st.sampled_from([0, 1, 3, 63, 64, 65, 130])
AFTER = (3, 4, 5)  # frames where only more may follow, only the end, or either


def tables_of(key_set: KeySet) -> Any:
    """Tables with one key set, whose frames are `AFTER`."""
    t = with_key_set(Served(random_machine(0)).tables, 0, key_set)
    write_key_set(t, 0, key_set)
    t.key_sets[0, kernels("tables").ONLY_MORE :] = AFTER
    return t


def tick(t: Any, at: int, position: int) -> tuple[Any, int]:
    """The tables and the set after MARK_SEEN, or DEAD; room is made where it is asked for."""
    k = kernels("tables")
    while True:
        t.stack_nodes[0] = 0, -1, -1, 0, at, -1, -1
        after = int(
            opened(kernels("parser.key_sets").apply_key_action)(
                t, 0, k.MARK_SEEN << 56 | 7 << 28 | position
            )
        )
        if after != k.NEED_SPACE:
            break
        t = with_sets(t)
    if after == k.DEAD:
        return t, after
    assert after >> 32 == 7
    return t, after & 0xFFFFFFFF


@given(st.data(), SIZES)
def test_sets_are_equal_when_the_same_positions_were_ticked_off(
    data: st.DataObject, size: int
) -> None:
    """In any order; a key that was seen cannot come again, and what is no key can never come."""
    t = tables_of(KeySet(size, (), range(size), endless=True))
    empty = int(t.key_sets[0, kernels("tables").NO_KEYS])
    some = st.lists(st.integers(0, size - 1), max_size=5) if size else st.just([])
    found: dict[frozenset[int], int] = {frozenset(): empty}
    for ways in data.draw(st.lists(some, max_size=6)):
        at, seen = empty, frozenset[int]()
        for position in ways:
            t, after = tick(t, at, position)
            assert (after < 0) == (position in seen)
            if after >= 0:
                at, seen = after, seen | {position}
                assert found.setdefault(seen, at) == at
                assert keys_in(t.bit_sets, at) == sorted(seen)
    assert len(set(found.values())) == len(found)
    assert tick(t, empty, -(-size // 64) * 64)[1] == kernels("tables").DEAD


@given(st.sets(st.integers(0, 66)), st.sets(st.integers(0, 66)), st.booleans(), st.data())
def test_what_follows_depends_on_what_is_still_to_come(
    required: set[int], others: set[int], endless: bool, data: st.DataObject
) -> None:
    """The end when all that is required has come, more while anything possible has not."""
    possible = required | others
    t, k = tables_of(KeySet(67, required, possible, endless=endless)), kernels("tables")
    at, seen = int(t.key_sets[0, k.NO_KEYS]), set[int]()
    come = st.lists(st.sampled_from(sorted(possible)), unique=True) if possible else st.just([])
    for position in data.draw(come):
        t, at = tick(t, at, position)
        seen.add(position)
    t.stack_nodes[:2] = (0, -1, -1, 0, at, -1, -1), (0, -1, -1, 1, -1, -1, -1)
    after = int(opened(kernels("parser.key_sets").apply_key_action)(t, 0, k.CHECK_KEYS << 56))
    more, ends = endless or possible > seen, required <= seen
    if more or ends:
        assert (after >> 32, after & 0xFFFFFFFF) == (AFTER[more + 2 * ends - 1], at)
    assert (
        int(opened(kernels("parser.key_sets").apply_key_action)(t, 1, k.CHECK_KEYS << 56)) == k.DEAD
    )


def test_an_object_needs_no_frame_for_each_order_of_its_names() -> None:
    """After all orders of some names there are as many frames as after one."""
    names = "abcd" if interpreted() else "abcde"
    schema = {
        "properties": {name: {"type": "integer"} for name in names},
        "type": "object",
        "required": ["b"],
        "additionalProperties": False,
    }
    engine = JsonSchema(schema, property_order="any", whitespace="compact").automaton()
    assert isinstance(engine, Engine)
    made = []
    for order in permutations(names):
        at, _ = engine.run(engine.start, b"{" + b",".join(b'"%c":1' % ord(n) for n in order))
        assert b"}" in bytes(engine.next_bytes(at))
        assert b"," not in bytes(engine.next_bytes(at))
        made.append(engine.size["frames"])
    assert made[0] == made[-1]
    half, _ = engine.run(engine.start, b'{"a":1')
    assert b"}" not in bytes(engine.next_bytes(half))
    assert "b" in engine.expected(half)
    assert engine.completions().shortest(half) == b',"b":0}'
    assert np.count_nonzero(engine.tables.stack_nodes[: engine.size["contexts"], 4] >= 0) > 0
