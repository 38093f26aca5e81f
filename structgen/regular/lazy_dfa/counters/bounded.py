"""In: an automaton, and how many characters its texts may have. Out: the automaton of those.

Nothing has to be known of the whole automaton: it is explored as far as texts go. Whether one can
still end in time is plain as long as there is room; near the limit all that is near is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.errors import BudgetError
from structgen.kernels.build.loader import kernels
from structgen.regular.lazy_dfa.positions import TooLargeError
from structgen.regular.lazy_dfa.states import AT_ONCE, Array, TableAutomaton, within
from structgen.util.arrays import with_room

MAX_NEAR = 5000  # states of the automaton that are looked at to see how soon a text can end


class CappedAutomaton(TableAutomaton):
    """States as those of another expression, with the number of characters that were read."""

    def __init__(self, base: TableAutomaton, most: int, *, ends: bool) -> None:
        """Texts of `base` with at most `most` characters. Raises TooLargeError."""
        super().__init__(np.zeros(2, np.int32), base.classes, ends=ends)
        self._base, self._most = base, most
        self._k = kernels("regular.bounded_length")
        self._said = np.zeros((0, 2), np.int32)
        self._seen = -1  # of how many of its states the moves were known when that was looked at
        with base.lock:
            self._reach(0)

    def _find(self, state: int, count: int) -> None:
        end = self.found + count
        with self._base.lock:
            self._look()
            while (need := self._explore(state, end)) >= 0:
                if self._said[need, self._k.SAID] & self._k.MOVES:
                    self._learn(need)
                else:
                    self._behind([need])

    def _explore(self, state: int, end: int) -> int:
        moves = self._base.search.moves
        found: int = self._k.explore_capped(
            moves, self._said, self.states, self.search, self._most, state, end
        )
        return found

    def _look(self) -> None:
        """Take over what has become known of the automaton."""
        base, k, known = self._base, self._k, len(self._said)
        if base.found == self._seen:
            return
        self._seen, size = base.found, base.size
        self._said = with_room(self._said, size)[:size]
        self._said[known:] = k.FAR, 0
        self._said[base.search.queue[:size] == 1, k.SAID] |= k.MOVES
        k.nearest_ends(base.search.moves, base.ends, self._said)

    def _learn(self, state: int) -> None:
        """Find out more of how soon a text can end from a state of the automaton."""
        try:
            if self._said[state, self._k.UPPER] == self._k.FAR:
                self._reach(state)
            else:
                self._settle(state)
        except TooLargeError as error:
            raise BudgetError(
                f"whether a text ends within {self._most} characters takes too long to find out",
                hint="simplify the pattern, or raise the limit",
            ) from error

    def _reach(self, state: int) -> None:
        """Find some end behind a state of the automaton, what was met last first."""
        waiting, seen = [state], {state}
        self._look()
        while self._said[state, self._k.UPPER] == self._k.FAR:
            if not waiting or len(seen) > MAX_NEAR:
                raise TooLargeError
            new = sorted(self._behind([waiting.pop()]) - seen, reverse=True)
            seen.update(new)
            waiting += new

    def _settle(self, state: int) -> None:
        """Find out how soon a text can end from a state of the automaton. Raises TooLargeError."""
        near, new, depth = {state}, {state}, 0
        while depth < self._said[state, self._k.UPPER]:  # what is not known may end sooner
            new = self._behind(new) - near
            near |= new
            depth += 1
            if len(near) > MAX_NEAR:
                raise TooLargeError
        self._said[state, self._k.SAID] |= self._k.EXACT

    def _behind(self, states: Iterable[int]) -> set[int]:
        """The states of the automaton that others lead to by a character."""
        for state in states:
            self._base.find(state, AT_ONCE)
        self._look()
        moves = self._base.search.moves[list(states)]
        return set(moves[moves >= 0].tolist())

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = self._base.ends[self.states[begin:end, 0]] != 0
        return found

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`: as without the limit, and what that leaves."""
        at, size = self.states[begin:end].T
        with self._base.lock:
            base = self._base.ahead(0, self._base.size)
        return within(base, at, 0, self._most - size)

    def _knows_loops(self, order: Array) -> bool:
        """As without the limit, as long as a text can end within it from wherever that leads."""
        base, k = self._base, self._k
        with base.lock:
            base.note()
            known = (self._said[:, k.SAID] & k.MOVES) != 0
            wait = int(self._said[known, k.UPPER].max(initial=0))
            free = self._most - wait
            k.bound_loops(self.states, order, base.explored(), free, self.loops, self.often)
        return True
