"""In: random machines and bytes. Out: proof that the stepping kernels do what their twins do.

Tables start empty and nearly without room, so kernels stop and go on again at every chance.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.jit import kernels
from tests.kernels.served import Served
from tests.naive import Place, TwinMachine, random_machine, random_words

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
SEEDS = st.integers(0, 10**6)


def reached(machine: TwinMachine, served: Served, rng: Random) -> list[tuple[int, Place]]:
    """Pairs of the kernels and the twin's places, after random words from every context."""
    found = []
    for word in random_words(rng, 12):
        q, base = rng.randrange(len(machine.rows)), rng.randrange(machine.contexts)
        pair, _ = served.run((q << 32) | base, word)
        place = machine.run((q, base, b""), word)
        if place is not None:
            found.append((pair, place))
    return found


@given(SEEDS)
def test_a_step_leads_where_the_twin_goes(seed: int) -> None:
    """`step` gives the twin's place for every byte, with and without remembered bytes."""
    machine, rng = random_machine(seed), Random(seed)
    served = Served(machine)
    for pair, place in reached(machine, served, rng):
        for byte in [*b"abcdefghz", 0, 0xFF]:
            after = served.ask(kernels("step").step, pair, byte)
            assert served.place(after) == machine.step(place, byte)


@given(SEEDS)
def test_a_run_reads_as_far_as_the_twin(seed: int) -> None:
    """`run` gives the twin's place after all bytes, or DEAD and the offset of the refused byte."""
    machine, rng = random_machine(seed), Random(seed)
    served = Served(machine)
    for word in [b"", *random_words(rng, 12)]:
        q, base = rng.randrange(len(machine.rows)), rng.randrange(machine.contexts)
        pair, count = served.run((q << 32) | base, word)
        assert served.place(pair) == machine.run((q, base, b""), word)
        alive = [machine.run((q, base, b""), word[:n]) is not None for n in range(len(word) + 1)]
        assert count == sum(alive) - 1


@given(SEEDS)
def test_equal_places_have_equal_pairs(seed: int) -> None:
    """Pairs are interned: the same place is the same int, whenever and however it is reached."""
    machine, rng = random_machine(seed), Random(seed)
    served = Served(machine)
    found: dict[Place, int] = {}
    for pair, place in reached(machine, served, rng) + reached(machine, served, Random(seed)):
        assert found.setdefault(place, pair) == pair


@given(SEEDS)
def test_an_ending_is_seen_through_lexemes_that_end_before_it(seed: int) -> None:
    """`ending` is 1 exactly where the twin says that the text may end."""
    machine, rng = random_machine(seed), Random(seed)
    served = Served(machine)
    for pair, place in reached(machine, served, rng):
        assert served.ask(kernels("step").ending, pair) == machine.ends(place)


@given(SEEDS)
def test_the_next_bytes_are_the_twins(seed: int) -> None:
    """`next_bytes` marks each byte that can follow, `only_byte` names it when there is just one."""
    machine, rng = random_machine(seed), Random(seed)
    served = Served(machine)
    for pair, place in reached(machine, served, rng):
        out = np.full(256, 9, np.uint8)
        assert served.ask(kernels("step").next_bytes, pair, out) == 0
        wanted = machine.next_bytes(place)
        assert np.flatnonzero(out).tolist() == wanted
        assert set(out.tolist()) <= {0, 1}
        only = wanted[0] if len(wanted) == 1 else -1
        assert served.ask(kernels("step").only_byte, pair) == only


def test_the_seeds_make_kernels_stop_for_every_reason() -> None:
    """Rows, events and space are all asked for, and places with remembered bytes are reached."""
    asked: set[int] = set()
    texts: set[bytes] = set()
    for seed in range(20):
        machine = random_machine(seed)
        served = Served(machine)
        texts |= {place[2] for _, place in reached(machine, served, Random(seed))}
        asked |= set(served.asked)
    tables = kernels("tables")
    assert asked == {tables.NEED_ROW, tables.NEED_EVENT, tables.NEED_SPACE}
    assert max(map(len, texts)) >= 3
