"""The kernels that read bytes and terminals do what a naive machine does.

Tables start empty and nearly without room, so kernels stop and go on again at every chance.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from tests.helpers.naive import (
    ALPHABET,
    DEAD,
    LABELS,
    SKIP,
    Level,
    Place,
    TwinMachine,
    random_machine,
    random_stack,
    random_words,
)
from tests.kernels.served import Served, opened

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
SEEDS = st.integers(0, 10**6)
TEXTS = 4  # read from random stacks by `reached`


def reached(machine: TwinMachine, served: Served, rng: Random) -> list[tuple[int, Place]]:
    """Positions of the kernels and the naive machine's places, on the way along random texts."""
    found = []
    for _ in range(TEXTS):
        place = machine.begin(*random_stack(machine, rng))
        pair = served.pair(place)
        for byte in machine.walk(place, rng, 14):
            found.append((pair, place))
            pair = served.ask(kernels("parser.step").step, pair, byte)
            after = machine.step(place, byte)
            assert served.place(pair) == after
            if after is None:
                break
            place = after
    return found


@given(SEEDS)
def test_a_step_leads_where_the_twin_goes(seed: int) -> None:
    """`step` gives the twin's place for every byte, after whatever was opened, read and taken."""
    machine, rng = random_machine(seed), Random(seed)
    served = Served(machine)
    for pair, place in reached(machine, served, rng):
        for byte in [*ALPHABET, 0, 0x7A]:
            after = served.ask(kernels("parser.step").step, pair, byte)
            assert served.place(after) == machine.step(place, byte)


@given(SEEDS)
def test_a_run_reads_as_far_as_the_twin(seed: int) -> None:
    """`run` gives the twin's place after all bytes, or DEAD and the offset of the refused byte."""
    machine, rng = random_machine(seed), Random(seed)
    served = Served(machine)
    for word in [b"", *random_words(rng, 4), None, None, None, None]:
        start = machine.begin(*random_stack(machine, rng))
        data = machine.walk(start, rng, 20) if word is None else word
        pair, count = served.run(served.pair(start), data)
        assert served.place(pair) == machine.run(start, data)
        alive = [machine.run(start, data[:n]) is not None for n in range(len(data) + 1)]
        assert count == sum(alive) - 1


@given(SEEDS)
def test_an_event_leads_where_the_twin_goes(seed: int) -> None:
    """`advance_terminal` gives the right place after every terminal, wherever it happens."""
    machine, rng = random_machine(seed), Random(seed)
    served = Served(machine)
    for pair, place in reached(machine, served, rng)[::3]:
        for label in range(SKIP, LABELS):
            after = served.ask(kernels("parser.step").advance_terminal, pair & 0xFFFFFFFF, label)
            assert served.place(after) == machine.event(place, label)


@given(SEEDS)
def test_equal_places_have_equal_pairs(seed: int) -> None:
    """Positions are interned: the same place is the same int, however it is reached."""
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
        assert served.ask(kernels("parser.step").ending, pair) == machine.ends(place)


@pytest.mark.thorough
@given(SEEDS)
def test_the_next_bytes_are_the_twins(seed: int) -> None:
    """`next_bytes` marks each byte that can follow, `only_byte` names it when there is just one."""
    machine, rng = random_machine(seed), Random(seed)
    served = Served(machine)
    for pair, place in reached(machine, served, rng)[::4]:
        out = np.full(256, 9, np.uint8)
        assert served.ask(kernels("parser.step").next_bytes, pair, out) == 0
        wanted = machine.next_bytes(place)
        assert np.flatnonzero(out).tolist() == wanted
        assert set(out.tolist()) <= {0, 1}
        only = wanted[0] if len(wanted) == 1 else -1
        assert served.ask(kernels("parser.step").only_byte, pair) == only


def test_nothing_closes_below_the_outermost_frame() -> None:
    """Tables that say so, which only a forged file has, lead nowhere."""
    served, k = Served(random_machine(0)), kernels("tables")
    ctx = served.pair(served.machine.begin(Level(0))) & 0xFFFFFFFF
    label = served.machine.needs_text.index("unused", SKIP + 1)
    k.insert(served.tables.actions, label, k.POP << 56 | label << 28)  # of frame 0
    assert int(opened(kernels("parser.step").advance_terminal)(served.tables, ctx, label)) == k.DEAD


@pytest.mark.parametrize("name", ["step", "ending"])
def test_lexemes_that_end_for_ever_are_refused(name: str) -> None:
    """A state that SKIP leads back to, which only a forged file has, reads nothing and ends not."""
    machine = random_machine(0)
    q = machine.frames[0].lexeme
    machine.rows[q], machine.accept[q] = [DEAD] * 256, SKIP
    served = Served(machine)
    pair = served.pair(Place(q, (Level(0),)))
    byte = [0] if name == "step" else []
    assert served.ask(getattr(kernels("parser.step"), name), pair, *byte) == (DEAD if byte else 0)


def test_the_seeds_make_kernels_stop_for_every_reason() -> None:
    """Rows, actions, events and space are asked for; deep places and seen texts are reached."""
    asked: set[int] = set()
    places: list[Place] = []
    refused = 0
    for seed in range(20):
        machine = random_machine(seed)
        served = Served(machine)
        found = [place for _, place in reached(machine, served, Random(seed))]
        refused += sum(taken_again(machine, place) for place in found)
        places += found
        asked |= served.asked
    k = kernels("tables")
    assert asked == {k.NEED_ROW, k.NEED_ACTION, k.NEED_EVENT, k.NEED_SPACE}
    assert max(len(place.text) for place in places) >= 3
    assert max(len(place.stack) for place in places) >= 6
    assert max(len(place.stack[-1].taken) for place in places) >= 2
    assert refused >= 5


def taken_again(machine: TwinMachine, place: Place) -> int:
    """How many terminals are refused here only because the text was seen before."""
    fresh = place._replace(
        stack=(*place.stack[:-1], place.stack[-1]._replace(taken=())),
    )
    labels = [x for x in range(SKIP, LABELS) if machine.needs_text[x] == "compared"]
    return sum(
        machine.event(place, x) is None and machine.event(fresh, x) is not None for x in labels
    )
