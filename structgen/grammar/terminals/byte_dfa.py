"""The byte DFA of languages over characters: all their derivatives, with characters in UTF-8.

Between two characters a state is a vector of languages (derivatives, J. A. Brzozowski 1964). Inside
a character it is a row of 64 continuation bytes; equal rows are one state, and a block of
characters that all lead to one place is made once for each place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from structgen.automata.lexer.lexer import LEADS, Vector, vector_moves
from structgen.errors import BudgetError
from structgen.util.cancellation import checkpoint

Span = tuple[int, int, int]  # first and last code point, state
BITS = 6  # of a code point in a continuation byte
FIRST_CONTINUATION, LAST_ASCII = 0x80, 0x7F


def explored(
    vector: Vector, most: int
) -> tuple[npt.NDArray[np.int32], list[tuple[bool, ...]], list[Vector | None]]:
    """All states of the DFA that reads some languages side by side.

    Returns int32[n, 256], the next states, -1 dead, in the order in which bytes lead to them; which
    languages each state accepts; and the vector of each state that is not inside a character.
    Raises BudgetError past `most` states.
    """
    dfa = _ByteDfa(most)
    dfa.number(vector)
    for at, found in dfa.vectors:
        dfa.explore(at, found)
    return dfa.in_order(len(vector))


class _ByteDfa:
    """The states found so far. vectors: those between characters, with their numbers."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: list[list[int]] = []
        self._numbers: dict[Hashable, int] = {}
        self.vectors: list[tuple[int, Vector]] = []

    def number(self, vector: Vector) -> int:
        """The state of a vector."""
        found = self._numbers.get(vector)
        if found is None:
            found = self._numbers[vector] = self._new([-1] * 256)
            self.vectors.append((found, vector))
        return found

    def _new(self, row: list[int]) -> int:
        if len(self._rows) >= self._most:
            raise BudgetError(
                f"a terminal has more than {self._most} byte states",
                hint="use smaller counts or character classes in it",
            )
        self._rows.append(row)
        return len(self._rows) - 1

    def explore(self, state: int, vector: Vector) -> None:
        """Find what each byte does in the state of a vector."""
        checkpoint()
        row, beyond = self._rows[state], []
        for chars, after in vector_moves(vector):
            to = self.number(after)
            for low, high in chars.ranges:
                if low <= LAST_ASCII:
                    last = min(high, LAST_ASCII)
                    row[low : last + 1] = [to] * (last + 1 - low)
                if high > LAST_ASCII:
                    beyond.append((max(low, LAST_ASCII + 1), high, to))
        beyond.sort()
        for lead, first, last, size, more in LEADS:
            inside = [(max(a, first), min(b, last), to) for a, b, to in beyond if a <= last]
            spans = [span for span in inside if span[0] <= span[1]]
            for block in _blocks(spans, 0, size):
                row[lead + block] = self._block(spans, block * size, more)

    def _block(self, spans: list[Span], base: int, more: int) -> int:
        """The state in front of `more` continuation bytes, which spell code points from `base`."""
        size = 1 << BITS * more
        at = bisect_left(spans, base, key=lambda span: span[1])
        low, high, to = spans[at]
        if low <= base and high >= base + size - 1:  # all of them lead to one state
            key: Hashable = (more, to)
            found = self._numbers.get(key)
            if found is None:
                after = to if more == 1 else self._block(spans, base, more - 1)
                found = self._numbers[key] = self._inner([after] * 64)
            return found
        part: list[Span] = []
        while at < len(spans) and spans[at][0] < base + size:
            low, high, to = spans[at]
            part.append((max(low, base), min(high, base + size - 1), to))
            at += 1
        row = [-1] * 64
        if more == 1:
            for low, high, to in part:
                row[low - base : high - base + 1] = [to] * (high - low + 1)
        else:
            inner = size >> BITS
            for block in _blocks(part, base, inner):
                row[block] = self._block(part, base + block * inner, more - 1)
        return self._inner(row)

    def _inner(self, row: list[int]) -> int:
        """The state inside a character with this row."""
        key = (*row,)
        found = self._numbers.get(key)
        if found is None:
            whole = [-1] * 256
            whole[FIRST_CONTINUATION : FIRST_CONTINUATION + 64] = row
            found = self._numbers[key] = self._new(whole)
        return found

    def in_order(
        self, width: int
    ) -> tuple[npt.NDArray[np.int32], list[tuple[bool, ...]], list[Vector | None]]:
        """What `explored` returns. width: how many languages there are."""
        place = {0: 0}
        order = [0]
        for state in order:
            for to in dict.fromkeys(self._rows[state]):
                if to >= 0 and to not in place:
                    place[to] = len(order)
                    order.append(to)
        new = np.full(len(self._rows) + 1, -1, np.int32)  # the last entry is for -1
        new[order] = np.arange(len(order))
        vectors = dict(self.vectors)
        listed = [vectors.get(state) for state in order]
        dead = (False,) * width
        ends = [dead if v is None else tuple([x.nullable for x in v]) for v in listed]
        return new[np.array([self._rows[state] for state in order], np.int32)], ends, listed


def _blocks(spans: list[Span], base: int, size: int) -> list[int]:
    """Which blocks of so many code points from `base` on have some of the spans."""
    found: dict[int, None] = {}
    for low, high, _ in spans:
        found.update(dict.fromkeys(range((low - base) // size, (high - base) // size + 1)))
    return list(found)
