"""The interface of lazily built DFAs: states numbered as they are found, moves explored on demand.

`RegexAutomaton` is what the engine reads: spans of code points and the states they lead to.
`TableAutomaton` is the kind whose moves kernels find by the dozen, in a table of states by
character classes. A state that was found keeps its number; what was written for it never changes.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.regular.expressions.base import INFINITE
from structgen.regular.lazy_dfa.character_classes import CharacterClasses, TooLargeError
from structgen.util.arrays import bytes_of, with_room
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import checkpoint

STATES_PER_UNIT = 4  # that are explored in a unit of work
AT_ONCE = 64  # states whose moves are found together
MOST_AT_ONCE = 256
SPANS_AT_ONCE = 1 << 14  # the spans of these, at most: classes of letters have hundreds
ANY_NUMBER = 255  # of characters, in `RegexAutomaton.often`
ROOM = 64  # states for which there is room at first
LOOK_AGAIN = 1.2  # growth of the explored states after which all are searched for loops again

Array = npt.NDArray[Any]
Numbers = Array | Sequence[Any]


class Unbounded(NamedTuple):
    """The state of an automaton without length bounds that a state of a bounded one stands for.

    For the next `free` characters the two read the same texts, but that a text of fewer than
    `least` does not end yet; at most `most` characters may follow at all. wanted: two times
    int32[S], from each state of the unbounded automaton the fewest characters with which a text may
    end, and a number with which one does; None where nothing is said of texts longer than `free`.
    straying: by how many more than one what `often` counts may lead away from an end, where known.
    """

    automaton: RegexAutomaton
    state: int
    free: int
    most: int = 0
    wanted: tuple[Array, Array] | None = None
    least: int = 0
    straying: int = INFINITE


Fits = Literal["all", "any", "none"]  # see `Halves`


class Halves(NamedTuple):
    """The states of automata that a state stands for, each with the place of its expression.

    fits: the state has the texts that "all" of them have, or "any", and so for all that follows: no
    state behind it is dead for another reason (see `pairs.side_by_side`); or "none" has them, and
    any text may be begun. free: for so many characters, first bytes of a character that all of them
    read begin one that all read.
    """

    fits: Fits
    states: tuple[tuple[int, RegexAutomaton, int], ...]
    free: int = INFINITE


class RegexAutomaton(ABC):
    """A lazily built DFA over code points; states are numbers, 0 is the start.

    Hold `lock` to use it.

    made: how many states have numbers. known: how many are explored, that is, have their moves.
    order: int32[known], the explored states as they came. spans: int32[k, 3], moves as (first code
    point, last code point, next state); the moves of order[i] are the rows first[i] to first[i + 1]
    - 1, ascending. loops: int64[made], a set of byte groups (`byte_groups`), and often:
    uint8[made], how many characters of these groups may follow in any order; 255 for any number, 0
    where nothing is known. A trie walk skips whole subtrees with these two. came: int32[made, 2],
    the state and code point by which each was found first; (0, 0) for the start. ends:
    uint16[made], 0 where the text may not end, else which outcome its end has (1 if there is only
    one). endless: uint8[made], 1 where any text may follow. The arrays may be longer than that.
    """

    loops_are_final = False  #: `loops` and `often` of a state never change once it is explored
    is_slow = False  #: states are found one by one in Python

    def __init__(self, *, ends: bool) -> None:
        #: makes the automaton without far bounds; see `counters`
        self.find_without_counters: Callable[[], WithoutCounters | None] = lambda: None
        self.lock = threading.Lock()
        self.made, self.known = 1, 0
        self.order = np.zeros(ROOM, np.int32)
        self.first = np.zeros(ROOM + 1, np.int32)
        self.spans = np.zeros((4 * ROOM, 3), np.int32)
        self.loops = np.zeros(ROOM, np.int64)
        self.often = np.zeros(ROOM, np.uint8)
        self.came = np.zeros((ROOM, 2), np.int32)
        self.ends = np.zeros(ROOM, np.uint16)
        self.endless = np.zeros(ROOM, np.uint8)
        self.ends[0] = ends

    @abstractmethod
    def explore(self, state: int) -> None:
        """Find the moves of a state, and of others where that costs little more."""

    def explore_near(self, _count: int) -> None:
        """Explore the start, and breadth first about so many states if that is cheap."""
        self.explore(0)

    def after(self, state: int, letter: str) -> int:
        """The next state after a character that `state` allows."""
        spans = self.spans_from(state)
        inside = (spans[:, 0] <= ord(letter)) & (spans[:, 1] >= ord(letter))
        return int(spans[inside, 2][0])

    def reads(self, state: int, letter: str) -> bool:
        """Whether a state allows a character."""
        spans = self.spans_from(state)
        return bool(((spans[:, 0] <= ord(letter)) & (spans[:, 1] >= ord(letter))).any())

    def spans_from(self, state: int) -> Array:
        """int32[k, 3]: the moves of a state, which is explored first if need be."""
        self.explore(state)
        place = self.place(state)
        found: Array = self.spans[self.first[place] : self.first[place + 1]]
        return found

    def free_from(self, _state: int) -> int:
        """See `Halves.free`."""
        return INFINITE

    @property
    def size(self) -> int:
        """How many states have been found, numbered or not."""
        return self.made

    @property
    def nbytes(self) -> int:
        """Bytes of its tables; those of automata that it joins are theirs."""
        return bytes_of(*vars(self).values())

    def place(self, state: int) -> int:
        """Where an explored state stands in `order`."""
        return int((self.order[: self.known] == state).argmax())

    def unbounded(self, state: int) -> Unbounded | None:
        """The state without its far bounds; None if it has none, or a lower one matters."""
        found = self._without_counters
        if found is None:
            return None
        with found.automaton.lock:
            at, depth = found.of(state, self.came)
        return Unbounded(found.automaton, at, found.free - depth) if depth < found.free else None

    def halves(self, _state: int) -> Halves | None:
        """The states that are read side by side in a state; None if they say less than it does."""
        return None

    @cached_attribute
    def _without_counters(self) -> WithoutCounters | None:
        return self.find_without_counters()

    def _make_room(self, made: int, known: int, spans: int = 0) -> None:
        """Grow the arrays to hold so many states, explored states, and more spans."""
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
        """The arrays as kernels take them: `kernels.regular.glushkov.Explored`."""
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
    """A DFA whose states and moves kernels find, as a table of states by character classes.

    states: uint64 or int32[S, W], what each state stands for (a bit set, a tuple of numbers, ...).
    search: `kernels.regular.glushkov.Search`, the moves, the hash table of states and the queue.
    New moves are in `search` and `ends` at once; `write_spans` then writes them as spans of code
    points. max_eager_states: it pays to explore all states ahead of need up to so many.
    is_kernel_only: kernels find all moves without asking Python.
    """

    max_eager_states = 1500
    is_kernel_only = False

    def __init__(self, start: npt.NDArray[Any], classes: CharacterClasses, *, ends: bool) -> None:
        super().__init__(ends=ends)
        self.classes = classes
        self._given = kernels("regular.state_spans").Classes(
            classes.low, classes.high, classes.group, classes.letters, classes.needs
        )
        self.states = start[None]
        self._search_kernels = kernels("regular.glushkov")
        self.search = self._search_kernels.Search(
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
        # how many states were explored when all were last searched for loops
        self._searched_for_loops = 0

    @property
    def size(self) -> int:
        """See `RegexAutomaton.size`."""
        return int(self.search.sizes[self._search_kernels.MADE])

    @property
    def found(self) -> int:
        """How many states have their moves."""
        return int(self.search.sizes[self._search_kernels.KNOWN])

    def explore(self, state: int) -> None:
        """See `RegexAutomaton.explore`: this state, and the nearest behind it."""
        most, before = max(SPANS_AT_ONCE // len(self.classes.low), 1), self.found
        self.find(state, min(max(AT_ONCE, self.found), MOST_AT_ONCE, most))
        self.write_spans()
        checkpoint((self.found - before) // STATES_PER_UNIT)

    def find(self, state: int, count: int) -> None:
        """Find the moves of a state and of the nearest ones after it, about `count` in all."""
        if self.search.queue[state] != 1:
            self._grow_and_find(state, count)

    def _grow_and_find(self, state: int, count: int) -> None:
        """Grow the table, then find the moves of a state and of at most `count` states in all."""
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
            found.sizes[self._search_kernels.LISTED] = 0
        try:
            self._find(state, count)
        finally:  # states that it made before it was given up have numbers, too
            now = self.size
            self._make_room(now, self.known)
            self.ends[used:now] = self._endings(used, now)

    def ahead(self, begin: int, end: int) -> Any:
        """Which characters the rest of a text may and must have, from states `begin` to `end` - 1.

        `kernels.regular.required_ahead.Ahead`: may, must (uint64 bits of classes), least and most
        length. Product constructions prune dead states with it.
        """
        return unknown_ahead(end - begin)

    def lasting(self, _states: Array) -> Array | None:
        """int64[n]: bits of byte groups that may follow some states for ever; None if unknown."""
        return None

    def widen(self) -> None:
        """Double the width of `states`, and empty the hash table over them."""
        self.states = np.pad(self.states, ((0, 0), (0, self.states.shape[1])))
        self.search.table[:] = -1
        self.search.sizes[self._search_kernels.LISTED] = 0

    def explore_near(self, count: int) -> None:
        """See `RegexAutomaton.explore_near`."""
        while self.found < min(self.size, count):
            self._grow_and_find(self._next(), count - self.found)
        self.write_spans()

    def explore_all(self, most: int) -> None:
        """Explore all states. Raises TooLargeError when there are more than `most`."""
        while self.found < self.size <= most:
            checkpoint()
            self._grow_and_find(self._next(), min(max(AT_ONCE, self.found), most))
        if self.size > most:
            raise TooLargeError
        self.write_spans()

    def _next(self) -> int:
        """The first state without moves."""
        return int((self.search.queue[: self.size] != 1).argmax())

    @abstractmethod
    def _find(self, state: int, count: int) -> None:
        """Find the moves of a state and of others after it, at most so many in all.

        Of others only as long as the table has room for the states that they lead to.
        """

    @abstractmethod
    def _endings(self, begin: int, end: int) -> npt.NDArray[Any]:
        """`ends` of states `begin` to `end` - 1."""

    def write_spans(self) -> None:
        """Write the moves found since the last call as spans, and find loops."""
        made, known, k = self.made, self.known, kernels("regular.state_spans")
        now, done, _ = self.search.sizes.tolist()
        if done == known:
            return
        self._make_room(now, done, (done - known) * len(self.classes.low))
        begin = -1
        if not self._write_known_loops(self.search.order[known:done]):
            begin = self._search_loops_from(known, done)
        progress = np.array([made, known, self.classes.total, begin], np.int64)
        k.note(self.search, self._given, self._work, self.explored(), progress)
        self.made, self.known = now, done

    def _search_loops_from(self, known: int, done: int) -> int:
        """The first of the `done` explored states in which to search for loops.

        Searching all of them again pays only where many are new.
        """
        if len(self._work.every) < len(self.states):
            self._work = type(self._work)(*(with_room(x, len(self.states)) for x in self._work))
        if done < LOOK_AGAIN * self._searched_for_loops:
            return known
        self._searched_for_loops = done
        return 0

    def _write_known_loops(self, _order: Array) -> bool:
        """Write `loops` and `often` of some states if they are known without a search."""
        return False


def unknown_ahead(count: int) -> Any:
    """`Ahead` of so many states of which nothing is known: any character may, none must follow."""
    k = kernels("regular.required_ahead")
    none = np.zeros(count, np.uint64)
    return k.Ahead(~none, none, np.zeros(count, np.int64), np.full(count, k.ENDLESS))


def bounded_ahead(found: Any, states: Numbers, least: Numbers | int, most: Numbers | int) -> Any:
    """`Ahead` of some states where bounds on the length of the rest are known."""
    found = type(found)(*(part[states] for part in found))
    return found._replace(least=np.maximum(found.least, least), most=np.minimum(found.most, most))


def nothing_ahead(count: int) -> Any:
    """`Ahead` as the start of a fixpoint: no character may follow, and all must."""
    k = kernels("regular.required_ahead")
    none = np.zeros(count, np.uint64)
    return k.Ahead(none, ~none, np.full(count, k.ENDLESS), np.full(count, k.ENDLESS))


class WithoutCounters:
    """An automaton without counters, and the state in it for each state of the counting one.

    free: for so many characters the two read the same texts, and these end alike.
    """

    def __init__(self, automaton: RegexAutomaton, free: int) -> None:
        self.automaton = automaton
        self.free = free
        self._known = {0: (0, 0)}

    def of(self, state: int, came: Array) -> tuple[int, int]:
        """The state of `automaton` that a state of the counting one maps to, and its depth.

        Found by replaying the characters by which the state was found first (`came` of the counting
        automaton). -1 where these are more than `free`. Hold the locks of both.
        """
        way = []  # states without a mapping, the deepest first
        while state not in self._known:
            way.append(state)
            state = int(came[state, 0])
        at, depth = self._known[state]
        for after in reversed(way):
            depth += 1
            at = self.automaton.after(at, chr(came[after, 1])) if depth <= self.free else -1
            self._known[after] = at, depth
        return at, depth
