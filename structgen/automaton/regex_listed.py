"""In: a foreign automaton that has a table of all its states. Out: those that are met."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.charset import CharSet
from structgen.automaton.regex_base import Regex
from structgen.automaton.regex_blocks import NO_BLOCKS, explore_sets
from structgen.automaton.regex_nodes import Leaf, StateTable, is_listed
from structgen.automaton.regex_positions import PositionClasses, TooLargeError, classes_of
from structgen.automaton.regex_states import TableAutomaton
from structgen.jit import kernels


class ListedAutomaton(TableAutomaton):
    """States by their places in the table, plus 1."""

    def __init__(self, regex: Regex) -> None:
        """Raises TooLargeError for what has no table."""
        if not isinstance(regex, Leaf) or not is_listed(regex):
            raise TooLargeError
        state: Any = regex.state
        self._nodes, classes = _nodes(state.table, state.reads)
        super().__init__(np.array([state.number + 1], np.uint64), classes, ends=regex.nullable)

    def _find(self, state: int, count: int) -> None:
        explore_sets(self, self._nodes, NO_BLOCKS, state, self.found + count)

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        places = self.states[begin:end, 0].astype(np.int64) - 1
        found: npt.NDArray[np.bool_] = self._nodes.ends[places] != 0
        return found


@lru_cache(maxsize=16)
def _nodes(table_of: Any, reads: tuple[CharSet, ...]) -> tuple[Any, PositionClasses]:
    """The table as `kernels.blocks.Nodes`, and the classes of characters that are its columns."""
    table: StateTable = table_of()
    classes = classes_of([None, *reads])
    moves = np.full((len(table.ends), len(classes.letters)), -1, np.int32)
    for place, letter in enumerate(classes.letters.tolist()):
        for column, chars in enumerate(reads):
            if letter in chars:
                moves[:, place] = table.moves[:, column]
    known, block = np.ones(len(moves), np.uint8), np.zeros(len(moves), np.int32)
    return kernels("blocks").Nodes(moves, known, table.ends, block), classes
