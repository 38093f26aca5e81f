"""In: how many characters a text may have. Out: its states, by how many of them have been read."""

from __future__ import annotations

import numpy as np

from structgen.automaton.charset import ALL
from structgen.automaton.regex_base import INFINITE, Regex
from structgen.automaton.regex_build import counted
from structgen.automaton.regex_logic import intersect
from structgen.automaton.regex_nodes import And, is_span
from structgen.automaton.regex_states import RegexAutomaton
from structgen.jit import kernels

AT_ONCE = 16  # states whose moves are written down together: few tokens are longer
_RANGES = np.array(ALL.ranges, np.int32)


def apart(regex: Regex) -> tuple[Regex, Regex] | None:
    """What a text must be, and how long, if that is all an expression says; None if not so."""
    spans = [part for part in regex.parts if is_span(part)] if isinstance(regex, And) else []
    if not isinstance(regex, And) or len(spans) != 1:
        return None
    return intersect(*(part for part in regex.parts if part is not spans[0])), spans[0]


class LengthAutomaton(RegexAutomaton):
    """State i is where i characters have been read, as far as it matters how many."""

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
        begin, end = self.known, min(state + AT_ONCE, self._last + 1)
        if state < begin:
            return
        made = min(end, self._last) + 1
        self._make_room(made, end, len(_RANGES) * (end - begin))
        kernels("notes").count_on(self.explored(), _RANGES, self._bounds, begin, end)
        self.made, self.known = made, end
