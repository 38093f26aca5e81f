"""Two automata that read a text side by side, state by state: both, or either of them.

The states of a sub-automaton such as the format `regex` are endless or too many to explore, so the
kernels' product construction cannot take them. Here a state is a pair: one of each automaton.

In a union a text may go on while either does; a half that reads no more is -1.

In an intersection the second automaton is that of all other demands: a length counter
(`LengthAutomaton`) or that of a pattern. A pair is kept if some text is found to end from it.
Mostly that is plain: states of a format know how a text can end soon. Else an end is searched for,
and what is found is noted for all pairs on the way. A pair for which MAX_SEARCHED others were
looked at in vain counts as dead: that leaves out some texts and lets none in, and no state is a
dead end, since from each pair that is kept one leads on that is nearer to an end.

Where no pair behind a pair can be dead, what may follow is what either automaton says by itself;
masks are then joined, and no pairs are explored for them (`halves`). So it is of unions, of formats
with a limit (`SideBySideAutomaton`), and often beside patterns (`BesideAutomaton`).
"""

from __future__ import annotations

import contextlib
import heapq
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from structgen.kernels.build.loader import kernels
from structgen.regular.charset import ALL, NONE, CharSet, union_all
from structgen.regular.expressions.base import INFINITE
from structgen.regular.lazy_dfa.character_classes import TooLargeError, classes_in, sets_of
from structgen.regular.lazy_dfa.counters import LengthAutomaton, distances_to_end
from structgen.regular.lazy_dfa.states import (
    Array,
    Halves,
    RegexAutomaton,
    TableAutomaton,
    Unbounded,
)
from structgen.regular.lazy_dfa.stepped import (
    MOST_REPEATS,
    StateFacts,
    SteppedAutomaton,
    merged,
)
from structgen.util.arrays import distinct, with_room

MAX_SEARCHED = 300  # pairs that one search for an end looks at
MAX_UNREAD = 1000  # characters that a pattern may lack where its masks are joined with a format's
FEW_LEFT = 2  # characters, in which a search is short
MAX_LED = 100  # pairs on a way that is tried before
ROOM = 256  # pairs that there is room for at first

Pair = int  # a number of `PairAutomaton`, not a state: some pairs are dead
_DEAD, _NEW = -1, -2  # in the place of a state's number
_NOTHING = np.zeros((0, 3), np.int32)
_SHORT = CharSet.chars("\b\t\n\f\r")  # control characters with a short escape in JSON
_ESCAPED = CharSet.chars('"\\/')


