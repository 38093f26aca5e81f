"""What analyses ask of all states at once, against the same in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from structgen.kernels.masks.byte_walk import ENDS_FULL

FAR = 1 << 28
CLASSES = 3


@st.composite
def automata(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """int32[states, classes] of a few DFAs side by side, and their first states."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    starts = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
    rows = [
        [to + start if to >= 0 else -1 for to in draw(st.lists(st.integers(-1, size - 1),
                                                             min_size=CLASSES, max_size=CLASSES))]
        for start, size in zip(starts.tolist(), sizes, strict=True)
        for _ in range(size)
    ]  # fmt: skip
    return np.array(rows, np.int32), starts


@given(automata(), st.data())
def test_pairs_are_those_that_some_text_leads_to(
    found: tuple[np.ndarray, np.ndarray], data: st.DataObject
) -> None:
    """Of terminals that are beside each other; where there is no room for them, that is said."""
    nexts, starts = found
    n = len(starts)
    upper = [[data.draw(st.booleans()) for _ in range(n)] for _ in range(n)]
    beside = np.array(upper, np.uint8) | np.array(upper, np.uint8).T
    todo = [(int(starts[i]), int(starts[j])) for i in range(n) for j in range(i + 1, n)
            if beside[i, j]]  # fmt: skip
    wanted: set[tuple[int, int]] = set()
    while todo:
        pair = todo.pop()
        if pair not in wanted:
            wanted.add(pair)
            after = zip(nexts[pair[0]].tolist(), nexts[pair[1]].tolist(), strict=True)
            todo += [both for both in after if min(both) >= 0]
    k = kernels("grammar.terminals")
    for room in {max(1, len(wanted) - 1), len(wanted) + 1}:
        queue, seen = np.zeros(room, np.int64), np.full((256, 2), -1, np.int64)
        count = k.paired_states(nexts, starts, beside, queue, seen)
        if len(wanted) > room:
            assert count == ENDS_FULL
        else:
            got = [(int(key) >> 32, int(key) & 0x7FFFFFFF) for key in queue[:count]]
            assert len(got) == len(wanted)
            assert set(got) == wanted


@given(automata(), st.data())
def test_what_is_good_comes_back_to_all_that_leads_there(
    found: tuple[np.ndarray, np.ndarray], data: st.DataObject
) -> None:
    """Over steps that are not barred; where the good states lead it does not go."""
    nexts, _ = found
    size = len(nexts)
    good = np.array([[data.draw(st.integers(0, 3))] for _ in range(size)], np.uint64)
    barred = np.array([[data.draw(st.booleans()) for _ in range(CLASSES)] for _ in range(size)])
    barred = barred.astype(np.uint8) if data.draw(st.booleans()) else np.zeros((0, 3), np.uint8)
    leads = good.copy()
    kernels("grammar.terminals").led_to(nexts, barred, good, leads)
    wanted = good[:, 0].tolist()
    for _ in range(size):
        for state in range(size):
            for kind, to in enumerate(nexts[state].tolist()):
                if to >= 0 and not (len(barred) and barred[state, kind]):
                    wanted[state] |= wanted[to] | int(good[to, 0])
    assert leads[:, 0].tolist() == wanted


@given(automata(), st.data())
def test_states_are_as_far_as_their_shortest_texts_are_long(
    found: tuple[np.ndarray, np.ndarray], data: st.DataObject
) -> None:
    """And those that lead to no end stay where they were."""
    nexts, _ = found
    ends = [data.draw(st.booleans()) for _ in nexts]
    reached = np.where(ends, 0, FAR).astype(np.int32)
    kernels("grammar.terminals").distances(nexts, reached)
    level, near = {state for state, end in enumerate(ends) if end}, dict.fromkeys(range(0))
    for length in range(len(nexts) + 1):
        near |= dict.fromkeys(level - near.keys(), length)
        level = {state for state, row in enumerate(nexts.tolist()) if {*row} & level}
    assert reached.tolist() == [near.get(state, FAR) for state in range(len(nexts))]


