"""In: an automaton, and how many characters its texts may have. Out: the automaton of those.

Nothing has to be known of the whole automaton: it is explored as far as texts go. Whether one can
still end in time is plain as long as there is room; near the limit all that is near is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.errors import BudgetError
from structgen.kernels.build.loader import kernels
from structgen.regular.charset import ALL, CharSet
from structgen.regular.expressions.base import INFINITE, Regex
from structgen.regular.expressions.build import concat, counted, leaf, repeat
from structgen.regular.expressions.logic import alt, complement, intersect
from structgen.regular.expressions.nodes import (
    ANY_CHAR,
    Alt,
    And,
    Chars,
    Concat,
    Leaf,
    Not,
    Repeat,
    is_span,
)
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.states import (
    AT_ONCE,
    Array,
    RegexAutomaton,
    TableAutomaton,
    Unbounded,
    within,
)
from structgen.util.arrays import with_room

FAR = 160  # characters: tokens are shorter
NEAR = 48  # characters: few tokens are longer
FEW = 1  # of the printable characters, that one of nearly all is not

_PRINTABLE = CharSet.of([(0x20, 0x7E)])
MAX_COUNTED = 1500  # states of an expression whose texts' lengths are bounded
MAX_LENGTHS = 3_000_000  # moves looked at to find out which lengths its texts have
MAX_FAR = 500_000  # the same where there is only a bound above, and that is far
MAX_NEAR = 5000  # states of the automaton that are looked at to see how soon a text can end
LENGTHS_AT_ONCE = 16  # states whose moves are written down together: few tokens are longer
_RANGES = np.array(ALL.ranges, np.int32)


def apart(regex: Regex) -> tuple[Regex, Regex] | None:
    """What a text must be, and how long, if that is all an expression says; None if not so.

    So it is where one part of an intersection is so many characters of some kind.
    """
    bounded = [part for part in regex.parts if _is_bounded(part)] if isinstance(regex, And) else []
    if not isinstance(regex, And) or len(bounded) != 1:
        return None
    body, low, high = counted(bounded[0])
    rest = intersect(repeat(body, 0), *(part for part in regex.parts if part is not bounded[0]))
    return rest, repeat(ANY_CHAR, low, high)


def _is_bounded(part: Regex) -> bool:
    """Whether a part of an intersection is characters of some kind, and how many is bounded."""
    if not isinstance(part, Repeat) or not isinstance(part.body, Chars):
        return is_span(part)
    return part.low > 1 or part.high < INFINITE or is_span(part)


def loose(regex: Regex, most: int = INFINITE, *, denied: bool = True) -> Regex:
    """What has the same texts of at most `most` characters, but counts nothing that takes more.

    So a name of at most 255 characters has not more than 127 labels, each with its dot, anyway.
    denied: whether what is ruled out counts nothing either; else no text is lost.
    """
    again = partial(loose, denied=denied)
    if most < 0 or _counts_to(regex) <= most:
        return regex
    if isinstance(regex, Repeat):
        body = again(regex.body, most)
        idle = regex.high < INFINITE and (regex.high + 1) * body.shortest > most
        return repeat(body, regex.low, INFINITE if idle else regex.high)
    if isinstance(regex, Concat):
        room = most - regex.shortest
        return concat(*(again(part, room + part.shortest) for part in regex.in_a_row))
    if isinstance(regex, And):
        parts = [*regex.parts]
        for i, part in enumerate(parts):
            others = [other.longest for other in (*parts[:i], *parts[i + 1 :])]
            parts[i] = again(part, min(most, *others))
        return intersect(*parts)
    if isinstance(regex, Alt):
        return alt(*(again(part, most) for part in regex.parts))
    return complement(again(regex.body, most)) if isinstance(regex, Not) and denied else regex


@lru_cache(maxsize=1024)
def _counts_to(regex: Regex) -> int:
    """With how many characters a text can be too often what some bound counts; the most of these.

    More than INFINITE where parts bound each other's length.
    """
    return _counting(regex)


def _counting(regex: Regex) -> int:
    if isinstance(regex, Repeat):
        own = (regex.high + 1) * regex.body.shortest if regex.high < INFINITE else 0
        return max(own, _counting(regex.body))
    if isinstance(regex, Concat):
        parts = regex.in_a_row
        return regex.shortest + max(_counting(part) - part.shortest for part in parts)
    if isinstance(regex, Alt):
        return max(map(_counting, regex.parts))
    if isinstance(regex, And):
        return 2 * INFINITE
    return _counting(regex.body) if isinstance(regex, Not) else 0


def uncounted(regex: Regex) -> tuple[Regex, int] | None:
    """An expression without the bounds that `RegexAutomaton.unbounded` leaves out; None if none.

    And up to which length the two have the same texts; 0 where that is near, or the automaton says
    more.
    """
    found = apart(regex)
    if found is not None:
        _, low, high = counted(found[1])
        rest, reach = without_far(found[0], NEAR)
        if reach < FAR <= high and found[0].shortest >= low:
            return rest, reach
        return found[0], high if not low and high >= FAR else 0
    if isinstance(regex, Leaf):
        same = boundless(regex)
        return None if same is None else (same, 0)
    rest, reach = without_far(regex, NEAR)
    return None if reach == INFINITE else (rest, reach)


def without_far(regex: Regex, near: int) -> tuple[Regex, int]:
    """An expression without the bounds that are far, and up to which length texts are the same.

    near: from how many of nearly all characters on a bound is far.

    No text is lost, but of a complement: without bounds more is ruled out, maybe all that a text
    could become (`may_fail`). So what is ruled out by parts of an expression stays as it is.
    """
    if isinstance(regex, Not):
        rest, reach = without_far(regex.body, near)
        return (regex if reach == INFINITE else complement(rest)), reach
    reach = _reach(regex, near)
    return (regex if reach == INFINITE else loose(regex, reach, denied=False)), reach


def may_fail(automaton: TableAutomaton) -> bool:
    """Whether no text follows some beginning, as an automaton has it whose moves are all known."""
    moves = automaton.search.moves[: automaton.size]
    return not automaton.classes.total or bool((moves < 0).any())


def _reach(regex: Regex, near: int) -> int:
    """The greatest length up to which no count that is far makes a difference."""
    if regex.plain and regex.longest < near:
        return INFINITE
    if isinstance(regex, And):  # of which a span says only how many characters it has in all
        return min(_reach(part, FAR if is_span(part) else near) for part in regex.parts)
    reach = min((_reach(part, near) for part in _inner(regex)), default=INFINITE)
    wide = isinstance(regex, Repeat) and _is_wide(regex.body)
    return min(reach, _own_reach(regex, near if wide else FAR))


def _own_reach(regex: Regex, far: int) -> int:
    """The same for what an expression itself counts."""
    if not isinstance(regex, Repeat) or regex.high == INFINITE:
        return INFINITE
    shortest = regex.body.shortest
    own = (regex.high + 1) * shortest - 1
    return own if own >= far > regex.low * shortest else INFINITE


def _is_wide(body: Regex) -> bool:
    """Whether a part is one of nearly all characters: then most tokens have to be looked at."""
    return isinstance(body, Chars) and len(_PRINTABLE & body.chars) >= len(_PRINTABLE) - FEW


def _inner(regex: Regex) -> Sequence[Regex]:
    """The parts of an expression, but what is ruled out."""
    if isinstance(regex, Concat):
        return regex.in_a_row
    if isinstance(regex, Alt):
        return regex.parts
    return (regex.body,) if isinstance(regex, Repeat) else ()


def boundless(regex: Regex) -> Regex | None:
    """A foreign automaton without the bounds of its texts' lengths; None where there are none."""
    state = regex.state if isinstance(regex, Leaf) else None
    found = getattr(state, "boundless", None)
    return None if found is None or found[0] == state else leaf(found[0])