class PairAutomaton(SteppedAutomaton):
    """Two automata side by side; a state is a live pair of their states. Hold `lock` to use it.

    joint: whether a text must fit both, or either.
    """

    joint: bool

    def __init__(self, one: RegexAutomaton, other: RegexAutomaton) -> None:
        """The pair of both starts is the start. Raises TooLargeError where it counts as dead."""
        self._both = one, other
        self._kernels = kernels("regular.pairs")
        self._pairs = self._kernels.Pairs(
            np.zeros((ROOM, 2), np.int32),
            np.full(2 * ROOM, -1, np.int32),
            np.array([1, 0], np.int64),
        )
        self._states = np.full(ROOM, _NEW, np.int32)  # of each pair
        self._states[0] = 0
        if not self._live(np.zeros(1, np.int32))[0]:
            raise TooLargeError
        super().__init__(0)

    def _halves(self, pair: Pair) -> tuple[int, int]:
        one, other = self._pairs.halves[pair].tolist()
        return one, other

    def _spans(self, state: int) -> Array:
        node: Any = self._nodes[state]
        moves = self._moves_of(node)
        pairs = moves[:, 2]
        to = self._states[pairs]
        if to.min(initial=0) == _NEW:
            self._judge(state, moves[to == _NEW])
            to = self._states[pairs]
        return merged(moves, to)

    def _judge(self, state: int, moves: Array) -> None:
        """Give the new pairs that some moves lead to numbers, as far as they are live."""
        pairs, first = np.unique(moves[:, 2], return_index=True)
        live = self._live(pairs)
        self._states[pairs[~live]] = _DEAD
        pairs, low = pairs[live], moves[first[live], 0]
        begin, self.made = self.made, self.made + len(pairs)
        new = slice(begin, self.made)
        self._states[pairs] = np.arange(begin, self.made)
        self._nodes += pairs.tolist()
        self._make_room(self.made, self.known)
        self.came[new, 0], self.came[new, 1] = state, low
        self.ends[new], self.endless[new], self.loops[new], self.often[new] = self._facts_of(pairs)

    @abstractmethod
    def _live(self, pairs: Array) -> Array:
        """bool[k]: from which pairs some text ends."""

    @abstractmethod
    def _facts_of(self, pairs: Array) -> Sequence[Array]:
        """`ends`, `endless`, `loops` and `often` of some pairs, see `RegexAutomaton`."""

    def _facts(self, node: Pair) -> StateFacts:
        ends, endless, loops, often = (int(part[0]) for part in self._facts_of(np.array([node])))
        return bool(ends), bool(endless), loops, often

    def _moves_of(self, pair: Pair) -> Array:
        """int32[k, 3]: the moves of a pair as spans; whether what they lead to lives is not asked.

        Ascending: first and last code point, and the pair behind.
        """
        spans = [self._spans_of(*each) for each in zip(self._both, self._halves(pair), strict=True)]
        most = 2 * (len(spans[0]) + len(spans[1]))
        self._make_room_for(most)
        found = np.empty((most, 3), np.int32)
        used = self._kernels.side_by_side(*spans, self.joint, self._pairs, found)
        return found[:used]

    @staticmethod
    def _spans_of(part: RegexAutomaton, state: int) -> Array:
        if state < 0:
            return _NOTHING
        with part.lock:
            return part.spans_from(state)

    def _make_room_for(self, more: int) -> None:
        """Make room for so many pairs more."""
        halves, table, sizes = self._pairs
        made, most = int(sizes[0]), int(sizes[0]) + more
        if most <= len(halves):
            return
        halves = with_room(halves, most, None, made)
        self._states = with_room(self._states, len(halves))
        self._states[made:] = _NEW
        table = np.full(1 << (2 * len(halves)).bit_length(), -1, np.int32)
        sizes[1] = 0
        self._pairs = type(self._pairs)(halves, table, sizes)


def tells_endings(automaton: RegexAutomaton) -> bool:
    """Whether an automaton knows texts that end a state, as those of formats do."""
    if isinstance(automaton, SideBySideAutomaton) and automaton.joint:
        return all(map(tells_endings, automaton._both))
    return isinstance(automaton, SteppedAutomaton)


