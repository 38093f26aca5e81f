"""All boundary tokens of a lexeme are found, on random machines and vocabularies.

The oracle is a naive machine, which reads every token byte by byte.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.decorators import interpreted
from structgen.kernels.build.loader import kernels
from structgen.masks.parts import LexemeMask
from tests.helpers.naive import DEAD, Place, TwinMachine, bits, random_machine
from tests.kernels.masks.test_lexeme_walk import tokens_at, varied
from tests.kernels.served import Array, Served
from tests.kernels.trie.tries import Vocabulary, changed, random_vocabulary, unsigned, walk_inside

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
SEEDS = st.integers(0, 10**6)
MANY = 200  # seeds of which some must be worth their while


def scene(seed: int) -> tuple[TwinMachine, Served, Vocabulary, list[tuple[int, Place]]]:
    """A random machine, also as kernels have it, a vocabulary, and some of its places."""
    machine, rng = random_machine(seed), Random(seed)
    served = Served(machine)
    found = varied(machine, served, rng)
    return machine, served, random_vocabulary(rng, machine, (place for _, place in found)), found


def walked(served: Served, vocabulary: Vocabulary, pair: int, deeper: int) -> tuple[int, Array]:
    """What the walk of a position's boundary tokens returns, and the row it makes."""
    inside = LexemeMask(*walk_inside(served, vocabulary, pair >> 32))
    inside.sort_boundary_tokens(vocabulary.nodes)
    code, row = 0, inside.row
    if inside.boundary_tokens is not None:
        room = kernels("masks.lexeme_walk").Remainders(
            np.zeros(99, np.uint8), np.zeros(99, np.int64)
        )
        given = (vocabulary.nodes, inside.boundary_tokens, room, pair & 0xFFFFFFFF, deeper)
        walk = kernels("masks.boundary_tokens").walk_boundary_tokens
        code, row = changed(served, row, walk, given, vocabulary.stack())
    kernels("masks.lexeme_walk").set_duplicates(vocabulary.nodes, row)
    return code, row


@given(SEEDS)
def test_inside_and_beyond_together_are_the_tokens_that_can_be_read(seed: int) -> None:
    """Unless the walk says that each end must be looked at, which leaves none too many."""
    machine, served, vocabulary, found = scene(seed)
    for pair, place in found:
        code, row = walked(served, vocabulary, pair, deeper=0)
        if code == 0:
            wanted = tokens_at(machine, place, vocabulary)
            assert unsigned(row) == bits(wanted, vocabulary.row_words)
        assert served.place(pair) == place


@given(SEEDS)
def test_tokens_that_end_the_lexeme_first_can_be_left_out(seed: int) -> None:
    """Of these the first byte is not read in the lexeme."""
    machine, served, vocabulary, found = scene(seed)
    for pair, place in found:
        code, row = walked(served, vocabulary, pair, deeper=1)
        if code == 0:
            wanted = [
                token
                for token in tokens_at(machine, place, vocabulary)
                if machine.rows[place.q][vocabulary.words[token][0]] != DEAD
            ]
            assert unsigned(row) == bits(wanted, vocabulary.row_words)


def answers(seed: int) -> tuple[TwinMachine, Vocabulary, list[tuple[int, Place]]]:
    """Which answers a seed's walks give, by place."""
    machine, served, vocabulary, found = scene(seed)
    codes = [(walked(served, vocabulary, pair, deeper=0)[0], place) for pair, place in found]
    return machine, vocabulary, codes


@pytest.mark.thorough
@pytest.mark.skipif(interpreted(), reason="takes long in plain Python")
def test_the_seeds_have_ends_of_both_kinds() -> None:
    """Many walks are whole though tokens cross; some lexemes' ends must be looked at each."""
    crossing = each = 0
    for seed in range(MANY):
        machine, vocabulary, codes = answers(seed)
        for code, place in codes:
            each += code == kernels("masks.boundary_tokens").ONE_BY_ONE
            inside = {t for t, w in enumerate(vocabulary.words) if machine.inside(place.q, w)}
            crossing += code == 0 and not inside.issuperset(tokens_at(machine, place, vocabulary))
    assert each >= MANY / 10
    assert crossing >= MANY / 10
