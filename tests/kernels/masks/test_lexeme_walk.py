"""Walks of the trie find the lexeme mask and the lexeme ends that a naive machine finds.

The trie is made here from sorted starts of words, and tables start empty and nearly without room,
so the walks stop in the middle and go on again.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from tests.helpers.naive import (
    ALPHABET,
    DEAD,
    LABELS,
    Level,
    Place,
    TwinMachine,
    bits,
    random_machine,
)
from tests.kernels.parser.test_step import reached
from tests.kernels.served import Served, opened
from tests.kernels.trie.tries import (
    Vocabulary,
    by_start,
    changed,
    random_vocabulary,
    unsigned,
    walk_inside,
    walked,
)

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
SEEDS = st.integers(0, 10**6)


def example(seed: int) -> tuple[TwinMachine, Served, Vocabulary]:
    """A machine, its tables, and a vocabulary."""
    machine = random_machine(seed)
    return machine, Served(machine), random_vocabulary(Random(seed))


@given(SEEDS)
def test_the_walk_inside_finds_the_tokens_that_stay_in_the_lexeme(seed: int) -> None:
    """Without duplicates yet, the row is that of the twin's tokens, for every lexer state."""
    machine, served, vocabulary = example(seed)
    for q in range(len(machine.rows)):
        row, _ = walk_inside(served, vocabulary, q)
        assert unsigned(row) == vocabulary.bits(partial(machine.inside, q))


@given(SEEDS)
def test_the_walk_inside_finds_every_place_where_a_token_leaves_the_lexeme(seed: int) -> None:
    """Lexeme ends have the right terminal, side of the byte, and captured bytes, each once."""
    machine, served, vocabulary = example(seed)
    for q in range(len(machine.rows)):
        _, out = walk_inside(served, vocabulary, q)
        assert by_start(vocabulary, out) == machine.crossings(q, vocabulary.starts)


def beside(machine: TwinMachine, rng: Random) -> tuple[TwinMachine, int, int]:
    """The machine with states that may refuse what a plain one of its own reads, or end earlier.

    Returns it with the number of such a state, and of the state that it follows: two layers of
    copies of the plain states, which lead to each other or, for good, to what they are copies of.
    """
    plain, first = machine.plain, len(machine.rows)
    rows, accept = list(machine.rows), list(machine.accept)
    for layer in range(2):
        for q in range(plain):
            row = list(machine.rows[q])
            for byte in ALPHABET:
                if row[byte] >= 0:
                    copy = first + plain + row[byte]
                    label = rng.choice([x for x in range(5, LABELS) if ends_with(machine, q, x)])
                    targets = [row[byte], row[byte], copy if layer == 0 else row[byte]]
                    row[byte] = rng.choice([*targets, rng.choice([DEAD, -2 - label])])
            rows.append(row)
            accept.append(rng.choice([machine.accept[q], -1]))
    both = replace(
        machine,
        rows=rows,
        accept=accept,
        recorded=machine.recorded + machine.recorded[:plain] * 2,
        guard=machine.guard + machine.guard[:plain] * 2,
        levels=machine.levels + machine.levels[:plain] * 2,
    )
    followed = rng.randrange(plain)
    return both, first + followed, followed


def ends_with(machine: TwinMachine, q: int, label: int) -> bool:
    """Whether a lexeme may end with that terminal behind a byte read in that state."""
    return machine.recorded[q] or machine.needs_text[label] != "compared"


@given(SEEDS)
def test_walking_apart_finds_what_walking_it_all_does(seed: int) -> None:
    """From what another state allows, `walk_difference` makes the row and the lexeme ends."""
    rng = Random(seed)
    machine, q, followed = beside(random_machine(seed), rng)
    served, vocabulary = Served(machine), random_vocabulary(rng)
    row, common = walk_inside(served, vocabulary, followed)
    stack = vocabulary.stack(5)
    stack[0] = q
    walk = kernels("masks.lexeme_difference").walk_difference

    def apart(tables: Any, *rest: Any) -> Any:
        return walk(tables, *vocabulary.fixed, common, followed, *rest)

    out = walked(served, vocabulary, apart, row, stack)
    assert unsigned(row) == vocabulary.bits(partial(machine.inside, q))
    assert by_start(vocabulary, out) == machine.crossings(q, vocabulary.starts)


@given(SEEDS)
def test_the_nearest_state_agrees_by_most_nodes(seed: int) -> None:
    """As counted in plain Python: what is alike counts, what only the other leads on by costs."""
    rng = Random(seed)
    machine = random_machine(seed)
    served, states = Served(machine), range(len(machine.rows))
    q = rng.choice(states)
    for state in states:
        if state == q or rng.random() < 0.8:
            served.tables.need[kernels("tables").WANTED] = state
            served.fill_on_demand(served.k.NEED_ROW)
    weights = np.array([rng.randrange(2, 50) for _ in range(256)], np.int32)
    others = [rng.choice([-1, *states]) for _ in range(5)]
    rows, recorded = served.tables.rows, served.tables.recorded
    most, best = 0, -1
    for other in others:
        if other < 0 or not served.tables.filled[other] or recorded[other] != recorded[q]:
            continue
        of = np.where(rows[other] == rows[q], weights, -(weights >> 1))
        score = int(of[rows[other] >= 0].sum())
        if score > most:
            most, best = score, other
    if 2 * most < int(weights[rows[q] >= 0].sum()):
        best = -1
    found = kernels("masks.lexeme_difference").nearest(
        served.tables, weights, np.array(others, np.int32), q
    )
    assert found == best


