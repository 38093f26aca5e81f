"""Compute the masks of a composed automaton: what each thread reads, and what may follow it.

Within a part the tokens are those of the part's own masks. Where a part may end inside a token, at
a node of the vocabulary's trie, the parts behind it go on from that node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Masks, Row
from structgen.compose.composite.layout import QUIET, WHOLE, Hub, Part, Thread
from structgen.compose.composite.scan import ScanMasks
from structgen.masks.end_finder import EndFinder
from structgen.masks.registry import masks_of
from structgen.masks.trie_walk import ROOT, trie_walk
from structgen.spec.base import ANY_BYTE

if TYPE_CHECKING:
    from structgen.compose.composite.automaton import Composite
    from structgen.vocabulary.vocabulary import Vocabulary

MANY = 32  # nodes from which it pays to look which of them matter


class CompositeMasks(Masks):
    """The masks of a composite over one vocabulary."""

    def __init__(self, composite: Composite, vocabulary: Vocabulary) -> None:
        self._composite = composite
        self._vocabulary = vocabulary
        self._walk = trie_walk(vocabulary)
        self._of_source: dict[int, Masks] = {}
        self._firsts: dict[int, frozenset[int]] = {}
        self._finders: dict[tuple[int, frozenset[int]], EndFinder] = {}

    def row(self, at: int) -> Row:
        """See `Masks.row`."""
        row = np.zeros(self._walk.words, np.int32)
        self._read(self._composite.threads(at), ROOT, row, None)
        self._walk.spread(row)
        return row

    def below(self, at: int, node: int, row: Row) -> npt.NDArray[np.int32]:
        """See `Masks.below`."""
        ends: set[int] = set()
        self._read(self._composite.threads(at), node, row, ends)
        return np.array(sorted(ends), np.int32)

    @property
    def nbytes(self) -> int:
        """See `Masks.nbytes`."""
        return sum(masks.nbytes for masks in self._of_source.values())

    def _read(self, threads: Iterable[Thread], node: int, row: Row, final: set[int] | None) -> None:
        """Or into `row` what threads and their successors read below `node`.

        final: gets the nodes at which the whole text may end, if anybody wants to know.
        """
        todo = [(thread, node) for thread in threads]
        seen: set[tuple[Thread, int]] = set()  # threads begun below a node
        while todo:
            (number, at), top = todo.pop()
            part = self._composite.parts[number]
            for hub, nodes in self._ends(part, at, top, row, final is not None):
                stop, begun = self._composite.behind(hub)
                if final is not None and stop:
                    final.update(nodes.tolist())
                if not begun:
                    continue
                for end in self._going_on(nodes, hub):
                    fresh = [(t, end) for t in begun if (t, end) not in seen]
                    seen.update(fresh)
                    todo += fresh

    def _ends(
        self, part: Part, at: int, top: int, row: Row, final: bool
    ) -> Iterator[tuple[Hub, npt.NDArray[np.int32]]]:
        """Or into `row` what a part reads below `top`; the hubs behind it, with the nodes."""
        masks = self._of_source.get(part.source)
        if masks is None:
            masks = self._of_source[part.source] = masks_of(part.automaton, self._vocabulary)
        if isinstance(masks, ScanMasks):
            for label, nodes in masks.exits(at, top, row).items():
                if label in part.exits:
                    yield part.exits[label], nodes
            hub = part.exits.get(QUIET)
            if hub is not None and (final or hub.closure()[0]):
                yield hub, masks.quiet_ends(at, top)
            return
        hub = part.exits[WHOLE]
        if top != ROOT or final:
            yield hub, masks.below(at, top, row)
            return
        finder = self._finder(part, hub) if hub.closure()[0] else None
        if finder is not None and not finder.pays:
            yield hub, masks.below(at, top, row)
            return
        row |= masks.row(at)
        if finder is not None:
            yield hub, finder.ends(at)

    def _going_on(self, nodes: npt.NDArray[np.int32], hub: Hub) -> list[int]:
        """The nodes below which what follows the hub can read something."""
        if len(nodes) > MANY:
            some = self._walk.candidates(ANY_BYTE, self._firsts_of(hub)).nodes
            nodes = np.intersect1d(nodes, some, assume_unique=True)
        found: list[int] = nodes[self._walk.trie.end[nodes] > nodes + 1].tolist()
        return found

    def _firsts_of(self, hub: Hub) -> frozenset[int]:
        """The bytes with which what follows a hub may begin."""
        firsts = self._firsts.get(id(hub))
        if firsts is None:
            parts = self._composite.parts
            starts = [parts[p].automaton.next_bytes(q) for p, q in self._composite.behind(hub)[1]]
            firsts = self._firsts[id(hub)] = frozenset(b for found in starts for b in found)
        return firsts

    def _finder(self, part: Part, hub: Hub) -> EndFinder:
        """What finds the ends of a part in front of a hub."""
        firsts = self._firsts_of(hub)
        key = (part.source, firsts)
        if key not in self._finders:
            made = EndFinder(part.automaton, self._walk, part.lasts, firsts)
            self._finders[key] = made
        return self._finders[key]
