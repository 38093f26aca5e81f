"""The DFA of one sub-automaton that says which characters its states tell apart, as numbers do.

What each state leads to is found in Python, once in a process, and shared by all sub-automata with
the same character classes (`SharedStates`), since ranges of numbers have most states in common.
"""

from __future__ import annotations

import os
import threading
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.regular.charset import CharSet
from structgen.regular.expressions.nodes import SubAutomaton, SubAutomatonState
from structgen.regular.lazy_dfa.character_classes import (
    CharacterClasses,
    TooLargeError,
    classes_of,
)
from structgen.regular.lazy_dfa.states import Array, TableAutomaton
from structgen.regular.lazy_dfa.sub_automata import NO_BLOCKS, explore_sets
from structgen.util.arrays import with_room

NEAR = 2  # characters: states within so many digits are explored together
MAX_NODES = 20_000  # shared states; with more, new sub-automata begin another collection


class SharedStates:
    """States of sub-automata by number, and the moves of those explored. Hold `lock` to use it.

    nodes: `kernels.regular.sub_automata.Nodes`, for each state the one that each class leads to.
    """

    def __init__(self, classes: CharacterClasses) -> None:
        self.lock = threading.Lock()
        self.classes = classes
        self._letters = tuple(classes.letters.tolist())
        self._digits = [i for i, letter in enumerate(self._letters) if chr(letter).isdigit()]
        digits = sum(1 << place for place in self._digits)
        self.digits = sum(1 << g for g, x in enumerate(classes.needs.tolist()) if not x & ~digits)
        self.lasting: list[bool] = []  # of each state, whether it `takes_any_digits`
        self._states: list[SubAutomatonState] = []
        self._numbers: dict[SubAutomatonState, int] = {}
        self.nodes = kernels("regular.sub_automata").Nodes(
            moves=np.full((64, len(self._letters)), -1, np.int32),
            known=np.zeros(64, np.uint8),
            ends=np.zeros(64, np.uint8),
            block=np.zeros(64, np.int32),
        )

    def __len__(self) -> int:
        """How many states have a number."""
        return len(self._states)

    def explore(self, state: int) -> None:
        """Explore a state, and those a few digits after it, unless any digits may follow anyway.

        Tokens have several digits in a row, while signs and points mostly stand alone.
        """
        waiting = {state}
        for _ in range(1 if self.lasting[state] else NEAR + 1):
            rows = [self._row(node) for node in waiting if not self.nodes.known[node]]
            waiting = {row[digit] for row in rows for digit in self._digits if row[digit] >= 0}

    def _row(self, node: int) -> list[int]:
        """Explore a state: for each class the number of the state it leads to, -1 for none."""
        row = [-1] * len(self._letters)
        for chars, after in self._states[node].moves():
            number = self.number(after)
            for place in _places_of(chars, self._letters):
                row[place] = number
        self.nodes.moves[node] = row
        self.nodes.known[node] = 1
        return row

    def number(self, state: SubAutomatonState) -> int:
        """The number of a state."""
        number = self._numbers.get(state)
        if number is None:
            number = self._numbers[state] = len(self._states)
            self._states.append(state)
            self.lasting.append(getattr(state, "takes_any_digits", False))
            if number >= len(self.nodes.known):
                grown = (with_room(array, number + 1) for array in self.nodes)
                self.nodes = type(self.nodes)(*grown)
            self.nodes.ends[number] = state.nullable
        return number


class StatesByClasses:
    """All `SharedStates` of the process, by the character sets that they tell apart."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start empty, as a forked process must: another thread may have held a lock."""
        self._found: dict[tuple[CharSet, ...], SharedStates] = {}
        self._lock = threading.Lock()

    def of(self, reads: tuple[CharSet, ...]) -> SharedStates:
        """The shared states for these character sets. Raises TooLargeError."""
        with self._lock:
            found = self._found.get(reads)
            if found is None or len(found) > MAX_NODES:
                found = self._found[reads] = SharedStates(classes_of([None, *reads]))
            return found


_states_by_classes = StatesByClasses()
os.register_at_fork(after_in_child=_states_by_classes.forget)


class SubAutomatonTable(TableAutomaton):
    """The states of one sub-automaton, uint64[S, 1]: each a number of `shared`, plus 1."""

    def __init__(self, regex: SubAutomaton) -> None:
        """Raises TooLargeError where it does not say which characters it tells apart."""
        reads = getattr(regex.state, "reads", None)
        if not reads:
            raise TooLargeError
        self.shared = _states_by_classes.of(reads)
        with self.shared.lock:
            first = self.shared.number(regex.state)
        start = np.array([first + 1], np.uint64)
        super().__init__(start, self.shared.classes, ends=regex.nullable)

    def _find(self, state: int, count: int) -> None:
        end = self.found + count
        with self.shared.lock:
            self.shared.explore(int(self.states[state, 0]) - 1)
            explore_sets(self, self.shared.nodes, NO_BLOCKS, state, end)

    def lasting(self, states: Array) -> Array | None:
        """See `TableAutomaton.lasting`."""
        found = [self.shared.lasting[at - 1] for at in self.states[states, 0].tolist()]
        return np.where(found, self.shared.digits, 0)

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        with self.shared.lock:
            found: npt.NDArray[np.bool_] = (
                self.shared.nodes.ends[self.states[begin:end, 0].astype(np.int64) - 1] != 0
            )
        return found


@lru_cache(maxsize=4096)
def _places_of(chars: CharSet, letters: tuple[int, ...]) -> list[int]:
    """The indices of those code points that are in `chars`."""
    return [place for place, letter in enumerate(letters) if letter in chars]
