"""In: a set of words. Out: a language that knows which of its words has been read.

The words lie sorted in one table; a state is the interval of those that start with what was read,
so ten thousand property names cost two bisections per character.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from structgen.regular.charset import CharSet


class WordTable:
    """Sorted words with a number for each; compared by identity.

    positions: the numbers, in the order of the words. starts: what has been made of the whole
    table, by whom that concerns.
    """

    __slots__ = ("positions", "starts", "words")

    def __init__(self, places: Mapping[str, int]) -> None:
        self.words = tuple(sorted(places))
        self.positions = tuple(map(places.__getitem__, self.words))
        self.starts: dict[Hashable, Any] = {}


class WordRange(NamedTuple):
    """The words `table.words[low:high]`, whose first `depth` characters have been read."""

    table: WordTable
    low: int
    high: int
    depth: int

    @property
    def nullable(self) -> bool:
        """Whether one of the words has been read to its end."""
        return len(self.table.words[self.low]) == self.depth

    @property
    def word(self) -> str:
        """The word that has been read, when `nullable`."""
        return self.table.words[self.low]

    def moves(self) -> tuple[tuple[CharSet, WordRange], ...]:
        """Disjoint character sets and the ranges they lead to."""
        words, depth = self.table.words, self.depth
        out: list[tuple[CharSet, WordRange]] = []
        at = self.low + self.nullable
        while at < self.high:
            char = words[at][depth]
            end = bisect_right(words, char, at, self.high, key=lambda w: w[depth])
            out.append((CharSet.chars(char), WordRange(self.table, at, end, depth + 1)))
            at = end
        return tuple(out)


def word_range(places: Mapping[str, int]) -> WordRange | None:
    """The language of exactly the words that have a number, or None when there are none."""
    table = WordTable(places)
    return WordRange(table, 0, len(table.words), 0) if table.words else None


def is_spellable(word: str) -> bool:
    """Whether a text can have a word: one with unpaired surrogates is no Unicode text."""
    return word.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in word)
