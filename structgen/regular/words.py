"""The language of a sorted word list, in which each word has a number: an implicit trie.

A state is the interval of words that start with what was read, so ten thousand property names cost
two bisections per character and no nodes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from structgen.regular.charset import CharSet


class IndexedWords:
    """Sorted words with a number for each. Compared by identity.

    keys: the numbers, in the order of the words. starts: a cache for users of the table, with
    keys of their own.
    """

    __slots__ = ("keys", "starts", "words")

    def __init__(self, places: Mapping[str, int]) -> None:
        self.words = tuple(sorted(places))
        self.keys = tuple(map(places.__getitem__, self.words))
        self.starts: dict[Hashable, Any] = {}


class WordRange(NamedTuple):
    """The words `table.words[low:high]`, whose first `depth` characters have been read."""

    table: IndexedWords
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
        """The next characters, each with the interval of the words that go on with it."""
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
    table = IndexedWords(places)
    return WordRange(table, 0, len(table.words), 0) if table.words else None


def is_spellable(word: str) -> bool:
    """Whether a word is Unicode text: it has no unpaired surrogates."""
    return word.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in word)
