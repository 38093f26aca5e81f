"""In: how many characters a text may have. Out: its states, by how many of them have been read."""

from __future__ import annotations

import numpy as np

from structgen.automaton.charset import ALL
from structgen.automaton.regex_base import INFINITE, Regex
from structgen.automaton.regex_build import counted
from structgen.automaton.regex_states import RegexAutomaton

AT_ONCE = 16  # states whose moves are written down together: few tokens are longer
_MANY = 255  # characters: any number may follow


class LengthAutomaton(RegexAutomaton):
    """State i is where i characters have been read, as far as it matters how many."""

    def __init__(self, span: Regex) -> None:
        """`span`: see `regex_nodes.is_span`."""
        super().__init__(ends=span.nullable)
        _, self._low, self._high = counted(span)
        self._last = self._low if self._high == INFINITE else self._high

    def explore(self, state: int) -> None:
        """See `RegexAutomaton.explore`: this state, and those behind it."""
        begin, end = self.known, min(state + AT_ONCE, self._last + 1)
        if state < begin:
            return
        endless = self._high == INFINITE
        order = np.arange(begin, end, dtype=np.int32)
        made = np.arange(self.made, min(end, self._last) + 1, dtype=np.int32)
        came = np.stack([made - 1, np.full_like(made, ord("a"))], 1)
        self._make(came, made >= self._low, endless & (made >= self._low))
        left = np.full(len(order), _MANY) if endless else np.minimum(self._high - order, _MANY - 1)
        behind = np.where(order < self._last, order + 1, order if endless else -1)
        spans = np.array([(*pair, to) for to in behind if to >= 0 for pair in ALL.ranges])
        counts = len(ALL.ranges) * (behind >= 0)
        self._know(order, np.where(left > 0, -1, 0), left, counts, spans.reshape(-1, 3))
