"""A format that is read state by state, beside an automaton of what else must hold of a text.

The states of a sub-automaton such as the format `regex` are endless or too many to explore, so the
kernels' product construction cannot take them. Here a state is a pair: one of the sub-automaton,
and one of the DFA of all other demands, which is a length counter (`LengthAutomaton`) or that of a
pattern. A pair is kept if some text is found to end from it. Mostly that is plain: states of a
format know how a text can end soon. Else an end is searched for, and what is found is noted for all
pairs on the way. A pair for which MAX_SEARCHED others were looked at in vain counts as dead:
that leaves out some texts and lets none in, and no state is a dead end, since from each pair that
is kept one leads on that is nearer to an end.
"""

from __future__ import annotations

import contextlib
import heapq
from typing import Any, NamedTuple

import numpy as np

from structgen.regular.charset import NONE
from structgen.regular.expressions.base import INFINITE
from structgen.regular.lazy_dfa.character_classes import TooLargeError, classes_in, sets_of
from structgen.regular.lazy_dfa.counters import LengthAutomaton, distances_to_end
from structgen.regular.lazy_dfa.states import Array, RegexAutomaton, TableAutomaton, Unbounded
from structgen.regular.lazy_dfa.stepped import (
    MOST_REPEATS,
    StateFacts,
    SteppedAutomaton,
    SteppedSubAutomaton,
)

MAX_SEARCHED = 300  # pairs that one search for an end looks at

Pair = int  # a state of the sub-automaton << 32 | a state of the automaton beside it
_SIDE = (1 << 32) - 1
_DEAD = -1


class Moves(NamedTuple):
    """The moves of a pair.

    spans: int32[k, 3], first and last code point and an index into `pairs`, ascending. first: of
    each pair, the least code point that leads to it.
    """

    spans: Array
    pairs: list[Pair]
    first: list[int]


