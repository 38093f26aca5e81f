"""Automata that count: bounds on the length of texts, and bounded repeats too long to write out.

Where the only bound is on the number of characters, a state is a pair (state of the automaton
without the bound, characters read so far) instead of one copy of the automaton per length:
- `LengthAutomaton`: any character{m,n}; the counter alone.
- `CounterAutomaton`: that of any automaton. One small enough is explored as a whole, so that all
  lengths of texts are known from every state (`AllLengths`). Beside an upper bound alone, others
  are explored as far as texts go (`NearestEnds`).

A mask does not depend on a bound that no token can reach. So states that differ only in such a far
counter share the mask of one state without it: `without_counters` and `without_far_bounds` give the
expression without these bounds, and the length up to which both have the same texts.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from structgen.errors import BudgetError
from structgen.kernels.build.loader import kernels
from structgen.regular.charset import ALL, CharSet
from structgen.regular.expressions.base import INFINITE, Regex
from structgen.regular.expressions.build import (
    as_repeat,
    concat,
    repeat,
    sub_automaton,
    text_of,
)
from structgen.regular.expressions.logic import alt, alternatives_of, complement, intersect
from structgen.regular.expressions.nodes import (
    ANY_CHAR,
    Alt,
    And,
    Chars,
    Concat,
    Not,
    Repeat,
    SubAutomaton,
    Words,
    is_length_bound,
    is_listed,
)
from structgen.regular.expressions.required_characters import unread
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.states import (
    AT_ONCE,
    Array,
    RegexAutomaton,
    TableAutomaton,
    Unbounded,
    bounded_ahead,
)
from structgen.util.arrays import bytes_of, with_room
from structgen.util.cancellation import checkpoint

FAR = 160  # characters: all tokens are shorter
NEAR = 48  # characters: most tokens are shorter
FEW = 1  # printable characters that a class of "nearly all characters" may lack

_PRINTABLE = CharSet.of([(0x20, 0x7E)])
MAX_COUNTED = 1500  # states of the automaton beside a counter, when it is explored as a whole
FEW_COUNTED = 100  # the same where there is only a far upper bound
MAX_LENGTHS = 3_000_000  # moves times lengths looked at to find which lengths its texts have
MAX_NEAR = 5000  # states that are explored to see how soon a text can end from one of them
LENGTHS_AT_ONCE = 16  # states of `LengthAutomaton` explored together: few tokens are longer
_RANGES = np.array(ALL.ranges, np.int32)


def split_length_bound(regex: Regex) -> tuple[Regex, Regex] | None:
    """Split an intersection into an expression without a bound on the length, and that bound.

    None unless exactly one part is a repeated character class with a bound.
    """
    bounded = [part for part in regex.parts if _is_bounded(part)] if isinstance(regex, And) else []
    if not isinstance(regex, And) or len(bounded) != 1:
        return None
    body, low, high = as_repeat(bounded[0])
    rest = intersect(repeat(body, 0), *(part for part in regex.parts if part is not bounded[0]))
    return rest, repeat(ANY_CHAR, low, high)


def _is_bounded(part: Regex) -> bool:
    """Whether a part of an intersection is a repeated character class whose count is bounded."""
    if not isinstance(part, Repeat) or not isinstance(part.body, Chars):
        return is_length_bound(part)
    return part.low > 1 or part.high < INFINITE or is_length_bound(part)


def without_redundant_bounds(regex: Regex, most: int = INFINITE, *, denied: bool = True) -> Regex:
    """Drop the repeat bounds that a limit of `most` characters implies anyway.

    Up to that length the result has the same texts. For example, a host name of at most 255
    characters has at most 127 labels with their dots, whatever their number is bounded by.
    denied: also simplify inside complements; without it every text of `regex` stays a text.
    """
    again = partial(without_redundant_bounds, denied=denied)
    if most < 0 or _counts_to(regex) <= most:
        return regex
    if isinstance(regex, Repeat):
        body = again(regex.body, most)
        idle = regex.high < INFINITE and (regex.high + 1) * body.shortest > most
        return repeat(body, regex.low, INFINITE if idle else regex.high)
    if isinstance(regex, Concat):
        room = most - regex.shortest
        return concat(*(again(part, room + part.shortest) for part in regex.parts_in_order))
    if isinstance(regex, And):
        checkpoint()
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
    """The greatest length at which some repeat bound of an expression first matters.

    More than INFINITE for intersections, whose parts bound each other's length.
    """
    return _counting(regex)


def _counting(regex: Regex) -> int:
    if isinstance(regex, Repeat):
        own = (regex.high + 1) * regex.body.shortest if regex.high < INFINITE else 0
        return max(own, _counting(regex.body))
    if isinstance(regex, Concat):
        parts = regex.parts_in_order
        return regex.shortest + max(_counting(part) - part.shortest for part in parts)
    if isinstance(regex, Alt):
        return max(map(_counting, regex.parts))
    if isinstance(regex, And):
        return 2 * INFINITE
    return _counting(regex.body) if isinstance(regex, Not) else 0


def without_counters(regex: Regex) -> tuple[Regex, int] | None:
    """The expression behind `RegexAutomaton.unbounded`, or None if there are no bounds to drop.

    And up to which length both have the same texts; 0 where that is too short to be of use, or the
    automaton itself knows more.
    """
    if (split := without_words(regex)) is not None:
        return split[0], 0
    found = split_length_bound(regex)
    if found is not None:
        _, low, high = as_repeat(found[1])
        rest, reach = without_far_bounds(found[0], NEAR)
        if reach < FAR <= high and found[0].shortest >= low:
            return rest, reach
        return found[0], high if not low and high >= FAR else 0
    if isinstance(regex, SubAutomaton):
        same = boundless(regex)
        return None if same is None else (same, 0)
    if (found_format := only_format(regex)) is not None:
        return found_format, 0
    rest, reach = without_far_bounds(regex, NEAR)
    return None if reach == INFINITE else (rest, reach)


def without_far_bounds(regex: Regex, near: int) -> tuple[Regex, int]:
    """An expression without its far bounds, and up to which length both have the same texts.

    near: a repeat of nearly all characters is far from so many on; other repeats from FAR on.
    The result has every text of `regex`. Complements are the exception: a complement at the top
    rules out more without bounds, so `has_dead_ends` must be asked; complements inside stay as
    they are.
    """
    if isinstance(regex, Not):
        rest, reach = without_far_bounds(regex.body, near)
        return (regex if reach == INFINITE else complement(rest)), reach
    reach = _reach(regex, near)
    rest = regex if reach == INFINITE else without_redundant_bounds(regex, reach, denied=False)
    return rest, INFINITE if rest == regex else reach  # a bound that is implied goes nowhere


def only_format(regex: Regex) -> Regex | None:
    """The one sub-automaton of an intersection that does not list its states; else None.

    Or the one complement of a format.
    """
    parts = regex.parts if isinstance(regex, And) else ()
    formats: list[Regex] = []
    formats += (part for part in parts if isinstance(part, SubAutomaton) and not is_listed(part))
    formats = formats or [part for part in parts if unread(part)]
    return formats[0] if len(formats) == 1 else None


def without_words(regex: Regex) -> tuple[Regex, Regex] | None:
    """Split an intersection or complement into a language, and all texts but some listed ones.

    None where it has no such parts, and where the language is plain: other automata are as fast.
    """
    parts = regex.parts if isinstance(regex, And) else (regex,)
    barred = {part for part in parts if isinstance(part, Not)}
    bodies = [each for part in barred for each in alternatives_of(part.body)]
    listed = [each for each in bodies if isinstance(each, Words) or text_of(each)]
    if not listed:
        return None
    left = complement(alt(*(each for each in bodies if each not in listed)))
    rest = intersect(*(part for part in parts if part not in barred), left)
    return None if rest.plain else (rest, complement(alt(*listed)))


def has_dead_ends(automaton: TableAutomaton) -> bool:
    """Whether some prefix cannot be continued, in an automaton that is explored as a whole."""
    moves = automaton.search.moves[: automaton.size]
    return not automaton.classes.total or bool((moves < 0).any())


def _reach(regex: Regex, near: int) -> int:
    """The greatest length up to which no far bound makes a difference; INFINITE without one."""
    if regex.plain and regex.longest < near:
        return INFINITE
    if isinstance(regex, And):  # a length bound counts all characters
        return min(_reach(part, FAR if is_length_bound(part) else near) for part in regex.parts)
    reach = min((_reach(part, near) for part in _inner(regex)), default=INFINITE)
    wide = isinstance(regex, Repeat) and _is_wide(regex.body)
    return min(reach, _own_reach(regex, near if wide else FAR))


def _own_reach(regex: Regex, far: int) -> int:
    """`_reach` of the outermost repeat alone."""
    if not isinstance(regex, Repeat) or regex.high == INFINITE:
        return INFINITE
    shortest = regex.body.shortest
    own = (regex.high + 1) * shortest - 1
    return own if own >= far > regex.low * shortest else INFINITE


def _is_wide(body: Regex) -> bool:
    """Whether a part is a class of nearly all characters, so that most tokens stay within it."""
    return isinstance(body, Chars) and len(_PRINTABLE & body.chars) >= len(_PRINTABLE) - FEW


def _inner(regex: Regex) -> Sequence[Regex]:
    """The subexpressions, but not those of complements."""
    if isinstance(regex, Concat):
        return regex.parts_in_order
    if isinstance(regex, Alt):
        return regex.parts
    return (regex.body,) if isinstance(regex, Repeat) else ()


def boundless(regex: Regex) -> Regex | None:
    """A sub-automaton without its length bounds; None where it has none."""
    state = regex.state if isinstance(regex, SubAutomaton) else None
    found = getattr(state, "boundless", None)
    return None if found is None or found[0] == state else sub_automaton(found[0])


@lru_cache(maxsize=1024)
def most_to_end(regex: Regex) -> int:
    """With how many characters at most every prefix of a member can be finished.

    An upper bound, read off the expression; INFINITE where that does not tell.
    """
    if isinstance(regex, Concat):
        worst = behind = 0
        for part in reversed(regex.parts_in_order):
            worst = max(worst, most_to_end(part) + behind)
            behind += part.shortest
        return min(worst, INFINITE)
    if isinstance(regex, Alt):
        return max(map(most_to_end, regex.parts))
    if isinstance(regex, Repeat):
        more = max(regex.low - 1, 0) * regex.body.shortest
        return min(most_to_end(regex.body) + more, INFINITE)
    if isinstance(regex, SubAutomaton) and is_listed(regex):
        return int(cast(Any, regex.state).table().least.max())
    return regex.longest if regex.plain else INFINITE


def longest_distance_to_end(automaton: TableAutomaton) -> int:
    """The greatest distance from any state to a nearest accepting one, in characters.

    Raises TooLargeError or BudgetError where it does not pay to explore all states. Hold the lock
    of the automaton.
    """
    return int(distances_to_end(automaton).max())


def distances_to_end(automaton: TableAutomaton, columns: Sequence[int] | None = None) -> Array:
    """int64[S]: from each state, the fewest characters with which a text ends; S for no such text.

    columns: only texts of characters of these classes count.
    Raises TooLargeError or BudgetError as `longest_distance_to_end`.
    """
    automaton.explore_all(automaton.max_eager_states)
    count = automaton.size
    moves = automaton.search.moves[:count]
    return waits(moves if columns is None else moves[:, columns], automaton.ends[:count])


def waits(moves: Array, ends: Array) -> Array:
    """int64[S]: from each state, the fewest moves to one that ends; S where none leads there.

    moves: int32[S, C], -1 for none; ends: uint16[S].
    """
    count = len(ends)
    wait = np.where(ends != 0, 0, count)
    while True:
        behind = np.where(moves < 0, count, wait[moves]).min(axis=1, initial=count) + 1
        if (behind >= wait).all():
            return wait
        wait = np.minimum(wait, behind)


class LengthAutomaton(RegexAutomaton):
    """The automaton of any character{m,n}: state i says that i characters have been read."""

    loops_are_final = True

    def __init__(self, span: Regex) -> None:
        """`span`: see `nodes.is_length_bound`."""
        super().__init__(ends=span.nullable)
        _, low, high = as_repeat(span)
        endless = high == INFINITE
        self._last = low if endless else high
        self._bounds = np.array([low, -1 if endless else high], np.int64)

    def left(self, state: Any) -> tuple[Any, Any]:
        """Fewest and most characters that may still follow a state, or each of several."""
        low, high = self._bounds.tolist()
        if isinstance(state, int):
            return max(low - state, 0), INFINITE if high < 0 else high - state
        most = high - state.astype(np.int64) if high >= 0 else np.full(len(state), INFINITE)
        return np.maximum(low - state, 0), most

    def explore(self, state: int) -> None:
        """See `RegexAutomaton.explore`; a few states after this one too."""
        begin, end = self.known, min(state + LENGTHS_AT_ONCE, self._last + 1)
        if state < begin:
            return
        made = min(end, self._last) + 1
        self._make_room(made, end, len(_RANGES) * (end - begin))
        kernels("regular.state_spans").count_on(self.explored(), _RANGES, self._bounds, begin, end)
        self.made, self.known = made, end


class AllLengths:
    """The lengths of the texts from each state of an automaton that is explored as a whole.

    longer: int32[L, S], the least length from l on of a text that ends from each state, up to the
    lower bound. free: how many characters may be read before an end within the bounds can be out of
    reach, INFINITE without an upper bound; -1 where it can be from the start on.
    """

    def __init__(self, base: TableAutomaton, low: int, high: int) -> None:
        """Of texts with `low` to `high` characters. Raises TooLargeError. Hold the base's lock."""
        most = high if high < INFINITE else -1
        count = MAX_LENGTHS // ((low + 1) * len(base.classes.letters))
        # a far upper bound alone is also what `NearestEnds` can do
        base.explore_all(min(count, MAX_COUNTED if low or most < FAR else FEW_COUNTED))
        self._moves = base.search.moves
        self.bounds = np.array([low, most], np.int64)
        self.longer = np.zeros((low + 1, base.made), np.int32)
        kernels("regular.glushkov").lengths(self._moves, base.ends, self.longer)
        # the most characters that can be missing to an end within the bounds
        wait = int((self.longer - np.arange(low + 1)[:, None]).max())
        stuck = bool((self.longer == kernels("regular.glushkov").FAR).any())
        self.free = -1 if stuck or low + wait > high else high - wait if most >= 0 else INFINITE

    def explore(self, states: Array, search: Any, state: int, count: int) -> None:
        """Find the moves of a state of a `CounterAutomaton`, and of others behind it."""
        given = self._moves, self.longer, self.bounds, states, search
        kernels("regular.glushkov").explore_counted(*given, state, count)