def tokens_at(machine: TwinMachine, place: Place, vocabulary: Vocabulary) -> list[int]:
    """All tokens that the twin can read."""
    words = enumerate(vocabulary.words)
    return [t for t, word in words if machine.run(place, word) is not None]


def varied(machine: TwinMachine, served: Served, rng: Random) -> list[tuple[int, Place]]:
    """Some places reached whose lexemes have no guards; those where texts were taken first."""
    found = [one for one in reached(machine, served, rng) if one[1].q < machine.plain]
    rng.shuffle(found)
    return sorted(found, key=lambda one: -len(one[1].stack[-1].taken))[:8]


@given(SEEDS)
def test_inside_and_crossing_together_are_the_tokens_that_can_be_read(seed: int) -> None:
    """The whole row, duplicates included, has a token iff the twin can read all its bytes."""
    machine, rng = random_machine(seed), Random(seed)
    served, walk = Served(machine), kernels("masks.lexeme_walk")
    found = varied(machine, served, rng)
    vocabulary = random_vocabulary(rng, machine, (place for _, place in found))
    for pair, place in found:
        row, crossings = walk_inside(served, vocabulary, pair >> 32)
        room = walk.Remainders(
            np.zeros(rng.choice((1, 5, 99)), np.uint8), np.zeros(rng.choice((1, 3, 99)), np.int64)
        )
        stack = vocabulary.stack()
        stack[-2] = -1
        given = (vocabulary.nodes, crossings, room, pair & 0xFFFFFFFF)
        code, row = changed(served, row, walk.walk_lexeme_ends, given, stack)
        assert code == 0
        walk.set_duplicates(vocabulary.nodes, row)
        assert unsigned(row) == bits(tokens_at(machine, place, vocabulary), vocabulary.row_words)
        assert served.place(pair) == place


def test_the_seeds_have_tokens_in_which_texts_are_taken() -> None:
    """Some tokens end a text that came before, some take two texts in the same frame's place."""
    again = twice = 0
    for seed in range(40):
        machine, rng = random_machine(seed), Random(seed)
        found = varied(machine, Served(machine), rng)
        vocabulary = random_vocabulary(rng, machine, (place for _, place in found))
        for _, place in found:
            known = place.stack[-1].taken
            empty = place._replace(stack=(*place.stack[:-1], place.stack[-1]._replace(taken=())))
            for word in vocabulary.words:
                after = machine.run(place, word)
                again += after is None and machine.run(empty, word) is not None
                here = () if after is None else after.stack[len(place.stack) - 1 :]
                twice += any(len(level.taken) >= len(known) + 2 for level in here[:1])
    assert again >= 20
    assert twice >= 20


@given(SEEDS)
def test_contexts_of_masks_cannot_be_asked_what_was_taken(seed: int) -> None:
    """Where the texts seen were left open, `advance_terminal` needs an exact stack node."""
    machine = random_machine(seed)
    served, k, step = Served(machine), kernels("tables"), kernels("parser.step")
    for frame in range(len(machine.frames)):
        exact = served.pair(machine.begin(Level(frame))) & 0xFFFFFFFF
        some = served.ask(step.stack_node_of, frame, -1, k.UNSPECIFIED, -1, -1)
        for label in range(5, LABELS):
            if machine.needs_text[label] == "compared" and machine.move(frame, label) is not None:
                assert served.ask(step.advance_terminal, exact, label) != k.DEAD
                assert (
                    int(opened(step.advance_terminal)(served.tables, some, label)) == k.NEED_EXACT
                )


@given(SEEDS)
def test_characters_are_counted_where_they_begin(seed: int) -> None:
    """Each node has as many as bytes on the way to it were read in the looping state."""
    machine, served, vocabulary = example(seed)
    looping, begin = Random(seed).choices(range(len(machine.rows)), k=2)
    started = np.full(len(vocabulary.starts), -1, np.int32)
    stack = vocabulary.stack()
    stack[0], stack[-2] = begin, looping
    count = kernels("trie.subtrees").count_characters
    assert served.ask(count, vocabulary.nodes, started, stack) == 0
    for start, found in zip(vocabulary.starts, started.tolist(), strict=True):
        q, wanted = begin, 0
        for i, byte in enumerate(start):
            target = machine.rows[q][byte]
            if target < 0:
                wanted = wanted if i + 1 == len(start) else -1  # the string has ended before
                break
            wanted, q = wanted + (q == looping), target
        assert found == wanted


@given(SEEDS)
def test_spread_gives_all_tokens_with_the_same_bytes_the_same_bit(seed: int) -> None:
    """A duplicate's bit is set iff that of the token that the trie names is; others stay."""
    rng = Random(seed)
    vocabulary = random_vocabulary(rng)
    words = vocabulary.words
    chosen = {word for word in words if rng.random() < 0.5}
    row = np.array(vocabulary.bits(chosen.__contains__), np.uint32).view(np.int32)
    kernels("masks.lexeme_walk").set_duplicates(vocabulary.nodes, row)
    wanted = [t for t, word in enumerate(words) if word in chosen]
    assert unsigned(row) == bits(wanted, vocabulary.row_words)