class BesideAutomaton(SteppedAutomaton):
    """The product of an automaton that is explored state by state and of another one.

    Hold `lock` to use it.
    """

    def __init__(self, base: SteppedAutomaton, side: RegexAutomaton) -> None:
        """Raises TooLargeError where no common text is found."""
        self._base, self._side = base, side
        self._format = base if isinstance(base, SteppedSubAutomaton) else None
        self._counts = side if isinstance(side, LengthAutomaton) else None
        self._waits = self._fillers = np.zeros(0, np.int64)
        if isinstance(side, TableAutomaton):
            self._write_waits(side)
        self._filled: dict[tuple[str, int], int] = {}  # see `_filled_distance`
        self._distances: dict[Pair, int] = {}  # to an end that was found
        self._moves: dict[Pair, Moves] = {}  # of pairs that searches looked at
        if not self._lives(0):
            raise TooLargeError
        super().__init__(0)

    def reach(self, state: int) -> tuple[int, int]:
        """See `SteppedAutomaton.reach`."""
        pair: Any = self._nodes[state]
        return self._least(pair), self._distances[pair]

    def unbounded(self, state: int) -> Unbounded | None:
        """See `RegexAutomaton.unbounded`: the sub-automaton, as long as the length is far off."""
        pair: Any = self._nodes[state]
        at, base = pair >> 32, self._format
        if self._counts is None or base is None:
            return None
        least, most = self._counts.left(pair & _SIDE)
        with base.lock:
            free = INFINITE if most == INFINITE else base.free_within(at, most)
            if free <= 0 or (least and not base.has_all_lengths):
                return None
            return Unbounded(base, at, free, most, base.distances(), least)

    def _spans(self, state: int) -> Array:
        pair: Any = self._nodes[state]
        moves = self._moves.pop(pair, None) or self._product(pair)
        known = self._numbers.get
        numbers = np.array([known(after, -1) for after in moves.pairs], np.int32)
        new = [at for at in np.flatnonzero(numbers < 0).tolist() if self._lives(moves.pairs[at])]
        steps = self._numbered(state, [(moves.first[at], 0, moves.pairs[at]) for at in new])
        numbers[new] = [number for *_, number in steps]
        spans = moves.spans
        spans[:, 2] = numbers[spans[:, 2]]
        found: Array = spans[spans[:, 2] >= 0]
        return found

    def _facts(self, node: Pair) -> StateFacts:
        base, side, at, beside = self._base, self._side, node >> 32, node & _SIDE
        ends = bool(base.ends[at] and side.ends[beside])
        if self._counts is None or not base.often[at]:
            return ends, False, 0, 0
        # what a format reads again and again leads no farther from an end than by one character
        most = self._counts.left(beside)[1]
        room = 255 if most == INFINITE else min(most - self._distances[node] - 1, MOST_REPEATS)
        often = max(min(int(base.often[at]), room), 0)
        return ends, False, int(base.loops[at]) if often else 0, often

    def _write_waits(self, side: TableAutomaton) -> None:
        """Find out how far the states of a pattern are from an end, unless that takes too long."""
        filler = NONE if self._format is None else self._format.filler
        columns = [at for at, chars in enumerate(sets_of(side.classes)) if chars & filler]
        with contextlib.suppress(TooLargeError), side.lock:
            self._waits = distances_to_end(side)
            self._fillers = distances_to_end(side, columns)

    def _product(self, pair: Pair) -> Moves:
        """The moves of a pair; whether what they lead to is alive is not asked."""
        with self._base.lock:
            ours = self._base.spans_from(pair >> 32)
        with self._side.lock:
            theirs = self._side.spans_from(pair & _SIDE)
        begin = np.searchsorted(theirs[:, 1], ours[:, 0])
        count = np.maximum(np.searchsorted(theirs[:, 0], ours[:, 1], "right") - begin, 0)
        mine = np.repeat(np.arange(len(ours)), count)
        other = np.arange(len(mine)) - np.repeat(np.cumsum(count) - count, count) + begin[mine]
        low = np.maximum(ours[mine, 0], theirs[other, 0])
        high = np.minimum(ours[mine, 1], theirs[other, 1])
        keys = ours[mine, 2].astype(np.int64) << 32 | theirs[other, 2]
        pairs, first, index = np.unique(keys, return_index=True, return_inverse=True)
        spans = np.stack((low, high, index), axis=1).astype(np.int32)
        return Moves(spans, pairs.tolist(), low[first].tolist())

    # -- how far a pair is from an end ----------------------------------------------------------

    def _lives(self, pair: Pair) -> bool:
        """Whether some text ends from a pair."""
        return self._distance(pair) != _DEAD

    def _distance(self, pair: Pair) -> int:
        """With how many characters some text ends from a pair, _DEAD where none was found."""
        found = self._distances.get(pair)
        if found is None:
            found = self._plain_distance(pair)
            if found == _DEAD:
                found = self._search(pair)
            self._distances[pair] = found
        return found

    def _plain_distance(self, pair: Pair) -> int:
        """`_distance` where it needs no search, else _DEAD."""
        at, beside = pair >> 32, pair & _SIDE
        if self._counts is None:
            if self._base.ends[at] and self._side.ends[beside]:
                return 0
            return _DEAD if self._format is None else self._filled_distance(at, beside)
        low, high = self._counts.left(beside)
        least, surely = self._base.reach(at)
        if low and self._format is not None and self._format.has_all_lengths:
            surely = max(surely, low)
        elif low > least:
            return _DEAD
        return surely if surely <= high else _DEAD

    def _filled_distance(self, at: int, beside: int) -> int:
        """The length of the ending of a format's state and of characters that fill it up."""
        ending = None if self._format is None else self._format.ending(at)
        if ending is None or not len(self._fillers):
            return _DEAD
        found = self._filled.get((ending, beside))
        if found is None:
            found = self._filled[ending, beside] = self._filled_up(ending, beside)
        return found

    def _filled_up(self, ending: str, beside: int) -> int:
        """The length of an ending with what a pattern asks for behind it; _DEAD if none fits."""
        side: Any = self._side
        letters = np.array([*map(ord, ending)], np.int32)
        for column in classes_in(side.classes, letters).tolist():
            beside = int(side.search.moves[beside, column]) if column >= 0 else -1
            if beside < 0:
                return _DEAD
        more = int(self._fillers[beside])
        return _DEAD if more >= len(self._fillers) else len(ending) + more

    def _least(self, pair: Pair) -> int:
        """A lower bound on the characters with which a text ends from a pair."""
        least, beside = self._base.reach(pair >> 32)[0], pair & _SIDE
        if self._counts is not None:
            low, high = self._counts.left(beside)
            return max(least, low) if least <= high else INFINITE
        return max(least, int(self._waits[beside]) if len(self._waits) else 0)

    def _likely(self, pair: Pair) -> int:
        """How far an end likely is, if first the format and then the pattern is to be ended."""
        least, surely = self._base.reach(pair >> 32)
        beside = pair & _SIDE
        return min(2 * least, surely) + (int(self._waits[beside]) if len(self._waits) else 0)

    def _search(self, start: Pair) -> int:
        """Search for an end, those pairs first that seem near one; note all distances on the way.

        Returns the distance of `start`, _DEAD where it counts as dead.
        """
        came: dict[Pair, Pair | None] = {start: None}
        waiting = [(0, 0, start)] if self._least(start) < INFINITE else []
        for _ in range(MAX_SEARCHED):
            if not waiting:  # all that can be reached is dead
                self._distances.update(dict.fromkeys(came, _DEAD))
                return _DEAD
            *_, pair = heapq.heappop(waiting)
            if pair not in self._moves:
                self._moves[pair] = self._product(pair)
            for after in self._moves[pair].pairs:
                if after in came:
                    continue
                far = self._distances.get(after)
                if far is None and (plain := self._plain_distance(after)) != _DEAD:
                    far = self._distances[after] = plain
                if far is not None and far != _DEAD:
                    return self._mark(pair, came, far)
                if far is None and self._least(after) < INFINITE:
                    came[after] = pair
                    heapq.heappush(waiting, (self._likely(after), -len(came), after))
        return _DEAD

    def _mark(self, pair: Pair, came: dict[Pair, Pair | None], far: int) -> int:
        """Note the distances of the pairs on the way to one from which an end is `far` away."""
        at: Pair | None = pair
        while at is not None:
            far += 1
            self._distances[at] = far
            at = came[at]
        return far
