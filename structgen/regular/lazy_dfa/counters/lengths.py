"""In: how many characters a text may have. Out: its states, by how many of them have been read."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from structgen.kernels.build.loader import kernels
from structgen.regular.charset import ALL
from structgen.regular.expressions.base import INFINITE, Regex
from structgen.regular.expressions.build import concat, counted, repeat
from structgen.regular.expressions.logic import alt, complement, intersect
from structgen.regular.expressions.nodes import (
    ANY_CHAR,
    Alt,
    And,
    Chars,
    Concat,
    Not,
    Repeat,
    is_span,
)
from structgen.regular.lazy_dfa.states import RegexAutomaton

AT_ONCE = 16  # states whose moves are written down together: few tokens are longer
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
        begin, end = self.known, min(state + AT_ONCE, self._last + 1)
        if state < begin:
            return
        made = min(end, self._last) + 1
        self._make_room(made, end, len(_RANGES) * (end - begin))
        kernels("regular.state_spans").count_on(self.explored(), _RANGES, self._bounds, begin, end)
        self.made, self.known = made, end
