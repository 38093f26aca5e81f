"""Automata made of others: positions get numbers as they are met, and bytes are read one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Generic, TypeVar

from structgen.automata.interface import DEAD, Automaton
from structgen.util.cancellation import checkpoint

MAX_STEPS = 1 << 18  # steps remembered

P = TypeVar("P", bound=Hashable)


class JoinedAutomaton(Automaton, Generic[P]):
    """An automaton whose positions number values of P, which say where its parts are."""

    def __init__(self) -> None:
        self._positions: list[P] = []
        self._numbers: dict[P, int] = {}
        self._steps: dict[int, int] = {}

    def _number(self, position: P) -> int:
        number = self._numbers.get(position)
        if number is None:
            number = self._numbers[position] = len(self._positions)
            self._positions.append(position)
        return number

    @abstractmethod
    def _step(self, at: int, byte: int) -> int:
        """The position after a byte, or DEAD."""

    def run(self, at: int, text: bytes) -> tuple[int, int]:
        """See `Automaton.run`."""
        for count, byte in enumerate(text):
            after = self._steps.get(at << 8 | byte)
            if after is None:
                checkpoint(count % 2 == 0)  # half a unit each
                after = self._step(at, byte)
                if len(self._steps) >= MAX_STEPS:
                    self._steps.clear()
                self._steps[at << 8 | byte] = after
            if after < 0:
                return DEAD, count
            at = after
        return at, len(text)

    def is_position(self, at: int) -> bool:
        """See `Automaton.is_position`."""
        return 0 <= at < len(self._positions)
