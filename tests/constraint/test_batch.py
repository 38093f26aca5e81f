"""`sg.fill_masks` writes the masks of many constraints; `state_of` finds a state by its tokens."""

from __future__ import annotations

import threading
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.constraint.batch import fill_each
from structgen.errors import ArgumentError, BudgetError
from tests.helpers import laws

TOKENS: list[bytes | None] = [
    b"<end>", *(bytes((i,)) for i in range(256)), b'{"', b'":', b'"}', b"12", b"true", b"ab", b"<x>"
]  # fmt: skip
VOCABULARY = sg.Vocabulary(TOKENS, eos_ids=[0], special_ids=[0, len(TOKENS) - 1])
SPECS: list[Any] = [
    {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    {"type": "array", "items": {"enum": [1, "ab", None]}, "maxItems": 3},
    sg.Regex("(ab|ba){1,3}c?"),
    sg.Choice(["yes", "no", "nobody"]),
    sg.Lark('start: "a" start "b" | "ab"'),
    sg.sequence("<x>", sg.Regex("[0-9]{1,3}")),
    {"type": "string", "pattern": "^a+b*$"},
    {"anyOf": [{"type": "boolean"}, {"type": "number", "minimum": 3}]},
]


def compiled() -> list[sg.Constraint]:
    """The specs, compiled anew: no mask has been made."""
    return [sg.compile(spec, VOCABULARY) for spec in SPECS]


def batch_of(
    constraints: list[sg.Constraint], rng: Random
) -> tuple[list[sg.Constraint], list[int]]:
    """States of random texts, some twice, and ended ones, with their constraints."""
    found = []
    for one in constraints:
        visited = [state for _, state in laws.walk(one, rng, 4)]
        found += [(one, state) for state in [*visited, visited[0], sg.DEAD, sg.FINAL]]
    rng.shuffle(found)
    return [one for one, _ in found], [state for _, state in found]


def alone(constraints: list[sg.Constraint], states: list[int]) -> npt.NDArray[np.int32]:
    """The rows, filled one by one."""
    rows = np.empty((len(states), VOCABULARY.words), np.int32)
    for constraint, state, row in zip(constraints, states, rows, strict=True):
        constraint.fill_mask(state, row)
    return rows


@given(st.integers(0, 10**6), st.sampled_from([None, 1, 2, 3]))
def test_a_batch_has_the_rows_of_its_constraints(seed: int, threads: int | None) -> None:
    """Whether they are there already or must be made, and however many threads make them."""
    chosen, states = batch_of(compiled(), Random(seed))
    rows = np.full((len(states) + 1, VOCABULARY.words), -1, np.int32)
    sg.fill_masks(chosen, states, rows, threads)
    assert (rows[:-1] == alone(chosen, states)).all()
    assert (rows[-1] == -1).all(), "further rows are left alone"
    again = np.zeros((len(states), 2 * VOCABULARY.words), np.uint32)[:, ::2]  # not in one piece
    sg.fill_masks(chosen, states, again, threads)
    assert (again.view(np.int32) == rows[:-1]).all()


def test_rows_that_must_be_made_are_made() -> None:
    """All constraints are new, and none has been asked for a mask."""
    constraints = compiled() * 2
    states = [one.start for one in constraints]
    rows = np.zeros((len(states), VOCABULARY.words), np.int32)
    sg.fill_masks(constraints, states, rows)
    fresh = compiled() * 2
    assert (rows == alone(fresh, [one.start for one in fresh])).all()
    sg.fill_masks([constraints[0]] * 9, [constraints[0].start] * 9, rows)
    assert (rows[:9] == rows[0]).all()
    sg.fill_masks([], [], rows)


class Meeting:
    """A constraint whose rows are made only while another thread makes one, too."""

    def __init__(self, barrier: threading.Barrier) -> None:
        self._barrier = barrier

    def fill_mask(self, _state: int, row: npt.NDArray[Any]) -> None:
        """Wait for the other thread."""
        self._barrier.wait(20)
        row[:] = 1


def test_threads_share_the_rows_that_must_be_made() -> None:
    """Two threads meet in two rows; with `threads=1` nobody would come."""
    barrier = threading.Barrier(2)
    rows = np.zeros((8, 3), np.int32)
    sg.fill_masks([Meeting(barrier) for _ in range(8)], [0] * 8, rows, threads=2)
    assert (rows == 1).all()


class Failing:
    """A constraint that cannot make its rows."""

    def fill_mask(self, state: int, row: npt.NDArray[Any]) -> None:
        """BudgetError."""
        raise BudgetError(f"state {state} takes too long")


def test_one_failure_leaves_the_others_their_rows() -> None:
    """And is raised when they are written; `fill_each` says which row it was."""
    constraints: list[Any] = [*compiled()[:4], Failing(), *compiled()[4:], Failing()]
    states = [0 if isinstance(one, Failing) else one.start for one in constraints]
    rows = np.zeros((len(states), VOCABULARY.words), np.int32)
    with pytest.raises(BudgetError, match="state 0"):
        sg.fill_masks(constraints, states, rows)
    errors = fill_each(constraints, states, rows)
    assert sorted(errors) == [4, len(states) - 1]
    assert all(rows[i].any() != (i in errors) for i in range(len(states)))


def test_wrong_arguments_are_refused() -> None:
    """Counts that differ, rows that are none, too few or of another width, states that are none."""
    constraints = compiled()[:2]
    states = [one.start for one in constraints]
    rows = np.zeros((2, VOCABULARY.words), np.int32)
    with pytest.raises(ArgumentError, match="2 constraints for 1 states"):
        sg.fill_masks(constraints, states[:1], rows)
    for wrong in (rows[:1], rows[0], np.zeros((2, VOCABULARY.words + 1), np.int32), [[0]]):
        with pytest.raises(ArgumentError, match="row"):
            sg.fill_masks(constraints, states, wrong)  # type: ignore[arg-type]
    for state in ("0", [0], 10**6):
        with pytest.raises(ArgumentError, match="the state is"):
            sg.fill_masks(constraints, [states[0], state], rows)  # type: ignore[list-item]


@given(st.integers(0, 10**6))
def test_a_state_is_found_by_its_tokens(seed: int) -> None:
    """As token by token: special and end tokens, and tokens that are not allowed, too."""
    rng = Random(seed)
    for constraint in compiled():
        state, tokens = constraint.start, list[int]()
        for _ in range(8):
            row = laws.mask_of(constraint, state)
            token = rng.choice(sorted(row)) if row and rng.random() < 0.9 else rng.randrange(300)
            tokens.append(token)
            state = constraint.advance(state, token)
            assert constraint.state_of(tokens) == state
    with pytest.raises(ArgumentError, match="the token is"):
        constraint.state_of(["a"])  # type: ignore[list-item]


def test_a_state_is_found_where_not_all_bytes_have_tokens() -> None:
    """There a token may be refused for what could not be finished behind it."""
    few = sg.Vocabulary([b"<end>", b"a", b"b", b"ab"], eos_ids=[0])
    constraint = sg.compile(sg.Regex("abc|ab|ba"), few)
    for tokens in ([1], [1, 2], [3], [2, 1], [3, 0], [2, 2], [1, 2, 0, 1]):
        state = constraint.start
        for token in tokens:
            state = constraint.advance(state, token)
        assert constraint.state_of(iter(tokens)) == state
