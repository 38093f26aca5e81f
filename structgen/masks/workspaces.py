"""In: a vocabulary's trie. Out: rooms to work in, each with one walker at a time, used again.

A walk of the trie needs arrays, and the trie written down as kernels have it. Making these takes
longer than most walks do, so they go from one walker to the next.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from structgen.automata.pushdown.tables import PackedArrays
from structgen.kernels.build.loader import kernels

SPARE = 8  # rooms that are kept for who comes next


class Workspace:
    """`kernels.masks.entry_points.Scratch`, and the address at which it stands behind the trie."""

    def __init__(self, nodes: object, words: int, depth: int) -> None:
        doors = kernels("masks.entry_points")
        self.scratch = doors.Scratch(
            rest=np.zeros(4096, np.uint8),
            rests=np.zeros(512, np.int64),
            bits=np.zeros(words, np.int32),
            touched=np.zeros(words + 1, np.int32),
            changed=np.zeros(2 * words, np.int32),
            stack=np.zeros(2 * depth + 6, np.int64),
        )
        self._nodes = nodes  # lives as long as its address is in use
        self._written = PackedArrays(len(doors.Nodes._fields) + len(self.scratch))
        self.address = self._written.address
        doors.keep_nodes(nodes, self.scratch, self.address)


class Workspaces:
    """The rooms of one vocabulary. Safe to use from many threads."""

    def __init__(self, nodes: object, words: int, depth: int) -> None:
        self._made_of = nodes, words, depth
        self._spare: deque[Workspace] = deque(maxlen=SPARE)

    def take(self) -> Workspace:
        """A room that nobody else has until it is given back."""
        try:
            return self._spare.pop()
        except IndexError:
            return Workspace(*self._made_of)

    def give(self, room: Workspace) -> None:
        """Take a room back. What a walk that was broken off left in it does no harm."""
        self._spare.append(room)  # the one given back first makes way
