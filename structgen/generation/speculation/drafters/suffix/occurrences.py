"""`Occurrences`: what followed the same tokens before, and how often, token by token.

A suffix trie whose nodes are made on demand: a node is the list of the positions where its string
occurs, so its count is their number. Appending a token costs O(1).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

END = -1  # stands between two texts; it is never a token


class Positions(list[int]):
    """Positions of one string: indices into `tokens` of the token after it."""

    following: dict[int, Positions] | None = None  # once it was asked for


class Match(NamedTuple):
    """The longest string with these positions: its length in tokens, and the positions."""

    length: int
    positions: Positions


class Occurrences:
    """Where strings of tokens occur in what was appended.

    Each position is found under a key: usually the token before it, or whatever `append` was given
    (such as the class of the automaton's state there). depth: the longest match that is
    distinguished.
    most: only so many of the last positions of a key are looked at; None: all.
    """

    def __init__(self, depth: int = 16, most: int | None = 64) -> None:
        self.tokens: list[int] = []
        self.depth = depth
        self._most = most
        self._positions: dict[Hashable, list[int]] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def mark(self, key: Hashable) -> None:
        """File the token that is appended next under `key`."""
        self._positions.setdefault(key, []).append(len(self.tokens))

    def append(self, token: int) -> None:
        """Append a token; END between texts."""
        self.tokens.append(token)

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens; each position is found under the token before it."""
        for token in tokens:
            self.tokens.append(token)
            self._positions.setdefault(token, []).append(len(self.tokens))

    def matches(self, key: Hashable, before: Sequence[int]) -> list[Match]:
        """The positions under `key`, of these the ones after the last token of `before`, and so on.

        before: all tokens so far, of which the last `depth` count; the length of a match is the
        number of those that are the same. The longest match comes first; of matches with the same
        positions only the longest is given.
        """
        size = len(self.tokens)
        found = self._positions.get(key)
        if found is None:
            return []
        positions = Positions(found[-self._most :] if self._most else found)
        if positions and positions[-1] == size:
            positions.pop()  # nothing has followed the last position yet
        matches: list[Match] = []
        length, tokens = 0, self.tokens
        while positions:
            while matches and len(matches[-1].positions) == len(positions):
                matches.pop()
            matches.append(Match(length, positions))
            length += 1
            if length > min(self.depth, len(before)):
                break
            token = before[-length]
            positions = Positions(
                [p for p in positions if p >= length and tokens[p - length] == token]
            )
        return matches[::-1]

    def following(self, positions: Positions) -> dict[int, Positions]:
        """What comes next: for each token that follows, the positions after it; computed once.

        The numbers of positions are the counts; a position at the end of a text counts for END.
        """
        if positions.following is None:
            tokens, size = self.tokens, len(self.tokens)
            found: dict[int, Positions] = {}
            for position in positions:
                token = tokens[position] if position < size else END
                behind = found.get(token)
                if behind is None:
                    behind = found[token] = Positions()
                behind.append(position + 1)
            positions.following = found
        return positions.following

    @staticmethod
    def count(positions: Positions) -> int:
        """How often the string with these positions occurs."""
        return len(positions)
