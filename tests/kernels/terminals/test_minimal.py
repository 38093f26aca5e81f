"""Minimal DFAs and the conditions on what follows a lexeme, against the same in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from tests.kernels.grammar.test_terminals import automata

SATISFIED, VIOLATED = 0, 1


@given(automata(), st.data())
def test_states_with_one_number_read_the_same_texts(
    found: tuple[np.ndarray, np.ndarray], data: st.DataObject
) -> None:
    """And no others; numbers are in the order in which they are met."""
    nexts, _ = found
    size = len(nexts)
    kinds = np.array([data.draw(st.integers(0, 1)) for _ in range(size)], np.int64)
    number, scratch, first = kinds.copy(), np.zeros(size, np.int64), np.zeros(size, np.int32)
    slots = np.zeros(256, np.int32)
    count = kernels("terminals.minimal").refined(nexts, number, scratch, first, slots)
    apart = {(a, b) for a in range(size) for b in range(size) if kinds[a] != kinds[b]}
    for _ in range(size):
        for a in range(size):
            for b in range(size):
                after = zip(nexts[a].tolist(), nexts[b].tolist(), strict=True)
                if any(one != two and (min(one, two) < 0 or (one, two) in apart)
                       for one, two in after):  # fmt: skip
                    apart.add((a, b))
    assert all((number[a] != number[b]) == ((a, b) in apart) for a in range(size)
               for b in range(size))  # fmt: skip
    assert list(dict.fromkeys(number.tolist())) == list(range(count))
    assert number[first[:count]].tolist() == list(range(count))


@given(automata(), st.data())
def test_columns_with_one_number_are_equal(
    found: tuple[np.ndarray, np.ndarray], data: st.DataObject
) -> None:
    """And no others; numbers are in the order in which they are met."""
    nexts, _ = found
    table = nexts[:, data.draw(st.lists(st.integers(0, nexts.shape[1] - 1), max_size=9))].copy()
    size = table.shape[1]
    classes, first = np.zeros(size, np.int32), np.zeros(size, np.int32)
    k = kernels("terminals.minimal")
    count = k.column_classes(table, classes, first, np.zeros(size, np.int64))
    columns = [tuple(column) for column in table.T.tolist()]
    listed = list(dict.fromkeys(columns))
    assert classes.tolist() == [listed.index(column) for column in columns]
    assert first[:count].tolist() == [columns.index(column) for column in listed]


@given(automata(), st.booleans(), st.data())
def test_conditions_are_those_of_what_has_been_read(
    found: tuple[np.ndarray, np.ndarray], both: bool, data: st.DataObject
) -> None:
    """No longer text may follow, and a match counts until a longer text undoes it."""
    nexts, _ = found
    n, classes = nexts.shape
    ends, longers = (
        np.array([data.draw(st.integers(0, 1)) for _ in range(n)], np.int32) for _ in range(2)
    )
    pairs, number = np.zeros(2 * n * both, np.int32), np.full(2 * n * both, -1, np.int32)
    table = np.zeros((2 + n + 2 * n * both, classes), np.int32)
    k = kernels("terminals.minimal")
    count = k.with_conditions(nexts, ends, longers, number, pairs, table)
    assert (count > 0) == both
    text = data.draw(st.lists(st.integers(0, classes - 1), max_size=8))
    start = data.draw(st.integers(0, n - 1))
    at, state, violated = 2 + start, start, False
    for letter in text:
        at, state = int(table[at, letter]), int(nexts[state, letter]) if state >= 0 else -1
        violated = violated or (state >= 0 and longers[state] == 1)
        assert at == (VIOLATED if violated else SATISFIED if state < 0 else 2 + state)
    if both:
        at, state, matched = 2 + n, 0, 0
        for letter in text:
            at, state = int(table[at, letter]), int(nexts[state, letter]) if state >= 0 else -1
            if state < 0:
                assert at == (VIOLATED if matched else SATISFIED)
                continue
            matched = 1 if ends[state] else 0 if longers[state] else matched
            assert pairs[at - 2 - n] == 2 * state + matched


@given(automata())
def test_states_are_in_the_order_of_their_first_texts(
    found: tuple[np.ndarray, np.ndarray],
) -> None:
    """Breadth first from state 0; those to which nothing leads are left out."""
    nexts, _ = found
    wide = np.full((len(nexts), 256), -1, np.int32)
    wide[:, : nexts.shape[1]] = nexts
    order, place = np.zeros(len(nexts), np.int32), np.full(len(nexts), -1, np.int32)
    count = kernels("terminals.minimal").in_order(wide, order, place)
    wanted = [0]
    for state in wanted:
        wanted += [to for to in dict.fromkeys(nexts[state].tolist()) if to not in {*wanted, -1}]
    assert order[:count].tolist() == wanted
    assert place.tolist() == [wanted.index(s) if s in wanted else -1 for s in range(len(nexts))]


@given(st.data())
def test_lookahead_states_that_are_alike_are_one(data: st.DataObject) -> None:
    """Behind each state follows what followed before; without loops no two are alike."""
    count, classes = data.draw(st.integers(2, 12)), 2
    table = np.zeros((count, classes), np.int32)
    table[1] = 1
    ends = np.array([0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=count - 2,
                                               max_size=count - 2))], np.int32)  # fmt: skip
    may_loop = data.draw(st.booleans())
    for state in range(2, count):
        onward = [0, 1, *range(2 if may_loop else state + 1, count)]
        table[state] = [data.draw(st.sampled_from(onward)) for _ in range(classes)]
    before, number = (table.copy(), ends.copy()), np.empty(count, np.int32)
    left = kernels("terminals.minimal").shared(table, ends, number, np.full(64, -1, np.int32))
    assert sorted({*number.tolist()}) == [*range(left)]
    assert number[:2].tolist() == [0, 1]
    assert (table[number] == number[before[0]]).all()
    assert (ends[number] == before[1]).all()
    if not may_loop:
        kept = [(*row, end) for row, end in zip(table[2:left].tolist(), ends[2:left], strict=True)]
        assert len({*kept}) == len(kept)
