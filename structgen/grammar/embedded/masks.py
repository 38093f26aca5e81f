"""Token masks of a grammar with embedded specs: joins those of the grammar and of the specs.

Within the text of a spec the tokens are those of the spec's own masks. Where it may end inside a
token, at a node of the vocabulary's trie, the grammar goes on from that node, and where another
spec may begin, that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structgen.automata.interface import Masks, Row
from structgen.kernels.build.loader import kernels
from structgen.masks.end_finder import EndFinder
from structgen.masks.registry import masks_of
from structgen.masks.shared import shared_masks
from structgen.masks.trie_walk import ROOT, Ints, trie_walk
from structgen.spec.base import ANY_BYTE

if TYPE_CHECKING:
    from structgen.grammar.embedded.automaton import NestingAutomaton
    from structgen.grammar.embedded.reader import OpenText
    from structgen.vocabulary.vocabulary import Vocabulary

MANY = 32  # nodes from which it pays to look which of them matter

Reader = tuple[int, "OpenText | None"]  # a position of the grammar's own automaton, or a text
Ends = list[tuple[int, int]]  # node, position of the grammar's own automaton behind it


class NestingMasks(Masks):
    """The token masks of a grammar with embedded specs."""

    def __init__(self, automaton: NestingAutomaton, vocabulary: Vocabulary) -> None:
        self._automaton = automaton
        self._vocabulary = vocabulary
        self._walk = trie_walk(vocabulary)
        self._outer = masks_of(automaton.outer, vocabulary)
        self._inner = [masks_of(inner.automaton, vocabulary) for inner in automaton.inners]
        self._has_texts = [bool(inner.firsts) for inner in automaton.inners]  # tokens have none
        self._firsts: dict[int, frozenset[int]] = {}
        self._finders: dict[tuple[int, frozenset[int]], EndFinder] = {}
        self._find = _EntranceFinder(automaton, vocabulary)

    def row(self, at: int) -> Row:
        """See `Masks.row`."""
        row = np.zeros(self._walk.words, np.int32)
        self._read(at, ROOT, row, None)
        self._walk.spread(row)
        return row

    def below(self, at: int, node: int, row: Row) -> Ints:
        """See `Masks.below`."""
        ends: set[int] = set()
        self._read(at, node, row, ends)
        return np.array(sorted(ends), np.int32)

    def _read(self, at: int, top: int, row: Row, final: set[int] | None) -> None:
        """Or into `row` what a position and its successors read below `top`.

        final: gets the nodes at which the whole text may end, if anybody wants to know.
        """
        outer, open_texts = self._automaton.position(at)
        todo: list[tuple[Reader, int]] = [((outer, open_text), top) for open_text in open_texts]
        todo += [((outer, None), top)] if outer >= 0 else []
        seen = set(todo)
        while todo:
            (outer, open_text), node = todo.pop()
            following: list[tuple[Reader, int]] = []
            if open_text is None:
                begun = [(node, outer), *self._entrances(outer, node, row, final)]
                for end, behind in begun:
                    texts = self._automaton.entries(behind)
                    following += [((0, e), end) for e in texts if self._has_texts[e.inner]]
            else:
                following = [((o, None), end) for end, o in self._ends(open_text, node, row, final)]
            fresh = [one for one in following if one not in seen]
            seen.update(fresh)
            todo += fresh

    def _entrances(self, outer: int, node: int, row: Row, final: set[int] | None) -> Ends:
        """Or into `row` what the grammar itself reads; where specs inside may begin."""
        if node == ROOT and final is None:
            row |= self._outer.row(outer)
        else:
            ends = self._outer.below(outer, node, row)
            if final is not None:
                final.update(ends.tolist())
        return self._find.below(outer, node)

    def _ends(self, open_text: OpenText, node: int, row: Row, final: set[int] | None) -> Ends:
        """Or into `row` what an open text reads; where it may end."""
        if open_text.lookaheads:
            self._walked(self._automaton.numbered(open_text), node, row, final)
            return []
        masks, outer = self._inner[open_text.inner], self._automaton.after_text(open_text)
        nodes = None
        if node == ROOT and final is None:
            finder = self._finder(open_text.inner, outer)
            if finder.pays:
                row |= masks.row(open_text.at)
                nodes = finder.ends(open_text.at)
        if nodes is None:
            nodes = masks.below(open_text.at, node, row)
        if final is not None and self._automaton.outer.is_accepting(outer):
            final.update(nodes.tolist())
        return [(end, outer) for end in self._going_on(nodes, outer)]

    def _going_on(self, nodes: Ints, outer: int) -> list[int]:
        """The nodes below which a position of the grammar can read something."""
        if len(nodes) > MANY:
            some = self._walk.candidates(ANY_BYTE, self._firsts_of(outer)).nodes
            nodes = np.intersect1d(nodes, some, assume_unique=True)
        found: list[int] = nodes[self._walk.trie.end[nodes] > nodes + 1].tolist()
        return found

    def _firsts_of(self, outer: int) -> frozenset[int]:
        """The bytes that may come next at a position of the grammar, of specs inside too."""
        found = self._firsts.get(outer)
        if found is None:
            firsts = set(self._automaton.outer.next_bytes(outer))
            for open_text in self._automaton.entries(outer):
                firsts.update(self._automaton.inners[open_text.inner].firsts)
            found = self._firsts[outer] = frozenset(firsts)
        return found

    def _finder(self, inner: int, outer: int) -> EndFinder:
        """What finds the ends of a spec's texts in front of a position of the grammar."""
        key = (inner, self._firsts_of(outer))
        if key not in self._finders:
            spec = self._automaton.inners[inner]
            made = EndFinder(spec.automaton, self._walk, spec.lasts, key[1])
            self._finders[key] = made
        return self._finders[key]

    def _walked(self, at: int, top: int, row: Row, final: set[int] | None) -> None:
        """`_read` node by node: where a lexeme before the spec may still turn out longer."""
        automaton, trie = self._automaton, self._walk.trie
        end = int(trie.end[top]) if top >= 0 else len(trie)
        base = int(trie.depth[top]) if top >= 0 else 0
        stack = {0: at}
        node = top + 1
        while node < end:
            depth = int(trie.depth[node]) - base
            after, _ = automaton.run(stack[depth - 1], bytes((int(trie.byte[node]),)))
            if after < 0:
                node = int(trie.end[node])
                continue
            stack[depth] = after
            token = int(trie.token[node])
            if token >= 0:
                row[token >> 5] |= np.uint32(1 << (token & 31)).view(np.int32)
            if final is not None and automaton.is_accepting(after):
                final.add(node)
            node += 1


