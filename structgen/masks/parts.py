"""The parts of masks that depend on less than a whole position, and are therefore kept.

A `LexemeMask` depends on a lexer state only. `CharacterCounts` depend on the vocabulary only: with
them the lexeme mask of a string whose length is bounded follows from that of a free string.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Row
from structgen.automata.pushdown.tables import PackedArrays
from structgen.kernels.build.loader import kernels

_NBYTES = attrgetter("nbytes")
# Bytes of what holds the items of arrays: objects, addresses, the key of a mask.
OBJECTS, ENDS_OBJECTS = 500, 2000  # of a mask; of its lexeme ends, where it has some


def _packed(lexeme_ends: Any) -> PackedArrays:
    """The lexeme ends' arrays where kernels read them, with room for boundary tokens behind."""
    count = len(lexeme_ends) + len(kernels("masks.boundary_tokens").BoundaryTokens._fields)
    packed = PackedArrays(count)
    kernels("masks.entry_points").store_lexeme_ends(lexeme_ends, packed.address)
    return packed


@cache
def _no_lexeme_ends() -> tuple[Any, PackedArrays]:
    """The lexeme ends of a state in which no token ends the lexeme."""
    sizes = {"before": np.uint8, "text": np.uint8}
    names = kernels("masks.lexeme_walk").LexemeEnds._fields
    arrays = [np.zeros(int(name == "start"), sizes.get(name, np.int32)) for name in names]
    none = kernels("masks.lexeme_walk").LexemeEnds(*arrays)
    return none, _packed(none)


class LexemeMask:
    """The tokens that a lexer state allows by itself, and where tokens leave the lexeme.

    row: int32[words], the tokens that stay inside the lexeme. lexeme_ends: one entry per trie node
    at which a token's bytes end it, see `kernels.masks.lexeme_walk`. boundary_tokens: what lies
    below these nodes, sorted by the byte read next (`kernels.masks.boundary_tokens`); None as long
    as it is not sorted, and then kernels walk below each node. address: where kernels find the last
    two.
    """

    def __init__(self, row: Row, lexeme_ends: Any | None = None) -> None:
        self.row = row
        self.boundary_tokens: Any = None
        self.is_shared = False  #: whether it is that of a state that all specs share
        self.nbytes = row.nbytes + OBJECTS  #: bytes of all arrays, and of what holds them
        if lexeme_ends is not None and len(lexeme_ends.node):
            self.lexeme_ends, self._packed = lexeme_ends, _packed(lexeme_ends)
            self.nbytes += sum(map(_NBYTES, lexeme_ends)) + ENDS_OBJECTS
        else:
            self.lexeme_ends, self._packed = _no_lexeme_ends()
        self.address = self._packed.address

    def sort_boundary_tokens(self, nodes: Any) -> None:
        """Sort what tokens read behind the lexeme by its first byte. nodes: those of the trie.

        It pays for masks that many positions use: each of them then walks only below the bytes that
        can follow there.
        """
        ends, end_column = self.lexeme_ends, kernels("trie.nodes").NODE_END
        if self.boundary_tokens is not None or not len(ends.node):
            return
        # At most one entry for each node below: where the lexeme ends before the node's own byte,
        # the node itself, else its children.
        sizes = np.where(ends.before, 1, nodes.at[ends.node, end_column] - ends.node)
        room = int(sizes.sum())
        terminals = np.array(sorted({*ends.label.tolist()}), ends.label.dtype)
        found = kernels("masks.boundary_tokens").BoundaryTokens(
            label=terminals,
            first=np.zeros(256 * len(terminals) + 1, np.int32),
            node=np.zeros(room, np.int32),
            end=np.zeros(room, np.int32),
            token=np.zeros(room, np.int32),
            ended=np.zeros(len(ends.node), np.int32),
            ends=np.zeros(len(terminals) + 1, np.int32),
        )
        kernels("masks.boundary_tokens").sort_by_next_byte(nodes, ends, found)
        entries, ended = int(found.first[-1]), int(found.ends[-1])
        used = {name: getattr(found, name)[:entries].copy() for name in ("node", "end", "token")}
        self.boundary_tokens = found._replace(**used, ended=found.ended[:ended].copy())
        self.nbytes += sum(array.nbytes for array in self.boundary_tokens)
        kernels("masks.entry_points").store_boundary_tokens(self.boundary_tokens, self.address)


class CharacterCounts(NamedTuple):
    """How many characters of a free string have begun, by trie node and by token.

    started: int32[nodes], at each node of the trie. most: int32[32 * words], by token id; the
    largest int32 for ids without text.
    """

    started: npt.NDArray[np.int32]
    most: npt.NDArray[np.int32]
