"""In: a foreign automaton, met with nothing else. Out: its states, numbered as they are met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from structgen.kernels.build.loader import kernels
from structgen.regular import byte_groups
from structgen.regular.charset import CharSet
from structgen.regular.expressions.base import INFINITE
from structgen.regular.expressions.build import leaf, repeat
from structgen.regular.expressions.logic import intersect
from structgen.regular.expressions.nodes import ANY_CHAR, LeafState
from structgen.regular.expressions.search import live
from structgen.regular.lazy_dfa.counters.far import Uncounted
from structgen.regular.lazy_dfa.states import Numbers, Unbounded
from structgen.regular.lazy_dfa.stepped import SteppedAutomaton, Told


@dataclass(frozen=True, slots=True)
class Within:
    """A state of a foreign automaton of whose texts at most `most` characters may follow."""

    state: Any
    most: int
    live: ClassVar[bool] = True  # no others are led to

    @property
    def nullable(self) -> bool:
        """As the state itself."""
        return bool(self.state.nullable)

    @property
    def again(self) -> tuple[CharSet, int] | None:
        """As the state itself, while so many may follow, if a text may end behind each of them."""
        found = self.state.again if getattr(self.state, "may_end", False) else None
        return None if found is None else (found[0], min(found[1], self.most))

    def moves(self) -> list[tuple[CharSet, Within]]:
        """Those of the state that lead to a text that is short enough."""
        if not self.most:
            return []
        most = self.most - 1
        found = [(chars, after) for chars, after in self.state.moves() if _ends_within(after, most)]
        return [(chars, Within(after, most)) for chars, after in found]


def _ends_within(state: LeafState, most: int) -> bool:
    """Whether a text of at most `most` characters follows a state."""
    known = getattr(state, "live", False)
    if state.nullable or (known and getattr(state, "witness", INFINITE) <= most):
        return True
    return live(intersect(leaf(state), repeat(ANY_CHAR, 0, most)))


MOST = 254  # characters of which it matters how many may follow


class ForeignAutomaton(SteppedAutomaton):
    """States that `LeafState` describes. Hold `lock` while looking at them."""

    def __init__(self, start: Any, uncounted: Uncounted | None = None) -> None:
        """`start`: a `LeafState`. uncounted: the same without bounds of length."""
        super().__init__(start)
        self._uncounted = uncounted

    def unbounded(self, state: int) -> Unbounded | None:
        """See `RegexAutomaton.unbounded`."""
        found, node = self._uncounted, cast(Any, self._nodes[state])
        if found is None or (free := node.boundless[1]) <= 0:
            return None
        with found.automaton.lock:
            return Unbounded(found.automaton, found.of(state, self.came)[0], int(free))

    def _told(self, node: LeafState) -> Told:
        again = getattr(node, "again", None)
        if again is None:
            return node.nullable, False, 0, 0
        chars, often = again
        loops = byte_groups.whole(chars.ranges) if often else 0
        return node.nullable, False, loops, often if often <= MOST else 255

    def _spans(self, state: int) -> Numbers:
        node: Any = self._nodes[state]
        base = self._numbers.get(getattr(node, "base", None))
        if base is None:
            return self._moved(state, [move for move in node.moves() if _is_live(move[1])])
        steps = [(*pair, after) for chars, after in node.own() for pair in chars.ranges]
        own = self._numbered(state, (step for step in steps if step[2] is not None))
        own += [(low, high, -1) for low, high, after in steps if after is None]
        spans, over = self.spans_from(base), np.array(sorted(own), np.int32).reshape(-1, 3)
        found = np.empty((len(spans) + 2 * len(over), 3), np.int32)
        return found[: kernels("regular.state_spans").lay_over(spans, over, found)]


def _is_live(state: LeafState) -> bool:
    """Whether a state accepts something."""
    return getattr(state, "live", False) or live(leaf(state))
