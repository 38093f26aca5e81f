"""Numbers for lexer states, terminals and frames as they are met, and tables over these numbers.

Numbers are handed out in order, and where each object was met is logged (`provenance`), so that
saved tables can be given their objects again. Kernels number lexer states too: those that spell
characters and words, whose descriptions Python makes only when asked (`kernel_state`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from operator import is_
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automata.lexer.json_lexemes import KeyStart
from structgen.automata.lexer.lexer import Digits, LexState, Row
from structgen.automata.pushdown.machine import Frame, KeySet, Machine, Prepared
from structgen.automata.pushdown.provenance import FRAME, STATE, TERMINAL, ProvenanceLog
from structgen.automata.pushdown.storage import Saved
from structgen.automata.pushdown.tables import (
    PackedArrays,
    fresh_tables,
    inconsistent_tables,
    with_states,
)
from structgen.errors import BudgetError
from structgen.kernels.build.loader import kernels
from structgen.util.arrays import with_room
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import checkpoint

MAX_STATES = 1 << 21  # lexer states of one automaton; the row of each has 1 KiB
STATES_PER_UNIT = 16  # that are made in a unit of work
MAX_CACHED_ROWS = 4096  # rows of lexer states kept as Python objects


class Numbering(ABC):
    """The objects of a machine by number, and the tables over them (see `kernels.tables`).

    What is written into the tables of an object, when it gets a number or later, is for subclasses:
    rows of lexer states (`rows`), frames and their actions (`actions`).
    """

    def __init__(self, make_machine: Callable[[], Machine[Any]], saved: Saved | None) -> None:
        self._make_machine = make_machine
        self._entry_points = kernels("masks.entry_points")
        self.kernel_tables = self._k = kernels("tables")  #: with the names of all columns
        self.is_new = saved is None  #: whether it did not start from saved tables
        self.tables: Any = None  #: what kernels read (see `kernels.tables`)
        self.tables_at = 0  #: the address at which kernels find the tables
        self._packed: PackedArrays  # there
        self._common: tuple[LexState, ...] = ()  # the states of the lexicon
        self._states: list[LexState | None] = []  # the states after those of the lexicon
        self._common_identities: dict[int, tuple[int, LexState]] = {}
        self._state_ids: dict[LexState, int] = {}
        self._identities: dict[int, tuple[int, LexState]] = {}
        self._terminals: list[Hashable] = []
        self._terminal_ids: dict[Hashable, int] = {}
        self._bits: dict[bytes, int] = {}
        self._frames: list[Frame] = []
        self._frame_ids: dict[Frame, int] = {}
        self._key_set_ids: dict[KeySet, int] = {}
        self._cached_rows: dict[LexState, Row] = {}
        #: DFAs whose states are lexer states here (`spelling.embedded_dfa.EmbeddedDfa`)
        self.embedded: list[Any] = []
        self._saved = saved
        self._lost = saved is not None  # whether numbers have no objects yet
        self._shared = 0 if saved is None else saved.shared
        if saved is None:
            prepared = self.machine.prepared
            self._shared = len(prepared.lexicon.states)
            tables = self.use(fresh_tables(self.machine))
            self._begin(prepared)
        else:
            tables = self.use(saved.tables)
        room = len(tables.filled)
        self.loops = kernels("trie.loops").Loops(np.zeros(room, np.int64), np.zeros(room, np.uint8))

    def use(self, tables: Any) -> Any:
        """Use other tables from now on, and write their addresses for kernels. Returns them."""
        if tables is not self.tables and not all(map(is_, tables, self.tables or (None,))):
            self._packed = PackedArrays(len(tables))  # only when they change, as it takes long
            self.tables_at = self._packed.address
            self._entry_points.keep_tables(tables, self.tables_at)
            self.tables = tables
        return self.tables

    @cached_attribute
    def machine(self) -> Machine[Any]:
        """The machine, made when first needed: saved tables may never need it."""
        return self._make_machine()

    @abstractmethod
    def fill(self, q: int) -> None:
        """Fill the row of a lexer state."""

    @abstractmethod
    def kernel_state(self, q: int) -> LexState:
        """Describe a lexer state that a kernel numbered."""

    @abstractmethod
    def replay(self, log: ProvenanceLog) -> None:
        """Number the objects of saved tables once more, as the log says."""

    def _begin(self, prepared: Prepared) -> None:
        """Start with the numbers of what is prepared."""
        lexicon, preset = prepared
        self._common = lexicon.states
        self._terminals, self._terminal_ids = list(lexicon.terminals), dict(lexicon.terminal_ids)
        self._states, self._state_ids = [], lexicon.state_ids.copy()
        self._frames, self._frame_ids = list(preset.frames), preset.frame_ids.copy()
        self._key_set_ids = preset.key_set_ids.copy()
        self._common_identities = lexicon.identities

    @property
    def states_made(self) -> int:
        """How many lexer states have a number."""
        return int(self.tables.sizes[self._k.SIZE_STATES])

    @property
    def shared_states(self) -> int:
        """How many lexer states, from 0 on, are those of the machine's lexicon."""
        return self._shared

    @property
    def terminals_made(self) -> int:
        """How many terminals have a number."""
        return max(len(self._terminals), self._saved.terminals if self._saved else 0)

    @property
    def frames_made(self) -> int:
        """How many frames have a number."""
        return max(len(self._frames), self._saved.frames if self._saved else 0)

    @cached_attribute
    def provenance(self) -> ProvenanceLog:
        """How each number was first met."""
        return ProvenanceLog() if self._saved is None else self._saved.provenance()

    def fill_saved(self, q: int) -> bool:
        """Fill the row of a lexer state from saved tables; False if it was not saved."""
        return self._saved is not None and self._saved.fill(self.tables, q)

    def fill_all_saved(self) -> None:
        """Fill all rows that saved tables have."""
        for q in np.flatnonzero(self.tables.filled[: self.states_made] == 0).tolist():
            self.fill_saved(q)

    # -- by number ------------------------------------------------------------------------------

    def state(self, q: int) -> LexState:
        """The lexer state with number q."""
        found = self.described(q)
        if found is None:
            found = self._states[q - len(self._common)] = self.kernel_state(q)
        return found

    def described(self, q: int) -> LexState | None:
        """The description of a lexer state, None if it has not been made yet."""
        if q < len(self._common):
            return self._common[q]
        at = q - len(self._common)
        if at >= len(self._states):
            if self._lost:
                self._restore()
                return self.described(q)
            self._states.extend([None] * (at + 1 - len(self._states)))
        return self._states[at]

    def terminal(self, terminal: int) -> Hashable:
        """The terminal with that number."""
        if terminal >= len(self._terminals):
            self._restore()
        return self._terminals[terminal]

    def frame(self, number: int) -> Frame:
        """The frame with that number."""
        if number >= len(self._frames):
            self._restore()
        return self._frames[number]

    def text(self, node: int) -> bytes:
        """The bytes captured up to a stack node."""
        out = bytearray()
        origin = int(self.tables.capture_links[node])
        while origin >= 0:
            out.append(origin & 0xFF)
            origin = int(self.tables.capture_links[origin >> 8])
        out.reverse()
        return bytes(out)

    def row_of(self, state: LexState) -> Row:
        """The row of a lexer state, cached for a while."""
        row = self._cached_rows.get(state)
        if row is None:
            if len(self._cached_rows) >= MAX_CACHED_ROWS:
                self._cached_rows.clear()
            row = self._cached_rows[state] = state.row(self.row_of)
        return row

    # -- numbers --------------------------------------------------------------------------------

    def frame_id(self, frame: Frame, origin: tuple[int, int, int]) -> int:
        """The number of a frame. origin: see `ProvenanceLog.frames`."""
        number = self._frame_ids.get(frame)
        if number is None:
            number = len(self._frames)
            t = self.tables
            if number >= len(t.frames):
                self.use(t._replace(frames=with_room(t.frames, number + 1, -1)))
            self._frames.append(frame)
            self._frame_ids[frame] = number
            if frame.key_set is not None:
                self._key_set_ids.setdefault(frame.key_set, len(self._key_set_ids))
            provenance = self.provenance
            provenance.frames += origin
            provenance.kinds.append(FRAME)
        return number

    def state_id(self, state: LexState, origin: int) -> int:
        """The number of a lexer state. origin: see `ProvenanceLog.states`."""
        if isinstance(state, Digits):  # large and shared by many rows
            return self.shared_state_id(state, origin)
        return self._number(state, origin)

    def shared_state_id(self, state: LexState, origin: int) -> int:
        """`state_id` of an object met again and again: hashed once, then found by identity."""
        known = self._identities.get(id(state))
        if known is None:
            known = self._common_identities.get(id(state)) or (self._number(state, origin), state)
            self._identities[id(state)] = known
        return known[0]

    def existing_state_id(self, state: LexState | None) -> int | None:
        """The number of a state that `shared_state_id` has met; None for others."""
        at = id(state)
        known = self._identities.get(at) or self._common_identities.get(at)
        return None if known is None else known[0]

    def _number(self, state: LexState, origin: int) -> int:
        q = self._state_ids.get(state)
        if q is None:
            q = self._next_number()
            self._states.append(state)
            self._state_ids[state] = q
            provenance = self.provenance
            provenance.states.append(origin)
            provenance.kinds.append(STATE)
            self.tables.recorded[q] = state.recorded
            if isinstance(state, KeyStart):  # its row is asked for at once
                self.fill(q)
        return q

    def _next_number(self) -> int:
        """The number for the next described state, after those that kernels have handed out."""
        made, begin = (
            int(self.tables.sizes[self._k.SIZE_STATES]),
            len(self._common) + len(self._states),
        )
        at = begin
        if at < made:
            at = self._k.next_described_state(self.tables.state_info, begin, made)
            self._states.extend([None] * (at - begin))
        if at == made:
            if made >= len(self.tables.filled):
                self.make_room(1)
            self.tables.sizes[self._k.SIZE_STATES] += 1
        return at

    def make_room(self, count: int, spans: int = 0) -> None:
        """Grow the tables for so many more lexer states and spans."""
        t = self.tables
        if int(t.sizes[self._k.SIZE_SPANS]) + spans > len(t.spans):
            t = t._replace(spans=with_room(t.spans, int(t.sizes[self._k.SIZE_SPANS]) + spans))
        needed = int(t.sizes[self._k.SIZE_STATES]) + count
        if needed > len(t.filled):
            checkpoint(len(t.filled) // STATES_PER_UNIT)
            if needed > MAX_STATES:
                raise BudgetError(
                    f"more than {MAX_STATES} states were met in the text so far",
                    hint="write a shorter text, or make the patterns simpler",
                )
        self.use(with_states(t, needed))

    def targets(self, q: int) -> npt.NDArray[np.int32]:
        """int32[256]: the row of lexer state q, filled if need be (see `kernels.tables`)."""
        if not self.tables.filled[q]:
            self.fill(q)
        row: npt.NDArray[np.int32] = self.tables.rows[q]
        return row

    def terminal_id(self, terminal: Hashable, origin: tuple[int, int]) -> int:
        """The number of a terminal. origin: see `ProvenanceLog.terminals`."""
        number = self._terminal_ids.get(terminal)
        return self.terminal_ids([terminal], *origin)[0] if number is None else number

    def terminal_ids(self, terminals: Sequence[Hashable], source: int, place: int) -> list[int]:
        """The numbers of terminals that were met at `source` and the places from `place` on."""
        known, made, provenance = self._terminal_ids, self._terminals, self.provenance
        numbers = []
        for at, terminal in enumerate(terminals, place):
            number = known.get(terminal)
            if number is None:
                number = known[terminal] = len(made)
                made.append(terminal)
                provenance.terminals += source, at
                provenance.kinds.append(TERMINAL)
                if number >= len(self.tables.needs_text):
                    t = self.tables
                    self.use(t._replace(needs_text=with_room(t.needs_text, number + 1)))
                if needs := self.machine.needs_text(terminal):
                    self.tables.needs_text[number] = needs
            numbers.append(number)
        return numbers

    def bits_id(self, bits: bytes) -> int:
        """Where the bits of the names that a frame allows begin in the tables."""
        at = self._bits.get(bits)
        if at is None:
            t = self.tables
            at = self._bits[bits] = int(t.sizes[self._k.SIZE_ALLOWED])
            t = self.use(t._replace(allowed=with_room(t.allowed, at + len(bits))))
            t.allowed[at : at + len(bits)] = np.frombuffer(bits, np.uint8)
            t.sizes[self._k.SIZE_ALLOWED] += len(bits)
        return at

    def key_set_number(self, key_set: KeySet) -> int:
        """The number of a frame's key set."""
        return self._key_set_ids[key_set]

    def is_numbered(self, state: LexState) -> bool:
        """Whether a lexer state that Python describes has a number."""
        return state in self._state_ids

    def number_of(self, terminal: Hashable) -> int:
        """The number of a terminal that some filled row has."""
        return self._terminal_ids[terminal]

    def _restore(self) -> None:
        """Make the objects of saved tables, when one is first asked for."""
        if not self._lost:
            raise inconsistent_tables()
        self._lost = False
        provenance = self.provenance
        self.provenance = ProvenanceLog()
        self._begin(self.machine.prepared)
        self.replay(provenance)
        self.provenance = provenance