class SideBySideAutomaton(PairAutomaton):
    """Two automata of which no pair is dead: a text goes on while it does in both, or in either.

    Both (`joint`): a format with a limit, see `SubAutomatonState`. Either: a union.
    """

    def __init__(self, one: RegexAutomaton, other: RegexAutomaton, *, joint: bool) -> None:
        """See `PairAutomaton`."""
        self.joint = joint
        self.straying = max(getattr(part, "straying", 0) for part in (one, other)) if joint else 0
        super().__init__(one, other)

    def halves(self, state: int) -> Halves:
        """See `RegexAutomaton.halves`: of a union in a union, those of both."""
        states = (*self._leaves(cast(int, self._nodes[state])),)
        if not self.joint:
            return Halves(False, states)
        all_states: Any = states
        return Halves(True, states, min(part.free_from(at) for _, part, at in all_states))

    def _leaves(self, pair: Pair) -> Iterator[tuple[int, RegexAutomaton, int]]:
        (one, other), (at, beside) = self._both, self._halves(pair)
        if at >= 0:
            yield 0, one, at
        if beside < 0:
            return
        if not isinstance(other, SideBySideAutomaton) or other.joint != self.joint:
            yield 1, other, beside
            return
        with other.lock:
            for place, automaton, state in other.halves(beside).states:
                yield place + 1, automaton, state

    def reach(self, state: int) -> tuple[int, int]:
        """See `SteppedAutomaton.reach`: a limit leaves an end as it is."""
        if not self.joint:
            return super().reach(state)
        least, surely = zip(*(part.reach(at) for part, at in self._stepped(state)), strict=True)
        return max(least), max(surely)

    def ending(self, state: int) -> str | None:
        """See `SteppedAutomaton.ending`: what ends one of both ends both."""
        if not self.joint:
            return None
        endings = [part.ending(at) for part, at in self._stepped(state)]
        return None if None in endings else max(endings, key=len)

    @property
    def closing(self) -> CharSet:
        """See `SubAutomatonState`."""
        return cast(SteppedAutomaton, self._both[0]).closing if self.joint else NONE

    def _stepped(self, state: int) -> Iterator[tuple[Any, int]]:
        """Both automata with their states."""
        return zip(self._both, self._halves(cast(int, self._nodes[state])), strict=True)

    def length_from(self, state: int, least: int) -> int | None:
        """See `SteppedAutomaton.length_from`."""
        found: int | None = least
        for part, at in self._stepped(state):
            found = part.length_from(at, found) if self.joint and found is not None else None
        return found

    def free_within(self, state: int, least: int, most: int) -> int:
        """See `SteppedAutomaton.free_within`."""
        if not self.joint:
            return 0
        return min(int(part.free_within(at, least, most)) for part, at in self._stepped(state))

    def _live(self, pairs: Array) -> Array:
        return np.ones(len(pairs), np.bool_)

    def _facts_of(self, pairs: Array) -> Sequence[Array]:
        halves = self._pairs.halves[pairs].T
        both = [facts_at(*each) for each in zip(self._both, halves, strict=True)]
        ends, endless, loops, often = zip(*both, strict=True)
        if self.joint:
            often = np.minimum(*often)
            return ends[0] & ends[1], endless[0] & endless[1], loops[0] & loops[1], often
        alone = (halves < 0).any(axis=0)  # else nothing is known
        return (
            ends[0] | ends[1],
            endless[0] | endless[1],
            *(np.where(alone, np.maximum(*part), 0) for part in (loops, often)),
        )

    def _own_loop(self, state: int, spans: Any) -> tuple[int, int]:
        node: Any = self._nodes[state]
        *_, loops, often = self._facts(node)  # exploring a part may have found its loops
        return (loops, often) if often else super()._own_loop(state, spans)


