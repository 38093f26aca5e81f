"""Tells patterns that match whole whatever they can match whole, though they try ways in an order.

So do most: `(\\+|-)?([0-9]+\\.[0-9]+|[0-9]+)` matches all of "12", for the way that it tries first
comes to no end there. Backtracking and all ways at once are read side by side, over the positions
of V. Glushkov's automaton: the ways to go on in the order in which they are tried, as far as the
first that ends (see `leftmost_first`), and all of them. It is as claimed if wherever some way ends,
one that is tried does.

There may be too many of these, as for `[ab]*a[ab]{15}`. But of two ways the one that is tried first
rules the other out only where it ends, so it is enough to look at ways two by two: what is ruled
out must be in vain, as one that is still tried reads all that it does (`rules_nothing_out`).
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain, combinations, product, takewhile
from typing import Any

import numpy as np

from structgen.grammar.terminals.position_sets import classes_of, rows_of
from structgen.grammar.terminals.python_regex import Branch, Loop, Node, OneChar, Sequence, width
from structgen.kernels.build.loader import kernels
from structgen.regular.charset import CharSet
from structgen.regular.regex import INFINITE
from structgen.util.bits import ones
from structgen.util.cancellation import checkpoint

_END = -1  # in the place of a position: the match ends
_MOST = 300  # positions
_MOST_TURNS = 64  # of a loop that are written out
_MOST_PAIRS = 64  # of what is tried and all there is
_SOME = 64  # positions; of so many, ways are looked at two by two

Ways = dict[int, None]  # positions in the order in which they are tried
Parts = list[Any]  # the same in parts: positions, and lists of the same kind


class _OtherError(Exception):
    """The pattern is of another kind, or too large."""


def matches_all_it_can(node: Node) -> bool:
    """Whether a pattern prefers whole each text that it can match whole; False if not known."""
    try:
        positions = _Positions(node)
        found = positions.all_ends_are_tried()
        return positions.rules_nothing_out() if found is None else found
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

    def all_ends_are_tried(self) -> bool | None:
        """See `matches_all_it_can`; None where there are too many ways."""
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
        return bool(found) if found >= 0 else None

    def rules_nothing_out(self) -> bool:
        """Whether no way that ends rules out another that is not in vain.

        Of two positions after a text, one before the other, both read a character: then those
        behind the first follow, and where the match may end there, all others are ruled out. What
        is tried then still covers all, if it covers those behind the second; and so it does of one
        position, if those that it tries after an end are covered by those before.
        """
        if len(self._reads) > _SOME:
            return False
        kept = [[*takewhile(_END.__ne__, way)] for way in self._behind]
        ending = [_END in way for way in self._behind]
        for way, before in zip(self._behind, kept, strict=True):
            if not all(self._is_covered(place, before) for place in way if place != _END):
                return False
        ways = [[place for place in way if place != _END] for way in self._behind]
        todo = [pair for way in ways for pair in combinations(way, 2)]
        seen = set(todo)
        while todo:
            checkpoint()
            first, second = todo.pop()
            if not self._reads[first] & self._reads[second]:
                continue
            if ending[first] and not all(
                self._is_covered(place, kept[first]) for place in ways[second]
            ):
                return False
            others = [place for place in ways[second] if place not in self._behind[first]]
            more = set(product(ways[first], others))
            todo += more - seen
            seen |= more
        return True

    def _is_covered(self, place: int, others: list[int]) -> bool:
        """Whether one of some positions reads all that another one does."""
        return place in others or any(self._covering[place] >> other & 1 for other in others)

    @cached_property
    def _covering(self) -> list[int]:
        """Of each position those, as bits, that read all texts that it reads (by simulation)."""
        size = len(self._reads)
        behind = [[place for place in way if place != _END] for way in self._behind]
        found = [
            sum(
                1 << other
                for other in range(size)
                if not self._reads[place] - self._reads[other]
                and (_END not in self._behind[place] or _END in self._behind[other])
            )
            for place in range(size)
        ]
        shrinks = True
        while shrinks:
            checkpoint()
            shrinks = False
            for place in reversed(range(size)):
                for other in ones(found[place]):
                    ways = behind[other]
                    if not all(any(found[a] >> b & 1 for b in ways) for a in behind[place]):
                        found[place] ^= 1 << other
                        shrinks = True
        return found


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
