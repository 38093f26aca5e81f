"""In: random names and machines. Out: proof that the states within names read what they should."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structgen.jit import kernels
from tests.kernels.served import Array, Served
from tests.naive import ALPHABET, DEAD, TwinMachine, random_machine, read, starts_of

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
SEEDS = st.integers(0, 10**6)
NAMES = st.sets(st.lists(st.sampled_from(ALPHABET), max_size=5).map(bytes), min_size=1, max_size=8)
QUOTE = 0x22
ORDER = 7  # where the positions of the names are
FIRST = 20  # label of the first name


class Filled(NamedTuple):
    """Tables in which the states before (`root`) and within names have been written."""

    tables: Any
    root: int
    made: int
    born: Array


def filled(machine: TwinMachine, names: list[bytes], free: int, recorded: bool) -> Filled:
    """Write the rows of names; those of the machine are filled only when the kernel asks."""
    served, root = Served(machine), len(machine.rows)
    room = 1 + sum(map(len, names))
    t = served.tables
    served.tables = t._replace(
        rows=np.concatenate((t.rows, np.full((room, 256), 99, np.int32))),
        filled=np.append(t.filled, np.zeros(room, np.uint8)),
        accept=np.append(t.accept, np.full(room, 99, np.int32)),
        recorded=np.append(t.recorded, np.full(room, recorded, np.uint8)),
        guard=np.concatenate((t.guard, np.full((room, 2), 99, np.int32))),
    )
    served.tables.recorded[root + 1 :] = not recorded
    data = np.frombuffer(b"".join(names), np.uint8)
    start = np.cumsum([0, *map(len, names)], dtype=np.int64)
    label = np.arange(FIRST, FIRST + len(names), dtype=np.int32)
    given_names = kernels("names").Names(data, start, label)
    born = np.full((room, 2), -1, np.int32)
    fill = kernels("names").fill_names
    while (made := int(fill(served.tables, given_names, root, root + 1, free, ORDER, born))) < 0:
        served.serve(served.k.NEED_ROW)
    return Filled(served.tables, root, made, born[:made])


def machine_of(seed: int) -> TwinMachine:
    """A machine whose lexemes may also end with a quote."""
    machine, rng = random_machine(seed), Random(seed)
    for row in machine.rows:
        row[QUOTE] = rng.choice([DEAD, -2 - rng.randrange(5, FIRST)])
    return machine


@given(NAMES, SEEDS, st.integers(-1, 8), st.booleans())
@example({b""}, 0, -1, True)
@example({b"", b"a"}, 0, 3, True)
def test_names_are_read_to_their_quote_and_other_keys_as_without_them(
    names: set[bytes], seed: int, free: int, recorded: bool
) -> None:
    """Behind each start of a name, every byte leads on within names, or where it does without."""
    machine, known = machine_of(seed), sorted(names)
    starts = [b"", *starts_of(known)]
    t, root, made, _ = filled(machine, known, free, recorded)
    assert made == len(starts) - 1
    assert t.filled[root : root + 1 + made].all()
    states = {start: read(t.rows.tolist(), root, start) for start in starts}
    assert sorted(states.values()) == list(range(root, root + 1 + made))
    for start, q in states.items():
        wanted = [read(machine.rows, free, start + bytes((byte,))) for byte in range(256)]
        for longer in starts[1:]:
            if longer[:-1] == start:
                wanted[longer[-1]] = states[longer]
        if start in known:
            wanted[QUOTE] = -2 - (FIRST + known.index(start))
        assert t.rows[q].tolist() == wanted
        assert t.accept[q] == DEAD
        assert t.recorded[q] == recorded


@given(NAMES, SEEDS, st.integers(-1, 8))
def test_states_within_names_are_guarded_where_no_other_key_may_come(
    names: set[bytes], seed: int, free: int
) -> None:
    """Their guard is the range of the names that begin so, and nothing where any key may follow."""
    machine, known = machine_of(seed), sorted(names)
    t, root, _, _ = filled(machine, known, free, recorded=True)
    for start in [b"", *starts_of(known)]:
        first, last = t.guard[read(t.rows.tolist(), root, start)].tolist()
        if read(machine.rows, free, start) >= 0:
            assert first == -1
        else:
            begun = [ORDER + i for i, name in enumerate(known) if name.startswith(start)]
            assert list(range(first, last)) == begun


@given(NAMES, SEEDS, st.integers(-1, 8))
def test_each_state_within_names_is_born_with_a_name_that_leads_to_it(
    names: set[bytes], seed: int, free: int
) -> None:
    """Reading so many bytes of that name from the start leads to the state."""
    known = sorted(names)
    t, root, _, born = filled(machine_of(seed), known, free, recorded=True)
    for q, (name, depth) in enumerate(born.tolist(), root + 1):
        assert read(t.rows.tolist(), root, known[name][:depth]) == q
