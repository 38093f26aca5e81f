"""Two automata that read a text side by side, state by state.

The states of a sub-automaton such as the format `regex` are endless or too many to explore, so the
kernels' product construction cannot take them. Here a state is a pair: one of each automaton. A
half that reads no more is -1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from structgen.kernels.build.loader import kernels
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.states import ANY_NUMBER, Array, RegexAutomaton
from structgen.regular.lazy_dfa.stepped import StateFacts, SteppedAutomaton, merged
from structgen.util.arrays import with_room

ROOM = 256  # pairs that there is room for at first

Pair = int  # a number of `PairAutomaton`, not a state: some pairs are dead
DEAD, _NEW = -1, -2  # in the place of a state's number
_NOTHING = np.zeros((0, 3), np.int32)


class PairAutomaton(SteppedAutomaton):
    """Two automata side by side; a state is a live pair of their states. Hold `lock` to use it.

    both: the automata. joint: whether a text must fit both, or either.
    """

    joint: bool

    def __init__(self, one: RegexAutomaton, other: RegexAutomaton) -> None:
        """The pair of both starts is the start. Raises TooLargeError where it counts as dead."""
        self.both = one, other
        self._kernels = kernels("regular.pairs")
        self._pairs = self._kernels.Pairs(
            np.zeros((ROOM, 2), np.int32),
            np.full(2 * ROOM, -1, np.int32),
            np.array([1, 0], np.int64),
        )
        self._states = np.full(ROOM, _NEW, np.int32)  # of each pair
        self._states[0] = 0
        if not self._live(np.zeros(1, np.int32))[0]:
            raise TooLargeError
        super().__init__(0)

    def _halves(self, pair: Pair) -> tuple[int, int]:
        one, other = self._pairs.halves[pair].tolist()
        return one, other

    def _spans(self, state: int) -> Array:
        node: Any = self._nodes[state]
        moves = self._moves_of(node)
        new = self._states[moves[:, 2]] == _NEW
        if new.any():
            self._judge(state, moves[new])
        return merged(moves, self._states)

    def _judge(self, state: int, moves: Array) -> None:
        """Give the new pairs that some moves lead to numbers, as far as they are live."""
        pairs, first = np.unique(moves[:, 2], return_index=True)
        live = self._live(pairs)
        self._states[pairs[~live]] = DEAD
        pairs, low = pairs[live], moves[first[live], 0]
        begin, self.made = self.made, self.made + len(pairs)
        new = slice(begin, self.made)
        self._states[pairs] = np.arange(begin, self.made)
        self._nodes += pairs.tolist()
        self._make_room(self.made, self.known)
        self.came[new, 0], self.came[new, 1] = state, low
        self.ends[new], self.endless[new], self.loops[new], self.often[new] = self._facts_of(pairs)

    def _live(self, pairs: Array) -> Array:
        """bool[k]: from which pairs some text ends; from all, where no subclass knows better."""
        return np.ones(len(pairs), np.bool_)

    @abstractmethod
    def _facts_of(self, pairs: Array) -> Sequence[Array]:
        """`ends`, `endless`, `loops` and `often` of some pairs, see `RegexAutomaton`."""

    def _facts(self, node: Pair) -> StateFacts:
        ends, endless, loops, often = (int(part[0]) for part in self._facts_of(np.array([node])))
        return bool(ends), bool(endless), loops, often

    def _moves_of(self, pair: Pair) -> Array:
        """int32[k, 3]: the moves of a pair as spans; whether what they lead to lives is not asked.

        Ascending: first and last code point, and the pair behind.
        """
        spans = [self._spans_of(*each) for each in zip(self.both, self._halves(pair), strict=True)]
        most = 2 * (len(spans[0]) + len(spans[1]))
        self._make_room_for(most)
        found = np.empty((most, 3), np.int32)
        used = self._kernels.side_by_side(*spans, self.joint, self._pairs, found)
        return found[:used]

    @staticmethod
    def _spans_of(part: RegexAutomaton, state: int) -> Array:
        if state < 0:
            return _NOTHING
        with part.lock:
            return part.spans_from(state)

    def _make_room_for(self, more: int) -> None:
        """Make room for so many pairs more."""
        halves, table, sizes = self._pairs
        made, most = int(sizes[0]), int(sizes[0]) + more
        if most <= len(halves):
            return
        halves = with_room(halves, most, None, made)
        self._states = with_room(self._states, len(halves))
        self._states[made:] = _NEW
        table = np.full(1 << (2 * len(halves)).bit_length(), -1, np.int32)
        sizes[1] = 0
        self._pairs = type(self._pairs)(halves, table, sizes)


def facts_at(part: RegexAutomaton, states: Array) -> list[Array]:
    """`ends`, `endless`, `loops` and `often` of some states; 0 for a state of -1."""
    with part.lock:  # so that all are of one moment
        found = [array[states] for array in (part.ends, part.endless, part.loops, part.often)]
    for array in found:
        array[states < 0] = 0
    return found


def any_characters(count: int) -> tuple[Array, Array]:
    """`loops` and `often` of states in which any number of any characters may follow."""
    return np.full(count, -1), np.full(count, ANY_NUMBER)
