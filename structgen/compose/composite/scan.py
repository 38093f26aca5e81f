"""The table of a scan (free text, a choice of texts) as an automaton, and its masks."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from structgen.automata.interface import DEAD, Automaton, Bytes, Completes, Masks, Row, Stored
from structgen.compose.composite.scan_table import ScanTable
from structgen.errors import BudgetError
from structgen.masks.trie_walk import Filled, Ints, trie_walk
from structgen.util.byte_words import in_words

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary

MAX_WALKS = 256  # walks from the root that are kept, a row each


class Scan(Automaton):
    """A scan; its positions are the states of the table."""

    MASKS = "structgen.compose.composite.scan:ScanMasks"

    start = 0

    def __init__(self, table: ScanTable, words: str) -> None:
        """words: what the scan reads, for messages."""
        self.table = table
        self._words = words
        self._rows: dict[int, list[int]] = {}
        self._stuck: dict[int, bool] = {}

    def run(self, at: int, text: bytes) -> tuple[int, int]:
        """See `Automaton.run`."""
        for count, byte in enumerate(text):
            row = self._rows.get(at)
            if row is None:
                row = self._rows[at] = self.table.rows[at].tolist()
            at = row[byte]
            if at < 0:
                return DEAD, count
        return at, len(text)

    def is_accepting(self, at: int) -> bool:
        """See `Automaton.is_accepting`."""
        return bool(self.table.labels[at]) or bool(self.table.quiet[at])

    def next_bytes(self, at: int) -> list[int]:
        """See `Automaton.next_bytes`."""
        return [int(b) for b in np.flatnonzero(self.table.rows[at] >= 0)]

    def is_stuck(self, at: int) -> bool:
        """Whether no byte can follow."""
        stuck = self._stuck.get(at)
        if stuck is None:
            stuck = self._stuck[at] = bool((self.table.rows[at] < 0).all())
        return stuck

    def is_position(self, at: int) -> bool:
        """See `Automaton.is_position`."""
        return 0 <= at < len(self.table.rows)

    def core(self, at: int) -> Hashable:
        """See `Automaton.core`."""
        return at

    def expected(self, at: int) -> str:
        """See `Automaton.expected`."""
        following = self.next_bytes(at)
        if at == 0 or len(following) > 128:
            return self._words
        return f"{in_words(following)} (within {self._words})"

    def completions(self, alphabet: Bytes = range(256)) -> Completes:
        """See `Automaton.completions`."""
        return _Shortest(self, alphabet)

    def paths(self, at: int, alphabet: Bytes) -> dict[int, bytes]:
        """A shortest text from `at` to where each label has been found; -1 for a quiet end."""
        table = self.table
        found: dict[int, bytes] = {}
        texts = {at: b""}
        queue = deque([at])
        while queue:
            here = queue.popleft()
            for label in table.labels[here] or ((-1,) if table.quiet[here] else ()):
                found.setdefault(label, texts[here])
            targets, first = np.unique(table.rows[here], return_index=True)
            for target, byte in zip(targets.tolist(), first.tolist(), strict=True):
                if target >= 0 and target not in texts:
                    byte = self._readable(here, target, byte, alphabet)
                    if byte >= 0:
                        texts[target] = texts[here] + bytes((byte,))
                        queue.append(target)
        return found

    def _readable(self, at: int, target: int, byte: int, alphabet: Bytes) -> int:
        """A byte of the alphabet, a letter if possible, from one state to another; -1 if none."""
        if byte in alphabet and 0x20 < byte < 0x7F:
            return byte
        bytes_there = [b for b in np.flatnonzero(self.table.rows[at] == target) if b in alphabet]
        return int(max(bytes_there, key=lambda b: (0x20 < b < 0x7F, -b), default=-1))

    @property
    def size(self) -> dict[str, int]:
        """See `Automaton.size`."""
        return {"scan_states": len(self.table.rows), "bytes": self.table.rows.nbytes}

    def stored(self) -> Stored:
        """Nothing: the table is made again from the spec."""
        return Stored({}, {})


class _Shortest:
    """Shortest ends of a scan."""

    def __init__(self, scan: Scan, alphabet: Bytes) -> None:
        self._scan = scan
        self._alphabet = alphabet

    def shortest(self, at: int) -> bytes:
        """See `Completes.shortest`."""
        found = self._scan.paths(at, self._alphabet)
        if not found:
            raise BudgetError("no way to end the text was found")
        return min(found.values(), key=len)


class ScanMasks(Masks):
    """The masks of a scan over one vocabulary."""

    def __init__(self, scan: Scan, vocabulary: Vocabulary) -> None:
        self._table = table = scan.table
        self._walk = trie_walk(vocabulary)
        self._filled = np.ones(len(table.rows), np.uint8)
        self._found = np.array([bool(labels) for labels in table.labels])
        self._known: dict[int, tuple[Row, dict[int, Ints]]] = {}

    def row(self, at: int) -> Row:
        """See `Masks.row`."""
        row = np.zeros(self._walk.words, np.int32)
        self.exits(at, -1, row)
        self._walk.spread(row)
        return row

    def below(self, at: int, node: int, row: Row) -> Ints:
        """See `Masks.below`."""
        after, states = self._reached(at, node, row)
        ends: Ints = after[self._found[states] | (self._table.quiet[states] != 0)]
        return ends

    @property
    def nbytes(self) -> int:
        """See `Masks.nbytes`."""
        return 4 * self._walk.words * len(self._known)

    def exits(self, at: int, node: int, row: Row) -> dict[int, Ints]:
        """As `below`, but only the nodes where something has been found, by what it is."""
        if node >= 0:
            return self._by_label(*self._reached(at, node, row))
        known = self._known.get(at)
        if known is None:
            if len(self._known) >= MAX_WALKS:
                self._known.clear()
            fresh = np.zeros(self._walk.words, np.int32)
            exits = self._by_label(*self._reached(at, node, fresh))
            known = self._known[at] = (fresh, exits)
        row |= known[0]
        return known[1]

    def quiet_ends(self, at: int, node: int) -> Ints:
        """The nodes below which the text may end although nothing has been found."""
        after, states = self._reached(at, node, np.zeros(self._walk.words, np.int32))
        ends: Ints = after[self._table.quiet[states] != 0]
        return ends

    def _by_label(self, after: Ints, states: Ints) -> dict[int, Ints]:
        ends = self._found[states]
        found: dict[int, list[int]] = {}
        for node, state in zip(after[ends].tolist(), states[ends].tolist(), strict=True):
            for label in self._table.labels[state]:
                found.setdefault(label, []).append(node)
        return {label: np.array(nodes, np.int32) for label, nodes in found.items()}

    def _reached(self, at: int, node: int, row: Row) -> tuple[Ints, Ints]:
        return self._walk.reached(self._rows, _nothing, at, node, row)

    def _rows(self) -> tuple[Ints, Filled]:
        return self._table.rows, self._filled


def _nothing(_state: int) -> None:
    """All rows are there."""
