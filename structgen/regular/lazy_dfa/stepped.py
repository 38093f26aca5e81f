"""Automata whose states are Python objects that say their own moves: derivatives and formats.

States are numbered as they are met. This is the fallback where no kernel can find the states: the
derivatives of an expression (`DerivedAutomaton`), or a sub-automaton such as a format's
(`SteppedSubAutomaton`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from structgen.kernels.build.loader import kernels
from structgen.regular import byte_groups
from structgen.regular.charset import NONE, CharSet
from structgen.regular.expressions.base import INFINITE, Regex
from structgen.regular.expressions.build import sub_automaton
from structgen.regular.expressions.nodes import ANY, SubAutomatonState
from structgen.regular.expressions.search import is_nonempty
from structgen.regular.lazy_dfa.states import (
    Array,
    Numbers,
    RegexAutomaton,
    Unbounded,
    WithoutCounters,
)

StateFacts = tuple[bool, bool, int, int]  # `ends`, `endless`, `loops`, `often` of `RegexAutomaton`
FEW_RANGES = 500  # ranges that Python sorts faster than numpy does
STATE_BYTES = 512  # of a state's object, and of its places in a list and a dictionary, about
FEW_NUMBERED = 16  # states with a number alone that count as one that is explored
MOST_REPEATS = 254  # the greatest count that `often` can hold; 255 is any number


class SteppedAutomaton(RegexAutomaton):
    """A DFA over Python objects, explored state by state."""

    loops_are_final = True
    is_slow = True
    #: by how many characters more than one the texts that `often` counts may lead away from an end
    straying = 0
    #: from each state a text of any wanted length, that is enough for `distances`, has at most so
    #: many characters more; None if that is not known. Then `distances` are exact.
    spare: int | None = None

    def __init__(self, start: Hashable) -> None:
        self._nodes = [start]
        self._numbers = {start: 0}
        facts = self._facts(start)
        super().__init__(ends=facts[0])
        self.loops[0], self.often[0] = facts[2:]
        self._places: dict[int, int] = {}  # explored state -> its index in `order`

    @abstractmethod
    def _spans(self, state: int) -> Numbers:
        """int32[k, 3]: the moves of a state as spans, ascending."""

    @abstractmethod
    def _facts(self, node: Any) -> StateFacts:
        """What is known of a state before it is explored."""

    @property
    def size(self) -> int:
        """See `RegexAutomaton.size`: a state that is not explored takes little."""
        return self.known + self.made // FEW_NUMBERED

    @property
    def nbytes(self) -> int:
        """See `RegexAutomaton.nbytes`; states are objects here."""
        return super().nbytes + STATE_BYTES * len(self._nodes)

    def reach(self, state: int) -> tuple[int, int]:
        """Fewest characters with which a text may end, and with how many one surely does.

        The second is `INFINITE` where that is not known.
        """
        ends = bool(self.ends[state])
        return int(not ends), 0 if ends else INFINITE

    def length_from(self, _state: int, _least: int) -> int | None:
        """See `SubAutomatonState`; None where that is not known."""
        return None

    def free_within(self, _state: int, _least: int, _most: int) -> int:
        """See `SubAutomatonState`; 0 where that is not known."""
        return 0

    def ending(self, _state: int) -> str | None:
        """See `SubAutomatonState`; None where it is not known."""
        return None

    @property
    def filler(self) -> CharSet:
        """See `SubAutomatonState`."""
        return NONE

    @property
    def closing(self) -> CharSet:
        """See `SubAutomatonState`."""
        return NONE

    def distances(self) -> tuple[Array, Array] | None:
        """`Unbounded.wanted` for all states; None if that is not known."""
        return None

    def explore(self, state: int) -> None:
        """See `RegexAutomaton.explore`. Raises BudgetError."""
        if state in self._places:
            return
        spans = self._spans(state)
        if not self.often[state]:
            self.loops[state], self.often[state] = self._own_loop(state, spans)
        at = int(self.first[self.known])
        end = at + len(spans)
        self._make_room(self.made, self.known + 1, len(spans))
        if end > at:
            self.spans[at:end] = spans
        self._places[state] = self.known
        self.order[self.known] = state
        self.known += 1
        self.first[self.known] = end

    def explore_near(self, count: int) -> None:
        """See `RegexAutomaton.explore_near`."""
        state = 0
        while self.known < count and state < self.made:
            self.explore(state)
            state += 1

    def place(self, state: int) -> int:
        """See `RegexAutomaton.place`."""
        return self._places[state]

    def _moved(self, state: int, moves: Sequence[tuple[CharSet, Any]]) -> Numbers:
        """The spans of moves by character sets; new states get numbers."""
        to = self._numbered(state, [(chars.first, 0, after) for chars, after in moves])
        counts = [len(chars.ranges) for chars, _ in moves]
        if sum(counts) < FEW_RANGES:
            each = zip(moves, to, strict=True)
            return sorted((*pair, at) for (chars, _), (*_, at) in each for pair in chars.ranges)
        spans = np.empty((sum(counts), 3), np.int32)
        np.concatenate([_ranges_of(chars) for chars, _ in moves], out=spans[:, :2])
        spans[:, 2] = np.repeat([number for *_, number in to], counts)
        return spans[spans[:, 0].argsort()]

    def _numbered(
        self, state: int, steps: Iterable[tuple[int, int, Any]]
    ) -> list[tuple[int, int, int]]:
        """Spans to state objects with numbers in their place; new states get numbers."""
        spans: list[tuple[int, int, int]] = []
        new: list[tuple[int, int]] = []
        for low, high, target in steps:
            number = self._numbers.setdefault(target, len(self._nodes))
            if number == len(self._nodes):
                self._nodes.append(target)
                new.append((state, low))
            spans.append((low, high, number))
        if new:
            begin, self.made = self.made, len(self._nodes)
            self._make_room(self.made, self.known)
            self.came[begin : self.made] = new
            facts = zip(*map(self._facts, self._nodes[begin:]), strict=True)
            arrays: tuple[Array, ...] = self.ends, self.endless, self.loops, self.often
            for array, each in zip(arrays, facts, strict=True):
                array[begin : self.made] = each
        return spans

    def _own_loop(self, state: int, spans: Numbers) -> tuple[int, int]:
        """`loops` and `often` of an explored state: the byte groups that lead back to itself."""
        if isinstance(spans, np.ndarray):
            return byte_groups.whole_of(spans[spans[:, 2] == state, :2]), 255
        ranges = tuple((low, high) for low, high, to in spans if to == state)
        return byte_groups.whole(ranges), 255


@lru_cache(maxsize=4096)
def _ranges_of(chars: CharSet) -> Array:
    return np.array(chars.ranges, np.int32).reshape(-1, 2)


class DerivedAutomaton(SteppedAutomaton):
    """The derivatives of an expression by characters (Brzozowski 1964), dead ones left out."""

    def _spans(self, state: int) -> Numbers:
        node: Any = self._nodes[state]
        return self._moved(state, node.moves())

    def _facts(self, node: Regex) -> StateFacts:
        return node.nullable, node is ANY, 0, 0


class SteppedSubAutomaton(SteppedAutomaton):
    """The states of one sub-automaton (`SubAutomatonState`). Hold `lock` to use it."""

    def __init__(self, start: Any, without_counters: WithoutCounters | None = None) -> None:
        """`start`: a `SubAutomatonState`. without_counters: the same without length bounds."""
        super().__init__(start)
        self._without_counters = without_counters
        self._endings: dict[int, str | None] = {}
        # whether endings are the shortest
        self._is_plain = hasattr(start, "ending") and not hasattr(start, "witness")
        self.spare = 0 if self._is_plain else None  # such texts are filled up
        self.straying = getattr(start, "straying", 0)
        self._distances = np.zeros(0, np.int32)

    def _node(self, state: int) -> Any:
        return self._nodes[state]

    def unbounded(self, state: int) -> Unbounded | None:
        """See `RegexAutomaton.unbounded`."""
        found, node = self._without_counters, self._node(state)
        if found is None or (free := node.boundless[1]) <= 0:
            return None
        with found.automaton.lock:
            return Unbounded(found.automaton, found.of(state, self.came)[0], int(free))

    def free_from(self, state: int) -> int:
        """See `Halves.free`."""
        node = self._node(state)
        return int(min(getattr(node, "boundless", (None, INFINITE))[1], INFINITE))

    def length_from(self, state: int, least: int) -> int | None:
        """See `SteppedAutomaton.length_from`."""
        found = getattr(self._node(state), "length_from", None)
        return None if found is None else found(least)

    def free_within(self, state: int, least: int, most: int) -> int:
        """See `SteppedAutomaton.free_within`."""
        found = getattr(self._node(state), "free_within", None)
        return 0 if found is None else int(found(least, most))

    def ending(self, state: int) -> str | None:
        """See `SubAutomatonState`; None where it is not known."""
        if state not in self._endings:
            node = self._node(state)
            self._endings[state] = "" if node.nullable else getattr(node, "ending", None)
        return self._endings[state]

    @property
    def filler(self) -> CharSet:
        """See `SubAutomatonState`."""
        return getattr(self._nodes[0], "filler", NONE)

    @property
    def closing(self) -> CharSet:
        """See `SubAutomatonState`."""
        return getattr(self._nodes[0], "closing", NONE)

    def distances(self) -> tuple[Array, Array] | None:
        """See `SteppedAutomaton.distances`."""
        known = len(self._distances)
        if not self._is_plain:
            return None
        if known < self.made:
            more = [len(self.ending(state) or "") for state in range(known, self.made)]
            self._distances = np.append(self._distances, np.array(more, np.int32))
        return self._distances, self._distances

    def reach(self, state: int) -> tuple[int, int]:
        """See `SteppedAutomaton.reach`."""
        if self._is_plain:
            least = len(self.ending(state) or "")
            return least, least
        if self.ends[state]:
            return 0, 0
        node = self._node(state)
        return max(getattr(node, "shortest", 1), 1), getattr(node, "witness", INFINITE)

    def _facts(self, node: SubAutomatonState) -> StateFacts:
        again = getattr(node, "again", None)
        if again is None:
            return node.nullable, False, 0, 0
        chars, often = again
        loops = byte_groups.whole(chars.ranges) if often else 0
        return node.nullable, False, loops, often if often <= MOST_REPEATS else 255

    def _spans(self, state: int) -> Numbers:
        node = self._node(state)
        if hasattr(node, "spans"):
            return self._given(state, *node.spans())
        base = self._numbers.get(getattr(node, "base", None))
        if base is None:
            return self._moved(state, [move for move in node.moves() if _is_live(move[1])])
        steps = [(*pair, after) for chars, after in node.special_steps() for pair in chars.ranges]
        own = self._numbered(state, (step for step in steps if step[2] is not None))
        own += [(low, high, -1) for low, high, after in steps if after is None]
        spans, over = self.spans_from(base), np.array(sorted(own), np.int32).reshape(-1, 3)
        found = np.empty((len(spans) + 2 * len(over), 3), np.int32)
        return found[: kernels("regular.state_spans").lay_over(spans, over, found)]

    def _given(self, state: int, after: Sequence[Any], index: Array, spans: Array) -> Array:
        """The spans that a state gives, with numbers; None in `after` stands for no state."""
        known = self._numbers.get
        numbers = np.array([*(known(to, -1) for to in after), -1], np.int32)
        new = [at for at in np.flatnonzero(numbers[:-1] < 0).tolist() if after[at] is not None]
        if new:
            low = np.zeros(len(after) + 1, np.int32)
            low[index[spans[::-1, 2]]] = spans[::-1, 0]  # the first code point of each
            steps = [(int(low[at]), 0, after[at]) for at in new]
            numbers[new] = [number for *_, number in self._numbered(state, steps)]
        return merged(spans, numbers[index])


class ListedAutomaton(SteppedSubAutomaton):
    """The states of one sub-automaton that lists them all. Hold `lock` to use it."""

    def __init__(self, start: Any, without_counters: WithoutCounters | None = None) -> None:
        """See `SteppedSubAutomaton`; `start` has a `listing`."""
        super().__init__(start, without_counters)
        self._start = start
        _, moves, _, loops, often = start.listing()
        self.loops[0], self.often[0] = loops[start.number], often[start.number]
        self._met = np.full(len(moves), -1, np.int32)  # the state of each row of the listing
        self._met[start.number] = 0
        self._rows = np.full(len(moves), start.number, np.int32)  # the row of each state
        self._place = np.full(len(moves), -1, np.int32)  # of each state, its index in `order`

    def _node(self, state: int) -> Any:
        return self._start.at(int(self._rows[state]))

    def explore(self, state: int) -> None:
        """See `RegexAutomaton.explore`."""
        if self._place[state] >= 0:
            return
        spans, moves, ends, loops, often = self._start.listing()
        begin = self.made
        self._make_room(begin + moves.shape[1], self.known + 1, len(spans))
        given = self._met, self._rows, self.explored(), state, self.known, begin
        self.made = kernels("regular.state_spans").spell_listed(spans, moves, *given)
        new, rows = slice(begin, self.made), self._rows[begin : self.made]
        self.ends[new], self.loops[new], self.often[new] = ends[rows], loops[rows], often[rows]
        self._place[state] = self.known
        self.known += 1

    def place(self, state: int) -> int:
        """See `RegexAutomaton.place`."""
        return int(self._place[state])


def merged(spans: Array, to: Array) -> Array:
    """Spans with other states, to[k] for k, without those to none (below 0).

    Neighbours with one state are one span.
    """
    found = np.empty(spans.shape, np.int32)
    return found[: kernels("regular.state_spans").merge(spans, to, found)]


def _is_live(state: SubAutomatonState) -> bool:
    """Whether a state accepts some text."""
    return getattr(state, "live", False) or is_nonempty(sub_automaton(state))