def facts_at(part: RegexAutomaton, states: Array) -> list[Array]:
    """`ends`, `endless`, `loops` and `often` of some states; 0 for a state of -1."""
    with part.lock:  # so that all are of one moment
        found = [array[states] for array in (part.ends, part.endless, part.loops, part.often)]
    for array in found:
        array[states < 0] = 0
    return found


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
            free = base.free_within(at, least, most)
            if free <= 0:
                return None
            return Unbounded(base, at, free, most, base.distances(), least)

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
        return Halves(True, ((0, self._base, at), (1, self._side, beside)))

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
            undemanding = self._undemanding if len(self._undemanding) else np.zeros(1, np.bool_)
            beside = beside if len(self._undemanding) else 0 * beside
            often = np.where(undemanding[beside], np.minimum(often, side_often), 0)
            loops = loops & side_loops
        else:
            _, most = self._counts.left(beside)
            far = np.array([self._distances[pair] for pair in pairs.tolist()], np.int64)
            room = np.minimum(most - far - 1 - self._base.straying, MOST_REPEATS)
            often = np.minimum(often, np.where(most == INFINITE, 255, np.maximum(room, 0)))
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
        return np.array([self._distance(pair) != _DEAD for pair in pairs.tolist()], np.bool_)

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
        """With how many characters some text ends from a pair, _DEAD where none was found."""
        found = self._distances.get(pair)
        if found is None:
            found = self._plain_distance(pair)
            if found == _DEAD and self._format is not None and len(self._waits):
                found = self._led(pair)
            if found == _DEAD and self._is_searched(pair):
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

        _DEAD where the format does not read that, or has not ended then. All distances on the way
        are noted.
        """
        pair, came = start, dict[Pair, Pair | None]({start: None})
        ending: Any = self._format and self._format.ending(self._halves(start)[0])
        while ending is not None and len(came) < MAX_LED:
            at, beside = self._halves(pair)
            if not ending and not self._waits[beside]:
                return self._mark(pair, came, -1) if self._base.ends[at] else _DEAD
            moves = self._moves_of(pair)
            if ending:
                letter, ending = ord(ending[0]), ending[1:]
                after = moves[(moves[:, 0] <= letter) & (moves[:, 1] >= letter), 2]
            else:
                waits = self._waits[self._pairs.halves[moves[:, 2], 1]]
                after = moves[waits < self._waits[beside], 2]
            if not len(after) or int(after[0]) in came:
                return _DEAD
            before, pair = pair, int(after[0])
            far = self._distances.get(pair)
            if far is not None:
                return self._mark(before, came, far) if far != _DEAD else _DEAD
            came[pair] = before
        return _DEAD

    def _plain_distance(self, pair: Pair) -> int:
        """`_distance` where it needs no search, else _DEAD."""
        at, beside = self._halves(pair)
        if self._counts is None:
            if self._base.ends[at] and self._side.ends[beside]:
                return 0
            if self._side.endless[beside]:  # a pattern that is found
                found = self._base.reach(at)[1]
                return found if found < INFINITE else _DEAD
            return _DEAD if self._format is None else self._filled_distance(at, beside)
        low, high = self._counts.left(beside)
        least, surely = self._base.reach(at)
        if low > least:
            longer = self._base.length_from(at, low)
            return longer if longer is not None and longer <= high else _DEAD
        return surely if surely <= high else _DEAD

    def _filled_distance(self, at: int, beside: int, least: int = 0) -> int:
        """The length of the ending of a format's state and of characters that fill it up.

        So many that it is not below `least`.
        """
        ending = None if self._format is None else self._format.ending(at)
        if ending is None or not len(self._fillers):
            return _DEAD
        key = ending, beside, least
        if key not in self._filled:
            self._filled[key] = self._filled_up(*key)
        return self._filled[key]

    def _filled_up(self, ending: str, beside: int, least: int) -> int:
        """`_filled_distance` after a format's ending; _DEAD if none fits."""
        side: Any = self._side
        letters = np.array([*map(ord, ending)], np.int32)
        for column in classes_in(side.classes, letters).tolist():
            beside = int(side.search.moves[beside, column]) if column >= 0 else -1
            if beside < 0:
                return _DEAD
        size, waits = len(ending), self._fillers
        while size + waits[beside] < least:
            beside, size = int(side.search.moves[beside, self._filler]), size + 1
        return size + int(waits[beside]) if waits[beside] < len(waits) else _DEAD

    def _least(self, pair: Pair) -> int:
        """A lower bound on the characters with which a text ends from a pair."""
        at, beside = self._halves(pair)
        least, _ = self._base.reach(at)
        if self._counts is not None:
            low, high = self._counts.left(beside)
            return max(least, low) if least <= high else INFINITE
        return max(least, int(self._waits[beside]) if len(self._waits) else 0)

    def _likely(self, pair: Pair) -> int:
        """How far an end likely is, if first the format and then the pattern is to be ended."""
        at, beside = self._halves(pair)
        least, surely = self._base.reach(at)
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
            if pair not in self._behind:
                self._behind[pair] = distinct(self._moves_of(pair)[:, 2]).tolist()
            for after in self._behind[pair]:
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
