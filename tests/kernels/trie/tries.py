"""Tries of words as the kernels want them, and walks that stop and go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import numpy as np

from structgen.kernels.build.loader import kernels
from structgen.masks.shared import subtrees_of
from tests.helpers.naive import Place, TwinMachine, bits, random_words, starts_of
from tests.kernels.served import Array, Served


class Vocabulary:
    """Words by token id, some of them twice, and the trie of them as the kernels want it."""

    def __init__(self, words: list[bytes]) -> None:
        self.words = words
        self.starts = starts_of(words)
        self.first = {word: token for token, word in reversed(list(enumerate(words)))}
        extra = [(self.starts.index(w), t) for t, w in enumerate(words) if self.first[w] != t]
        ends = [
            next((j for j in range(i, len(self.starts)) if not self.starts[j].startswith(s)), None)
            for i, s in enumerate(self.starts)
        ]
        arrays: dict[str, Array] = {
            "at": np.array(
                [
                    (s[-1], len(s), len(ends) if end is None else end, self.first.get(s, -1))
                    for s, end in zip(self.starts, ends, strict=True)
                ],
                np.int32,
            ),
            "extra_node": np.array([node for node, _ in extra], np.int32),
            "extra_token": np.array([token for _, token in extra], np.int32),
            "root_child": np.full(256, -1, np.int32),
        }
        for node, start in enumerate(self.starts):
            if len(start) == 1:
                arrays["root_child"][start[0]] = node
        for array in arrays.values():
            array.flags.writeable = False
        self.nodes = kernels("trie.nodes").Nodes(**arrays)
        self.depth = max(map(len, words))
        nothing = kernels("trie.loops").Loops(np.zeros(0, np.int64), np.zeros(0, np.uint8))
        self.fixed = self.nodes, subtrees_of(self.nodes, self.depth), nothing
        self.row_words = -(-len(words) // 32)

    def stack(self, more: int = 4) -> Array:
        """Room for the states along one token, and for the place to go on from."""
        return np.zeros(self.depth + more, np.int64)

    def row(self) -> Array:
        """A row without tokens."""
        return np.zeros(self.row_words, np.int32)

    def bits(self, wanted: Callable[[bytes], bool]) -> list[int]:
        """The row of the words that are wanted, before it is spread to duplicates."""
        return bits((t for word, t in self.first.items() if wanted(word)), self.row_words)


def random_vocabulary(
    rng: Random, machine: TwinMachine | None = None, places: Iterable[Place] = ()
) -> Vocabulary:
    """Random words, some that can be read, and remainders of the texts seen there."""
    words = random_words(rng, rng.randrange(1, 24))
    if machine is not None:
        for place in places:
            words += [machine.walk(place, rng, rng.randrange(1, 9)) for _ in range(3)]
            for _, text in place.stack[-1].taken:
                known = len(place.text) if text.startswith(place.text) else 0
                words += [text[known:], text[known:] + machine.walk(place, rng, 3)]
    words = [word for word in words if word]
    return Vocabulary(words + rng.sample(words, min(3, len(words))))


def walked(
    served: Served, vocabulary: Vocabulary, walk: Callable[..., Any], row: Array, stack: Array
) -> Any:
    """The lexeme ends that `walk(tables, ends, row, stack)` finds; their room grows bit by bit."""
    out = crossings_of(2, vocabulary.depth + 1)
    while (code := int(walk(served.tables, out, row, stack))) != 0:
        if code == served.k.NEED_SPACE:
            larger = crossings_of(len(out.node) + 1, len(out.text) + vocabulary.depth)
            for old, new in zip(out, larger, strict=True):
                new[: len(old)] = old
            out = larger
        else:
            served.fill_on_demand(code)
    count = int(stack[-2])
    return kernels("masks.lexeme_walk").LexemeEnds(
        out.node[:count], out.label[:count], out.before[:count], out.start[: count + 1], out.text
    )


def walk_inside(served: Served, vocabulary: Vocabulary, q: int) -> tuple[Array, Any]:
    """The row and the lexeme ends of a lexer state."""
    walk, fixed = kernels("masks.lexeme_walk").walk_lexeme, vocabulary.fixed
    row, stack = vocabulary.row(), vocabulary.stack()
    stack[0] = q
    given = *fixed, 0
    out = walked(served, vocabulary, lambda tables, *rest: walk(tables, *given, *rest), row, stack)
    return row, out


def crossings_of(count: int, text: int) -> Any:
    """Empty lexeme ends with that much room."""
    return kernels("masks.lexeme_walk").LexemeEnds(
        node=np.zeros(count, np.int32),
        label=np.zeros(count, np.int32),
        before=np.zeros(count, np.uint8),
        start=np.zeros(count + 1, np.int32),
        text=np.zeros(text, np.uint8),
    )


def by_start(vocabulary: Vocabulary, out: Any) -> dict[bytes, tuple[int, bool, bytes]]:
    """Lexeme ends as the naive machine gives them."""
    found = {
        vocabulary.starts[out.node[i]]: (
            int(out.label[i]),
            bool(out.before[i]),
            out.text[out.start[i] : out.start[i + 1]].tobytes(),
        )
        for i in range(len(out.node))
    }
    assert len(found) == len(out.node)
    return found


def changed(
    served: Served, row: Array, walk: Any, given: tuple[Any, ...], stack: Array
) -> tuple[int, Array]:
    """What `walk(tables, *given, edits, stack)` returns in the end, and the row it makes."""
    k, base, bits = kernels("masks.row_edits"), row.copy(), np.zeros_like(row)
    base.flags.writeable = False
    changes = k.RowEdits(base, bits, np.zeros(2 + len(row) // 2, np.int32))
    code = served.ask(walk, *given, changes, stack)
    out, result = np.zeros(2 * len(row), np.int32), row.copy()
    count = k.collect(changes, out)
    assert not bits.any()
    k.apply(result, out[: 2 * count])
    return code, result


def unsigned(row: Array) -> list[int]:
    """A row as the twin gives it."""
    words: list[int] = row.view(np.uint32).tolist()
    return words
