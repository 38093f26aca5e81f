"""Two automata of which no pair is dead: a text goes on while it does in both, or in either.

What may follow is what either automaton says by itself; masks are then joined, and no pairs are
explored for them (`halves`). So it is of unions, and of formats with a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from structgen.regular.charset import NONE, CharSet
from structgen.regular.lazy_dfa.pairs.pair import Pair, PairAutomaton, facts_at
from structgen.regular.lazy_dfa.states import Array, Halves, RegexAutomaton
from structgen.regular.lazy_dfa.stepped import SteppedAutomaton


def tells_endings(automaton: RegexAutomaton) -> bool:
    """Whether an automaton knows texts that end a state, as those of formats do."""
    if isinstance(automaton, SideBySideAutomaton) and automaton.joint:
        return all(map(tells_endings, automaton.both))
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
            return Halves("any", states)
        all_states: Any = states
        return Halves("all", states, min(part.free_from(at) for _, part, at in all_states))

    def _leaves(self, pair: Pair) -> Iterator[tuple[int, RegexAutomaton, int]]:
        (one, other), (at, beside) = self.both, self._halves(pair)
        if at >= 0:
            yield 0, one, at
        if beside < 0:
            return
        if type(other) is not type(self) or other.joint != self.joint:
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
        return cast(SteppedAutomaton, self.both[0]).closing if self.joint else NONE

    def _stepped(self, state: int) -> Iterator[tuple[Any, int]]:
        """Both automata with their states."""
        return zip(self.both, self._halves(cast(int, self._nodes[state])), strict=True)

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

    def _facts_of(self, pairs: Array) -> Sequence[Array]:
        halves = self._pairs.halves[pairs].T
        both = [facts_at(*each) for each in zip(self.both, halves, strict=True)]
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