def longest_wait(automaton: TableAutomaton) -> int:
    """The fewest characters that end a text from the state from which it takes most.

    Raises TooLargeError, or BudgetError, where it does not pay to look at all states. Hold the lock
    of the automaton.
    """
    automaton.explore_all(automaton.worth)
    count = automaton.size
    moves = automaton.search.moves[:count]
    wait = np.where(automaton.ends[:count] != 0, 0, count)
    while True:
        behind = np.where(moves < 0, count, wait[moves]).min(axis=1, initial=count) + 1
        if (behind >= wait).all():
            return int(wait.max())
        wait = np.minimum(wait, behind)


class LengthAutomaton(RegexAutomaton):
    """State i is where i characters have been read, as far as it matters how many."""

    settled = True

    def __init__(self, span: Regex) -> None:
        """`span`: see `regex_nodes.is_span`."""
        super().__init__(ends=span.nullable)
        _, low, high = counted(span)
        endless = high == INFINITE
        self._last = low if endless else high
        self._bounds = np.array([low, -1 if endless else high], np.int64)

    def left(self, state: int) -> tuple[int, int]:
        """Fewest and most characters that follow in a state."""
        low, high = self._bounds.tolist()
        return max(low - state, 0), INFINITE if high < 0 else high - state

    def explore(self, state: int) -> None:
        """See `RegexAutomaton.explore`: this state, and those behind it."""
        begin, end = self.known, min(state + LENGTHS_AT_ONCE, self._last + 1)
        if state < begin:
            return
        made = min(end, self._last) + 1
        self._make_room(made, end, len(_RANGES) * (end - begin))
        kernels("regular.state_spans").count_on(self.explored(), _RANGES, self._bounds, begin, end)
        self.made, self.known = made, end


