"""Token masks of a grammar: tokens that stay inside lexemes, and those that cross their ends.

What tokens do within a lexer state does not depend on the stacks, so it is computed once for each
(trie of tokens, lexer state) as a *part*: which tokens stay within the lexeme, and for each way in
which the lexeme can end the trie of what is left of the tokens that cross the end. A mask joins the
parts of its threads and, behind each end that the stacks allow, those of the tries there
(`kernels.grammar_masks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Masks, Row
from structgen.automata.pushdown.tables import PackedArrays
from structgen.kernels.build.loader import kernels
from structgen.masks.shared import shared_masks
from structgen.regular.byte_groups import groups
from structgen.util.arrays import paged

if TYPE_CHECKING:
    from structgen.grammar.automaton.automaton import GrammarAutomaton
    from structgen.vocabulary.vocabulary import Vocabulary

MAX_BYTES = 256 << 20  # of parts of rows kept for one grammar
SMALL_TRIE = 12  # nodes; tries below are walked node by node
LARGE_STRETCH = 256  # nodes; stretches of a trie from here on are not merged with others
SPARSE_ROW = 1024  # tokens; rows with fewer are kept as lists
NOTED_WALK = 32, 2048  # nodes; what a walk below so many has found is noted
LARGE_TRIE = 4096  # nodes; from here on parts are made terminal by terminal
PATIENCE = 1 << 13  # nodes read to make parts, before the trie is walked at once instead
ENOUGH = 1 << 14  # nodes; a part that takes as many to make is not made
MANY_RECORDS = 1 << 10  # that one mask makes; from here on the tops of stacks are read first
NEVER_MANY = 1 << 40  # records
MANY_TOPS = 1 << 18  # ints in records of tops; from here on one way to read a token is tried first
MOST_MODELS = 32  # states within lexemes whose rows serve others


class GrammarMasks(Masks):
    """The token masks of a grammar."""

    def __init__(self, automaton: GrammarAutomaton, vocabulary: Vocabulary) -> None:
        self._automaton = automaton
        self._walk = kernels("grammar_masks.byte_walk")
        self._tries_of = kernels("grammar_masks.tries")
        self._entry_points = kernels("grammar.entry_points")
        self._spread = kernels("masks.lexeme_walk").set_duplicates
        self._common = shared_masks(vocabulary)
        self._nodes, self._subtrees = self._common.nodes, self._common.subtrees
        self._words = vocabulary.words
        self._trie, self._depth = vocabulary.trie, vocabulary.trie.max_depth
        # Tops are read one by one; a terminal that commits would not end what is read beside it.
        self._many_records = NEVER_MANY if automaton.commits else MANY_RECORDS
        self._begin()

    @property
    def _parts(self) -> Any:
        """The arrays that kernels read and write, `kernels.grammar_masks.tries.Parts`."""
        return self._kept

    @_parts.setter
    def _parts(self, parts: Any) -> None:
        self._kept, self._written = parts, PackedArrays(len(parts))
        self._entry_points.keep_parts(parts, self._written.address)

    def _begin(self) -> None:
        """Forget all parts and begin with small arrays."""
        k, trie = self._tries_of, self._trie
        nodes = len(trie)
        sizes = np.zeros(k.SIZE_COUNT, np.int64)
        sizes[[k.LARGE, k.SPARSE, k.SMALL]] = LARGE_STRETCH, SPARSE_ROW, SMALL_TRIE
        sizes[k.CLUSTERED] = LARGE_TRIE
        sizes[[k.FEW, k.MANY]] = NOTED_WALK
        sizes[[k.TRIES, k.MANY_TOPS]] = 1, MANY_TOPS
        sizes[[k.PATIENCE, k.ENOUGH]] = PATIENCE, max(PATIENCE, ENOUGH)
        tries = paged(1 << 14, 4)
        tries[0] = 0, 0, nodes, 0
        room = max(1 << 15, 2 * nodes)
        self._parts = k.Parts(
            byte=trie.byte,
            depth=trie.depth,
            end=trie.end,
            token=trie.token,
            beneath=self._common.characters_below,
            before=self._subtrees.first,
            order=self._subtrees.order,
            group=groups(),
            follow=self._automaton.follow,
            competing=self._automaton.competing,
            sub_byte=paged(room // 4).view(np.uint8),
            sub_depth=paged(room),
            sub_end=paged(room),
            sub_start=paged(room),
            sub_token=paged(room),
            tries=tries,
            parts=paged(1 << 14, 5),
            lists=paged(2 * room),
            dense=paged(512, self._words),
            memo=np.full((1 << 12, 2), -1, np.int64),
            segments=paged(1 << 14, 4),
            groups=np.zeros((256, 2), np.int32),
            links=paged(1 << 14, 4),
            cuts=paged(1 << 14, 2),
            stack=np.zeros(4 * (self._depth + 4), np.int64),
            scratch=np.zeros(self._words, np.int32),
            places=np.zeros(1 << 12, np.int64),
            models=np.zeros((MOST_MODELS, 4), np.int32),
            walks=paged(8 * room),
            sizes=sizes,
        )

    def row(self, at: int) -> Row:
        """See `Masks.row`."""
        k, row = self._tries_of, np.zeros(self._words, np.int32)
        sizes = self._parts.sizes
        sizes[[k.EFFORT, k.STOPPED]] = 0
        old = int(self._automaton.tables.info[self._automaton._k.RECORDS])
        sizes[[k.OLD_RECORDS, k.NEW_RECORDS]] = old, old + self._many_records
        while True:
            tables = self._automaton.tables_at
            code = int(self._entry_points.mask(tables, self._written.address, at, row))
            if code >= 0:
                break
            if code == k.NEED_ROOM:
                self._grow()
            else:
                self._automaton.fill_on_demand(code)
        if len(self._nodes.extra_node):  # tokens that repeat the bytes of another one
            self._spread(self._nodes, row)
        return row

    def _grow(self) -> None:
        """Double the array of parts that is full; begin anew when all take more than MAX_BYTES."""
        k, p = self._tries_of, self._parts
        if self.nbytes > MAX_BYTES:
            self._begin()
            return
        if p.sizes[k.FULL] == k.MEMO:
            memo = np.full((4 * len(p.memo), 2), -1, np.int64)
            kernels("tables").rehash(p.memo, memo)
            self._parts = p._replace(memo=memo)
            return
        names = [name for what, name in self._filled() if what == p.sizes[k.FULL]]
        self._parts = p._replace(**{name: _doubled(getattr(p, name)) for name in names})

    @property
    def nbytes(self) -> int:
        """See `Masks.nbytes`."""
        p = self._parts
        used = ((getattr(p, name), int(p.sizes[what])) for what, name in self._filled())
        return int(p.memo.nbytes + sum(array[:1].nbytes * count for array, count in used))

    def _filled(self) -> list[tuple[int, str]]:
        """The arrays that fill up, each with the index in `sizes` of its fill count."""
        k = self._tries_of
        nodes = ("sub_byte", "sub_depth", "sub_end", "sub_start")
        others = {k.TRIES: "tries", k.PARTS: "parts", k.LISTS: "lists", k.DENSE: "dense",
                  k.TOKENS: "sub_token", k.SEGMENTS: "segments", k.GROUPS: "groups",
                  k.LINKS: "links", k.CUTS: "cuts", k.PLACES: "places",
                  k.WALKS: "walks"}  # fmt: skip
        return [*((k.NODES, name) for name in nodes), *others.items()]

    def below(self, at: int, node: int, row: Row) -> npt.NDArray[np.int32]:
        """See `Masks.below`."""
        return self._walked(at, node, row, np.zeros(64, np.int32))

    def _walked(
        self, at: int, node: int, row: Row, ends: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.int32]:
        """Walk the trie below a node; the nodes at which the text may end, if `ends` has room."""
        stack = np.zeros(self._depth + 4, np.int64)
        stack[0], stack[-3] = at, node + 1
        while True:
            tables = self._automaton.tables
            code = self._walk.walk_below(tables, self._nodes, node, row, ends, stack)
            if code == 0:
                return ends[: stack[-2]].copy()
            if code == kernels("masks.byte_walk").ENDS_FULL:
                ends = np.concatenate((ends, np.zeros_like(ends)))
            else:
                self._automaton.fill_on_demand(int(code))


def _doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array with as much room again behind what it holds."""
    words = array.view(np.int32)
    larger = paged(2 * len(words), *words.shape[1:])
    larger[: len(words)] = words
    return larger.view(array.dtype)
