"""In: a regular expression. Out: its deterministic states, each found once in a process.

Which states an expression has, and what characters lead from one to the other, does not depend on a
spec, so specs share it. Kernels find the states by the dozen where the expression has positions
(module `regex_positions`); where it has intersections, complements or foreign automata, derivatives
find them one by one (module `regex`).
"""

from __future__ import annotations

import contextlib
import os
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automaton import byte_groups
from structgen.automaton.regex import ANY, INFINITE, Regex
from structgen.automaton.regex_build import counted
from structgen.automaton.regex_nodes import And, Concat, is_span
from structgen.automaton.regex_positions import (
    PositionClasses,
    Positions,
    TooLargeError,
    classes_of,
)
from structgen.automaton.tables import with_room
from structgen.jit import kernels

AT_ONCE = 64  # states whose moves are found together
MOST_AT_ONCE = 512
MAX_STATES = 10_000  # of one automaton: what lies behind begins another
MAX_KEPT = 100_000  # states kept in a process
MAX_COUNTED = 1500  # states of an expression whose texts' lengths are bounded
MAX_LENGTHS = 3_000_000  # moves looked at to find out which lengths its texts have
FAR = 32  # characters: more are seldom in one token

Numbers = npt.NDArray[Any] | Sequence[Any]


class RegexAutomaton(ABC):
    """The states of one expression, by number; 0 is the start. Hold `lock` while looking at them.

    made: how many states have a number; known: of how many it is known what leads on from them,
    `order`, int32[known], as they were found. spans: int32[k, 3], first and last code point and the
    state behind; those of order[i] are first[i] to first[i + 1] - 1, ascending.
    loops: int64[known], groups of bytes, and often: uint8[known], how many characters of these may
    follow order[i] in any order, 255 for any number.
    came: int32[made, 2], by which state and code point each was met first; (0, 0) for the start.
    ends, endless: uint8[made], whether the text may end there, and whether any text may follow.
    The arrays may be longer.
    """

    def __init__(self, *, ends: bool) -> None:
        self.lock = threading.Lock()
        self.made, self.known = 1, 0
        self.order = np.zeros(8, np.int32)
        self.first = np.zeros(9, np.int32)
        self.spans = np.zeros((32, 3), np.int32)
        self.loops = np.zeros(8, np.int64)
        self.often = np.zeros(8, np.uint8)
        self.came = np.zeros((8, 2), np.int32)
        self.ends = np.zeros(8, np.uint8)
        self.endless = np.zeros(8, np.uint8)
        self.ends[0] = ends

    @abstractmethod
    def explore(self, state: int) -> None:
        """Find the moves of a state, and of others where that costs little."""

    def _make(self, came: Numbers, ends: Numbers, endless: Numbers) -> None:
        """Number further states."""
        begin, end = self.made, self.made + len(ends)
        if end > len(self.came):
            self.came = with_room(self.came, end)
            self.ends = with_room(self.ends, end)
            self.endless = with_room(self.endless, end)
        self.came[begin:end] = came
        self.ends[begin:end] = ends
        self.endless[begin:end] = endless
        self.made = end

    def explored(self) -> Any:
        """What is known, for kernels: `kernels.patterns.Explored`."""
        make = kernels("patterns").Explored
        return make(self.order, self.first, self.spans, self.ends, self.loops, self.often)

    def _know(
        self, order: Numbers, loops: Numbers, often: Numbers, counts: Numbers, spans: Numbers
    ) -> None:
        """Write down what leads on from further states; counts: how many of the spans of each."""
        begin, end = self.known, self.known + len(order)
        at = int(self.first[begin])
        if end > len(self.order):
            self.order = with_room(self.order, end)
            self.loops = with_room(self.loops, end)
            self.often = with_room(self.often, end)
        self.first = with_room(self.first, end + 1)
        self.order[begin:end] = order
        self.loops[begin:end] = loops
        self.often[begin:end] = often
        self.first[begin + 1 : end + 1] = at + np.cumsum(counts)
        self.spans = with_room(self.spans, at + len(spans))
        if len(spans):
            self.spans[at : at + len(spans)] = spans
        self.known = end


