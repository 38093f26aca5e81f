"""Stretches of a list of pieces of text, for `%regex {"substring_words": ...}` and the like.

A suffix automaton (A. Blumer et al., "The smallest automaton recognizing the subwords of a text",
1985) knows which pieces may follow; it has two states for each piece at most. Within a piece its
characters are read one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structgen.regular.charset import CharSet
from structgen.regular.regex import Regex, sub_automaton


def substrings(pieces: Sequence[str]) -> Regex:
    """Any number of neighbouring pieces, none of them cut; also none at all."""
    return sub_automaton(Stretch(SuffixAutomaton(pieces), frozenset({("", 0)})))


class SuffixAutomaton:
    """The pieces that may follow in each state, with the state behind each; state 0 is the start.

    Built piece by piece; all states are such that a stretch may end there.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self.nexts: list[dict[str, int]] = [{}]
        self._links, self._lengths = [-1], [0]
        last = 0
        for piece in pieces:
            if piece:
                last = self._extended(last, piece)

    def _extended(self, last: int, piece: str) -> int:
        """Add a piece behind those so far, which lead to `last`: the state behind it."""
        nexts, links, lengths = self.nexts, self._links, self._lengths
        here = self._new({}, 0, lengths[last] + 1)
        at = last
        while at >= 0 and piece not in nexts[at]:
            nexts[at][piece] = here
            at = links[at]
        if at >= 0:
            known = nexts[at][piece]
            links[here] = known
            if lengths[at] + 1 != lengths[known]:  # it stands for longer stretches: split it
                short = self._new(dict(nexts[known]), links[known], lengths[at] + 1)
                while at >= 0 and nexts[at].get(piece) == known:
                    nexts[at][piece] = short
                    at = links[at]
                links[known] = links[here] = short
        return here

    def _new(self, nexts: dict[str, int], link: int, length: int) -> int:
        self.nexts.append(nexts)
        self._links.append(link)
        self._lengths.append(length)
        return len(self.nexts) - 1


@dataclass(frozen=True)
class Stretch:
    """A state within a stretch: a `SubAutomatonState`.

    places: what is left of the piece that is being read, and the state behind it.
    """

    automaton: SuffixAutomaton
    places: frozenset[tuple[str, int]]

    @property
    def nullable(self) -> bool:
        """Whether a piece ends here."""
        return any(not rest for rest, _ in self.places)

    @property
    def shortest(self) -> int:
        """Characters to the nearest end of a piece."""
        return min(len(rest) for rest, _ in self.places)

    def moves(self) -> list[tuple[CharSet, Stretch]]:
        """The states behind each character that may come."""
        after: dict[str, set[tuple[str, int]]] = {}
        for rest, state in self.places:
            ways = [(rest, state)] if rest else self.automaton.nexts[state].items()
            for text, to in ways:
                after.setdefault(text[0], set()).add((text[1:], to))
        return [
            (CharSet.of([(ord(c), ord(c))]), Stretch(self.automaton, frozenset(places)))
            for c, places in after.items()
        ]
