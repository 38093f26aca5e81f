"""In: a grammar's automaton. Out: shortest texts that end well."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from structgen.automaton.automaton import Bytes
from structgen.errors import BudgetError
from structgen.jit import kernels

if TYPE_CHECKING:
    from structgen.grammar.automaton import GrammarAutomaton

MAX_POSITIONS = 10_000  # looked at for one completion

# Bytes in the order in which ties are broken: what reads best first.
_ORDER = sorted(range(256), key=lambda b: (not (0x20 < b < 0x7F), b == 0x5C, chr(b).upper(), -b))


def _nothing(_at: int) -> bool:
    return False


class Completions:
    """Finds completions, with A* (P. Hart, N. Nilsson and B. Raphael, 1968).

    What is still to be written is never less than what the rules that are open need, each of their
    terminals by itself; so the first end that is found is a shortest.
    """

    def __init__(self, automaton: GrammarAutomaton, alphabet: Bytes = range(256)) -> None:
        self._automaton = automaton
        self._step = kernels("grammar_step")
        classes = automaton.byte_classes
        chosen: dict[int, int] = {}
        for byte in _ORDER:
            if byte in alphabet:
                chosen.setdefault(int(classes[byte]), byte)
        self._bytes = np.array(list(chosen.values()), np.int32)
        self._after = np.zeros((len(self._bytes), 2), np.int64)
        # A width that no block has, behind a line break, has no bound: another line may follow.
        info, newline = automaton.tables.info, kernels("grammar_tables").NEWLINE
        self._far = self._step.FAR + int(info[newline] >= 0)

    def shortest(self, at: int) -> bytes:
        """A shortest text (in bytes) from a position to an end. Raises BudgetError."""
        found = self.search(at)
        if found is None:
            raise BudgetError("no completion was found that the alphabet can write")
        return found

    def search(self, at: int, known: Callable[[int], bool] = _nothing) -> bytes | None:
        """A shortest completion, None when there is none. Raises BudgetError.

        known: positions from which one is known to exist; the search ends there.
        """
        automaton, far = self._automaton, self._far
        origin: dict[int, tuple[int, int, int]] = {at: (0, -1, 0)}  # length, position, byte
        queue = [(automaton.ask(self._step.bound, at), 0, at)]
        while queue:
            least, negative, here = heappop(queue)
            length = -negative
            if least >= far:
                return None
            if length > origin[here][0]:
                continue
            if automaton.is_accepting(here) or known(here):
                return _path(origin, here)
            if len(origin) > MAX_POSITIONS:
                raise BudgetError(
                    f"more than {MAX_POSITIONS} positions to look at for a completion",
                    hint="make the terminals easier to tell apart",
                )
            automaton.ask(self._step.expand, here, self._bytes, self._after)
            for byte, (after, more) in zip(self._bytes.tolist(), self._after.tolist(), strict=True):
                if after < 0 or (after in origin and origin[after][0] <= length + 1):
                    continue
                origin[after] = (length + 1, here, byte)
                heappush(queue, (min(self._step.FAR, length + 1 + more), -length - 1, after))
        return None


def _path(origin: dict[int, tuple[int, int, int]], at: int) -> bytes:
    """The bytes that led to a position."""
    out = bytearray()
    while origin[at][1] >= 0:
        _, before, byte = origin[at]
        out.append(byte)
        at = before
    out.reverse()
    return bytes(out)
