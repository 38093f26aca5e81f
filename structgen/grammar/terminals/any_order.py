"""Tells patterns that match whole whatever they can match whole, though they try ways in an order.

So do most: `(\\+|-)?([0-9]+\\.[0-9]+|[0-9]+)` matches all of "12", for the way that it tries first
comes to no end there. Backtracking and all ways at once are read side by side, over the positions
of V. Glushkov's automaton: the ways to go on in the order in which they are tried, as far as the
first that ends (see `leftmost_first`), and all of them. It is as claimed if wherever some way ends,
one that is tried does.
"""

from __future__ import annotations

from typing import Any

from structgen.grammar.terminals.python_regex import Branch, Loop, Node, OneChar, Sequence, width
from structgen.regular.charset import CharSet, refine
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
        self._start, *self._behind = _ways([start, *behind])

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
        cells = refine((chars, place) for place, chars in enumerate(self._reads))
        reading = [frozenset(places) for _, places in cells]
        todo = [(_tried(self._start), frozenset(self._start))]
        seen = {*todo}
        while todo:
            tried, every = todo.pop()
            if _END in every and _END not in tried:
                return False
            for some in reading:
                onward = dict.fromkeys(
                    after for place in tried if place in some for after in self._behind[place]
                )
                behind = frozenset[int]().union(*(self._behind[place] for place in every & some))
                pair = _tried(onward), behind
                if behind and pair not in seen:
                    seen.add(pair)
                    todo.append(pair)
            if len(seen) > _MOST_PAIRS:
                raise _OtherError
        return True


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


def _tried(ways: Ways) -> tuple[int, ...]:
    """The ways up to the first that ends: those behind it cannot win."""
    listed = (*ways,)
    return listed[: listed.index(_END) + 1] if _END in listed else listed
