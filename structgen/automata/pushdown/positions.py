"""Reading from position to position, in tables that are filled on demand.

A position packs a lexer state and a stack node into an int64: `q << 32 | node` (see
`kernels.tables`). The stack is a graph-structured stack of interned nodes (Tomita 1986), so equal
stacks are the same number. A kernel that meets a table entry nobody has computed stops with a code;
`fill_on_demand` asks the machine, adds the entry, and the kernel resumes. An action depends on the
innermost frame alone, not on the stack below, so what Python computes does not grow with the text
or its depth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structgen.automata.pushdown.actions import Actions
from structgen.automata.pushdown.captures import Captures
from structgen.automata.pushdown.machine import Frame, Goto, Machine, Stack
from structgen.automata.pushdown.provenance import TEXT
from structgen.automata.pushdown.storage import Saved
from structgen.automata.pushdown.tables import (
    inconsistent_tables,
    keys_in,
    rehashed,
    with_contexts,
    with_sets,
)
from structgen.util.cancellation import checkpoint

WORD = 7  # bytes of a text that fit into an int64 beside their count


class Positions(Actions):
    """The positions of a machine's texts."""

    def __init__(self, make_machine: Callable[[], Machine[Any]], saved: Saved | None) -> None:
        super().__init__(make_machine, saved)
        self._stacks: dict[int, Stack[Any]] = {}
        self._captures = Captures()

    def run(self, at: int, text: bytes) -> tuple[int, int]:
        """Read a text from a position (see `Automaton.run`)."""
        data: Any
        if len(text) <= WORD:  # an array takes longer to hand over than its bytes take to read
            read = self._entry_points.run_word
            data = int.from_bytes(text, "little") | len(text) << 8 * WORD
        else:
            read, data = self._entry_points.run, np.frombuffer(text, np.uint8)
        first = 0
        while True:
            after = read(self.tables_at, at, data, first)
            if after >= 0:
                return after, len(text)
            first = int(self.tables.need[self._k.READ_OFFSET])
            if after == self._k.DEAD:
                return after, first
            at = int(self.tables.need[self._k.READ_POSITION])
            self.fill_on_demand(after)

    def ask(self, kernel: Callable[..., int], *arguments: Any) -> int:
        """Call a kernel until it has an answer, filling the table entries that it stops for."""
        while True:
            answer = kernel(self.tables_at, *arguments)
            if answer >= self._k.DEAD:
                return int(answer)
            self.fill_on_demand(answer)

    def fire(self, node: int, terminal: int) -> int:
        """The position after a terminal in a stack node, or DEAD."""
        return self.ask(self._entry_points.advance, node, terminal)

    def frame_at(self, node: int) -> Frame:
        """The innermost frame of a stack node, with the keys that have been seen in it."""
        k, context = self._k, self.tables.stack_nodes[node]
        frame = self.frame(int(context[k.FRAME]))
        at = int(context[k.SEEN_KEYS])
        return (
            frame
            if at < 0
            else self.machine.with_seen_keys(frame, keys_in(self.tables.bit_sets, at))
        )

    def stack(self, node: int) -> Stack[Any]:
        """The frames of a stack node, down to the bottom."""
        stack_nodes, k = self.tables.stack_nodes, self._k
        chain: list[int] = []
        at = int(stack_nodes[node, k.CAPTURE_START])
        while at >= 0 and at not in self._stacks:
            chain.append(at)
            at = int(stack_nodes[at, k.PARENT])
        below = self._stacks[at] if at >= 0 else None
        for at in reversed(chain):
            below = self._stacks[at] = Stack(self.frame_at(at), below)
        return self._stacks[int(stack_nodes[node, k.CAPTURE_START])]

    def fill_on_demand(self, code: int) -> None:
        """Fill the table entry that a kernel stopped for, as `need` says."""
        checkpoint()
        k, need = self._k, self.tables.need
        if code == k.NEED_ROW:
            self.fill(int(need[k.WANTED]))
        elif code == k.NEED_ACTION:
            self.fill_action(int(need[k.WANTED]), int(need[k.WANTED_WITH]))
        elif code == k.NEED_OPENING:
            self._predict(int(need[k.WANTED]), int(need[k.WANTED_WITH]))
        elif code == k.NEED_EVENT:
            self._event(int(need[k.WANTED]), int(need[k.WANTED_WITH]))
        elif code == k.NEED_STATES:
            self.make_room(*need[:2].tolist())
        elif code == k.NEED_EXACT:  # never asked for positions that texts lead to
            raise inconsistent_tables()
        else:
            self.use(with_contexts(with_sets(self.tables)))

    def _event(self, node: int, terminal: int) -> None:
        """Compute where a terminal leads whose action depends on the captures of a stack node."""
        k, at = self._k, int(self.tables.stack_nodes[node, self._k.FRAME])
        if self.frame(at).recalls and terminal != k.SKIP_TERMINAL:
            position = self._read_again(node)
        else:
            position = self._position_by_captures(node, at, terminal)
        t = self.tables
        if 2 * t.sizes[k.SIZE_EVENTS] >= len(t.events):
            t = self.use(t._replace(events=rehashed(t.events)))
        k.insert(t.events, (node << 32) | terminal, position)
        t.sizes[k.SIZE_EVENTS] += 1

    def _read_again(self, node: int) -> int:
        """The position after reading a captured text again, now with the captures known."""
        walk = int(self.tables.lookups[self._k.LOOKUP_NODE])
        self.tables.lookups[self._k.LOOKUP_NODE] = -1  # the reading below is no part of the walk
        position = self.fire(
            int(self.tables.stack_nodes[node, self._k.CAPTURE_START]), self._k.SKIP_TERMINAL
        )
        if position >= 0:
            position, _ = self.run(position, self.text(node))
        self.tables.lookups[self._k.LOOKUP_NODE] = walk
        return position

    def _position_by_captures(self, node: int, at: int, terminal: int) -> int:
        """The position after a terminal in frame `at` of a stack node, as the machine decides."""
        stack_nodes, k = self.tables.stack_nodes, self._k
        if self.tables.needs_text[terminal] == k.TEXT_READ:
            action = self._ask_machine(self.machine.action, at, terminal, self.text(node))
            if not isinstance(action, Goto | None):
                raise inconsistent_tables()
            found = None if action is None else action.frame
        else:
            found = self._ask_machine(
                self.machine.with_captures, at, terminal, self._captures.of(self, node)
            )
        if found is None:
            return int(k.DEAD)
        frame = self.frame_number(found, (TEXT, node, terminal))
        beside = stack_nodes[node, [k.PARENT, k.SEEN_TEXTS, k.SEEN_KEYS, k.CAPTURED]].tolist()
        after = self.ask(self._entry_points.stack_node, frame, *beside)
        begin = k.LEXEME if terminal == k.SKIP_TERMINAL else k.ENTRY
        return int(self.tables.frames[frame, begin]) << 32 | after
