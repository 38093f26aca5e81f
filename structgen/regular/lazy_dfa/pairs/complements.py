"""Complements of formats: all texts that are none of a format's.

A text is read by the format's automaton as long as that goes on, and is free afterwards. From every
state some text is left: there are characters that the format does not read where it may end
(`SubAutomatonState.unread`). So no state is dead, and no more is explored than for the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from structgen.regular.charset import CharSet
from structgen.regular.expressions.nodes import ANY
from structgen.regular.lazy_dfa.counters import LengthAutomaton
from structgen.regular.lazy_dfa.pairs.pair import PairAutomaton, any_characters, facts_at
from structgen.regular.lazy_dfa.states import Array, Halves, RegexAutomaton


class ComplementAutomaton(PairAutomaton):
    """All texts but those of an automaton. Hold `lock` to use it."""

    joint = False
    spare = 1

    def __init__(self, base: RegexAutomaton, never: CharSet) -> None:
        """`never`: characters that no state of `base` in which a text may end reads."""
        self._base, self._never = base, chr(never.sample)
        super().__init__(base, LengthAutomaton(ANY))

    def halves(self, state: int) -> Halves | None:
        """See `RegexAutomaton.halves`: the format, while a text may become one of its."""
        at, _ = self._halves(cast(int, self._nodes[state]))
        return Halves("none", ((0, self._base, at),)) if at >= 0 else None

    def reach(self, state: int) -> tuple[int, int]:
        """See `SteppedAutomaton.reach`: one character leads out."""
        least = int(not self.ends[state])
        return least, least

    def distances(self) -> tuple[Array, Array]:
        """See `SteppedAutomaton.distances`."""
        found = (self.ends[: self.made] == 0).astype(np.int32)
        return found, found

    def length_from(self, state: int, least: int) -> int:
        """See `SteppedAutomaton.length_from`: behind any characters one leads out."""
        return least + 1 if least else self.reach(state)[0]

    def free_within(self, _state: int, least: int, most: int) -> int:
        """See `SteppedAutomaton.free_within`."""
        return most - 1 if most > least else 0

    def ending(self, state: int) -> str:
        """See `SteppedAutomaton.ending`."""
        return "" if self.ends[state] else self._never

    @property
    def closing(self) -> CharSet:
        """See `SubAutomatonState`."""
        return CharSet.chars(self._never)

    def _facts_of(self, pairs: Array) -> Sequence[Array]:
        inside = self._pairs.halves[pairs, 0]
        ends = facts_at(self._base, inside)[0] == 0
        return [ends, inside < 0, *any_characters(len(pairs))]