class NearestEnds:
    """How soon a text can end from each state of an automaton that is explored on demand.

    That is plain as long as there is room; near the limit the kernel asks for exact distances,
    which explores the automaton around a state.
    """

    longer = None

    def __init__(self, base: TableAutomaton, most: int, wait: int) -> None:
        """Of texts with at most `most` characters. Raises TooLargeError. Hold the base's lock.

        wait: with how many characters every text that `base` has begun can surely end.
        """
        self._base, self._most = base, most
        self.bounds = np.array([0, most], np.int64)
        self._k, self._far = kernels("regular.bounded_length"), kernels("regular.glushkov").FAR
        self._wait = min(wait, self._far)
        self._distances = np.zeros((0, 2), np.int32)
        self._fewest = np.zeros(0, np.int64)  # characters with which a text ends, lower bounds
        # how many states of the base were explored at the last `_update`
        self._explored_before = -1
        self._find_some_end(0)

    def unbounded(self, at: int, left: int) -> Unbounded | None:
        """State `at` of the base, where at most `left` characters may follow."""
        free = left - self._wait
        if free < 0:
            return None
        with self._base.lock:
            self._update()
            least = np.minimum(self._fewest, self._wait)
            wanted = least.astype(np.int32), self._distances[:, self._k.UPPER].copy()
        return Unbounded(self._base, at, free, left, wanted)

    @property
    def free(self) -> int:
        """See `AllLengths`, for the states that are known."""
        known = (self._distances[:, self._k.FACTS] & self._k.MOVES) != 0
        return self._most - int(self._distances[known, self._k.UPPER].max(initial=0))

    def explore(self, states: Array, search: Any, state: int, count: int) -> None:
        """See `AllLengths`."""
        self._update()
        end = int(search.sizes[kernels("regular.glushkov").KNOWN]) + count
        while search.queue[state] != 1:
            given = self._base.search.moves, self._distances, states, search, self._most
            need = self._k.explore_bounded(*given, state, end)
            if need < 0 or search.queue[state] == 1:  # what others lack can wait
                return
            if self._distances[need, self._k.FACTS] & self._k.MOVES:
                self._refine(need)
            else:
                self._successors([need])

    def _update(self) -> None:
        """Update the distances to an end from what the base has explored since."""
        base, k, known = self._base, self._k, len(self._distances)
        if base.found == self._explored_before:
            return
        self._explored_before, size = base.found, base.size
        self._distances = with_room(self._distances, size)[:size]
        self._distances[known:] = self._wait, 0
        self._distances[base.search.queue[:size] == 1, k.FACTS] |= k.MOVES
        k.nearest_ends(base.search.moves, base.ends, self._distances)
        more = base.ahead(len(self._fewest), size).least
        self._fewest = np.append(self._fewest, more)

    def _refine(self, state: int) -> None:
        """Find a bound on the distance from a state of the base to an end, or the exact one."""
        try:
            if self._distances[state, self._k.UPPER] == self._far:
                self._find_some_end(state)
            else:
                self._find_nearest_end(state)
        except TooLargeError as error:
            raise BudgetError(
                f"whether a text ends within {self._most} characters takes too long to find out",
                hint="simplify the pattern, or raise the limit",
            ) from error

    def _find_some_end(self, state: int) -> None:
        """Find some end reachable from a state of the base, depth first."""
        waiting, seen = [state], {state}
        self._update()
        while self._distances[state, self._k.UPPER] == self._far:
            if not waiting or len(seen) > MAX_NEAR:
                raise TooLargeError
            new = sorted(self._successors([waiting.pop()]) - seen, reverse=True)
            seen.update(new)
            waiting += new

    def _find_nearest_end(self, state: int) -> None:
        """Find the distance from a state to an end (A*: Hart et al. 1968). Raises TooLargeError.

        States from which an end may be near are explored first.
        """
        depths = {state: 0}
        waiting = [(int(self._fewest[state]), 0, state)]
        while waiting and waiting[0][0] < self._distances[state, self._k.UPPER]:
            _, depth, at = heapq.heappop(waiting)
            for after in self._successors([at]):
                if depth + 1 < depths.get(after, INFINITE):
                    depths[after] = depth + 1
                    least = depth + 1 + int(self._fewest[after])
                    heapq.heappush(waiting, (least, depth + 1, after))
            if len(depths) > MAX_NEAR:
                raise TooLargeError
        self._distances[state, self._k.FACTS] |= self._k.EXACT

    def _successors(self, states: Iterable[int]) -> set[int]:
        """The states of the base that some states lead to by one character."""
        for state in states:
            self._base.find(state, AT_ONCE)
        self._update()
        moves = self._base.search.moves[list(states)]
        return set(moves[moves >= 0].tolist())


