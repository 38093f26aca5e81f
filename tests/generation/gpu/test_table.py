"""Tests that the table holds each mask row once on the device, and the right one."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.generation import gpu
from structgen.masks import bitmask
from tests.generation.gpu.kernels import WHERE, Table


def allowed_by(masks: gpu.DeviceMasks) -> npt.NDArray[np.bool_]:
    """bool[n, V]: what the masks allow."""
    rows = masks.table[masks.ids_there().long()].cpu().numpy()
    return bitmask.unpack(rows, masks.vocab_size)


def random_masks(count: int, size: int, seed: int = 0) -> npt.NDArray[np.bool_]:
    """bool[count, size]."""
    return np.random.default_rng(seed).random((count, size)) < 0.5


def test_a_row_travels_once() -> None:
    """The constraint is asked once per state, and later steps change nothing in the table."""
    constraint = Table(random_masks(5, 70))
    table = gpu.RowTable(70, WHERE)
    first = table.masks([constraint] * 3, [4, 2, 4])
    assert constraint.asked == [4, 2]
    again = table.masks([constraint] * 2, [2, 4])
    assert constraint.asked == [4, 2]
    assert again.table is first.table
    assert again.ids.tolist() == [1, 0]
    assert len(table) == 2


def test_equal_rows_of_different_constraints_are_one() -> None:
    """Rows are distinguished by what they allow."""
    allowed = random_masks(3, 70)
    table = gpu.RowTable(70, WHERE)
    masks = table.masks([Table(allowed), Table(allowed[::-1]), Table(allowed)], [0, 2, 1])
    assert masks.ids.tolist() == [0, 0, 1]
    assert len(table) == 2


@given(st.lists(st.lists(st.integers(0, 199), min_size=1, max_size=40), max_size=12))
def test_a_table_that_grows_and_starts_anew_is_always_right(steps: list[list[int]]) -> None:
    """Every step gets its masks, and masks of earlier steps stay what they were."""
    allowed = random_masks(200, 40)
    constraint = Table(allowed)
    table = gpu.RowTable(40, WHERE, max_bytes=90 * 8)  # 90 rows
    made = [table.masks([constraint] * len(states), states) for states in steps]
    for masks, states in zip(made, steps, strict=True):
        assert np.array_equal(allowed_by(masks), allowed[states])
    assert len(table) <= 90


def test_a_step_larger_than_the_bound_fits() -> None:
    """The bound gives way to what one step needs."""
    allowed = random_masks(50, 40)
    table = gpu.RowTable(40, WHERE, max_bytes=8)
    masks = table.masks([Table(allowed)] * 50, list(range(50)))
    assert np.array_equal(allowed_by(masks), allowed)


def test_growth_copies_what_is_there() -> None:
    """Rows keep their numbers when the table doubles."""
    allowed = random_masks(300, 40)
    constraint = Table(allowed)
    table = gpu.RowTable(40, WHERE)
    for state in range(300):
        masks = table.masks([constraint], [state])
        assert masks.ids.tolist() == [state]
    assert np.array_equal(bitmask.unpack(masks.table[:300].cpu().numpy(), 40), allowed)


def test_a_constraint_is_not_kept_alive() -> None:
    """Its states are forgotten with it, and another constraint does not inherit them."""
    table = gpu.RowTable(40, WHERE)
    one: Any = Table(random_masks(2, 40))
    table.masks([one], [0])
    del one
    gc.collect()
    other = Table(random_masks(2, 40, seed=1))
    found = table.masks([other], [0])
    assert np.array_equal(allowed_by(found), random_masks(2, 40, seed=1)[:1])


def test_states_of_a_compiled_constraint() -> None:
    """The masks on the device are those of `fill_masks`, for DEAD and FINAL as well."""
    tokens = [b"<end>", *(bytes([b]) for b in range(256)), b"true", b'{"']
    vocab = sg.Vocabulary(tokens, eos_ids=[0])
    c = sg.compile({"type": ["boolean", "object"]}, vocab)
    states = [c.start, sg.DEAD, c.advance_bytes(c.start, b"tr"), sg.FINAL, c.start]
    rows = bitmask.allocate(len(states), vocab.size)
    c.fill_masks(states, rows)
    table = gpu.RowTable(vocab.size, WHERE)
    masks = table.masks([c] * len(states), states)
    assert np.array_equal(allowed_by(masks), bitmask.unpack(rows, vocab.size))
    assert masks.ids_there().dtype == torch.int32
    equal = Table(bitmask.unpack(rows, vocab.size))  # rows without ids
    assert table.masks([equal] * len(states), range(len(states))).ids.tolist() == masks.ids.tolist()
