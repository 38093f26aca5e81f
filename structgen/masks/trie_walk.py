"""Walk a vocabulary's trie with a byte automaton whose transitions are rows of a table.

For automata that are not the pushdown automaton (scans, products, embedded specs): their positions
are states with rows int32[256] of targets, filled when a walk first needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Row
from structgen.kernels.build.loader import kernels
from structgen.masks.shared import shared_masks
from structgen.util.cached import per_object

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary

ROOT = -1  #: above all nodes

Ints = npt.NDArray[np.int32]
Filled = npt.NDArray[np.uint8]
ByteSet = frozenset[int]
Rows = Callable[[], tuple[Ints, Filled]]


class TrieWalk:
    """Walks of the trie of one vocabulary.

    words: 32-bit words of a mask row. trie: that of the vocabulary. nodes: its arrays for kernels.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        self.words = vocabulary.words
        self.trie, self.nodes = trie, shared_masks(vocabulary).nodes
        self._spread = kernels("masks.lexeme_walk").set_duplicates
        self._scan = kernels("trie.scan").walk_scan
        self._depth = trie.max_depth
        self._candidates: dict[tuple[ByteSet, ByteSet], Candidates] = {}

    def paths(self, nodes: Ints, top: int = ROOT) -> list[bytes]:
        """The bytes from a node down to each of some below it, which are in ascending order."""
        above = int(self.trie.depth[top]) if top != ROOT else 0
        ends = np.cumsum(self.trie.depth[nodes] - above, dtype=np.int64)
        begins = np.concatenate(([0], ends))[: len(nodes)]
        data = bytearray(int(ends[-1]) if len(ends) else 0)
        path, written = np.empty(self._depth, np.uint8), np.frombuffer(data, np.uint8)
        kernels("trie.paths").write_paths(self.nodes, top, nodes, begins, path, written)
        whole, bounds = bytes(data), zip(begins.tolist(), ends.tolist(), strict=True)
        return [whole[begin:end] for begin, end in bounds]

    def candidates(self, lasts: ByteSet, firsts: ByteSet) -> Candidates:
        """The nodes with a byte of `lasts` that have a child with a byte of `firsts`."""
        found = self._candidates.get((lasts, firsts))
        if found is None:
            marks = np.zeros(len(self.trie), np.uint8)
            path = np.empty(self._depth + 1, np.int32)
            kernels("trie.paths").mark_between(
                self.nodes, _flags(lasts), _flags(firsts), path, marks
            )
            nodes = np.flatnonzero(marks.view(np.bool_)).astype(np.int32)
            found = self._candidates[lasts, firsts] = Candidates(self, nodes)
        return found

    def spread(self, row: Row) -> None:
        """Set the bits of duplicates: tokens with the same bytes as one whose bit is set."""
        self._spread(self.nodes, row)

    def forbid(self, row: Row, node: int) -> None:
        """Clear the bit of the token that ends at a node, if one does."""
        token = int(self.trie.token[node])
        if token >= 0:
            row.view(np.uint32)[token >> 5] &= np.uint32(~(1 << (token & 31)) & 0xFFFFFFFF)

    def reached(
        self, rows: Rows, fill: Callable[[int], None], at: int, node: int, row: Row
    ) -> tuple[Ints, Ints]:
        """OR into `row` the tokens below `node` that can be read from state `at`.

        rows: returns the table as it is now, int32[S, 256], and which rows are filled, uint8[S].
        fill: fills the row of a state. Returns the nodes below `node` that are reached (ascending),
        and the state after each.
        """
        end = int(self.trie.end[node]) if node >= 0 else len(self.trie)
        reach = np.full(end - node - 1, -1, np.int32)
        stack = np.zeros(self._depth + 2, np.int32)
        stack[0] = at
        while (missing := self._scan(*rows(), self.nodes, node, row, reach, stack)) >= 0:
            fill(missing)
        after = np.flatnonzero(reach >= 0)
        return (after + node + 1).astype(np.int32), reach[after]


class Candidates:
    """Some nodes of a trie (int32[n], ascending), and a vocabulary of their paths."""

    def __init__(self, walk: TrieWalk, nodes: Ints) -> None:
        self.nodes = nodes
        self._walk = walk
        self._vocabulary: Vocabulary | None = None

    @property
    def few(self) -> bool:
        """Whether they are so few that a walk of their own pays."""
        return 4 * len(self.nodes) <= len(self._walk.trie)

    @property
    def vocabulary(self) -> Vocabulary:
        """A vocabulary whose token i is the path to `nodes[i]`; there must be some nodes."""
        if self._vocabulary is None:
            from structgen.vocabulary.vocabulary import Vocabulary

            self._vocabulary = Vocabulary(self._walk.paths(self.nodes))
        return self._vocabulary


def _flags(of: ByteSet) -> npt.NDArray[np.uint8]:
    flags = np.zeros(256, np.uint8)
    flags[sorted(of)] = 1
    return flags


#: The `TrieWalk` of a vocabulary, made once.
trie_walk = per_object(TrieWalk)