class CounterAutomaton(TableAutomaton):
    """A DFA of states int32[S, 2]: a state of a base automaton, and how many characters were read.

    A move stays if some text ends within the bounds behind it, as `AllLengths` or `NearestEnds` of
    the base knows.
    """

    def __init__(
        self, base: TableAutomaton, known: AllLengths | NearestEnds, *, ends: bool
    ) -> None:
        """Texts of `base` within the bounds of `known`."""
        super().__init__(np.zeros(2, np.int32), base.classes, ends=ends)
        self._base, self._known = base, known
        self._low, self._most = known.bounds.tolist()

    @property
    def nbytes(self) -> int:
        """See `RegexAutomaton.nbytes`."""
        return super().nbytes + bytes_of(self._known.longer)

    def unbounded(self, state: int) -> Unbounded | None:
        """See `RegexAutomaton.unbounded`."""
        at, size = self.states[state].tolist()
        if isinstance(self._known, NearestEnds):
            left = self._most - size
            return super().unbounded(state) or self._known.unbounded(at, left)
        free, most, wait = self._known.free, self._most, self._known.longer[0]
        if size > free and (most >= 0 or size < self._low):
            return None  # an end within the bounds may be out of reach
        free, left = (INFINITE, INFINITE) if most < 0 else (free - size, most - size)
        return Unbounded(self._base, at, free, left, (wait, wait), max(self._low - size, 0))

    def _find(self, state: int, count: int) -> None:
        with self._base.lock:
            self._known.explore(self.states, self.search, state, count)

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        state, size = self.states[begin:end].T
        found: npt.NDArray[np.bool_] = (self._base.ends[state] != 0) & (size >= self._low)
        return found

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`: that of the base, with the lengths that the bounds leave."""
        at, size = self.states[begin:end].T
        with self._base.lock:
            base = self._base.ahead(0, self._base.size)
        most = self._most - size if self._most >= 0 else base.most[at]
        return bounded_ahead(base, at, self._low - size, most)

    def _write_known_loops(self, order: Array) -> bool:
        """The loops of the base, for as many characters as the upper bound cannot matter."""
        base = self._base
        with base.lock:
            base.write_spans()
            free = self._known.free
            given = self.states, order, base.explored(), free, self.loops, self.often
            if free >= 0:
                kernels("regular.bounded_length").bound_loops(*given)
        return free >= 0