class _EntranceFinder:
    """Finds where texts of specs inside may begin inside tokens.

    Tokens that hold the end of a lexeme and the beginning of a spec's text are rare: as for
    `EndFinder`, the beginnings of tokens where that could be are a vocabulary of their own.
    """

    def __init__(self, automaton: NestingAutomaton, vocabulary: Vocabulary) -> None:
        self._outer = automaton.outer
        self._kernel = kernels("grammar.embedded").walk_entrances
        self._walk = trie_walk(vocabulary)
        firsts = frozenset(b for inner in automaton.inners for b in inner.firsts)
        self._some = self._walk.candidates(automaton.outer.bytes_before_embedded, firsts)

    def below(self, outer: int, node: int) -> Ends:
        """The nodes below a node at which some text may begin, and the positions there."""
        some, walk = self._some, self._walk
        if node != ROOT or not some.few:
            nodes = self._walked(walk.nodes, outer, node)
            nodes = nodes[walk.trie.end[nodes] > nodes + 1]
            texts = walk.paths(nodes, node)
            return [
                (end, self._read(outer, text))
                for end, text in zip(nodes.tolist(), texts, strict=True)
            ]
        if not len(some.nodes):
            return []
        small = some.vocabulary
        tokens = small.trie.token[self._walked(shared_masks(small).nodes, outer, ROOT)]
        found = tokens[tokens >= 0].tolist()
        return [(int(some.nodes[t]), self._read(outer, small.token_bytes(t))) for t in found]

    def _read(self, outer: int, text: bytes) -> int:
        return self._outer.run(outer, text)[0]

    def _walked(self, nodes: Any, outer: int, top: int) -> Ints:
        """The nodes of a trie below one of them at which some text may begin."""
        stack = np.zeros(self._walk.trie.max_depth + 4, np.int64)
        stack[0], stack[-3] = outer, top + 1
        row, ends = np.zeros(self._walk.words, np.int32), np.zeros(64, np.int32)
        while True:
            code = int(self._kernel(self._outer.tables, nodes, top, row, ends, stack))
            if code == 0:
                return ends[: stack[-2]]
            if code == kernels("masks.byte_walk").ENDS_FULL:
                ends = np.concatenate((ends, np.zeros_like(ends)))
            else:
                self._outer.fill_on_demand(code)
