"""`SuffixArray`: counts what follows any string of some texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.generation.speculation.drafters.suffix.occurrences import END

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
