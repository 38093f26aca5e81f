"""The texts that fit a format, or the like, and another demand: a length counter or a pattern.

A pair is kept if some text is found to end from it. Mostly that is plain: states of a format know
how a text can end soon. Else an end is searched for, and what is found is noted for all pairs on
the way. A pair for which MAX_SEARCHED others were looked at in vain counts as dead: that leaves out
some texts and lets none in, and no state is a dead end, since from each pair that is kept one leads
on that is nearer to an end.

Where no pair behind a pair can be dead, what may follow is what either automaton says by itself;
masks are then joined, and no pairs are explored for them (`halves`).
"""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from structgen.regular.charset import ALL, NONE, CharSet, union_all
from structgen.regular.expressions.base import INFINITE
from structgen.regular.lazy_dfa.character_classes import TooLargeError, classes_in, sets_of
from structgen.regular.lazy_dfa.counters import LengthAutomaton, distances_to_end
from structgen.regular.lazy_dfa.pairs.pair import DEAD, Pair, PairAutomaton, facts_at
from structgen.regular.lazy_dfa.states import (
    ANY_NUMBER,
    Array,
    Halves,
    RegexAutomaton,
    TableAutomaton,
    Unbounded,
)
from structgen.regular.lazy_dfa.stepped import MOST_REPEATS, SteppedAutomaton
from structgen.util.arrays import distinct, with_room
from structgen.util.cancellation import checkpoint

PER_UNIT = 8  # pairs that a search looks at in a unit of work
MAX_SEARCHED = 300  # pairs that one search for an end looks at
MAX_UNREAD = 1000  # characters that a pattern may lack where its masks are joined with a format's
FEW_LEFT = 2  # characters, in which a search is short
MAX_LED = 100  # pairs on a way that is tried before

_SHORT = CharSet.chars("\b\t\n\f\r")  # control characters with a short escape in JSON
_ESCAPED = CharSet.chars('"\\/')


