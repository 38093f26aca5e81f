"""In: positions of an expression. Out: states as sets of those that may be read next."""

from __future__ import annotations

from typing import Any

import numpy as np

from structgen.kernels.build.loader import kernels
from structgen.regular.expressions.nodes import Concat, Words
from structgen.regular.lazy_dfa.positions import Positions, classes_of
from structgen.regular.lazy_dfa.states import Array, TableAutomaton, anything, unread
from structgen.regular.regex import ANY, Regex
from structgen.util.cached import found_once

FEW_POSITIONS = 1000  # of listed words: up to so many, all their states are found at once


class PositionAutomaton(TableAutomaton):
    """States as sets of positions."""

    is_quick = True

    def __init__(self, regex: Regex) -> None:
        """Raises TooLargeError."""
        self._open = isinstance(regex, Concat) and regex.head is ANY  # then nothing is ever fatal
        self._listed = isinstance(regex, Words)  # then nothing is read again and again
        self._number(Positions(regex), few=self._listed, ends=regex.nullable)

    def _number(self, positions: Positions, *, few: bool, ends: bool) -> None:
        """Begin with the start. few: whether there are not many more states than positions."""
        classes = classes_of(positions.sets)
        width = len(positions.follow) // 64 + 1
        bits = [*positions.follow, positions.start, *positions.universal]
        data = b"".join(part.to_bytes(8 * width, "little") for part in bits)
        rows = np.frombuffer(data, np.uint64).reshape(-1, width).copy()
        count = len(positions.follow)
        super().__init__(rows[count], classes, ends=ends)
        self._follow, self._universal = rows[:count], rows[count + 1 :]
        pieces = [piece for run in positions.runs for piece in run.pieces()]
        self._runs = np.array(pieces, np.uint64).reshape(-1, 4)
        self._scratch = np.zeros((len(classes.letters), width), np.uint64)
        self._few = few and count <= FEW_POSITIONS

    def find(self, state: int, count: int) -> None:
        """See `TableAutomaton.find`: all states of a few words, as each look has its cost."""
        if self._few and not self.found:
            self.explore_near(2 * FEW_POSITIONS)
        else:
            super().find(state, count)

    def _find(self, state: int, count: int) -> None:
        known, now, end = -1, self.found, self.found + count
        while known < now < end:
            known = now
            kernels("regular.glushkov").explore(
                self._follow,
                self.classes.reads,
                self._universal,
                self._runs,
                self.states,
                self.search,
                self._scratch,
                state,
                end - now,
            )
            made, now, _ = self.search.sizes.tolist()
            if now == made:
                return
            state = self._next()  # walks along words turn to the next word soon

    def _endings(self, begin: int, end: int) -> Array:
        found: Array = (self.states[begin:end, 0] & np.uint64(1)).astype(np.bool_)
        return found

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`."""
        found = anything(end - begin)
        states = np.ascontiguousarray(self.states[begin:end])
        kernels("regular.required_ahead").look_from(states, self.classes.reads, self._behind, found)
        return found

    @found_once
    def _behind(self) -> Any:
        """What texts read behind each position."""
        found = unread(len(self._follow))
        kernels("regular.required_ahead").look_behind(self._follow, self.classes.reads, found)
        return found

    def _knows_loops(self, order: Array) -> bool:
        if self._open:
            self.loops[order], self.often[order] = -1, 255
        return self._open or self._listed