class CountedAutomaton(TableAutomaton):
    """States as those of another expression, with the number of characters that were read."""

    def __init__(self, base: TableAutomaton, low: int, high: int, *, ends: bool) -> None:
        """Texts of `base` with `low` to `high` characters. Raises TooLargeError."""
        most = high if high < INFINITE else -1
        moves = MAX_LENGTHS if low or most < FAR else MAX_FAR  # else there are other ways
        count = moves // (max(low, most + 1, 1) * len(base.classes.letters))
        base.explore_all(min(count, MAX_COUNTED))
        longest = (low + base.made if most < 0 else most) + 1
        if longest * base.made * len(base.classes.letters) > moves:
            raise TooLargeError
        super().__init__(np.zeros(2, np.int32), base.classes, ends=ends)
        self._base = base
        self._bounds = np.array([low, most], np.int64)
        self._longer = np.zeros((longest, base.made), np.int32)
        kernels("regular.glushkov").lengths(base.search.moves, base.ends, self._longer, base.made)
        sizes = self._longer[: low + 1]
        wait = int((sizes - np.arange(low + 1)[:, None]).max())  # what is wanted at most to end
        self._free = -1 if most < 0 or low + wait > most else most - wait

    def unbounded(self, state: int) -> Unbounded | None:
        """See `RegexAutomaton.unbounded`."""
        at, size = self.states[state].tolist()
        low, most = self._bounds.tolist()
        if size < low or 0 <= self._free < size or (most >= 0 and self._free < 0):
            return None
        free, left = (INFINITE, INFINITE) if most < 0 else (self._free - size, most - size)
        return Unbounded(self._base, at, free, left, self._longer[0])

    def _find(self, state: int, count: int) -> None:
        kernels("regular.glushkov").explore_counted(
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

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`: as without the bounds, and what these leave."""
        at, size = self.states[begin:end].T
        base = self._base.ahead(0, self._base.made)
        low, most = self._bounds.tolist()
        return within(base, at, low - size, most - size if most >= 0 else base.most[at])

    def _knows_loops(self, order: Array) -> bool:
        """As without the bounds, as long as some text can end between them from anywhere."""
        if self._free < 0:
            return False
        kernels("regular.bounded_length").bound_loops(
            self.states, order, self._base.explored(), self._free, self.loops, self.often
        )
        return True


class CappedAutomaton(TableAutomaton):
    """States as those of another expression, with the number of characters that were read."""

    def __init__(self, base: TableAutomaton, most: int, *, ends: bool) -> None:
        """Texts of `base` with at most `most` characters. Raises TooLargeError."""
        super().__init__(np.zeros(2, np.int32), base.classes, ends=ends)
        self._base, self._most = base, most
        self._k = kernels("regular.bounded_length")
        self._said = np.zeros((0, 2), np.int32)
        self._seen = -1  # of how many of its states the moves were known when that was looked at
        with base.lock:
            self._reach(0)

    def _find(self, state: int, count: int) -> None:
        end = self.found + count
        with self._base.lock:
            self._look()
            while (need := self._explore(state, end)) >= 0:
                if self._said[need, self._k.SAID] & self._k.MOVES:
                    self._learn(need)
                else:
                    self._behind([need])

    def _explore(self, state: int, end: int) -> int:
        moves = self._base.search.moves
        found: int = self._k.explore_capped(
            moves, self._said, self.states, self.search, self._most, state, end
        )
        return found

    def _look(self) -> None:
        """Take over what has become known of the automaton."""
        base, k, known = self._base, self._k, len(self._said)
        if base.found == self._seen:
            return
        self._seen, size = base.found, base.size
        self._said = with_room(self._said, size)[:size]
        self._said[known:] = k.FAR, 0
        self._said[base.search.queue[:size] == 1, k.SAID] |= k.MOVES
        k.nearest_ends(base.search.moves, base.ends, self._said)

    def _learn(self, state: int) -> None:
        """Find out more of how soon a text can end from a state of the automaton."""
        try:
            if self._said[state, self._k.UPPER] == self._k.FAR:
                self._reach(state)
            else:
                self._settle(state)
        except TooLargeError as error:
            raise BudgetError(
                f"whether a text ends within {self._most} characters takes too long to find out",
                hint="simplify the pattern, or raise the limit",
            ) from error

    def _reach(self, state: int) -> None:
        """Find some end behind a state of the automaton, what was met last first."""
        waiting, seen = [state], {state}
        self._look()
        while self._said[state, self._k.UPPER] == self._k.FAR:
            if not waiting or len(seen) > MAX_NEAR:
                raise TooLargeError
            new = sorted(self._behind([waiting.pop()]) - seen, reverse=True)
            seen.update(new)
            waiting += new

    def _settle(self, state: int) -> None:
        """Find out how soon a text can end from a state of the automaton. Raises TooLargeError."""
        near, new, depth = {state}, {state}, 0
        while depth < self._said[state, self._k.UPPER]:  # what is not known may end sooner
            new = self._behind(new) - near
            near |= new
            depth += 1
            if len(near) > MAX_NEAR:
                raise TooLargeError
        self._said[state, self._k.SAID] |= self._k.EXACT

    def _behind(self, states: Iterable[int]) -> set[int]:
        """The states of the automaton that others lead to by a character."""
        for state in states:
            self._base.find(state, AT_ONCE)
        self._look()
        moves = self._base.search.moves[list(states)]
        return set(moves[moves >= 0].tolist())

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = self._base.ends[self.states[begin:end, 0]] != 0
        return found

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`: as without the limit, and what that leaves."""
        at, size = self.states[begin:end].T
        with self._base.lock:
            base = self._base.ahead(0, self._base.size)
        return within(base, at, 0, self._most - size)

    def _knows_loops(self, order: Array) -> bool:
        """As without the limit, as long as a text can end within it from wherever that leads."""
        base, k = self._base, self._k
        with base.lock:
            base.note()
            known = (self._said[:, k.SAID] & k.MOVES) != 0
            wait = int(self._said[known, k.UPPER].max(initial=0))
            free = self._most - wait
            k.bound_loops(self.states, order, base.explored(), free, self.loops, self.often)
        return True
