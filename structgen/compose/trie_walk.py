"""In: the rows of a byte automaton, a vocabulary. Out: the tokens it reads, where nodes lead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.automaton import Row
from structgen.jit import kernels

if TYPE_CHECKING:
    from structgen.tokens.vocabulary import Vocabulary

Ints = npt.NDArray[np.int32]
Filled = npt.NDArray[np.uint8]
Rows = Callable[[], tuple[Ints, Filled]]


class TrieWalk:
    """Walks the trie of one vocabulary.

    words: int32 words of a row. nodes: the trie as kernels take it.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        walk = kernels("walk")
        trie = vocabulary.trie
        self.words = vocabulary.words
        self.nodes: Any = walk.Nodes(*(np.asarray(getattr(trie, f)) for f in walk.Nodes._fields))
        self._spread = walk.spread
        self._scan = kernels("scan").walk_scan
        self._depth = trie.max_depth

    def spread(self, row: Row) -> None:
        """Give tokens with the same bytes the same bits."""
        self._spread(self.nodes, row)

    def reached(
        self, rows: Rows, fill: Callable[[int], None], at: int, node: int, row: Row
    ) -> tuple[Ints, Ints]:
        """Or the tokens below `node` that state `at` reads into `row`.

        rows: the rows as they are now, and which of them are there; fill: makes a row. Returns the
        nodes below `node` that are reached (ascending), and the state after each.
        """
        end = int(self.nodes.end[node]) if node >= 0 else len(self.nodes.byte)
        reach = np.full(end - node - 1, -1, np.int32)
        stack = np.zeros(self._depth + 2, np.int32)
        stack[0] = at
        while (missing := self._scan(*rows(), self.nodes, node, row, reach, stack)) >= 0:
            fill(missing)
        after = np.flatnonzero(reach >= 0)
        return (after + node + 1).astype(np.int32), reach[after]
