"""Tells patterns that match whole whatever they can match whole, though they try ways in an order.

So do most: `(\\+|-)?([0-9]+\\.[0-9]+|[0-9]+)` matches all of "12", for the way that it tries first
comes to no end there. Backtracking and all ways at once are read side by side, over the positions
of V. Glushkov's automaton: the ways to go on in the order in which they are tried, as far as the
first that ends (see `leftmost_first`), and all of them. It is as claimed if wherever some way ends,
one that is tried does.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from structgen.grammar.terminals.position_sets import classes_of, rows_of
from structgen.grammar.terminals.python_regex import Branch, Loop, Node, OneChar, Sequence, width
from structgen.kernels.build.loader import kernels
from structgen.regular.charset import CharSet
from structgen.regular.regex import INFINITE

_END = -1  # in the place of a position: the match ends
_MOST = 300  # positions
_MOST_TURNS = 8  # of a loop that are written out
_MOST_PAIRS = 64  # of what is tried and all there is

Ways = dict[int, None]  # positions in the order in which they are tried
Parts = list[Any]  # the same in parts: positions, and lists of the same kind


class _OtherError(Exception):
    """The pattern is of another kind, or too large."""


def matches_all_it_can(node: Node) -> bool:
    """Whether a pattern prefers whole each text that it can match whole; False if not known."""
    try:
        return _Positions(node).all_ends_are_tried()
    except _OtherError:
        return False


class _Positions:
    """The positions of a pattern, and those behind each in the order in which they are tried."""

    def __init__(self, node: Node) -> None:
        self._reads: list[CharSet] = []
        behind: list[Parts] = []
        start = self._first(node, [_END], behind)
        self._behind = _ways([*behind, start])  # the last is what comes first

    def _first(self, node: Node, then: Parts, behind: list[Parts]) -> Parts:
        """The positions with which a node begins if those of `then` come behind it.

        behind: set to what comes behind each position. Where a loop goes round, such a list is
        noted before it is filled.
        """
        match node:
            case OneChar():
                if len(self._reads) >= _MOST:
                    raise _OtherError
                self._reads.append(node.chars)
                behind.append(then)
                return [len(self._reads) - 1]
            case Sequence():
                for part in reversed(node.parts):
                    then = self._first(part, then, behind)
                return then
            case Branch():
                return [self._first(part, then, behind) for part in node.parts]
            case Loop():
                return self._first_of_loop(node, then, behind)
            case _:
                raise _OtherError

    def _first_of_loop(self, loop: Loop, then: Parts, behind: list[Parts]) -> Parts:
        endless = loop.high == INFINITE
        turns = loop.low if endless else loop.high
        if turns > _MOST_TURNS or width(loop.body).least == 0:
            raise _OtherError
        optional = 1 if endless else turns - loop.low
        for _ in range(optional):
            left, ways = then, list[Any]()
            then = ways if endless else left
            turn = self._first(loop.body, then, behind)
            ways += [left, turn] if loop.lazy else [turn, left]
            then = ways
        for _ in range(loop.low):
            then = self._first(loop.body, then, behind)
        return then

    def all_ends_are_tried(self) -> bool:
        """See `matches_all_it_can`. Raises _OtherError."""
        end = len(self._reads)  # in the place of a position: the match ends
        ways = [[end if place == _END else place for place in some] for some in self._behind]
        reads: dict[CharSet, int] = {}
        for place, chars in enumerate(self._reads):
            reads[chars] = reads.get(chars, 0) | 1 << place
        behind = rows_of([sum(1 << place for place in some) for some in ways], end + 1)
        _, reading = classes_of(reads, rows_of(reads.values(), end + 1))
        starts = np.cumsum([0, *map(len, ways)], dtype=np.int32)
        listed = np.array([*chain.from_iterable(ways)], np.int32)
        room = _MOST_PAIRS + 1
        tried, sizes = np.empty((room, end + 1), np.int32), np.empty(room, np.int32)
        every, marks = np.empty((room, behind.shape[1]), np.uint64), np.zeros(end + 1, np.int32)
        found = kernels("terminals.positions").all_ends_are_tried(
            starts, listed, behind, reading, tried, sizes, every, marks
        )
        if found < 0:
            raise _OtherError
        return bool(found)


def _ways(every: list[Parts]) -> list[Ways]:
    """The positions of some lists in parts."""
    known: dict[int, Ways] = {}

    def flat(parts: Parts) -> Ways:
        found = known.get(id(parts))
        if found is None:
            found = known[id(parts)] = {}
            for part in parts:
                found |= flat(part) if isinstance(part, list) else {part: None}
        return found

    return [flat(parts) for parts in every]
