"""The pushdown automaton of one machine, run by kernels over tables that are filled on demand.

A position packs a lexer state and a stack node into an int64: `q << 32 | node` (see
`kernels.tables`). The stack is a graph-structured stack of interned nodes (Tomita 1986), so equal
stacks are the same number. A kernel that meets a table entry nobody has computed stops with a code;
`fill_on_demand` asks the machine, adds the entry, and the kernel resumes. An action depends on the
innermost frame alone, not on the stack below, so what Python computes does not grow with the text
or its depth.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from structgen.automata.interface import Automaton, Bytes, Stored
from structgen.automata.pushdown import storage
from structgen.automata.pushdown.actions import code_of
from structgen.automata.pushdown.captures import Captures, SeenKeys
from structgen.automata.pushdown.completion import Completions
from structgen.automata.pushdown.machine import Frame, Goto, Machine, Stack
from structgen.automata.pushdown.numbering import Numbering
from structgen.automata.pushdown.provenance import OPEN, TEXT
from structgen.automata.pushdown.tables import (
    fixed_bytes,
    inconsistent_tables,
    keys_in,
    rehashed,
    with_contexts,
    with_key_set,
    with_sets,
    write_key_set,
)
from structgen.errors import BudgetError
from structgen.util.byte_words import in_words
from structgen.util.cancellation import checkpoint

WORD = 7  # bytes of a text that fit into an int64 beside their count
_NO_ACTIONS: dict[int, int] = {}
_FRAME = struct.Struct("=9i")  # a row of `kernels.tables.Tables.frames`


class Engine(Numbering, Automaton):
    """The pushdown automaton of one machine."""

    MASKS = "structgen.masks.pushdown_masks:PushdownMasks"

    def __init__(
        self, make_machine: Callable[[], Machine[Any]], saved: storage.Saved | None = None
    ) -> None:
        """Start with fresh or saved tables; `make_machine` is called once, when first needed."""
        super().__init__(make_machine, saved)
        self.NEED_SPACE: int = self._k.NEED_SPACE
        self._stacks: dict[int, Stack[Any]] = {}
        self._seen_keys = SeenKeys()
        self._captures = Captures()
        self._measured, self._fixed_bytes = None, 0  # tables, and what `fixed_bytes` says of them
        #: actions that frames share: those of scalars' terminals by the number of a
        #: `Frame.in_scalar`, and the frames that terminals open by `Frame.opens`
        self.checks: dict[int, dict[int, int]] = {}
        self.pushes: dict[Hashable, dict[int, int]] = {}
        if saved is None:
            preset = self.machine.lexicon.preset
            self.checks = {f: {**m} for f, m in preset.checks.items()}
            self.pushes = {opens: {**m} for opens, m in preset.pushes.items()}
            start = self.frame_number(self.machine.start, (OPEN, -1, -1))
            node = self._entry_points.stack_node(self.tables_at, start, -1, -1, -1, -1)
            self.start = (int(self.tables.frames[start, self._k.ENTRY]) << 32) | node
        else:
            self.start = saved.start

    @classmethod
    def restored(cls, make_machine: Callable[[], Machine[Any]], saved: Stored) -> Engine:
        """The engine that `stored` described. Raises ArtifactError."""
        return cls(make_machine, storage.Saved(saved))

    # -- reading --------------------------------------------------------------------------------

    def run(self, at: int, text: bytes) -> tuple[int, int]:
        """See `Automaton.run`."""
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

    # -- on-demand table fill -------------------------------------------------------------------

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

    def frame_number(self, frame: Frame, origin: tuple[int, int, int]) -> int:
        """The number of a frame; its row in the tables is written when it is new."""
        number = self._frame_ids.get(frame)
        if number is None:
            number = self.frame_id(frame, origin)
            self._describe(number, frame)
        return number

    def _describe(self, number: int, frame: Frame) -> None:
        """Write the row of a frame, and the actions it shares with other frames."""
        lexeme = self.shared_state_id(frame.lexeme, -1 - 2 * number)
        entry = lexeme
        if frame.entry is not None:
            entry = self.shared_state_id(frame.entry, -2 - 2 * number)
        bits = -1 if frame.allowed is None else self.bits_id(frame.allowed)
        key_set = -1
        if frame.key_set is not None:
            key_set = self._key_set_ids[frame.key_set]
            if key_set >= self.tables.sizes[self._k.SIZE_KEY_SETS]:
                self.use(with_key_set(self.tables, key_set, frame.key_set))
                write_key_set(self.tables_at, key_set, frame.key_set)
        actions_of = number if frame.actions_of is frame else self._frame_ids[frame.actions_of]
        in_scalar = number if frame.in_scalar is frame else self._frame_ids[frame.in_scalar]
        only_scalar = lexeme if frame.only_scalar else 0
        begin = -2 - lexeme if frame.recalls else lexeme
        _FRAME.pack_into(
            self.tables.frames, _FRAME.size * number,
            entry, begin, frame.low, frame.high, bits, key_set, actions_of, in_scalar, only_scalar,
        )  # fmt: skip
        for terminal, code in self.checks.get(in_scalar, _NO_ACTIONS).items():
            self._add_action(number, terminal, code)
        if frame.opens is not None:
            for terminal, opened in self.pushes.get(frame.opens, _NO_ACTIONS).items():
                self._add_action(number, terminal, self._k.PUSH << 56 | opened << 28 | in_scalar)

    def fill_action(self, frame: int, terminal: int) -> None:
        """Compute the action of a terminal in a frame, and write it."""
        action = self._ask_machine(self.machine.action, frame, terminal, b"")
        code = self._k.DEAD if action is None else code_of(self, action, frame, terminal)
        self._add_action(frame, terminal, code)

    def _predict(self, frame: int, terminal: int) -> None:
        """Write what can be read behind a terminal before its action is known; else its action."""
        entry = self._ask_machine(self.machine.predicted_state, frame, terminal)
        q, k = self.existing_state_id(entry), self._k
        if q is None:
            self.fill_action(frame, terminal)
        else:
            slot = k.SKIP_TERMINAL if self.terminal(terminal) == "{" else k.END_TERMINAL
            self._add_action(frame, slot, q << 28 | terminal)

    def ensure_action(self, frame: int, terminal: int) -> None:
        """Compute the action of a terminal in a frame unless it is known."""
        if self._k.lookup(self.tables.actions, frame << 32 | terminal) == self._k.UNKNOWN:
            self.fill_action(frame, terminal)

    def _add_action(self, frame: int, terminal: int, code: int) -> None:
        """Add an action to its hash table, which grows if need be."""
        while not self._k.add_action(
            self.tables.actions, self.tables.sizes, frame << 32 | terminal, code
        ):
            self.use(self.tables._replace(actions=rehashed(self.tables.actions)))

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

    def _ask_machine(self, ask: Callable[..., Any], frame: int, terminal: int, *read: Any) -> Any:
        try:
            return ask(self.frame(frame), self.terminal(terminal), *read)
        except RecursionError as error:
            raise BudgetError(
                "deciding what may come next takes too many nested steps",
                hint="nest schemas with uniqueItems, contains or not less deeply",
            ) from error

    # -- the rest of the interface --------------------------------------------------------------

    def completions(self, alphabet: Bytes = range(256)) -> Completions:
        """See `Automaton.completions`."""
        return Completions(self, alphabet)

    def stored(self) -> Stored:
        """See `Automaton.stored`."""
        return storage.stored(self)

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
        """See `Automaton.nbytes`: room for spans and stack nodes counts where it is used."""
        if self._measured is not self.tables:
            self._measured, self._fixed_bytes = self.tables, fixed_bytes(self.tables)
        t, k = self.tables, self._k
        spans, nodes = t.sizes.item(k.SIZE_SPANS), t.sizes.item(k.SIZE_STACK_NODES)
        links = t.stack_nodes.strides[0] + t.capture_links.strides[0]
        return int(self._fixed_bytes + spans * t.spans.strides[0] + nodes * links)
