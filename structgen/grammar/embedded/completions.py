"""Shortest completions of a grammar with embedded specs.

Best first (P. Hart, N. Nilsson and B. Raphael, 1968): the grammar reads byte by byte, and a text of
a spec is one step, by the shortest text that ends it, since what follows does not depend on it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from heapq import heappop, heappush

import numpy as np

from structgen.automata.interface import DEAD, Bytes, Completes
from structgen.errors import BudgetError
from structgen.grammar.automaton.completions import MAX_POSITIONS, bytes_to_try
from structgen.grammar.embedded.positions import NestingPositions
from structgen.grammar.embedded.reader import OpenText
from structgen.kernels.build.loader import kernels


class NestingEnds:
    """Finds shortest completions of a grammar with embedded specs."""

    def __init__(self, automaton: NestingPositions, alphabet: Bytes) -> None:
        self._automaton = automaton
        self._alphabet = alphabet
        self._step = kernels("grammar.step")
        self._bytes = bytes_to_try(automaton.outer, alphabet)
        self._after = np.zeros((len(self._bytes), 2), np.int64)
        self._inner: dict[int, Completes] = {}

    def shortest(self, at: int) -> bytes:
        """See `Completes.shortest`."""
        automaton, ties = self._automaton, itertools.count()
        outer, open_texts = automaton.position(at)
        queue: list[tuple[int, int, bytes, int, OpenText | None]] = []
        shortest: dict[tuple[int, OpenText | None], int] = {}

        def add(text: bytes, more: int, outer: int, open_text: OpenText | None) -> None:
            if len(text) < shortest.get((outer, open_text), len(text) + 1):
                shortest[outer, open_text] = len(text)
                heappush(queue, (len(text) + more, next(ties), text, outer, open_text))

        for open_one in open_texts:
            add(b"", 1, DEAD, open_one)
        if outer >= 0:
            add(b"", 0, outer, None)
        while queue:
            _, _, text, outer, open_text = heappop(queue)
            if open_text is not None:
                self._end(text, open_text, add)
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

    def _end(self, text: bytes, open_text: OpenText, add: Callable[..., None]) -> None:
        """Add where an open text leads; byte by byte while lookaheads before it matter."""
        automaton = self._automaton
        if open_text.lookaheads == 0:
            rest = self._rest(open_text)
            if rest is not None:
                add(text + rest, 0, automaton.after_text(open_text), None)
            return
        here = automaton.numbered(open_text)
        for byte in automaton.next_bytes(here):
            if byte in self._alphabet:
                longer = text + bytes((byte,))
                outer, open_texts = automaton.position(automaton.run(here, longer[-1:])[0])
                for after in open_texts:
                    add(longer, 1, DEAD, after)
                if outer >= 0:
                    add(longer, 0, outer, None)

    def _rest(self, open_text: OpenText) -> bytes | None:
        """A shortest text that ends an open text, with one byte at least; None without any."""
        inner = self._automaton.inners[open_text.inner].automaton
        completions = self._inner.get(open_text.inner)
        if completions is None:
            completions = self._inner[open_text.inner] = inner.completions(self._alphabet)
        begun = [(open_text.at, b"")]
        if inner.is_accepting(open_text.at):
            begun = [
                (inner.run(open_text.at, bytes((byte,)))[0], bytes((byte,)))
                for byte in inner.next_bytes(open_text.at)
                if byte in self._alphabet
            ]
        found = []
        for at, text in begun:
            with contextlib.suppress(BudgetError):
                found.append(text + completions.shortest(at))
        return min(found, key=len, default=None)
