"""Tables of states that are found one by one in Python, with character classes known before.

- `SubAutomatonTable`: a sub-automaton that says which characters its states tell apart, as numbers
  do. What each state leads to is found once in a process, and shared by all sub-automata with the
  same character classes, since ranges of numbers have most states in common.
- `DerivedTable`: the derivatives of an expression that holds loops around assertions.
"""

from __future__ import annotations

import os
import threading
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.regular.charset import ALL, CharSet
from structgen.regular.expressions.base import Regex
from structgen.regular.expressions.nodes import SubAutomaton, SubAutomatonState, sets_read
from structgen.regular.lazy_dfa.character_classes import (
    CharacterClasses,
    TooLargeError,
    classes_of,
)
from structgen.regular.lazy_dfa.states import Array, TableAutomaton, unknown_ahead
from structgen.regular.lazy_dfa.sub_automata import NO_BLOCKS, explore_sets
from structgen.util.arrays import bytes_of, with_room

NEAR = 2  # characters: states within so many digits are explored together
STATE_BYTES = 512  # of a state's object, and of its places in lists and a dictionary, about
MAX_NODES = 20_000  # shared states; with more, new sub-automata begin another collection


class NumberedStates:
    """Sub-automata or expressions by number, and the moves of those explored.

    Hold `lock` to use it.

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
        self._states: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self.nodes = kernels("regular.sub_automata").Nodes(
            moves=np.full((64, len(self._letters)), -1, np.int32),
            known=np.zeros(64, np.uint8),
            ends=np.zeros(64, np.uint8),
            block=np.zeros(64, np.int32),
        )

    def __len__(self) -> int:
        """How many states have a number."""
        return len(self._states)

    @property
    def nbytes(self) -> int:
        """Bytes of its tables."""
        return bytes_of(*self.nodes) + STATE_BYTES * len(self)

    def at(self, number: int) -> Any:
        """The state with a number."""
        return self._states[number]

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

    def number(self, state: SubAutomatonState | Regex) -> int:
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
    """All `NumberedStates` of the process, by the character sets that they tell apart."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start empty, as a forked process must: another thread may have held a lock."""
        self._found: dict[tuple[CharSet, ...], NumberedStates] = {}
        self._lock = threading.Lock()

    def of(self, reads: tuple[CharSet, ...]) -> NumberedStates:
        """The shared states for these character sets. Raises TooLargeError."""
        with self._lock:
            found = self._found.get(reads)
            if found is None or len(found) > MAX_NODES:
                found = self._found[reads] = NumberedStates(classes_of([None, *reads]))
            return found


_states_by_classes = StatesByClasses()
os.register_at_fork(after_in_child=_states_by_classes.forget)


class NumberedTable(TableAutomaton):
    """A DFA whose states, uint64[S, 1], are numbers of `NumberedStates`, plus 1."""

    def __init__(self, numbered: NumberedStates, start: SubAutomatonState | Regex) -> None:
        """`start`: the first state."""
        self.numbered = numbered
        with numbered.lock:
            first = numbered.number(start)
        start_row = np.array([first + 1], np.uint64)
        super().__init__(start_row, numbered.classes, ends=start.nullable)

    def _find(self, state: int, count: int) -> None:
        end = self.found + count
        with self.numbered.lock:
            self.numbered.explore(int(self.states[state, 0]) - 1)
            explore_sets(self, self.numbered.nodes, NO_BLOCKS, state, end)

    def _own(self, states: Any) -> Array:
        """The numbers in `NumberedStates` of some states."""
        found: Array = self.states[states, 0].astype(np.int64) - 1
        return found

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        with self.numbered.lock:
            found: npt.NDArray[np.bool_] = (
                self.numbered.nodes.ends[self._own(slice(begin, end))] != 0
            )
        return found


class SubAutomatonTable(NumberedTable):
    """The states of one sub-automaton."""

    def __init__(self, regex: SubAutomaton) -> None:
        """Raises TooLargeError where it does not say which characters it tells apart."""
        reads = getattr(regex.state, "reads", None)
        if not reads:
            raise TooLargeError
        super().__init__(_states_by_classes.of(reads), regex.state)

    def lasting(self, states: Array) -> Array | None:
        """See `TableAutomaton.lasting`."""
        found = [self.numbered.lasting[at] for at in self._own(states).tolist()]
        return np.where(found, self.numbered.digits, 0)


class DerivedTable(NumberedTable):
    """The derivatives of an expression by characters (Brzozowski 1964), dead ones left out."""

    def __init__(self, regex: Regex) -> None:
        """Raises TooLargeError where it is not known which characters derivatives tell apart."""
        reads = sets_read((regex,))
        if reads is None:
            raise TooLargeError
        # of a complement, and of what follows a pattern, any character may come
        super().__init__(NumberedStates(classes_of([None, ALL, *reads])), regex)

    @property
    def nbytes(self) -> int:
        """See `RegexAutomaton.nbytes`."""
        return super().nbytes + self.numbered.nbytes

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`: how long texts are at least."""
        least = [self.numbered.at(at).shortest for at in self._own(slice(begin, end)).tolist()]
        return unknown_ahead(end - begin)._replace(least=np.array(least, np.int64))


@lru_cache(maxsize=4096)
def _places_of(chars: CharSet, letters: tuple[int, ...]) -> list[int]:
    """The indices of those code points that are in `chars`."""
    return [place for place, letter in enumerate(letters) if letter in chars]
