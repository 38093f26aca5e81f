"""In: a grammar's automaton and a vocabulary. Out: mask rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.automaton import Masks, Row
from structgen.jit import kernels

if TYPE_CHECKING:
    from structgen.grammar.automaton import GrammarAutomaton
    from structgen.tokens.vocabulary import Vocabulary


class GrammarMasks(Masks):
    """The token masks of a grammar."""

    def __init__(self, automaton: GrammarAutomaton, vocabulary: Vocabulary) -> None:
        self._automaton = automaton
        self._walk = kernels("grammar_walk")
        self._spread = kernels("walk").spread
        trie = vocabulary.trie
        fields = kernels("walk").Nodes._fields
        self._nodes: Any = kernels("walk").Nodes(*(getattr(trie, name) for name in fields))
        self._words = vocabulary.words
        self._depth = trie.max_depth

    def row(self, at: int) -> Row:
        """See `Masks.row`."""
        row = np.zeros(self._words, np.int32)
        self._walked(at, -1, row, np.zeros(0, np.int32))
        self._spread(self._nodes, row)
        return row

    def below(self, at: int, node: int, row: Row) -> npt.NDArray[np.int32]:
        """See `Masks.below`."""
        return self._walked(at, node, row, np.zeros(64, np.int32))

    def _walked(
        self, at: int, node: int, row: Row, ends: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.int32]:
        stack = np.zeros(self._depth + 4, np.int64)
        stack[0], stack[-3] = at, node + 1
        while True:
            tables = self._automaton.tables
            code = self._walk.walk_below(tables, self._nodes, node, row, ends, stack)
            if code == 0:
                return ends[: stack[-2]].copy()
            if code == self._walk.ENDS_FULL:
                ends = np.concatenate((ends, np.zeros_like(ends)))
            else:
                self._automaton.serve(code)
