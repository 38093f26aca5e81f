"""In: lexer states, labels and frames, as met. Out: their numbers, and tables with room for them.

Numbers are handed out in order of birth, and where each was met is written down (`origins`), so
that saved tables can be given their Python side again: the same places, met in the same order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.json_lexemes import Names
from structgen.automaton.lexer import Digits, End, LexState, Row, free_form
from structgen.automaton.lexicon import Lexicon
from structgen.automaton.machine import Frame, Machine
from structgen.automaton.origins import (
    BEFORE,
    FRAME,
    FREE,
    LABEL,
    NAMED,
    NAMES,
    REST,
    STATE,
    TEXT,
    Origins,
)
from structgen.automaton.tables import foreign, frames_of, fresh_tables, grown
from structgen.automaton.words import WordTable
from structgen.jit import kernels

if TYPE_CHECKING:
    from structgen.automaton.engine_store import Saved

MAX_CACHED_ROWS = 4096  # rows of lexer states kept as Python objects


class Numbering:
    """Numbers for what a machine is made of, and the tables over them (see `kernels.tables`)."""

    def __init__(self, make_machine: Callable[[], Machine[Any]], saved: Saved | None) -> None:
        self._make_machine = make_machine
        self._machine: Machine[Any] | None = None
        self._k = kernels("tables")
        self._states: list[LexState | None] = []
        self._state_ids: dict[LexState, int] = {}
        self._blocks: list[tuple[int, int, npt.NDArray[np.int32]]] = []
        self._rests: dict[int, int] = {}
        self._guarded: set[int] = set()
        self._identities: dict[int, tuple[int, LexState]] = {}
        self._labels: list[Hashable] = []
        self._label_ids: dict[Hashable, int] = {}
        self._frames: list[Frame] = []
        self._frame_ids: dict[Frame, int] = {}
        self._cached_rows: dict[LexState, Row] = {}
        self._saved = saved
        self._origins = None if saved else Origins()
        self._shared = 0 if saved is None else saved.shared
        if saved is None:
            lexicon = self.machine.lexicon
            self._shared = len(lexicon.states)
            self.tables = self._k.Tables(**fresh_tables(lexicon))
            self._begin(lexicon)
            t = self.tables
            t.needs_text[: len(self._labels)] = [*map(self.machine.needs_text, self._labels)]
        else:
            self.tables = saved.tables

    @property
    def machine(self) -> Machine[Any]:
        """The machine, made when first needed: saved tables may never need it."""
        if self._machine is None:
            self._machine = self._make_machine()
        return self._machine

    def _begin(self, lexicon: Lexicon) -> None:
        """Number what the lexicon has."""
        self._states, self._labels = list(lexicon.states), list(lexicon.labels)
        self._state_ids, self._label_ids = dict(lexicon.state_ids), dict(lexicon.label_ids)
        self._frames, self._blocks = [], []

    @property
    def states_made(self) -> int:
        """How many lexer states have a number."""
        return max(len(self._states), self._saved.states if self._saved else 0)

    @property
    def shared_states(self) -> int:
        """How many of the first lexer states are those of the machine's lexicon."""
        return self._shared

    @property
    def labels_made(self) -> int:
        """How many labels have a number."""
        return max(len(self._labels), self._saved.labels if self._saved else 0)

    @property
    def frames_made(self) -> int:
        """How many frames have a number."""
        return max(len(self._frames), self._saved.frames if self._saved else 0)

    @property
    def origins(self) -> Origins:
        """How each number was first met."""
        if self._origins is None:
            if self._saved is None:
                raise foreign()
            self._origins = self._saved.origins()
        return self._origins

    def fill_saved(self, q: int) -> bool:
        """Fill the row of a lexer state from what was saved; False if it was not."""
        return self._saved is not None and self._saved.fill(self.tables, q)

    # -- by number ------------------------------------------------------------------------------

    def state(self, q: int) -> LexState:
        """The lexer state with number q."""
        if q >= len(self._states):
            self._restore()
        return self._states[q] or self._within(q)

    def label(self, label: int) -> Hashable:
        """The label with that number."""
        if label >= len(self._labels):
            self._restore()
        return self._labels[label]

    def frame(self, number: int) -> Frame:
        """The frame with that number."""
        if number >= len(self._frames):
            self._restore()
        return self._frames[number]

    def text(self, ctx: int) -> bytes:
        """The bytes that a context remembers."""
        out = bytearray()
        origin = int(self.tables.origin[ctx])
        while origin >= 0:
            out.append(origin & 0xFF)
            origin = int(self.tables.origin[origin >> 8])
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
        """The number of a frame. origin: the kind of move, where from, by which label."""
        number = self._frame_ids.get(frame)
        if number is None:
            number = len(self._frames)
            t = self.tables
            if number >= len(t.frames):
                self.tables = t._replace(frames=grown(t.frames, -1))
            self._frames.append(frame)
            self._frame_ids[frame] = number
            self.origins.frames.append(origin)
            self.origins.births.append(FRAME)
        return number

    def state_id(self, state: LexState, origin: int) -> int:
        """The number of a lexer state. origin: see `Origins.states`."""
        if isinstance(state, Digits):  # large and shared by many rows: hashed only once
            known = self._identities.get(id(state))
            if known is None:
                known = (self._number(state, origin), state)
                self._identities[id(state)] = known
            return known[0]
        return self._number(state, origin)

    def _number(self, state: LexState, origin: int) -> int:
        q = self._state_ids.get(state)
        if q is None:
            q = len(self._states)
            self._make_room(1)
            self._states.append(state)
            self._state_ids[state] = q
            self.origins.states.append(origin)
            self.origins.births.append(STATE)
            self.tables.recorded[q] = state.recorded
        return q

    def _make_room(self, count: int) -> None:
        """See to it that so many more lexer states fit into the tables."""
        while len(self._states) + count > len(self.tables.filled):
            t = self.tables
            self.tables = t._replace(
                rows=grown(t.rows, -1),
                filled=grown(t.filled),
                accept=grown(t.accept, -1),
                recorded=grown(t.recorded),
                guard=grown(t.guard, -1),
            )

    def fill_names(self, q: int, state: Names) -> None:
        """Fill the rows of a key's start and of all states within its names.

        The states within are made only when asked for.
        """
        table, others = state.table, state.others()
        free = -1 if others is None else self.state_id(others, (q << 9) | REST)
        names = self._spelled(q, table)
        order = int(self.tables.sizes[5])
        while order + len(table.positions) > len(self.tables.order):
            self.tables = self.tables._replace(order=grown(self.tables.order))
        self.tables.order[order : order + len(table.positions)] = table.positions
        born = np.zeros((len(names.data), 2), np.int32)
        while True:
            self._make_room(len(names.data))
            base = len(self._states)
            fill = kernels("names").fill_names
            count = fill(self.tables, names, q, base, free, order, born)
            if count >= 0:
                break
            self.fill(int(self.tables.need[0]))
        self.tables.sizes[5] += len(table.positions)
        self._blocks.append((base, q, born[:count]))
        if free >= 0:
            made = (q, *range(base, base + count))
            self._rests.update(dict.fromkeys(made, free))
            if (self.tables.guard[base : base + count, 0] >= 0).any():
                self._guarded.update(made)
        self._states.extend([None] * count)
        self.origins.states.append(q)
        self.origins.births.append(NAMES)

    def fill(self, q: int) -> None:
        """Fill the row of a lexer state."""
        if self.fill_saved(q):
            return
        state = self.state(q)
        if isinstance(state, Names):
            self.fill_names(q, state)
            return
        row = self.row_of(state)
        targets = row.targets
        codes = {id(None): -1}
        numbers = list(map(id, targets))
        for byte, number in enumerate(numbers):
            if number not in codes:
                target = targets[byte]
                if isinstance(target, End):
                    codes[number] = -2 - self.label_id(target.label, (q, byte))
                elif target is not None:
                    codes[number] = self.state_id(target, (q << 9) | byte)
        accept = -1 if row.accept is None else self.label_id(row.accept, (q, BEFORE))
        self.tables.rows[q] = [codes[number] for number in numbers]
        self.tables.accept[q] = accept
        self.tables.filled[q] = 1

    def _spelled(self, q: int, table: WordTable) -> Any:
        spelled = [word.encode() for word in table.words]
        label = [self.label_id(("key", w), (q, NAMED + i)) for i, w in enumerate(table.words)]
        return kernels("names").Names(
            np.frombuffer(b"".join(spelled), np.uint8),
            np.cumsum([0, *map(len, spelled)], dtype=np.int64),
            np.array(label, np.int32),
        )

    def rest_of_names(self, q: int) -> int | None:
        """For a state within the names of a key: what reads any other key in its place.

        None for other states, and where there are no other keys.
        """
        return self._rests.get(q)

    def names_behind(self, q: int) -> list[int]:
        """The starts of keys that a byte leads to."""
        targets = {t for t in self.tables.rows[q].tolist() if t >= 0}
        return [t for t in targets if isinstance(self._states[t], Names)]

    def is_guarded(self, q: int) -> bool:
        """Whether what may be read from a lexer state also depends on which names a frame takes."""
        if self.tables.guard[q, 0] >= 0 or q in self._guarded:
            return True
        return any(int(t) in self._guarded for t in set(self.tables.rows[q].tolist()) if t >= 0)

    def _within(self, q: int) -> LexState:
        """The lexer state number q within the names of a key."""
        base, root, born = self._blocks[bisect_right(self._blocks, q, key=lambda b: b[0]) - 1]
        start: Any = self.state(root)
        word, depth = born[q - base]
        within: Any = start
        for byte in start.table.words[word].encode()[:depth]:
            within = self.row_of(within).targets[byte]
        self._states[q] = within
        found: LexState = within
        return found

    def label_id(self, label: Hashable, origin: tuple[int, int]) -> int:
        """The number of a label. origin: see `Origins.labels`."""
        number = self._label_ids.get(label)
        if number is None:
            number = len(self._labels)
            t = self.tables
            if number >= len(t.needs_text):
                self.tables = t = t._replace(needs_text=grown(t.needs_text))
            self._labels.append(label)
            self._label_ids[label] = number
            self.origins.labels.append(origin)
            self.origins.births.append(LABEL)
            t.needs_text[number] = self.machine.needs_text(label)
        return number

    def number_of(self, label: Hashable) -> int:
        """The number of a label that a filled row has."""
        return self._label_ids[label]

    # -- again ----------------------------------------------------------------------------------

    def _restore(self) -> None:
        """Make the states, labels and frames of saved tables again, in the order of their birth."""
        for q in np.flatnonzero(self.tables.filled[: self.states_made] == 0).tolist():
            self.fill_saved(q)  # rows of keys are made from other rows
        try:
            self._replay()
        except (IndexError, KeyError, StopIteration, AttributeError, TypeError) as error:
            raise foreign() from error

    def _replay(self) -> None:
        origins, self._origins = self.origins, Origins()
        places: dict[int, list[Any]] = {
            STATE: origins.states,
            FRAME: origins.frames,
            LABEL: origins.labels,
        }
        todo: dict[int, Iterator[Any]] = {birth: iter(p) for birth, p in places.items()}
        todo[NAMES] = todo[STATE]
        self._begin(self.machine.lexicon)
        for birth in origins.births:
            origin = next(todo[birth])
            if birth == STATE:
                self.state_id(self._state_from(origin), origin)
            elif birth == NAMES:
                start: Any = self.state(origin)
                self.fill_names(origin, start)
            elif birth == LABEL:
                self.label_id(self._label_from(*origin), origin)
            else:
                self.frame_id(self._frame_from(*origin), origin)
        self._origins = origins

    def _frame_from(self, kind: int, source: int, label: int) -> Frame:
        if source < 0:
            start: Frame = self.machine.start
            return start
        if kind == TEXT:
            number = int(self.tables.contexts[source, self._k.FRAME])
            move = self.machine.event(self._frames[number], self._labels[label], self.text(source))
        else:
            move = self.machine.event(self._frames[source], self._labels[label], b"")
        return frames_of(move)[max(kind, 0)]

    def _state_from(self, origin: int) -> LexState:
        number, entry = divmod(-1 - origin, 2)
        parent, place = None if origin < 0 else self.state(origin >> 9), origin & 511
        target: Any = None
        if parent is None:
            target = self._frames[number].entry if entry else self._frames[number].lexeme
        else:
            target = self._beside(parent, place)
        if not isinstance(target, LexState):
            raise foreign()
        return target

    def _beside(self, parent: LexState, place: int) -> Any:
        """The state that was met at a place of another."""
        if place == FREE:
            return free_form(parent)
        if place == REST and isinstance(parent, Names):
            return parent.others()
        return self.row_of(parent).targets[place]

    def _label_from(self, q: int, place: int) -> Hashable:
        if q < 0:
            move = self.machine.event(self._frames[-1 - q], self._labels[place], b"")
            return getattr(move, "label", None)
        state = self.state(q)
        if place >= NAMED and isinstance(state, Names):
            return ("key", state.table.words[place - NAMED])
        row = self.row_of(state)
        target = row.targets[place] if place != BEFORE else None
        return target.label if isinstance(target, End) else row.accept
