"""Shortest completions: from a position of a grammar to the nearest end of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Bytes
from structgen.errors import BudgetError
from structgen.grammar.automaton.positions import GrammarPositions
from structgen.grammar.automaton.tables import Ints
from structgen.grammar.embedded.reader import EmbeddedReader
from structgen.grammar.terminals.automata import distances
from structgen.kernels.build.loader import kernels

Way = list[tuple[int, bytes]]  # positions, with what was read to get to each

MAX_POSITIONS = 10_000  # looked at for one completion

# Bytes in the order in which ties are broken: what reads best first.
_ORDER = sorted(range(256), key=lambda b: (not (0x20 < b < 0x7F), b == 0x5C, chr(b).upper(), -b))


def _nothing(_at: int) -> bool:
    return False


class Completions:
    """Finds completions, with A* (P. Hart, N. Nilsson and B. Raphael, 1968).

    The bound on what is still to be written is what the open rules need, each of their terminals by
    itself, and what pending lookaheads want. It never exceeds the truth, so the first end that is
    found is a nearest one.
    """

    def __init__(
        self,
        automaton: GrammarPositions,
        embedded: EmbeddedReader | None,
        alphabet: Bytes = range(256),
    ) -> None:
        self._automaton, self._embedded = automaton, embedded
        self._pending = PendingLookaheads(automaton)
        self._step = kernels("grammar.step")
        self._bytes = bytes_to_try(automaton, alphabet)
        self._after = np.zeros((len(self._bytes), 2), np.int64)
        # With indentation, `bound` may say FAR for a line whose width fits no open block although
        # another line break can still follow; so FAR itself does not end the search then.
        info, newline = automaton.tables.info, kernels("grammar.tables").NEWLINE
        self._far = self._step.FAR + int(info[newline] >= 0)

    def shortest(self, at: int) -> bytes:
        """A shortest text (in bytes) from a position to an end. Raises BudgetError."""
        found = self.search(at)
        if found is None:
            raise BudgetError("no completion was found that the alphabet can write")
        return b"".join(read for _, read in found)

    def search(
        self,
        at: int,
        known: Callable[[int], bool] = _nothing,
        most: int = MAX_POSITIONS,
        haste: int = 1,
    ) -> Way | None:
        """A shortest way to an end, None when there is none. Raises BudgetError.

        known: positions from which a completion is known to exist; the search ends there. most:
        positions to look at. haste: weight of the bound; past 1 the first way that is found may be
        longer than others (weighted A*, I. Pohl, 1970). The text of an embedded spec is one step,
        for which nothing is read.
        """
        automaton, far = self._automaton, self._far
        origin: dict[int, tuple[int, int, bytes]] = {at: (0, -1, b"")}  # length, position, read
        queue = [(automaton.ask(self._step.bound, at), 0, at)]
        while queue:
            least, negative, here = heappop(queue)
            length = -negative
            if least >= far:
                return None
            if length > origin[here][0]:
                continue
            if automaton.is_accepting(here) or known(here):
                return _way(origin, here)
            if len(origin) > most:
                raise BudgetError(
                    f"more than {most} positions to look at for a completion",
                    hint="make the terminals easier to tell apart",
                )
            for after, read, more in self._following(here):
                longer = length + 1
                if after not in origin or origin[after][0] > longer:
                    origin[after] = (longer, here, read)
                    least = (
                        longer + haste * more if longer + more < self._step.FAR else self._step.FAR
                    )
                    heappush(queue, (least, -longer, after))
        return None

    def _following(self, at: int) -> Iterator[tuple[int, bytes, int]]:
        """The positions one step on: (position, what is read for it, a bound from there)."""
        automaton = self._automaton
        automaton.ask(self._step.expand, at, self._bytes, self._after)
        for byte, (after, more) in zip(self._bytes.tolist(), self._after.tolist(), strict=True):
            if after >= 0:
                yield after, bytes((byte,)), max(more, self._pending.bytes(after))
        if self._embedded is not None:
            for after in self._embedded.positions_behind(automaton, at):
                yield after, b"", automaton.ask(self._step.bound, after)


class PendingLookaheads:
    """How many bytes the lookaheads of a position want at least before the text may end."""

    def __init__(self, automaton: GrammarPositions) -> None:
        self._automaton = automaton
        self._several = kernels("grammar.step").SEVERAL
        self._known: dict[int, int] = {0: 0}  # by record of watches

    def bytes(self, at: int) -> int:
        """A lower bound on the bytes from a position to the end of a text, by lookaheads alone."""
        if at < self._several:
            return 0
        return min(self._of(lookaheads) for _, _, lookaheads in self._automaton.threads(at))

    def _of(self, lookaheads: int) -> int:
        found = self._known.get(lookaheads)
        if found is None:
            states = self._automaton.record(lookaheads)
            found = self._known[lookaheads] = int(self._by_state[states].max())
        return found

    @cached_property
    def _by_state(self) -> Ints:
        """int32[w]: for each lookahead state the fewest bytes to where the text may end."""
        tables, violated_at_end = self._automaton.tables, kernels("grammar.tables").L_VIOLATED
        low, high = tables.offsets[violated_at_end : violated_at_end + 2].tolist()
        return distances(tables.watch, tables.fixed[low:high] == 0)


def bytes_to_try(automaton: GrammarPositions, alphabet: Bytes) -> npt.NDArray[np.int32]:
    """int32[k]: one byte of the alphabet for each byte class, best ones first."""
    chosen: dict[int, int] = {}
    classes = automaton.byte_classes.tolist()
    for byte in _ORDER:
        if byte in alphabet:
            chosen.setdefault(classes[byte], byte)
    return np.array(list(chosen.values()), np.int32)


def _way(origin: dict[int, tuple[int, int, bytes]], at: int) -> Way:
    """The positions up to one, each with what was read to get there."""
    found: Way = []
    while at >= 0:
        _, before, read = origin[at]
        found.append((at, read))
        at = before
    found.reverse()
    return found
