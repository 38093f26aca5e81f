"""In: what leads on from a state. Out: the states of an expression, numbered as they are found."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.regular.lazy_dfa.character_classes import PositionClasses, TooLargeError
from structgen.util.arrays import with_room
from structgen.util.cached import found_once

AT_ONCE = 64  # states whose moves are found together
MOST_AT_ONCE = 256
ROOM = 64  # states for which there is room at first
LOOK_AGAIN = 1.2  # times as many states known: then all are looked at again

Array = npt.NDArray[Any]
Numbers = Array | Sequence[Any]


class Unbounded(NamedTuple):
    """A state as it were if texts might have any length: one of another automaton.

    free: so many characters may follow as they do there; most: so many may at all. wanted:
    int32[S], fewest characters with which a text ends from each state of that automaton; None where
    it is not said what follows behind `free` characters.
    """

    automaton: RegexAutomaton
    state: int
    free: int
    most: int = 0
    wanted: Array | None = None


class RegexAutomaton(ABC):
    """The states of one expression, by number; 0 is the start. Hold `lock` while looking at them.

    made: how many states have a number; known: of how many it is known what leads on from them,
    `order`, int32[known], as they were found. spans: int32[k, 3], first and last code point and the
    state behind; those of order[i] are first[i] to first[i + 1] - 1, ascending.
    loops: int64[made], groups of bytes, and often: uint8[made], how many characters of these may
    follow in any order, 255 for any number; 0 where that is not known.
    came: int32[made, 2], by which state and code point each was met first; (0, 0) for the start.
    ends, endless: uint8[made], whether the text may end there (and how, where there are several
    ways), and whether any text may follow.
    The arrays may be longer.
    """

    settled = False  #: no more is found of `loops` and `often` of a state once its moves are known

    def __init__(self, *, ends: bool) -> None:
        self.lock = threading.Lock()
        self.made, self.known = 1, 0
        self.order = np.zeros(ROOM, np.int32)
        self.first = np.zeros(ROOM + 1, np.int32)
        self.spans = np.zeros((4 * ROOM, 3), np.int32)
        self.loops = np.zeros(ROOM, np.int64)
        self.often = np.zeros(ROOM, np.uint8)
        self.came = np.zeros((ROOM, 2), np.int32)
        self.ends = np.zeros(ROOM, np.uint8)
        self.endless = np.zeros(ROOM, np.uint8)
        self.ends[0] = ends

    @abstractmethod
    def explore(self, state: int) -> None:
        """Find the moves of a state, and of others where that costs little."""

    def explore_near(self, _count: int) -> None:
        """Find the moves of the start, and of about so many states behind it if that is cheap."""
        self.explore(0)

    def after(self, state: int, letter: str) -> int:
        """The state behind a character that may be read in `state`."""
        spans = self.spans_from(state)
        inside = (spans[:, 0] <= ord(letter)) & (spans[:, 1] >= ord(letter))
        return int(spans[inside, 2][0])

    def spans_from(self, state: int) -> Array:
        """The spans of a state, which is explored first if need be."""
        self.explore(state)
        place = self.place(state)
        found: Array = self.spans[self.first[place] : self.first[place + 1]]
        return found

    @property
    def size(self) -> int:
        """How many states there are, numbered or not."""
        return self.made

    def place(self, state: int) -> int:
        """The place in `order` of a state whose moves are known."""
        return int((self.order[: self.known] == state).argmax())

    def unbounded(self, _state: int) -> Unbounded | None:
        """The state without a bound above; None if it has none, or one below that counts."""
        return None

    def _make_room(self, made: int, known: int, spans: int = 0) -> None:
        """See to it that there is room for so many states, and so many more spans."""
        if made > len(self.came):
            self.came = with_room(self.came, made)
            self.ends = with_room(self.ends, made)
            self.endless = with_room(self.endless, made)
            self.loops = with_room(self.loops, made)
            self.often = with_room(self.often, made)
        if known > len(self.order):
            self.order = with_room(self.order, known)
            self.first = with_room(self.first, len(self.order) + 1)
        if spans:
            used = int(self.first[self.known])
            self.spans = with_room(self.spans, used + spans, None, used)

    def explored(self) -> Any:
        """All of that for kernels: `kernels.regular.glushkov.Explored`."""
        return kernels("regular.glushkov").Explored(
            self.order,
            self.first,
            self.spans,
            self.ends,
            self.loops,
            self.often,
            self.came,
            self.endless,
        )


class TableAutomaton(RegexAutomaton):
    """States that kernels find. states: uint64 or int32[S, W], what each one is.

    What is found is in `search` and `ends` at once; who reads spans has it written down (`note`).
    worth: so many states it may have, at most, if all are to be looked at without need. is_quick:
    whether kernels alone find the moves of each, without a search.
    """

    worth = 1500
    is_quick = False

    def __init__(self, start: npt.NDArray[Any], classes: PositionClasses, *, ends: bool) -> None:
        super().__init__(ends=ends)
        self.classes = classes
        self._given = kernels("regular.state_spans").Classes(
            classes.low, classes.high, classes.group, classes.letters, classes.needs
        )
        self.states = start[None]
        self.search = kernels("regular.glushkov").Search(
            moves=np.zeros((1, len(classes.letters)), np.int32),
            came=np.zeros((1, 2), np.int32),
            table=np.zeros(0, np.int32),
            order=np.zeros(1, np.int32),
            queue=np.zeros(1, np.uint8),
            sizes=np.array([1, 0, 0], np.int64),
        )
        self._work = kernels("regular.state_spans").Work(
            alive=np.zeros(1, np.uint64),
            steady=np.zeros(1, np.uint64),
            every=np.zeros(1, np.uint8),
            fewer=np.zeros(1, np.uint64),
            oftener=np.zeros(1, np.uint8),
        )
        self._looked = 0  # how many states were known when all were looked at for loops
        #: finds an automaton without bounds that are far; see `regex_far`
        self.find_uncounted: Callable[[], Uncounted | None] = lambda: None

    @property
    def size(self) -> int:
        """See `RegexAutomaton.size`."""
        return int(self.search.sizes[0])

    @property
    def found(self) -> int:
        """Of how many states the moves have been found."""
        return int(self.search.sizes[1])

    def unbounded(self, state: int) -> Unbounded | None:
        """See `RegexAutomaton.unbounded`."""
        found = self._uncounted
        if found is None:
            return None
        with found.automaton.lock:
            at, depth = found.of(state, self.came)
        return Unbounded(found.automaton, at, found.free - depth) if depth < found.free else None

    @found_once
    def _uncounted(self) -> Uncounted | None:
        return self.find_uncounted()

    def explore(self, state: int) -> None:
        """See `RegexAutomaton.explore`: this state, and the nearest behind it."""
        self.find(state, min(max(AT_ONCE, self.found), MOST_AT_ONCE))
        self.note()

    def find(self, state: int, count: int) -> None:
        """Find the moves of a state, and of the nearest behind it, of about `count` in all."""
        if self.search.queue[state] != 1:
            self._go_on(state, count)

    def _go_on(self, state: int, count: int) -> None:
        """Find the moves of a state, and of the nearest behind it, at most so many in all."""
        found, used = self.search, self.size
        room = used + 2 * (count + len(self.classes.letters))
        if room > len(self.states):
            self.states = with_room(self.states, room, None, used)
            found = self.search = found._replace(
                moves=with_room(found.moves, room, None, used),
                came=with_room(found.came, room, None, used),
                table=np.full(1 << (2 * len(self.states)).bit_length(), -1, np.int32),
                order=with_room(found.order, room, None, used),
                queue=with_room(found.queue, room, used=used),
            )
            found.sizes[2] = 0
        self._find(state, count)
        now = self.size
        self._make_room(now, self.known)
        self.ends[used:now] = self._endings(used, now)

    def ahead(self, begin: int, end: int) -> Any:
        """What texts read from states `begin` to `end` - 1 on: `regular.required_ahead.Ahead`."""
        return anything(end - begin)

    def widen(self) -> None:
        """Make room for twice as many numbers in what each state is."""
        self.states = np.pad(self.states, ((0, 0), (0, self.states.shape[1])))
        self.search.table[:] = -1
        self.search.sizes[2] = 0

    def explore_near(self, count: int) -> None:
        """See `RegexAutomaton.explore_near`."""
        while self.found < min(self.size, count):
            self._go_on(self._next(), count - self.found)
        self.note()

    def explore_all(self, most: int) -> None:
        """Find the moves of all states. Raises TooLargeError when there are more than `most`."""
        while self.found < self.size <= most:
            self._go_on(self._next(), min(max(AT_ONCE, self.found), most))
        if self.size > most:
            raise TooLargeError
        self.note()

    def _next(self) -> int:
        """The first state, of those that there are, whose moves have not been found."""
        return int((self.search.queue[: self.size] != 1).argmax())

    @abstractmethod
    def _find(self, state: int, count: int) -> None:
        """Find the moves of a state, and of others behind it, at most so many in all.

        Those behind it only as far as there is room for the states that they lead to.
        """

    @abstractmethod
    def _endings(self, begin: int, end: int) -> npt.NDArray[Any]:
        """Whether the text may end in states `begin` to `end` - 1, or how."""

    def note(self) -> None:
        """Write down what has been found."""
        made, known, k = self.made, self.known, kernels("regular.state_spans")
        now, done, _ = self.search.sizes.tolist()
        if done == known:
            return
        self._make_room(now, done, (done - known) * len(self.classes.low))
        begin = -1
        if not self._knows_loops(self.search.order[known:done]):
            begin = self._unlooked(known, done)
        told = np.array([made, known, self.classes.total, begin], np.int64)
        k.note(self.search, self._given, self._work, self.explored(), told)
        self.made, self.known = now, done

    def _unlooked(self, known: int, done: int) -> int:
        """From which of the `done` states that are known now on to look for loops.

        To look at all of them again pays only where many are new.
        """
        if len(self._work.every) < len(self.states):
            self._work = type(self._work)(*(with_room(x, len(self.states)) for x in self._work))
        if done < LOOK_AGAIN * self._looked:
            return known
        self._looked = done
        return 0

    def _knows_loops(self, _order: Array) -> bool:
        """Write down what states read again and again and how often, if that is known already."""
        return False


def anything(count: int) -> Any:
    """`regular.required_ahead.Ahead` of so many states of which nothing is known."""
    k = kernels("regular.required_ahead")
    none = np.zeros(count, np.uint64)
    return k.Ahead(~none, none, np.zeros(count, np.int64), np.full(count, k.ENDLESS))


def within(found: Any, states: Numbers, least: Numbers | int, most: Numbers | int) -> Any:
    """`Ahead` of some states of an automaton where so many characters follow each."""
    found = type(found)(*(part[states] for part in found))
    return found._replace(least=np.maximum(found.least, least), most=np.minimum(found.most, most))


def unread(count: int) -> Any:
    """The same where nothing has been looked at: nothing may be read, and everything must."""
    k = kernels("regular.required_ahead")
    none = np.zeros(count, np.uint64)
    return k.Ahead(none, ~none, np.full(count, k.ENDLESS), np.full(count, k.ENDLESS))


class Uncounted:
    """An automaton beside one that counts more: the states of its own that the same texts lead to.

    free: characters in which texts of the two do not differ, nor whether they can end.
    """

    def __init__(self, automaton: RegexAutomaton, free: int) -> None:
        self.automaton = automaton
        self.free = free
        self._known = {0: (0, 0)}

    def of(self, state: int, came: Array) -> tuple[int, int]:
        """The state of `automaton` that one of the other is, and how many characters lead there.

        -1 where these are more than `free`. came: see `RegexAutomaton`, of the other one. Hold the
        locks of both.
        """
        way = []
        while state not in self._known:
            way.append(state)
            state = int(came[state, 0])
        at, depth = self._known[state]
        for after in reversed(way):
            depth += 1
            at = self.automaton.after(at, chr(came[after, 1])) if depth <= self.free else -1
            self._known[after] = at, depth
        return at, depth