@pytest.mark.parametrize("room", [2, 64])
@given(st.data())
def test_item_sets_are_those_of_the_subset_construction(room: int, data: st.DataObject) -> None:
    """With the terminals that each begins with."""
    items, terminals = 6, 3
    moves = [
        [(t, data.draw(st.integers(1, 2**items - 1))) for t in range(terminals)
         if data.draw(st.booleans())]
        for _ in range(items)
    ]  # fmt: skip
    steps = [step for row in moves for step in row]
    starts = np.cumsum([0, *map(len, moves)]).astype(np.int32)
    queue, begins = np.zeros((room, 1), np.uint64), np.zeros((room, 1), np.uint64)
    queue[0] = 5
    count = kernels("grammar.terminals").item_sets(
        starts,
        np.array([terminal for terminal, _ in steps], np.int32),
        np.array([[target] for _, target in steps], np.uint64).reshape(-1, 1),
        queue,
        begins,
        np.zeros((terminals, 1), np.uint64),
        np.full(256, -1, np.int32),
    )
    wanted: dict[int, int] = {}
    todo = [5]
    while todo:
        tops = todo.pop()
        if tops not in wanted:
            after: dict[int, int] = {}
            for item in range(items):
                for terminal, target in moves[item] if tops >> item & 1 else ():
                    after[terminal] = after.get(terminal, 0) | target
            wanted[tops] = sum(1 << terminal for terminal in after)
            todo += after.values()
    if count == ENDS_FULL:
        assert len(wanted) >= room
    else:
        got = dict(zip(queue[:count, 0].tolist(), begins[:count, 0].tolist(), strict=True))
        assert got == wanted


@given(automata())
def test_short_texts_lead_to_their_states_and_lookaheads(
    found: tuple[np.ndarray, np.ndarray],
) -> None:
    """Each by its bytes; all of them, shorter ones first, where these are few."""
    nexts, starts = found
    k = kernels("grammar.terminals")
    first, last = int(starts[-1]), len(nexts)
    ends = np.ones(len(nexts), np.int32)
    texts, seen = np.zeros((1 << 12, 4), np.int32), np.zeros(last - first, np.int32)
    count = k.short_texts(nexts, ends, first, texts, seen)
    watch = np.ascontiguousarray(np.maximum(nexts, 0).T)  # any table does
    left = np.zeros((count, len(nexts)), np.int32)
    left[0] = np.arange(len(nexts))
    assert k.left_by_texts(watch, texts[:count], 1, count, left) == 0
    spelled: list[tuple[int, ...]] = [()]
    for state, shorter, kind, length in texts[1:count].tolist():
        spelled.append((*spelled[shorter], kind))
        assert len(spelled[-1]) == length >= len(spelled[-2])
        at, behind = first, np.arange(len(nexts))
        for one in spelled[-1]:
            at, behind = int(nexts[at, one]), watch[one][behind]
        assert at == state
        assert (left[len(spelled) - 1] == behind).all()
    assert len({*spelled}) == count
    one_byte = {(kind,) for kind in range(CLASSES) if nexts[first, kind] >= 0}
    assert {text for text in spelled if len(text) == 1} == one_byte

    # What they satisfy (0), with white space behind them as well, but not those that violate (1)
    # what the last state, as a rival, has to be.
    begun = np.array([len(nexts) - 1, *range(len(nexts))], np.int32)
    space = np.ascontiguousarray(watch[:1])
    ends[last - 1] = 0
    for most in (1, count):
        rows = np.zeros((2 * count + 1, len(nexts)), np.uint8)
        texts_left = np.zeros((count, len(begun)), np.int32)
        some = k.rows_of_texts(watch, texts[:count], ends, begun, space, 1, most, texts_left, rows)
        listed = zip(left[1:].tolist(), texts[1:count, 0].tolist(), strict=True)
        fine = [row for row, state in listed if ends[state] and row[-1] != 1]
        wanted = dict.fromkeys(
            tuple(int(one == 0) for one in behind)
            for row in fine[:most]
            for behind in (row, space[0][row].tolist())
        )
        assert [*map(tuple, rows[:some].tolist())] == [*wanted]
