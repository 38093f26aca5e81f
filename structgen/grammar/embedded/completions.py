"""In: a grammar with specs inside. Out: shortest texts that end well.

Best first (P. Hart, N. Nilsson and B. Raphael, 1968): the grammar reads byte by byte, and a text of
a spec is one step, by the shortest text that ends it, since what follows does not depend on it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from structgen.automata.interface import DEAD, Bytes, Completes
from structgen.errors import BudgetError
from structgen.grammar.automaton.completions import MAX_POSITIONS, bytes_to_try
from structgen.kernels.build.loader import kernels

if TYPE_CHECKING:
    from structgen.grammar.embedded.automaton import NestingAutomaton
    from structgen.grammar.embedded.reader import Inlet


class NestingEnds:
    """Finds shortest completions of a grammar with specs inside."""

    def __init__(self, automaton: NestingAutomaton, alphabet: Bytes) -> None:
        self._automaton = automaton
        self._alphabet = alphabet
        self._step = kernels("grammar.step")
        self._bytes = bytes_to_try(automaton.outer, alphabet)
        self._after = np.zeros((len(self._bytes), 2), np.int64)
        self._inner: dict[int, Completes] = {}

    def shortest(self, at: int) -> bytes:
        """See `Completes.shortest`."""
        automaton, ties = self._automaton, itertools.count()
        outer, inlets = automaton.position(at)
        queue: list[tuple[int, int, bytes, int, Inlet | None]] = []
        shortest: dict[tuple[int, Inlet | None], int] = {}

        def add(text: bytes, more: int, outer: int, inlet: Inlet | None) -> None:
            if len(text) < shortest.get((outer, inlet), len(text) + 1):
                shortest[outer, inlet] = len(text)
                heappush(queue, (len(text) + more, next(ties), text, outer, inlet))

        for open_inlet in inlets:
            add(b"", 1, DEAD, open_inlet)
        if outer >= 0:
            add(b"", 0, outer, None)
        while queue:
            _, _, text, outer, inlet = heappop(queue)
            if inlet is not None:
                self._end(text, inlet, add)
                continue
            if len(text) > shortest[outer, None]:
                continue
            if automaton.outer.is_accepting(outer):
                return text
            if len(shortest) > MAX_POSITIONS:
                break
            for begun in automaton.entries(outer):
                add(text, 1, DEAD, begun)
            automaton.outer.ask(self._step.expand, outer, self._bytes, self._after)
            for byte, (after, more) in zip(self._bytes.tolist(), self._after.tolist(), strict=True):
                if after >= 0:
                    add(text + bytes((byte,)), more, after, None)
        raise BudgetError("no completion was found that the alphabet can write")

    def _end(self, text: bytes, inlet: Inlet, add: Callable[..., None]) -> None:
        """Add where a text of a spec leads; byte by byte while lexemes before it matter."""
        automaton = self._automaton
        if inlet.watches == 0:
            rest = self._rest(inlet)
            if rest is not None:
                add(text + rest, 0, automaton.after_inlet(inlet), None)
            return
        here = automaton.numbered(inlet)
        for byte in automaton.next_bytes(here):
            if byte in self._alphabet:
                longer = text + bytes((byte,))
                outer, inlets = automaton.position(automaton.run(here, longer[-1:])[0])
                for after in inlets:
                    add(longer, 1, DEAD, after)
                if outer >= 0:
                    add(longer, 0, outer, None)

    def _rest(self, inlet: Inlet) -> bytes | None:
        """A shortest text that ends a text of a spec, with one byte at least; None without any."""
        inner = self._automaton.inners[inlet.inner].automaton
        completions = self._inner.get(inlet.inner)
        if completions is None:
            completions = self._inner[inlet.inner] = inner.completions(self._alphabet)
        begun = [(inlet.at, b"")]
        if inner.is_accepting(inlet.at):
            begun = [
                (inner.run(inlet.at, bytes((byte,)))[0], bytes((byte,)))
                for byte in inner.next_bytes(inlet.at)
                if byte in self._alphabet
            ]
        found = []
        for at, text in begun:
            with contextlib.suppress(BudgetError):
                found.append(text + completions.shortest(at))
        return min(found, key=len, default=None)
