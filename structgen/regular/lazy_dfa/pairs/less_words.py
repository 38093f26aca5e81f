"""A language without some listed texts, as keys and items have it that must differ from those read.

A state is a pair: one of the language's own automaton, and one of the automaton of all texts but
the listed ones. Once a text begins none of these, it is read by the first alone, and its masks are
that one's. Before, what may follow is what both say by themselves, unless listed texts are all that
is left of the language somewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from structgen.regular.expressions.base import INFINITE
from structgen.regular.lazy_dfa.pairs.pair import Pair, PairAutomaton, facts_at
from structgen.regular.lazy_dfa.states import (
    Array,
    Halves,
    RegexAutomaton,
    TableAutomaton,
    Unbounded,
)
from structgen.util.arrays import distinct

MAX_BEGUN = 1000  # beginnings of listed texts behind which it is asked what is left
MAX_LISTED = 20_000  # states of the automaton of all texts but the listed ones


class LessWordsAutomaton(PairAutomaton):
    """The texts of an automaton without those that another one bars. Hold `lock` to use it."""

    joint = True

    def __init__(self, base: RegexAutomaton, others: TableAutomaton) -> None:
        """`others` reads all texts but some. Raises TooLargeError where no text is left."""
        self._base, self._others = base, others
        with others.lock:
            others.explore_all(MAX_LISTED)
        self._left: dict[Pair, bool] = {}  # whether some text is left, for pairs that were asked
        super().__init__(base, others)

    def unbounded(self, state: int) -> Unbounded | None:
        """See `RegexAutomaton.unbounded`: the base, where no listed text goes on."""
        pair = cast(int, self._nodes[state])
        return (
            Unbounded(self._base, self._halves(pair)[0], INFINITE) if self._is_free(pair) else None
        )

    def halves(self, state: int) -> Halves | None:
        """See `RegexAutomaton.halves`: where listed texts are nowhere all that is left."""
        pair = cast(int, self._nodes[state])
        waiting, seen = [pair], {pair}
        while waiting:
            begun = [one for one in self._behind(waiting.pop()) if not self._is_free(one)]
            if len(seen) > MAX_BEGUN or not all(map(self._is_left, begun)):
                return None
            waiting += [one for one in begun if one not in seen]
            seen.update(begun)
        at, beside = self._halves(pair)
        return Halves("all", ((0, self._base, at), (1, self._others, beside)))

    def _is_free(self, pair: Pair) -> bool:
        """Whether no listed text goes on."""
        return bool(self._others.endless[self._halves(pair)[1]])

    def _behind(self, pair: Pair) -> list[Pair]:
        found: list[Pair] = distinct(self._moves_of(pair)[:, 2]).tolist()
        return found

    def _live(self, pairs: Array) -> Array:
        return np.array([*map(self._is_left, pairs.tolist())], np.bool_)

    def _is_left(self, pair: Pair) -> bool:
        """Whether some text is left from a pair: it ends, or goes on as none of those listed."""
        waiting = [pair]
        while waiting:  # no recursion: texts may be long
            here = waiting[-1]
            if here not in self._left and self._is_free(here):
                self._left[here] = True
            elif here not in self._left:
                behind = self._behind(here)
                unknown = [one for one in behind if one not in self._left]
                ends = all(
                    part.ends[at] for part, at in zip(self.both, self._halves(here), strict=True)
                )
                if ends or any(map(self._is_free, unknown)) or any(map(self._left.get, behind)):
                    self._left[here] = True
                elif unknown:
                    waiting += unknown
                    continue
                else:
                    self._left[here] = False
            waiting.pop()
        return self._left[pair]

    def _facts_of(self, pairs: Array) -> Sequence[Array]:
        both = [
            facts_at(*each) for each in zip(self.both, self._pairs.halves[pairs].T, strict=True)
        ]
        ends, endless, loops, often = zip(*both, strict=True)
        free = endless[1] != 0
        own = (np.where(free, part[0], 0) for part in (loops, often))
        return [ends[0] & ends[1], endless[0] & endless[1], *own]
