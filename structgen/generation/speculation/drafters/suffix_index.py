"""What followed any string of some texts, and how often.

`Occurrences` is a suffix trie whose nodes are made on demand: a node is the list of the positions
where its string occurs, so its count is their number, and appending a token costs O(1). A
`SuffixIndex` has finished texts, indexed by a `SuffixArray`, in memory or on disk.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from structgen.errors import ArtifactError, GenerationError
from structgen.util import container

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


Ints = npt.NDArray[np.int32]

_REMEMBERED = 1 << 13  # nodes whose children are kept


class Node(NamedTuple):
    """A string of `depth` tokens: entries first..last-1 of the array are its occurrences."""

    first: int
    last: int
    depth: int


class SuffixArray:
    """The positions of some texts, sorted by the `depth` tokens that follow. Immutable.

    Two threads may read it at once. Takes 8 bytes per token; building is O(n log n log depth).
    Attributes: `texts`, how many; `root`, the empty string.
    """

    def __init__(self, texts: Sequence[Ints], depth: int = 32) -> None:
        """texts: int32[] each. Strings up to `depth` tokens are distinguished."""
        self.depth = depth
        self.texts = len(texts)
        end = np.array([END], np.int32)
        parts = [part for text in texts for part in (text, end)]
        self._tokens = np.concatenate(parts) if parts else end
        self._order = _sorted(self._tokens, depth)
        self.root = Node(0, len(self._tokens), 0)
        self._children: dict[Node, dict[int, Node]] = {}

    def following(self, node: Node) -> dict[int, Node]:
        """The strings one token longer, by that token; END is where texts end."""
        found = self._children.get(node)
        if found is None:
            found = self._found(node) if node.depth < self.depth else {}
            if len(self._children) >= _REMEMBERED:
                self._children = {}
            self._children[node] = found
        return found

    def find(self, tokens: Sequence[int]) -> Node | None:
        """The node of a string, None where it does not occur."""
        node: Node | None = self.root
        for token in tokens:
            if node is None:
                break
            node = self.following(node).get(token)
        return node

    @staticmethod
    def count(node: Node) -> int:
        """How often the string occurs."""
        return node.last - node.first

    def _found(self, node: Node) -> dict[int, Node]:
        positions = self._order[node.first : node.last] + node.depth
        positions = positions[positions < len(self._tokens)]  # only the last text's end is cut off
        tokens = self._tokens[positions]
        cut = node.last - node.first - len(tokens)  # such a position sorts first
        edges = np.flatnonzero(np.diff(tokens)) + 1
        first = node.first + cut
        starts = [first, *(first + edges).tolist()] if len(tokens) else []
        ends = [*starts[1:], node.last]
        kinds = tokens[np.array(starts, np.int64) - first].tolist() if starts else []
        return {
            token: Node(a, b, node.depth + 1)
            for token, a, b in zip(kinds, starts, ends, strict=True)
        }


def _sorted(tokens: Ints, depth: int) -> Ints:
    """The positions sorted by `depth` tokens, by prefix doubling (Manber and Myers 1990)."""
    rank = np.unique(tokens, return_inverse=True)[1].astype(np.int64) + 1
    size, width = len(tokens), 1
    order = np.argsort(rank, kind="stable")
    while width < depth:
        # `rank` orders the positions by `width` tokens; the rank of the position `width` further on
        # breaks its ties, which orders them by twice as many.
        later = np.zeros(size, np.int64)
        later[:-width] = rank[width:]
        both = rank * (size + 1) + later
        order = np.argsort(both, kind="stable")
        ordered = both[order]
        fresh = np.concatenate([[1], (ordered[1:] != ordered[:-1]).astype(np.int64)])
        numbers = np.cumsum(fresh)
        rank = np.empty(size, np.int64)
        rank[order] = numbers
        width *= 2
        if numbers[-1] == size:
            break
    return order.astype(np.int32)


KIND = "suffix index 1"
MAX_TOKENS = 1 << 18
_REBUILD = 16  # the array is rebuilt when its texts have grown by a sixteenth


class SuffixIndex:
    """Texts of earlier requests, at most `max_tokens` of them; the oldest are given up first.

    Safe to share by threads: `array` is a snapshot that never changes. A new text is found once the
    array is rebuilt, which is when a sixteenth has been added, so the cost per token stays small;
    `refresh` does it now.
    """

    def __init__(self, max_tokens: int = MAX_TOKENS, depth: int = 32) -> None:
        if max_tokens < 1 or depth < 1:
            raise GenerationError(
                f"max_tokens is {max_tokens}, depth {depth}", expected="integers of 1 or more"
            )
        self.max_tokens = max_tokens
        self.depth = depth
        self._lock = threading.Lock()
        self._texts: deque[Ints] = deque()
        self._size = 0
        self._waiting = 0  # tokens that the array does not have
        self.array = SuffixArray([], depth)

    def __len__(self) -> int:
        """How many texts there are."""
        return len(self._texts)

    @property
    def size(self) -> int:
        """How many tokens the texts have, an end for each counted."""
        return self._size

    @property
    def texts(self) -> list[list[int]]:
        """The texts, the oldest first."""
        with self._lock:
            return [text.tolist() for text in self._texts]

    def add(self, tokens: Sequence[int]) -> None:
        """Add a text; only the end of one longer than the index. Empty texts are ignored."""
        text = np.array(tokens[-(self.max_tokens - 1) :] if self.max_tokens > 1 else [], np.int32)
        if not len(text):
            return
        with self._lock:
            self._texts.append(text)
            self._size += len(text) + 1
            self._waiting += len(text) + 1
            while self._size > self.max_tokens:
                self._size -= len(self._texts.popleft()) + 1
            if self._waiting * _REBUILD < self._size:
                return
        self.refresh()

    def refresh(self) -> None:
        """Make all texts findable."""
        with self._lock:
            if self._waiting:
                self.array = SuffixArray(list(self._texts), self.depth)
                self._waiting = 0

    def save(self, path: str | os.PathLike[str], vocabulary: str) -> None:
        """Write the texts to a file, all or nothing. vocabulary: its hash, which `load` checks."""
        with self._lock:
            texts = list(self._texts)
        arrays: dict[str, npt.NDArray[Any]] = {
            "tokens": np.concatenate(texts) if texts else np.zeros(0, np.int32),
            "lengths": np.array([len(text) for text in texts], np.int64),
        }
        header = {"vocabulary": vocabulary, "depth": self.depth}
        container.write(path, KIND, header, arrays)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], vocabulary: str, size: int, max_tokens: int = MAX_TOKENS
    ) -> SuffixIndex:
        """Read what `save` wrote for this vocabulary, which has `size` tokens.

        ArtifactError for a file that is missing, damaged, of another kind or another vocabulary, or
        that holds what `save` does not write. Of more than `max_tokens` the newest are kept.
        """
        header, arrays = container.read(path, KIND)
        depth, tokens, lengths = header.get("depth"), arrays.get("tokens"), arrays.get("lengths")
        if header.get("vocabulary") != vocabulary:
            _refuse(path, "the file was written for another vocabulary")
        if type(depth) is not int or not 1 <= depth <= 1024:
            _refuse(path, f"depth is {depth!r:.40}")
        if tokens is None or tokens.dtype != np.int32 or tokens.ndim != 1:
            _refuse(path, "the tokens are not int32[n]")
        if lengths is None or lengths.dtype != np.int64 or lengths.ndim != 1:
            _refuse(path, "the lengths are not int64[n]")
        if len(tokens) and not 0 <= tokens.min() <= tokens.max() < size:
            _refuse(path, "there are tokens that the vocabulary does not have")
        if len(lengths) and (lengths.min() < 1 or lengths.max() > len(tokens)):
            _refuse(path, "the lengths do not fit the tokens")
        if sum(lengths.tolist()) != len(tokens):
            _refuse(path, "the lengths do not fit the tokens")
        index = cls(max_tokens, depth)
        ends = np.cumsum(lengths)
        for length, end in zip(lengths.tolist(), ends.tolist(), strict=True):
            text = np.array(tokens[max(end - length, end - max_tokens + 1) : end], np.int32)
            if len(text):
                index._texts.append(text)
                index._size += len(text) + 1
        while index._size > max_tokens:
            index._size -= len(index._texts.popleft()) + 1
        index._waiting = index._size
        index.refresh()
        return index


def _refuse(path: str | os.PathLike[str], problem: str) -> NoReturn:
    raise ArtifactError(
        problem,
        location=os.fspath(path),
        expected="a suffix index saved for this vocabulary",
        hint="remove the file; the index fills again as texts are written",
    )
