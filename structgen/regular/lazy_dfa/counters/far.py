"""In: an expression that counts far. Out: the same uncounted, and how long they do not differ.

What may come next does not depend on a bound that no token comes near, so all states that differ in
nothing else have the same row: that of a state without the bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structgen.regular.charset import CharSet
from structgen.regular.expressions.base import INFINITE, Regex
from structgen.regular.expressions.build import counted, leaf
from structgen.regular.expressions.logic import complement
from structgen.regular.expressions.nodes import Alt, And, Chars, Concat, Leaf, Not, Repeat, is_span
from structgen.regular.lazy_dfa.counters.lengths import apart, loose
from structgen.regular.lazy_dfa.states import Array, RegexAutomaton, TableAutomaton

FAR = 160  # characters: tokens are shorter
NEAR = 48  # characters: few tokens are longer
FEW = 1  # of the printable characters, that one of nearly all is not

_PRINTABLE = CharSet.of([(0x20, 0x7E)])


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
