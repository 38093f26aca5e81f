"""In: tokens, one by one. Out: Occurrences: what followed the same tokens before, and how often.

A suffix trie whose nodes are made when they are asked for: a node is the list of the places where
its string occurs, so its count is their number. Appending a token costs O(1).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

END = -1  # stands between two texts; it is never a token


class Places(list[int]):
    """Places of one string: indices into `tokens` of what comes behind it."""

    following: dict[int, Places] | None = None  # once it was asked for


class Match(NamedTuple):
    """The longest string with these places: its length in tokens, and the places."""

    length: int
    places: Places


class Occurrences:
    """Where strings of tokens occur in what was appended.

    Each place is found under a key: usually the token before it, or whatever `append` was given
    (such as the class of the automaton's state there). depth: the longest match that is told apart.
    most: only so many of the last places of a key are looked at; None: all.
    """

    def __init__(self, depth: int = 16, most: int | None = 64) -> None:
        self.tokens: list[int] = []
        self.depth = depth
        self._most = most
        self._places: dict[Hashable, list[int]] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def mark(self, key: Hashable) -> None:
        """What is appended next can be found under `key`."""
        self._places.setdefault(key, []).append(len(self.tokens))

    def append(self, token: int) -> None:
        """One token more; END between texts."""
        self.tokens.append(token)

    def extend(self, tokens: Sequence[int]) -> None:
        """Tokens, each place found under the token before it."""
        for token in tokens:
            self.tokens.append(token)
            self._places.setdefault(token, []).append(len(self.tokens))

    def matches(self, key: Hashable, before: Sequence[int]) -> list[Match]:
        """The places under `key`, of these the ones behind the last token of `before`, and so on.

        before: all tokens so far, of which the last `depth` count; the length of a match is the
        number of those that are the same. The longest match comes first; of matches with the same
        places only the longest is given.
        """
        size = len(self.tokens)
        found = self._places.get(key)
        if found is None:
            return []
        places = Places(found[-self._most :] if self._most else found)
        if places and places[-1] == size:
            places.pop()  # nothing has come behind the last place yet
        matches: list[Match] = []
        length, tokens = 0, self.tokens
        while places:
            while matches and len(matches[-1].places) == len(places):
                matches.pop()
            matches.append(Match(length, places))
            length += 1
            if length > min(self.depth, len(before)):
                break
            token = before[-length]
            places = Places([p for p in places if p >= length and tokens[p - length] == token])
        return matches[::-1]

    def following(self, places: Places) -> dict[int, Places]:
        """What comes next at these places: for each token, the places behind it; worked out once.

        The numbers of places are the counts; a place at the end of a text counts for END.
        """
        if places.following is None:
            tokens, size = self.tokens, len(self.tokens)
            found: dict[int, Places] = {}
            for place in places:
                token = tokens[place] if place < size else END
                behind = found.get(token)
                if behind is None:
                    behind = found[token] = Places()
                behind.append(place + 1)
            places.following = found
        return places.following

    @staticmethod
    def count(places: Places) -> int:
        """How often the string with these places occurs."""
        return len(places)
