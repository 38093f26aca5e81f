"""In: a foreign automaton, met with nothing else. Out: its states, numbered as they are met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from structgen.automaton import byte_groups
from structgen.automaton.charset import CharSet
from structgen.automaton.regex_base import INFINITE
from structgen.automaton.regex_build import leaf, repeat
from structgen.automaton.regex_far import Uncounted
from structgen.automaton.regex_logic import intersect
from structgen.automaton.regex_nodes import ANY_CHAR, LeafState
from structgen.automaton.regex_search import live
from structgen.automaton.regex_states import Numbers, Unbounded
from structgen.automaton.regex_stepped import SteppedAutomaton


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

Spans = npt.NDArray[np.int32]
Span = tuple[int, int, int]


class ForeignAutomaton(SteppedAutomaton):
    """States that `LeafState` describes. Hold `lock` while looking at them."""

    def __init__(self, start: Any, uncounted: Uncounted | None = None) -> None:
        """`start`: a `LeafState`. uncounted: the same without bounds of length."""
        super().__init__(start, ends=start.nullable)
        self._uncounted = uncounted

    def unbounded(self, state: int) -> Unbounded | None:
        """See `RegexAutomaton.unbounded`."""
        found, node = self._uncounted, cast(Any, self._nodes[state])
        if found is None or (free := node.boundless[1]) <= 0:
            return None
        with found.automaton.lock:
            return Unbounded(found.automaton, found.of(state, self.came)[0], int(free))

    def _flags(self, node: LeafState) -> tuple[bool, bool]:
        return node.nullable, False

    def _spans(self, state: int) -> Numbers:
        node: Any = self._nodes[state]
        base = self._numbers.get(getattr(node, "base", None))
        if base is None:
            return self._moved(state, [move for move in node.moves() if _is_live(move[1])])
        spans: Spans = self.spans_from(base)
        own = [*node.own()]
        steps = [(*pair, after) for chars, after in own for pair in chars.ranges]
        numbered = self._numbered(state, (step for step in steps if step[2] is not None))
        barred = [(low, high, -1) for low, high, after in steps if after is None]
        for run in _runs(sorted(numbered + barred)):
            spans = _replaced(spans, run)
        return spans

    def _again(self, state: int, spans: Numbers) -> tuple[int, int]:
        again = getattr(self._nodes[state], "again", None)
        if again is None:
            return super()._again(state, spans)
        chars, often = again
        return byte_groups.whole(chars.ranges if often else ()), often if often <= MOST else 255


def _is_live(state: LeafState) -> bool:
    """Whether a state accepts something."""
    return getattr(state, "live", False) or live(leaf(state))


def _runs(spans: list[Span]) -> list[list[Span]]:
    """Ascending spans, those together that touch."""
    runs: list[list[Span]] = []
    for span in spans:
        if runs and runs[-1][-1][1] + 1 == span[0]:
            runs[-1].append(span)
        else:
            runs.append([span])
    return runs


def _replaced(spans: Spans, run: list[Span]) -> Spans:
    """Spans with others in the place of those of their code points; -1 there is nothing."""
    low, high = run[0][0], run[-1][1]
    begin = int(spans[:, 1].searchsorted(low))
    end = int(spans[:, 0].searchsorted(high, "right"))
    here = [span for span in run if span[2] >= 0]
    if begin < end:
        first, _, before = spans[begin].tolist()
        _, last, behind = spans[end - 1].tolist()
        here = [(first, low - 1, before)] * (first < low) + here
        here += [(high + 1, last, behind)] * (last > high)
    middle = np.array(here, np.int32).reshape(-1, 3)
    return np.concatenate((spans[:begin], middle, spans[end:]))
