"""Compute the masks of a product from those of its two automata.

The trie is walked over pairs that stand for all with the same cores (see `viability`), so that a
key in which anything may stand takes a few rows. A token that ends such a key and begins another
one has to know both of them: it is read again, as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structgen.automata.interface import Masks, Row
from structgen.compose.product.viability import Pair
from structgen.masks.trie_walk import Filled, Ints, trie_walk

if TYPE_CHECKING:
    from structgen.compose.product.automaton import Product
    from structgen.vocabulary.vocabulary import Vocabulary

_AGAIN = 0  # the state of the walk where a token has to be read as it is
# A representative pair; whether a key has ended that pairs which it stands for have not read.
State = tuple[Pair, bool]


class PairMasks(Masks):
    """The masks of a product over one vocabulary."""

    def __init__(self, product: Product, vocabulary: Vocabulary) -> None:
        self._product, self._pairs = product, product.pairs
        self._walk = trie_walk(vocabulary)
        self._states: list[State] = [((-1, -1), False)]
        self._numbers: dict[State, int] = {}
        self._rows: Ints = np.full((64, 256), -1, np.int32)
        self._filled: Filled = np.zeros(64, np.uint8)
        self._filled[_AGAIN] = 1

    def row(self, at: int) -> Row:
        """See `Masks.row`."""
        row = np.zeros(self._walk.words, np.int32)
        self.reached(self._product.pair(at), -1, row)
        self._walk.spread(row)
        return row

    def below(self, at: int, node: int, row: Row) -> Ints:
        """See `Masks.below`."""
        nodes, pairs = self.reached(self._product.pair(at), node, row)
        ends = np.array([self._pairs.ends(pair) for pair in pairs[0]], np.bool_)
        chosen: Ints = nodes[ends[pairs[1]]] if len(nodes) else nodes
        return chosen

    @property
    def nbytes(self) -> int:
        """See `Masks.nbytes`."""
        return self._rows.nbytes

    def reached(self, pair: Pair, node: int, row: Row) -> tuple[Ints, tuple[list[Pair], Ints]]:
        """Or the tokens below `node` that can be read from a pair into `row`.

        Returns the nodes below `node` that are reached; the pairs that they lead to, or such as
        stand for them, each once, and which of these each node leads to.
        """
        found = np.zeros_like(row)
        nodes, states = self._reached(pair, node, found)
        row |= found
        different, inverse = np.unique(states, return_inverse=True)
        pairs = [self._states[number][0] for number in different.tolist()]
        return nodes, (pairs, inverse.astype(np.int32))

    def _reached(self, pair: Pair, node: int, row: Row) -> tuple[Ints, Ints]:
        """The nodes below `node` that a pair leads to, and the states there."""
        number = self._number((self._pairs.representative(pair), False))
        nodes, states = self._walk.reached(
            lambda: (self._rows, self._filled), self._fill, number, node, row
        )
        again = states == _AGAIN
        if not again.any():
            return nodes, states
        every = [(nodes[~again], states[~again])]
        texts = self._walk.paths(nodes[again], node)
        for other, text in zip(nodes[again].tolist(), texts, strict=True):
            after = self._read(pair, text)
            if after is None:
                self._walk.forbid(row, other)
            else:
                own = (
                    np.array([other]),
                    np.array([self._number((self._pairs.representative(after), False))]),
                )
                every += [own, self._reached(after, other, row)]
        found = np.concatenate([n for n, _ in every]), np.concatenate([s for _, s in every])
        order = np.argsort(found[0])
        return found[0][order].astype(np.int32), found[1][order].astype(np.int32)

    def _read(self, pair: Pair, text: bytes) -> Pair | None:
        """The pair after a text, None if it cannot be read or finished behind it."""
        after: Pair | None = pair
        for byte in text:
            after = None if after is None else self._pairs.step(after, byte)
        return after if after is not None and self._pairs.live(after, pair) else None

    def _number(self, state: State) -> int:
        number = self._numbers.get(state)
        if number is None:
            number = self._numbers[state] = len(self._states)
            self._states.append(state)
            if number >= len(self._rows):
                self._rows = np.concatenate((self._rows, np.full_like(self._rows, -1)))
                self._filled = np.concatenate((self._filled, np.zeros_like(self._filled)))
        return number

    def _fill(self, number: int) -> None:
        """Make the row of a state. Raises BudgetError."""
        pair, ended = self._states[number]
        begun = self._pairs.remembers(pair)
        steps = self._pairs.steps(pair)
        numbers: dict[Pair | None, int] = {None: -1}
        for after in steps:
            if after is None or after in numbers:
                continue
            begins = self._pairs.remembers(after)
            over = ended or (begun is not None and begins != begun)
            if not self._pairs.live(after, pair):
                numbers[after] = -1
            else:
                again = over and begins is not None
                numbers[after] = _AGAIN if again else self._number((after, over))
        self._rows[number] = [numbers[after] for after in steps]
        self._filled[number] = 1
