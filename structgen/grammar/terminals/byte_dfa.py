"""The byte DFA of languages over characters: all their derivatives, with characters in UTF-8.

Between two characters a state is a vector of languages (derivatives, J. A. Brzozowski 1964). Inside
a character it is a row of 64 continuation bytes, and equal rows are one state.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from structgen.automata.lexer.lexer import Vector, vector_moves
from structgen.errors import BudgetError
from structgen.regular.utf8 import DIGIT, FIRST_CONTINUATION, LAST_ASCII, Segment, blocks, leads
from structgen.util.cancellation import checkpoint


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
        row, multibyte = self._rows[state], []  # what characters behind ASCII lead to
        for chars, after in vector_moves(vector):
            to = self.number(after)
            for low, high in chars.ranges:
                if low <= LAST_ASCII:
                    last = min(high, LAST_ASCII)
                    row[low : last + 1] = [to] * (last + 1 - low)
                if high > LAST_ASCII:
                    multibyte.append(Segment(low, high, to))
        multibyte.sort()
        for found, more, inside in leads(multibyte):
            to = self._inside(more, inside)
            for lead in found:
                row[lead] = to

    def _inside(self, more: int, segments: tuple[Segment[int], ...]) -> int:
        """The state in front of `more` continuation bytes, which spell these code points."""
        key = more, segments
        found = self._numbers.get(key)
        if found is None:
            row = [-1] * (1 << DIGIT)
            for first, last, inside in blocks(segments, 1 << DIGIT * (more - 1)):
                to = inside[0].target if more == 1 else self._inside(more - 1, inside)
                row[first : last + 1] = [to] * (last + 1 - first)
            found = self._numbers[key] = self._inner(row)
        return found

    def _inner(self, row: list[int]) -> int:
        """The state inside a character with this row."""
        key = (*row,)
        found = self._numbers.get(key)
        if found is None:
            whole = [-1] * 256
            whole[FIRST_CONTINUATION : FIRST_CONTINUATION + len(row)] = row
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
