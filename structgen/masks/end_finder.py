"""Find where texts of an automaton can end inside tokens, when another text follows them.

A token that holds the end of a part and the beginning of the next is rare. So the few beginnings of
tokens at which that could be, by the bytes on both sides, are a small vocabulary of their own, and
the automaton walks that instead of the whole trie.
"""

from __future__ import annotations

import numpy as np

from structgen.automata.interface import Automaton
from structgen.masks.registry import masks_of
from structgen.masks.trie_walk import ByteSet, Ints, TrieWalk


class EndFinder:
    """Finds where texts of one automaton end inside tokens, if a byte of `firsts` follows there.

    lasts: bytes that such texts may end with. Nodes are those of the vocabulary of `walk`.
    """

    def __init__(
        self, automaton: Automaton, walk: TrieWalk, lasts: ByteSet, firsts: ByteSet
    ) -> None:
        self._candidates = walk.candidates(lasts, firsts)
        self._nodes = self._candidates.nodes
        self.pays = self._candidates.few
        if self.pays and len(self._nodes):
            vocabulary = self._candidates.vocabulary
            self._tokens = vocabulary.trie.token
            self._masks = masks_of(automaton, vocabulary)
            self._row = np.zeros(vocabulary.words, np.int32)

    def ends(self, at: int) -> Ints:
        """The nodes, ascending, whose bytes lead from `at` to an end."""
        if not len(self._nodes):
            return self._nodes
        token = self._tokens[self._masks.below(at, -1, self._row)]
        found: Ints = np.sort(self._nodes[token[token >= 0]])
        return found
