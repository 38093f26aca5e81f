"""In: states as objects that say what leads on from them. Out: the same states by number."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from structgen.regular import byte_groups
from structgen.regular.charset import CharSet
from structgen.regular.lazy_dfa.states import Array, Numbers, RegexAutomaton

Told = tuple[bool, bool, int, int]  # `ends`, `endless`, `loops` and `often`
FEW_RANGES = 500  # of code points, which are sorted faster as they are


class SteppedAutomaton(RegexAutomaton):
    """States as objects that say one by one what leads on from them."""

    settled = True

    def __init__(self, start: Hashable) -> None:
        self._nodes = [start]
        self._numbers = {start: 0}
        told = self._told(start)
        super().__init__(ends=told[0])
        self.loops[0], self.often[0] = told[2:]
        self._places: dict[int, int] = {}  # of those explored, in `order`

    @abstractmethod
    def _spans(self, state: int) -> Numbers:
        """Ranges of code points, ascending, with the numbers of the states behind them."""

    @abstractmethod
    def _told(self, node: Any) -> Told:
        """What is known of a state at once."""

    def explore(self, state: int) -> None:
        """See `RegexAutomaton.explore`. Raises BudgetError."""
        if state in self._places:
            return
        spans = self._spans(state)
        if not self.often[state]:
            self.loops[state], self.often[state] = self._again(state, spans)
        at = int(self.first[self.known])
        end = at + len(spans)
        self._make_room(self.made, self.known + 1, len(spans))
        if end > at:
            self.spans[at:end] = spans
        self._places[state] = self.known
        self.order[self.known] = state
        self.known += 1
        self.first[self.known] = end

    def explore_near(self, count: int) -> None:
        """See `RegexAutomaton.explore_near`."""
        state = 0
        while self.known < count and state < self.made:
            self.explore(state)
            state += 1

    def place(self, state: int) -> int:
        """See `RegexAutomaton.place`."""
        return self._places[state]

    def _moved(self, state: int, moves: Sequence[tuple[CharSet, Any]]) -> Numbers:
        """Moves from a state to others as `_spans`."""
        to = self._numbered(state, [(chars.first, 0, after) for chars, after in moves])
        counts = [len(chars.ranges) for chars, _ in moves]
        if sum(counts) < FEW_RANGES:
            each = zip(moves, to, strict=True)
            return sorted((*pair, at) for (chars, _), (*_, at) in each for pair in chars.ranges)
        spans = np.empty((sum(counts), 3), np.int32)
        np.concatenate([_ranges_of(chars) for chars, _ in moves], out=spans[:, :2])
        spans[:, 2] = np.repeat([number for *_, number in to], counts)
        return spans[spans[:, 0].argsort()]

    def _numbered(
        self, state: int, steps: Iterable[tuple[int, int, Any]]
    ) -> list[tuple[int, int, int]]:
        """Steps from a state with the numbers of the states behind."""
        spans: list[tuple[int, int, int]] = []
        new: list[tuple[int, int]] = []
        for low, high, target in steps:
            number = self._numbers.setdefault(target, len(self._nodes))
            if number == len(self._nodes):
                self._nodes.append(target)
                new.append((state, low))
            spans.append((low, high, number))
        if new:
            begin, self.made = self.made, len(self._nodes)
            self._make_room(self.made, self.known)
            self.came[begin : self.made] = new
            told = zip(*map(self._told, self._nodes[begin:]), strict=True)
            arrays: tuple[Array, ...] = self.ends, self.endless, self.loops, self.often
            for array, each in zip(arrays, told, strict=True):
                array[begin : self.made] = each
        return spans

    def _again(self, state: int, spans: Numbers) -> tuple[int, int]:
        """Its `loops` and `often`, of which nothing is known but what leads on from the state."""
        if isinstance(spans, np.ndarray):
            spans = spans[spans[:, 2] == state].tolist()
        ranges = tuple((low, high) for low, high, to in spans if to == state)
        return byte_groups.whole(ranges), 255


@lru_cache(maxsize=4096)
def _ranges_of(chars: CharSet) -> Array:
    return np.array(chars.ranges, np.int32).reshape(-1, 2)
