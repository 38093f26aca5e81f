"""In: random machines and vocabularies. Out: proof that the trie walks find what the twin finds.

The trie is made here from sorted starts of words, and tables start empty and nearly without room,
so the walks stop in the middle and go on again.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.jit import kernels
from tests.kernels.served import Array, Served
from tests.naive import TwinMachine, bits, random_machine, random_words, starts_of

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
SEEDS = st.integers(0, 10**6)


class Vocabulary:
    """Words by token id, some of them twice, and the trie of them as the kernels want it."""

    def __init__(self, rng: Random) -> None:
        words = random_words(rng, rng.randrange(1, 40))
        words += rng.sample(words, min(3, len(words)))
        self.words = words
        self.starts = starts_of(words)
        first = {word: token for token, word in reversed(list(enumerate(words)))}
        extra = [(self.starts.index(w), t) for t, w in enumerate(words) if first[w] != t]
        ends = [
            next((j for j in range(i, len(self.starts)) if not self.starts[j].startswith(s)), None)
            for i, s in enumerate(self.starts)
        ]
        arrays: dict[str, Array] = {
            "byte": np.array([s[-1] for s in self.starts], np.uint8),
            "depth": np.array([len(s) for s in self.starts], np.int32),
            "end": np.array([len(ends) if e is None else e for e in ends], np.int32),
            "token": np.array([first.get(s, -1) for s in self.starts], np.int32),
            "extra_node": np.array([node for node, _ in extra], np.int32),
            "extra_token": np.array([token for _, token in extra], np.int32),
        }
        for array in arrays.values():
            array.flags.writeable = False
        self.nodes = kernels("walk").Nodes(**arrays)
        self.depth = max(map(len, words))
        self.row_words = -(-len(words) // 32)

    def stack(self) -> Array:
        """Room for the states along one token."""
        return np.zeros(self.depth + 4, np.int64)


def walk_inside(served: Served, vocabulary: Vocabulary, q: int) -> tuple[Array, Any]:
    """The row and the crossings of a lexer state; room for crossings grows one by one."""
    walk = kernels("walk")
    row, stack = np.zeros(vocabulary.row_words, np.int32), vocabulary.stack()
    stack[0] = q
    room, text_room = 2, vocabulary.depth + 1
    out = crossings_of(room, text_room)
    while (code := int(walk.walk_inside(served.tables, vocabulary.nodes, out, row, stack))) != 0:
        if code == served.k.NEED_SPACE:
            room, text_room = room + 1, text_room + vocabulary.depth
            larger = crossings_of(room, text_room)
            for old, new in zip(out, larger, strict=True):
                new[: len(old)] = old
            out = larger
        else:
            served.serve(code)
    count = int(stack[-2])
    return row, walk.Crossings(
        out.node[:count], out.label[:count], out.before[:count], out.start[: count + 1], out.text
    )


def crossings_of(count: int, text: int) -> Any:
    """Empty crossings with that much room."""
    return kernels("walk").Crossings(
        node=np.zeros(count, np.int32),
        label=np.zeros(count, np.int32),
        before=np.zeros(count, np.uint8),
        start=np.zeros(count + 1, np.int32),
        text=np.zeros(text, np.uint8),
    )


def example(seed: int) -> tuple[TwinMachine, Served, Vocabulary, Random]:
    """A machine, its tables, and a vocabulary."""
    machine, rng = random_machine(seed), Random(seed)
    return machine, Served(machine), Vocabulary(rng), rng


@given(SEEDS)
def test_the_walk_inside_finds_the_tokens_that_stay_in_the_lexeme(seed: int) -> None:
    """Without duplicates yet, the row is that of the twin's tokens, for every lexer state."""
    machine, served, vocabulary, _ = example(seed)
    first = {word: t for t, word in reversed(list(enumerate(vocabulary.words)))}
    for q in range(len(machine.rows)):
        row, _ = walk_inside(served, vocabulary, q)
        wanted = [t for word, t in first.items() if machine.inside(q, word)]
        assert row.view(np.uint32).tolist() == bits(wanted, vocabulary.row_words)


@given(SEEDS)
def test_the_walk_inside_finds_every_place_where_a_token_leaves_the_lexeme(seed: int) -> None:
    """Crossings have the twin's label, side of the byte, and remembered bytes, each once."""
    machine, served, vocabulary, _ = example(seed)
    for q in range(len(machine.rows)):
        _, out = walk_inside(served, vocabulary, q)
        found = {
            vocabulary.starts[out.node[i]]: (
                int(out.label[i]),
                bool(out.before[i]),
                out.text[out.start[i] : out.start[i + 1]].tobytes(),
            )
            for i in range(len(out.node))
        }
        assert len(found) == len(out.node)
        assert found == machine.crossings(q, vocabulary.starts)


@given(SEEDS)
def test_inside_and_crossing_together_are_the_tokens_that_can_be_read(seed: int) -> None:
    """The whole row, duplicates included, has a token iff the twin can read all its bytes."""
    machine, served, vocabulary, rng = example(seed)
    for data in [b"", *random_words(rng, 4)]:
        q, base = rng.randrange(len(machine.rows)), rng.randrange(machine.contexts)
        pair, _ = served.run((q << 32) | base, data)
        place = machine.run((q, base, b""), data)
        if place is None:
            continue
        row, crossings = walk_inside(served, vocabulary, pair >> 32)
        stack = vocabulary.stack()
        stack[-2] = -1
        walk = kernels("walk")
        arguments = (vocabulary.nodes, crossings, pair & 0xFFFFFFFF, row, stack)
        assert served.ask(walk.walk_crossing, *arguments) == 0
        walk.spread(vocabulary.nodes, row)
        wanted = [
            t for t, token in enumerate(vocabulary.words) if machine.run(place, token) is not None
        ]
        assert row.view(np.uint32).tolist() == bits(wanted, vocabulary.row_words)


@given(SEEDS)
def test_spread_gives_all_tokens_with_the_same_bytes_the_same_bit(seed: int) -> None:
    """A duplicate's bit is set iff that of the token that the trie names is; others stay."""
    rng = Random(seed)
    vocabulary = Vocabulary(rng)
    words = vocabulary.words
    chosen = {word for word in words if rng.random() < 0.5}
    first = {word: t for t, word in reversed(list(enumerate(words)))}
    named = [t for word, t in first.items() if word in chosen]
    row = np.array(bits(named, vocabulary.row_words), np.uint32).view(np.int32)
    kernels("walk").spread(vocabulary.nodes, row)
    wanted = [t for t, word in enumerate(words) if word in chosen]
    assert row.view(np.uint32).tolist() == bits(wanted, vocabulary.row_words)