class TableAutomaton(RegexAutomaton):
    """States that kernels find. states: uint64 or int32[S, W], what each one is."""

    def __init__(self, start: npt.NDArray[Any], classes: PositionClasses, *, ends: bool) -> None:
        super().__init__(ends=ends)
        self.classes = classes
        self.states = start[None]
        self.search = kernels("patterns").Search(
            moves=np.zeros((1, len(classes.letters)), np.int32),
            came=np.zeros((1, 2), np.int32),
            table=np.zeros(0, np.int32),
            order=np.zeros(1, np.int32),
            queue=np.zeros(1, np.uint8),
            sizes=np.array([1, 0, 0], np.int64),
        )

    def explore(self, state: int) -> None:
        """See `RegexAutomaton.explore`: this state, and the nearest behind it."""
        found = self.search
        if found.queue[state] == 1:
            return
        count = min(max(AT_ONCE, self.known), MOST_AT_ONCE)
        room = self.made + count * len(self.classes.letters) + 1
        if room > len(self.states):
            self.states = with_room(self.states, room, None)
            found = self.search = found._replace(
                moves=with_room(found.moves, room, None),
                came=with_room(found.came, room, None),
                table=np.full(1 << (2 * len(self.states)).bit_length(), -1, np.int32),
                order=with_room(found.order, room, None),
                queue=with_room(found.queue, room),
            )
            found.sizes[2] = 0
        self._find(state, count)
        self._note(self.made, self.known)

    @abstractmethod
    def _find(self, state: int, count: int) -> None:
        """Find the moves of a state, and of so many in all, with a kernel."""

    @abstractmethod
    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        """Whether the text may end in states `begin` to `end` - 1."""

    def _note(self, made: int, done: int) -> None:
        """Write down what the kernel has found behind the first `made` and `done` states."""
        classes, (now, known, _) = self.classes, self.search.sizes.tolist()
        came = self.search.came[made:now]
        came[:, 1] = classes.letters[came[:, 1]]
        self._make(came, self._endings(made, now), np.zeros(now - made, np.uint8))
        order = self.search.order[done:known]
        moves = self.search.moves[order]
        stays = moves == order[:, None]
        if classes.total:
            self.endless[order] = stays.all(axis=1) & (self.ends[order] != 0)
        state, spans = self._spelled(moves)
        counts = np.bincount(state, minlength=known - done)
        self._know(order, *self._loops(order, stays), counts, spans)

    def _loops(self, order: Numbers, stays: npt.NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
        """What states read again and again, and how often.

        Either what leads back to the state, or what leads on from it while that goes well.
        """
        alive = self.classes.bits(self.search.moves[: self.made] >= 0)
        every = np.zeros(self.made, np.uint8)
        kernels("patterns").reach(self.search, alive, every)
        often = every[order]
        far = (often >= FAR) | ~stays.any(axis=1)
        found = self.classes.covered(np.where(far, alive[order], self.classes.bits(stays)))
        return found.astype(np.int64), np.where(far, often, 255)

    def _spelled(self, moves: npt.NDArray[np.int32]) -> tuple[npt.NDArray[Any], Numbers]:
        """The spans of moves, and whose they are; neighbours with one target are one span."""
        low, high, group = self.classes.low, self.classes.high, self.classes.group
        targets = moves[:, group]
        begins = targets >= 0
        ends = begins.copy()
        goes_on = (targets[:, 1:] == targets[:, :-1]) & (low[1:] == high[:-1] + 1)
        begins[:, 1:] &= ~goes_on
        ends[:, :-1] &= ~goes_on
        state, column = np.nonzero(begins)
        last = high[np.nonzero(ends)[1]]
        return state, np.stack([low[column], last, targets[state, column]], 1)


class PositionAutomaton(TableAutomaton):
    """States as sets of positions."""

    def __init__(self, regex: Regex) -> None:
        """Raises TooLargeError."""
        positions = Positions(regex)
        classes = classes_of(positions.sets)
        width = len(positions.follow) // 64 + 1
        bits = [*positions.follow, positions.start]
        data = b"".join(part.to_bytes(8 * width, "little") for part in bits)
        rows = np.frombuffer(data, np.uint64).reshape(-1, width).copy()
        super().__init__(rows[-1], classes, ends=regex.nullable)
        self._follow = rows[:-1]
        self._scratch = np.zeros((len(classes.letters), width), np.uint64)
        self._open = isinstance(regex, Concat) and regex.head is ANY  # then nothing is ever fatal

    def _find(self, state: int, count: int) -> None:
        kernels("patterns").explore(
            self._follow,
            self.classes.reads,
            self.states,
            self.search,
            self._scratch,
            state,
            count,
        )

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        return (self.states[begin:end, 0] & np.uint64(1)).astype(np.bool_)

    def _loops(self, order: Numbers, stays: npt.NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
        if self._open:
            return np.full(len(stays), -1, np.int64), np.full(len(stays), 255, np.uint8)
        return super()._loops(order, stays)


class CountedAutomaton(TableAutomaton):
    """States as those of another expression, with the number of characters that were read."""

    def __init__(self, base: PositionAutomaton, low: int, high: int, *, ends: bool) -> None:
        """Texts of `base` with `low` to `high` characters. Raises TooLargeError."""
        most = high if high < INFINITE else -1
        while base.known < base.made <= MAX_COUNTED:
            base.explore(int(np.flatnonzero(base.search.queue[: base.made] != 1)[0]))
        longest = (low + base.made if most < 0 else most) + 1
        if base.made > MAX_COUNTED or longest * base.made * len(base.classes.letters) > MAX_LENGTHS:
            raise TooLargeError
        super().__init__(np.zeros(2, np.int32), base.classes, ends=ends)
        self._base = base
        self._bounds = np.array([low, most], np.int64)
        self._longer = np.zeros((longest, base.made), np.int32)
        kernels("patterns").lengths(base.search.moves, base.ends, self._longer, base.made)
        self._place = np.empty(base.made, np.int32)  # of each state of `base` in its order
        self._place[base.order[: base.made]] = np.arange(base.made)
        sizes = self._longer[: low + 1]
        wait = int((sizes - np.arange(low + 1)[:, None]).max())  # what is wanted at most to end
        self._free = -1 if most < 0 or low + wait > most else most - wait

    def _find(self, state: int, count: int) -> None:
        kernels("patterns").explore_counted(
            self._base.search.moves,
            self._longer,
            self._bounds,
            self.states,
            self.search,
            state,
            count,
        )

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        state, size = self.states[begin:end].T
        found: npt.NDArray[np.bool_] = (self._base.ends[state] != 0) & (size >= self._bounds[0])
        return found

    def _loops(self, order: Numbers, stays: npt.NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
        """As without the bounds, as long as some text can end between them from anywhere."""
        if self._free < 0:
            return super()._loops(order, stays)
        state, size = self.states[order].T
        place = self._place[state]
        often = np.minimum(self._base.often[place], np.clip(self._free - size, 0, 254))
        return self._base.loops[place], often


class DerivedAutomaton(RegexAutomaton):
    """States as expressions, each the derivative of another."""

    def __init__(self, regex: Regex) -> None:
        super().__init__(ends=regex.nullable)
        self._nodes = [regex]
        self._numbers = {regex: 0}
        self._explored: set[int] = set()

    def explore(self, state: int) -> None:
        """See `RegexAutomaton.explore`. Raises BudgetError."""
        if state in self._explored:
            return
        spans: list[tuple[int, int, int]] = []
        loops = 0
        new: list[tuple[int, int]] = []
        for chars, target in self._nodes[state].moves():
            number = self._numbers.setdefault(target, len(self._nodes))
            if number == len(self._nodes):
                self._nodes.append(target)
                new.append((state, chars.ranges[0][0]))
            elif number == state:
                loops = byte_groups.whole(chars.ranges)
            spans += [(low, high, number) for low, high in chars.ranges]
        spans.sort()
        if new:
            nodes = self._nodes[-len(new) :]
            ends = [node.nullable for node in nodes]
            self._make(new, ends, [node is ANY for node in nodes])
        self._know([state], [loops], [255], [len(spans)], spans)
        self._explored.add(state)


class Kept:
    """The automata used last, together of at most about MAX_KEPT states."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, as a forked process must: another thread may have held a lock."""
        self._found: OrderedDict[Regex, RegexAutomaton] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, regex: Regex) -> RegexAutomaton:
        """The automaton of an expression."""
        with self._lock:
            found = self._found.get(regex)
            if found is not None and found.made <= MAX_STATES:
                self._found.move_to_end(regex)
                return found
        found = _begun(regex)
        with self._lock:
            self._found[regex] = found
            while len(self._found) > 1 and sum(a.made for a in self._found.values()) > MAX_KEPT:
                self._found.popitem(last=False)
        return found


_kept = Kept()
os.register_at_fork(after_in_child=_kept.forget)


def automaton_of(regex: Regex) -> RegexAutomaton | None:
    """The states of an expression; None where it says nothing but how long texts are."""
    if is_span(regex) or regex.longest == 0 or regex is ANY:
        return None
    return _kept.of(regex)


def _begun(regex: Regex) -> RegexAutomaton:
    with contextlib.suppress(TooLargeError):
        if regex.plain:
            return PositionAutomaton(regex)
        if isinstance(regex, And) and len(regex.parts) == 2:
            span, other = sorted(regex.parts, key=is_span, reverse=True)
            base = automaton_of(other) if is_span(span) else None
            if isinstance(base, PositionAutomaton):
                with base.lock:
                    _, low, high = counted(span)
                    return CountedAutomaton(base, low, high, ends=regex.nullable)
    return DerivedAutomaton(regex)
