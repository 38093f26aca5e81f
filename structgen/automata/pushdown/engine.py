"""The engine: the pushdown automaton of one machine, run by kernels over tables filled on demand.

Its layers, each with more of the tables: objects by number (`numbering`), rows of lexer states
(`rows`), frames and their actions (`actions`), and reading from position to position (`positions`).
Here are what texts ask of an automaton, and how one is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structgen.automata.interface import Automaton, Bytes, Stored
from structgen.automata.pushdown import storage
from structgen.automata.pushdown.captures import SeenKeys
from structgen.automata.pushdown.completion import Completions
from structgen.automata.pushdown.machine import Machine
from structgen.automata.pushdown.positions import Positions
from structgen.automata.pushdown.provenance import OPEN, ProvenanceLog
from structgen.automata.pushdown.replay import replay
from structgen.automata.pushdown.tables import fixed_bytes
from structgen.util.byte_words import in_words


class Engine(Positions, Automaton):
    """The pushdown automaton of one machine."""

    MASKS = "structgen.masks.pushdown_masks:PushdownMasks"

    def __init__(
        self, make_machine: Callable[[], Machine[Any]], saved: storage.Saved | None = None
    ) -> None:
        """Start with fresh or saved tables; `make_machine` is called once, when first needed."""
        super().__init__(make_machine, saved)
        self.NEED_SPACE: int = self._k.NEED_SPACE
        self._seen_keys = SeenKeys()
        self._measured, self._fixed_bytes = None, 0  # tables, and what `fixed_bytes` says of them
        if saved is None:
            start = self.frame_number(self.machine.start, (OPEN, -1, -1))
            node = self._entry_points.stack_node(self.tables_at, start, -1, -1, -1, -1)
            self.start = (int(self.tables.frames[start, self._k.ENTRY]) << 32) | node
        else:
            self.start = saved.start

    @classmethod
    def restored(cls, make_machine: Callable[[], Machine[Any]], saved: Stored) -> Engine:
        """The engine that `stored` described. Raises ArtifactError."""
        return cls(make_machine, storage.Saved(saved))

    def replay(self, log: ProvenanceLog) -> None:
        """See `Numbering.replay`."""
        replay(self, log)

    # -- positions ------------------------------------------------------------------------------

    def is_accepting(self, at: int) -> bool:
        """See `Automaton.is_accepting`."""
        return self.ask(self._entry_points.ending, at) == 1

    def is_position(self, at: int) -> bool:
        """See `Automaton.is_position`."""
        return 0 <= at >> 32 < self.states_made and at & 0xFFFFFFFF < int(
            self.tables.sizes[self._k.SIZE_STACK_NODES]
        )

    def core(self, at: int) -> tuple[int, int, bool]:
        """See `Automaton.core`."""
        node = at & 0xFFFFFFFF
        base = self.remembers(at)
        if base is None or self._seen_keys.begin_with(self, node):
            return at >> 32, node, True
        return at >> 32, base, False

    def remembers(self, at: int) -> int | None:
        """See `Automaton.remembers`: the stack node in which the key began.

        A text that is compared with other array items matters as a whole, so it is part of the
        core.
        """
        node = at & 0xFFFFFFFF
        base = int(self.tables.stack_nodes[node, self._k.CAPTURE_START])
        if node == base or self.machine.compares(self.frame_at(base)):
            return None
        return base

    def only_byte(self, at: int) -> int:
        """See `Automaton.only_byte`."""
        return self.ask(self._entry_points.only, at)

    def next_bytes(self, at: int) -> list[int]:
        """See `Automaton.next_bytes`."""
        out = np.zeros(256, np.uint8)
        self.ask(self._entry_points.following, at, out)
        return [int(b) for b in np.flatnonzero(out)]

    def branches(self, at: int) -> list[int]:
        """See `Automaton.branches`: of the bytes with the same target, the first."""
        allowed, targets = self.next_bytes(at), self.targets(at >> 32).tolist()
        if self.machine.compares(self.frame_at(at & 0xFFFFFFFF)):  # each text is different
            return allowed
        first: dict[int, int] = {}
        for byte in allowed:  # a byte without a target ends the lexeme early: it is kept apart
            first.setdefault(
                targets[byte] if targets[byte] != self._k.DEAD else 1 << 32 | byte, byte
            )
        return list(first.values())

    def expected(self, at: int) -> str:
        """See `Automaton.expected`."""
        state, frame = self.state(at >> 32), self.frame_at(at & 0xFFFFFFFF)
        words = self.machine.expected(frame)
        self.targets(at >> 32)  # fills `accept`
        begins = self.tables.accept[at >> 32] == self._k.SKIP_TERMINAL
        if state != frame.lexeme and not begins:
            words = f"{in_words(self.next_bytes(at))} (within {words})"
        if self.is_accepting(at):
            words = f"{words}, or the end"
        missing = self.machine.missing(frame)
        return f"{words}; {missing}" if missing else words

    # -- completions, files -----------------------------------------------------------------------

    def completions(self, alphabet: Bytes = range(256)) -> Completions:
        """See `Automaton.completions`."""
        return Completions(self, alphabet)

    def stored(self) -> Stored:
        """See `Automaton.stored`."""
        self.fill_all_saved()
        arrays = storage.arrays_of(
            self.tables, self.provenance, self.terminals_made, self.frames_made
        )
        return Stored({"start": self.start, "shared": self.shared_states}, arrays)

    @property
    def size(self) -> dict[str, int]:
        """See `Automaton.size`."""
        t, k = self.tables, self._k
        nodes = int(t.sizes[k.SIZE_STACK_NODES])
        return {
            "lexer_states": self.states_made,
            "frames": self.frames_made,
            "contexts": nodes,
            "events": int(t.sizes[k.SIZE_EVENTS] + t.sizes[k.SIZE_ACTIONS]),
            "bytes": self.nbytes,
        }

    @property
    def nbytes(self) -> int:
        """See `Automaton.nbytes`: room for rows, spans and stack nodes counts where it is used."""
        if self._measured is not self.tables:
            self._measured, self._fixed_bytes = self.tables, fixed_bytes(self.tables)
        t, k = self.tables, self._k
        rows = t.sizes.item(k.SIZE_STATES) * t.rows.strides[0]
        spans = t.sizes.item(k.SIZE_SPANS) * t.spans.strides[0]
        links = t.stack_nodes.strides[0] + t.capture_links.strides[0]
        return int(self._fixed_bytes + rows + spans + t.sizes.item(k.SIZE_STACK_NODES) * links)
