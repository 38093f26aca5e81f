"""In: a foreign automaton that has a table of all its states. Out: these as a block of others."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any, cast

import numpy as np

from structgen.kernels.build.loader import kernels
from structgen.regular.expressions.base import Regex
from structgen.regular.expressions.nodes import StateTable
from structgen.regular.lazy_dfa.positions import PositionClasses, classes_of
from structgen.regular.lazy_dfa.states import Array, anything


class Listed:
    """All states of a foreign automaton, found as they are listed. See `regex_blocks.Block`."""

    is_quick = True

    def __init__(self, moves: Array, ends: Array, classes: PositionClasses) -> None:
        """moves: int32[S, C], by class of characters; ends: uint8[S]."""
        count = len(ends)
        self.lock = threading.Lock()
        self.classes, self.ends = classes, ends
        self.search = kernels("regular.glushkov").Search(
            moves=moves,
            came=np.zeros((count, 2), np.int32),
            table=np.zeros(0, np.int32),
            order=np.arange(count, dtype=np.int32),
            queue=np.ones(count, np.uint8),
            sizes=np.full(3, count, np.int64),
        )

    def find(self, state: int, count: int) -> None:
        """See `Block`: all are found."""

    def ahead(self, begin: int, end: int) -> Any:
        """See `Block`."""
        return anything(end - begin)


@lru_cache(maxsize=16)
def listed(leaf: Regex) -> Listed:
    """The states of a leaf for which `is_listed` holds."""
    state = cast(Any, leaf).state
    table: StateTable = state.table()
    start, order = int(state.number), np.arange(len(table.ends), dtype=np.int32)
    order[[0, start]] = start, 0  # the start is the first one
    classes = classes_of([None, *state.reads])
    moves = np.full((len(order), len(classes.letters)), -1, np.int32)
    for place, letter in enumerate(classes.letters.tolist()):
        for column, chars in enumerate(state.reads):
            if letter in chars:
                to = table.moves[order, column]
                moves[:, place] = np.where(to < 0, to, order[to])
    return Listed(moves, table.ends[order], classes)