class BesideAutomaton(PairAutomaton):
    """The texts that fit an automaton explored state by state, and another one.

    Hold `lock` to use it.
    """

    joint = True

    def __init__(self, base: SteppedAutomaton, side: RegexAutomaton) -> None:
        """Raises TooLargeError where no common text is found."""
        self._base, self._side = base, side
        self._format: SteppedAutomaton | None = base if base.closing else None
        self._counts = side if isinstance(side, LengthAutomaton) else None
        self._waits = self._fillers = np.zeros(0, np.int64)
        self._ahead = np.zeros(0, np.int64)  # where `_waits` are not known, lower bounds on them
        # see `_write_undemanding`
        self._undemanding = self._wide = np.zeros(0, np.bool_)
        self._filler = -1  # a class of characters that fill a text up
        self._unread: list[tuple[CharSet, CharSet]] | None = None
        if isinstance(side, TableAutomaton):
            self._write_waits(side)
        self._filled: dict[tuple[str, int, int], int] = {}  # see `_filled_distance`
        self._distances: dict[Pair, int] = {}  # to an end that was found
        self._behind: dict[Pair, list[Pair]] = {}  # of pairs that searches looked at
        self._reaches = np.zeros((0, 2), np.int32)  # of each state, see `distances`
        self._base_reach = np.zeros((0, 2), np.int64)  # of states of the base, -1 if not asked yet
        self._compared = 0  # how many explored states of the base `_shares_prefixes` has looked at
        super().__init__(base, side)

    def reach(self, state: int) -> tuple[int, int]:
        """See `SteppedAutomaton.reach`."""
        pair: Any = self._nodes[state]
        return self._least(pair), self._distances[pair]

    def distances(self) -> tuple[Array, Array]:
        """See `SteppedAutomaton.distances`."""
        more = [*map(self.reach, range(len(self._reaches), self.made))]
        self._reaches = np.append(self._reaches, np.array(more, np.int32).reshape(-1, 2), axis=0)
        return self._reaches[:, 0].copy(), self._reaches[:, 1].copy()

    def unbounded(self, state: int) -> Unbounded | None:
        """See `RegexAutomaton.unbounded`: the base, where what is beside it makes no difference."""
        (at, beside), base = self._halves(cast(int, self._nodes[state])), self._base
        if self._counts is None:
            return Unbounded(base, at, INFINITE) if self._side.endless[beside] else None
        least, most = self._counts.left(beside)
        with base.lock:
            free, distances = base.free_within(at, least, most), base.distances()
            if free <= 0 and (base.spare is None or most - least < base.spare):
                return None
            return Unbounded(base, at, max(free, 0), most, distances, least, base.straying)

    def length_from(self, state: int, least: int) -> int | None:
        """See `SteppedAutomaton.length_from`."""
        at, beside = self._halves(cast(int, self._nodes[state]))
        if self._side.endless[beside]:
            return self._base.length_from(at, least)
        if not self._is_undemanding(beside) or self._filler < 0:
            return None
        return self._filled_distance(at, beside, least)

    def free_within(self, state: int, least: int, most: int) -> int:
        """See `SteppedAutomaton.free_within`."""
        at, beside = self._halves(cast(int, self._nodes[state]))
        if self._side.endless[beside]:
            return self._base.free_within(at, least, most)
        if not self._is_undemanding(beside) or (least and self._filler < 0):
            return 0
        # what fills a text up to its least length may lead away from an end again
        wait = self.straying
        return self._base.free_within(at, least, most - wait) if least + wait <= most else 0

    @property
    def is_endless(self) -> bool:
        """Whether each text that is begun is known to have endlessly many endings.

        It has where no text ends but in an undemanding state, in which any number of characters of
        the format's `filler` may come before the end.
        """
        count = len(self._undemanding)
        return self._filler >= 0 and not (self._side.ends[:count] > self._undemanding).any()

    def _is_undemanding(self, beside: int) -> bool:
        return bool(len(self._undemanding)) and bool(self._undemanding[beside])

    def halves(self, state: int) -> Halves | None:
        """See `RegexAutomaton.halves`: where every pair behind is live.

        Asked once more when the masks of both are known, since it depends on the states in between.
        """
        at, beside = self._halves(cast(int, self._nodes[state]))
        if self._unread is None or not self._wide[beside] or not self._shares_prefixes():
            return None
        return Halves("all", ((0, self._base, at), (1, self._side, beside)))

    def _shares_prefixes(self) -> bool:
        """Whether each state of the format that reads what a pattern does not reads others like it.

        Then whatever begins a character for both begins one for the pair.
        """
        base = self._base
        with base.lock:
            first = base.first[self._compared : base.known + 1]
            spans = base.spans[first[0] : first[-1]]
            self._compared = base.known
        state = np.arange(len(first) - 1).repeat(np.diff(first))
        for unread, others in self._unread or ():
            at_risk = np.zeros(len(first), np.bool_)
            at_risk[state[_reading(spans, unread)]] = True
            at_risk[state[_reading(spans, others)]] = False
            if at_risk.any():
                self._unread = None
                return False
        return True

    def _facts_of(self, pairs: Array) -> Sequence[Array]:
        at, beside = self._pairs.halves[pairs].T
        ends, _, loops, often = facts_at(self._base, at)
        side_ends, _, side_loops, side_often = facts_at(self._side, beside)
        if self._counts is None:
            undemanding = self._undemanding[beside] if len(self._undemanding) else np.False_
            often = np.where(undemanding, np.minimum(often, side_often), 0)
            loops = loops & side_loops
        else:
            _, most = self._counts.left(beside)
            far = np.array([self._distances[pair] for pair in pairs.tolist()], np.int64)
            spare = np.clip(most - far - 1 - self._base.straying, 0, MOST_REPEATS)
            often = np.minimum(often, np.where(most == INFINITE, ANY_NUMBER, spare))
        none = np.zeros(len(pairs), np.uint8)
        return (ends != 0) & (side_ends != 0), none, np.where(often > 0, loops, 0), often

    def _write_waits(self, side: TableAutomaton) -> None:
        """Find out how far the states of a pattern are from an end, unless that takes too long."""
        sets = sets_of(side.classes)
        columns = _having(sets, NONE if self._format is None else self._format.filler)
        with contextlib.suppress(TooLargeError), side.lock:
            self._waits = distances_to_end(side)
            self._fillers = distances_to_end(side, columns)
            self._write_undemanding(sets, side.search.moves[: len(self._fillers)], columns)

    def _write_undemanding(self, sets: list[CharSet], moves: Array, columns: list[int]) -> None:
        """Find the states of a pattern with which no text of a format leads to a dead pair.

        In all states behind them the endings of the format are read, and an end is there, or its
        `filler` leads to one.
        """
        closing = NONE if self._format is None else self._format.closing
        if not closing or closing - union_all(sets):
            return
        if columns:
            self._filler = max(columns, key=lambda at: len(sets[at]))
        ending = _having(sets, closing) + [self._filler] * bool(columns)
        found = _staying(self._fillers < len(moves), moves[:, ending], or_none=False)
        found = self._undemanding = _staying(found, moves, or_none=True)
        self.straying = int(self._fillers[found].max(initial=0)) + self._base.straying
        self._write_unread(sets, moves)

    def _write_unread(self, sets: list[CharSet], moves: Array) -> None:
        """Find the undemanding states behind which nearly all characters are read.

        `_unread`: what these do not read, and others that are spelled nearly alike: of two
        characters with a beginning in common, in UTF-8 or escaped, one is among these others.
        """
        never = ALL - union_all(sets)
        sizes = np.array([MAX_UNREAD + 1 if each & _ESCAPED else len(each) for each in sets])
        few = (moves < 0) @ sizes <= MAX_UNREAD - len(never)
        found = self._wide = _staying(self._undemanding & few, moves, or_none=True)
        if never & _ESCAPED or not found.any():
            return
        lost = np.flatnonzero((moves[found] < 0).any(axis=0)).tolist()
        unread = union_all([never, *(sets[at] for at in lost)])
        blocks = {point >> 4 for low, high in unread.ranges for point in range(low, high + 1)}
        alike = [CharSet.of([(block << 4, block << 4 | 15)]) for block in blocks]
        alike = [kind for chars in alike for kind in (chars & _SHORT, chars - _SHORT)]
        self._unread = [(chars & unread, chars - unread) for chars in alike if chars & unread]

    # -- how far a pair is from an end ----------------------------------------------------------

    def _live(self, pairs: Array) -> Array:
        """See `PairAutomaton`."""
        if self._counts is not None:
            self._note_plain(pairs, self._counts)
        return np.array([self._distance(pair) != DEAD for pair in pairs.tolist()], np.bool_)

    def _note_plain(self, pairs: Array, counts: LengthAutomaton) -> None:
        """Note the distances of pairs with a length that is no demand beside what ends the base."""
        at, beside = self._pairs.halves[pairs].T
        if at.max(initial=0) >= len(self._base_reach):
            self._base_reach = with_room(self._base_reach, int(at.max()) + 1, -1)
        for state in {*at[self._base_reach[at, 0] < 0].tolist()}:
            self._base_reach[state] = self._base.reach(state)
        (least, surely), (low, high) = self._base_reach[at].T, counts.left(beside)
        plain = (low <= least) & (surely <= high)
        self._distances.update(zip(pairs[plain].tolist(), surely[plain].tolist(), strict=True))

    def _distance(self, pair: Pair) -> int:
        """With how many characters some text ends from a pair, DEAD where none was found."""
        found = self._distances.get(pair)
        if found is None:
            found = self._plain_distance(pair)
            if found == DEAD and self._format is not None and len(self._waits):
                found = self._led(pair)
            if found == DEAD and self._is_searched(pair):
                found = self._search(pair)
            self._distances[pair] = found
        return found

    def _is_searched(self, pair: Pair) -> bool:
        """Whether to search for an end: not where the one that is known is just too long."""
        if self._counts is None or self._format is None:
            return True
        return bool(self._counts.left(self._halves(pair)[1])[1] <= FEW_LEFT)

    def _led(self, start: Pair) -> int:
        """The length of a text that ends the format first, and then goes to the pattern's end.

        DEAD where the format does not read that, or has not ended then. All distances on the way
        are noted.
        """
        pair, came = start, dict[Pair, Pair | None]({start: None})
        ending: Any = self._format and self._format.ending(self._halves(start)[0])
        while ending is not None and len(came) < MAX_LED:
            at, beside = self._halves(pair)
            if not ending and not self._waits[beside]:
                return self._mark(pair, came, -1) if self._base.ends[at] else DEAD
            moves = self._moves_of(pair)
            if ending:
                letter, ending = ord(ending[0]), ending[1:]
                after = moves[(moves[:, 0] <= letter) & (moves[:, 1] >= letter), 2]
            else:
                waits = self._waits[self._pairs.halves[moves[:, 2], 1]]
                after = moves[waits < self._waits[beside], 2]
            if not len(after) or int(after[0]) in came:
                return DEAD
            before, pair = pair, int(after[0])
            far = self._distances.get(pair)
            if far is not None:
                return self._mark(before, came, far) if far != DEAD else DEAD
            came[pair] = before
        return DEAD

    def _plain_distance(self, pair: Pair) -> int:
        """`_distance` where it needs no search, else DEAD."""
        at, beside = self._halves(pair)
        if self._counts is None:
            if self._base.ends[at] and self._side.ends[beside]:
                return 0
            if self._side.endless[beside]:  # a pattern that is found
                found = self._base.reach(at)[1]
                return found if found < INFINITE else DEAD
            return DEAD if self._format is None else self._filled_distance(at, beside)
        low, high = self._counts.left(beside)
        least, surely = self._base.reach(at)
        if low > least:
            longer = self._base.length_from(at, low)
            return longer if longer is not None and longer <= high else DEAD
        return surely if surely <= high else DEAD

    def _filled_distance(self, at: int, beside: int, least: int = 0) -> int:
        """The length of the ending of a format's state and of characters that fill it up.

        So many that it is not below `least`.
        """
        ending = None if self._format is None else self._format.ending(at)
        if ending is None or not len(self._fillers):
            return DEAD
        key = ending, beside, least
        if key not in self._filled:
            self._filled[key] = self._filled_up(*key)
        return self._filled[key]

    def _filled_up(self, ending: str, beside: int, least: int) -> int:
        """`_filled_distance` after a format's ending; DEAD if none fits."""
        side: Any = self._side
        letters = np.array([*map(ord, ending)], np.int32)
        for column in classes_in(side.classes, letters).tolist():
            beside = int(side.search.moves[beside, column]) if column >= 0 else -1
            if beside < 0:
                return DEAD
        size, waits = len(ending), self._fillers
        while size + waits[beside] < least:
            beside, size = int(side.search.moves[beside, self._filler]), size + 1
        return size + int(waits[beside]) if waits[beside] < len(waits) else DEAD

    def _least(self, pair: Pair) -> int:
        """A lower bound on the characters with which a text ends from a pair."""
        at, beside = self._halves(pair)
        least, _ = self._base.reach(at)
        if self._counts is not None:
            low, high = self._counts.left(beside)
            return max(least, low) if least <= high else INFINITE
        return max(least, self._wait(beside))

    def _wait(self, beside: int) -> int:
        """A lower bound on the characters with which a text ends from a state of a pattern."""
        if len(self._waits):
            return int(self._waits[beside])
        if beside >= len(self._ahead) and isinstance(self._side, TableAutomaton):
            with self._side.lock:
                self._ahead = self._side.ahead(0, self._side.size).least
        return int(self._ahead[beside]) if beside < len(self._ahead) else 0

    def _likely(self, pair: Pair) -> int:
        """How far an end likely is, if first the format and then the pattern is to be ended."""
        at, beside = self._halves(pair)
        least, surely = self._base.reach(at)
        return min(2 * least, surely) + self._wait(beside)

    def _search(self, start: Pair) -> int:
        """Search for an end, those pairs first that seem near one; note all distances on the way.

        Returns the distance of `start`, DEAD where it counts as dead.
        """
        came: dict[Pair, Pair | None] = {start: None}
        waiting = [(0, 0, start)] if self._least(start) < INFINITE else []
        for _ in range(MAX_SEARCHED):
            if not waiting:  # all that can be reached is dead
                self._distances.update(dict.fromkeys(came, DEAD))
                return DEAD
            *_, pair = heapq.heappop(waiting)
            if pair not in self._behind:
                self._behind[pair] = distinct(self._moves_of(pair)[:, 2]).tolist()
            checkpoint(1 + len(self._behind[pair]) // PER_UNIT)
            for after in self._behind[pair]:
                if after in came:
                    continue
                far = self._distances.get(after)
                if far is None and (plain := self._plain_distance(after)) != DEAD:
                    far = self._distances[after] = plain
                if far is not None and far != DEAD:
                    return self._mark(pair, came, far)
                if far is None and self._least(after) < INFINITE:
                    came[after] = pair
                    heapq.heappush(waiting, (self._likely(after), -len(came), after))
        return DEAD

    def _mark(self, pair: Pair, came: dict[Pair, Pair | None], far: int) -> int:
        """Note the distances of the pairs on the way to one from which an end is `far` away."""
        at: Pair | None = pair
        while at is not None:
            far += 1
            self._distances[at] = far
            at = came[at]
        return far


def _having(sets: list[CharSet], chars: CharSet) -> list[int]:
    """The indices of the sets that have some of these characters."""
    return [at for at, each in enumerate(sets) if each & chars]


def _staying(states: Array, moves: Array, *, or_none: bool) -> Array:
    """bool[S]: those of some states from which all moves lead to such a state again.

    moves: int32[S, k], -1 for none, which counts as such a state with `or_none`.
    """
    while True:
        within = np.append(states, or_none)  # -1 is the last
        found = states & within[moves].all(axis=1)
        if (found == states).all():
            return found
        states = found


def _reading(spans: Array, chars: CharSet) -> Array:
    """bool[k]: which moves, as spans, read one of some characters."""
    found = np.zeros(len(spans), np.bool_)
    for low, high in chars.ranges:
        found |= (spans[:, 0] <= high) & (spans[:, 1] >= low)
    return found
