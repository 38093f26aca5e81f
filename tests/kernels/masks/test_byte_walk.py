"""Byte-by-byte walks of the trie find what a naive machine reads.

Tables start empty and nearly without room, so the walks stop in the middle and go on again.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from tests.helpers.naive import Place, TwinMachine, random_machine
from tests.kernels.parser.test_step import reached
from tests.kernels.served import Array, Served
from tests.kernels.trie.tries import Vocabulary, changed, random_vocabulary, unsigned

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
SEEDS = st.integers(0, 10**6)


def example(seed: int) -> tuple[TwinMachine, Served, Vocabulary, list[tuple[int, Place]]]:
    """A machine, its tables, words that can often be read, and positions to read from."""
    machine, rng = random_machine(seed), Random(seed)
    served = Served(machine)
    found = reached(machine, served, rng)[::3]
    return machine, served, random_vocabulary(rng, machine, [place for _, place in found]), found


@pytest.mark.thorough
@given(SEEDS)
def test_walking_along_finds_all_tokens(seed: int) -> None:
    """Guards included, and what is read behind the end of the lexeme."""
    machine, served, vocabulary, found = example(seed)
    for pair, place in found:
        row, stack = vocabulary.row(), vocabulary.stack()
        stack[0] = pair
        walk = kernels("masks.byte_walk").walk_narrow
        code, row = changed(served, row, walk, (vocabulary.nodes,), stack)
        assert code == 0
        wanted = [word for word in vocabulary.words if machine.run(place, word) is not None]
        assert unsigned(row) == vocabulary.bits(wanted.__contains__)


def walk_below(
    served: Served, vocabulary: Vocabulary, pair: int, top: int
) -> tuple[Array, list[int]]:
    """The row and the ends; room for ends grows one by one."""
    walk, row, ends = kernels("masks.byte_walk").walk_below, vocabulary.row(), np.zeros(1, np.int32)
    stack = vocabulary.stack()
    stack[0], stack[-3] = pair, top + 1
    while (code := int(walk(served.tables, vocabulary.nodes, top, row, ends, stack))) != 0:
        if code == kernels("masks.byte_walk").ENDS_FULL:
            ends = np.append(ends, np.int32(-1))
        else:
            served.fill_on_demand(code)
    return row, ends[: stack[-2]].tolist()


@pytest.mark.thorough
@given(SEEDS)
def test_walking_below_finds_what_the_ends_of_tokens_lead_to(seed: int) -> None:
    """Tokens of which the rest can be read, and the nodes after whose bytes the text may end."""
    machine, served, vocabulary, found = example(seed)
    rng = Random(seed)
    for pair, place in found:
        for top in {-1, rng.randrange(len(vocabulary.starts))}:
            begun = b"" if top < 0 else vocabulary.starts[top]
            places = {
                start: machine.run(place, start[len(begun) :])
                for start in vocabulary.starts
                if start.startswith(begun) and start != begun
            }
            row, ends = walk_below(served, vocabulary, pair, top)
            assert unsigned(row) == vocabulary.bits(
                {start for start, after in places.items() if after is not None}.__contains__
            )
            assert ends == [
                vocabulary.starts.index(start)
                for start, after in places.items()
                if after is not None and machine.ends(after)
            ]
