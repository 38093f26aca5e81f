"""In: a machine. Out: its run-time tables, filled on demand, with every position as an int.

The engine interns lexer states, labels and frames, and keeps the flat arrays that kernels read. A
kernel that meets a row or an event nobody has computed stops with a code; the engine asks the
machine, writes the answer down, and the kernel goes on from there. Not safe for concurrent calls:
`Constraint` holds a lock around everything here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automaton import engine_store
from structgen.automaton.automaton import Automaton, Bytes, Masks, Stored
from structgen.automaton.byte_words import in_words
from structgen.automaton.completion import Completions
from structgen.automaton.lexer import Digits, End, LexState, Row, free_form
from structgen.automaton.lexer_paths import ends
from structgen.automaton.machine import END_OF_TEXT, Frame, Machine
from structgen.automaton.origins import BEFORE, FRAME, FREE, LABEL, ONLY, STATE, Origins, Saved
from structgen.errors import ArtifactError, BudgetError
from structgen.jit import kernels

if TYPE_CHECKING:
    from structgen.tokens.vocabulary import Vocabulary

MAX_CACHED_ROWS = 4096  # rows of lexer states kept as Python objects
Int64s = npt.NDArray[np.int64]


class Engine(Automaton):
    """The tables of one machine. Positions are pairs, `q << 32 | ctx` (see `kernels.tables`)."""

    def __init__(
        self, make_machine: Callable[[], Machine[Any]], saved: Saved | None = None
    ) -> None:
        """Start from nothing, or from tables that were saved; `make_machine` is called once."""
        self._make_machine = make_machine
        self._machine: Machine[Any] | None = None
        self._step = kernels("step")
        self._k = kernels("tables")
        self.NEED_SPACE: int = self._k.NEED_SPACE
        self._states: list[LexState] = []
        self._state_ids: dict[LexState, int] = {}
        self._identities: dict[int, tuple[int, LexState]] = {}
        self._labels: list[Hashable] = []
        self._label_ids: dict[Hashable, int] = {}
        self._frames: dict[int, Frame] = {}
        self._frame_ids: dict[Frame, int] = {}
        self._cached_rows: dict[LexState, Row] = {}
        self.origins = Origins() if saved is None else saved.origins
        self.tables = self._k.Tables(**(_fresh_tables() if saved is None else saved.tables))
        if saved is None:
            self._label_id(END_OF_TEXT, (-1, 0))
            self.start = self._pair_of(self.machine.start, (-1, 0))
        else:
            self.start = saved.start

    @classmethod
    def restored(cls, make_machine: Callable[[], Machine[Any]], saved: Stored) -> Engine:
        """The engine that `stored` described. Raises ArtifactError."""
        return cls(make_machine, engine_store.restored(saved))

    @property
    def machine(self) -> Machine[Any]:
        """The machine, made when first needed: saved tables may never need it."""
        if self._machine is None:
            self._machine = self._make_machine()
        return self._machine

    # -- reading --------------------------------------------------------------------------------

    def run(self, pair: int, text: bytes) -> tuple[int, int]:
        """The pair after some bytes, or DEAD; and how many could be read."""
        data = np.frombuffer(text, np.uint8)
        need = self.tables.need
        need[4] = 0
        while True:
            after = self._step.run(self.tables, pair, data)
            need = self.tables.need
            if after >= self._k.DEAD:
                return int(after), int(need[4])
            pair = int(need[5])
            self.serve(after)

    def ask(self, kernel: Callable[..., int], *arguments: Any) -> int:
        """Call a kernel that takes the tables first, until it needs nothing more."""
        while True:
            answer = kernel(self.tables, *arguments)
            if answer >= self._k.DEAD:
                return int(answer)
            self.serve(answer)

    def is_accepting(self, pair: int) -> bool:
        """Whether the text may end at `pair`."""
        return self.ask(self._step.ending, pair) == 1

    def core(self, pair: int) -> tuple[int, int]:
        """What decides how a text can go on from `pair`, without the bytes of keys remembered.

        They matter only for what is checked later; the lexer state knows which keys are taken.
        """
        ctx = pair & 0xFFFFFFFF
        base = int(self.tables.ctx_base[ctx])
        compared = ctx != base and self.machine.compares(self.frame(base))
        return pair >> 32, ctx if compared else base

    def only_byte(self, pair: int) -> int:
        """The byte if exactly one can follow, else -1."""
        return self.ask(self._step.only_byte, pair)

    def next_bytes(self, pair: int) -> list[int]:
        """The bytes that can follow, ascending."""
        out = np.zeros(256, np.uint8)
        self.ask(self._step.next_bytes, pair, out)
        return [int(b) for b in np.flatnonzero(out)]

    def expected(self, pair: int) -> str:
        """What may come next, in words."""
        state, frame = self.state(pair >> 32), self.frame(pair & 0xFFFFFFFF)
        words = self.machine.expected(frame)
        if state != frame.lexeme:
            words = f"{in_words(self.next_bytes(pair))} (within {words})"
        if self.is_accepting(pair):
            words = f"{words}, or the end"
        missing = self.machine.missing(frame)
        return f"{words}; {missing}" if missing else words

    # -- what kernels ask for -------------------------------------------------------------------

    def serve(self, code: int) -> None:
        """Provide what a kernel stopped for."""
        need = self.tables.need
        if code == self._k.NEED_ROW:
            self._fill(int(need[0]))
        elif code == self._k.NEED_EVENT:
            self.event(int(need[0]), int(need[1]))
        else:
            self._grow_contexts()

    def targets(self, q: int) -> npt.NDArray[np.int32]:
        """What each byte does in lexer state q, int32[256] (see `kernels.tables`)."""
        if not self.tables.filled[q]:
            self._fill(q)
        row: npt.NDArray[np.int32] = self.tables.rows[q]
        return row

    def row_of(self, state: LexState) -> Row:
        """The row of a lexer state, cached for a while."""
        row = self._cached_rows.get(state)
        if row is None:
            if len(self._cached_rows) >= MAX_CACHED_ROWS:
                self._cached_rows.clear()
            row = self._cached_rows[state] = state.row(self.row_of)
        return row

    def _fill(self, q: int) -> None:
        row = self.row_of(self.state(q))
        targets = row.targets
        codes = {id(None): -1}
        numbers = list(map(id, targets))
        for byte, number in enumerate(numbers):
            if number not in codes:
                target = targets[byte]
                if isinstance(target, End):
                    codes[number] = -2 - self._label_id(target.label, (q, byte))
                elif target is not None:
                    codes[number] = self._target_id(target, (q << 9) | byte)
        accept = -1 if row.accept is None else self._label_id(row.accept, (q, BEFORE))
        self.tables.rows[q] = [codes[number] for number in numbers]
        self.tables.accept[q] = accept
        self.tables.filled[q] = 1

    def event(self, ctx: int, label: int) -> int:
        """The pair after the event `label` in `ctx`; remembered."""
        key = (ctx << 32) | label
        pair = int(self._k.lookup(self.tables.events, key))
        if pair != self._k.UNKNOWN:
            return pair
        try:
            after = self.machine.event(self.frame(ctx), self.label(label), self.text(ctx))
        except RecursionError as error:
            raise BudgetError(
                "deciding what may come next takes too many nested steps",
                hint="nest schemas with uniqueItems, contains or not less deeply",
            ) from error
        pair = self._k.DEAD if after is None else self._pair_of(after, (ctx, label))
        t = self.tables
        if 2 * t.sizes[2] >= len(t.events):
            self.tables = t = t._replace(events=self._rehashed(t.events))
        self._k.insert(t.events, key, pair)
        t.sizes[2] += 1
        return pair

    def text(self, ctx: int) -> bytes:
        """The bytes that a context remembers."""
        out = bytearray()
        origin = int(self.tables.ctx_origin[ctx])
        while origin >= 0:
            out.append(origin & 0xFF)
            origin = int(self.tables.ctx_origin[origin >> 8])
        out.reverse()
        return bytes(out)

    # -- interning ------------------------------------------------------------------------------

    def state(self, q: int) -> LexState:
        """The lexer state with number q."""
        if q >= len(self._states):
            self._restore()
        return self._states[q]

    def state_id(self, state: LexState, q: int) -> int:
        """The number of a lexer state that is the free form of lexer state `q`."""
        return self._state_id(state, (q << 9) | FREE)

    def label(self, label: int) -> Hashable:
        """The label with that number."""
        if label >= len(self._labels):
            self._restore()
        return self._labels[label]

    def number_of(self, label: Hashable) -> int:
        """The number of a label that a filled row has."""
        return self._label_ids[label]

    def label_id(self, q: int, label: Hashable) -> int:
        """The number of a label that the lexeme of lexer state `q` can end with."""
        return self._label_id(label, (q, ONLY))

    def frame(self, ctx: int) -> Frame:
        """The frame of a context."""
        base = int(self.tables.ctx_base[ctx])
        if base not in self._frames:
            self._restore()
        return self._frames[base]

    def _pair_of(self, frame: Frame, origin: tuple[int, int]) -> int:
        ctx = self._frame_ids.get(frame)
        if ctx is None:
            t = self.tables
            if t.sizes[0] >= len(t.ctx_base):
                self._grow_contexts()
                t = self.tables
            ctx = int(t.sizes[0])
            t.sizes[0] += 1
            t.ctx_base[ctx] = ctx
            t.ctx_origin[ctx] = -1
            self._frames[ctx] = frame
            self._frame_ids[frame] = ctx
            self.origins.frames.append((ctx, *origin))
            self.origins.births.append(FRAME)
        return (self._state_id(frame.lexeme, -1 - ctx) << 32) | ctx

    def _target_id(self, state: LexState, origin: int) -> int:
        """`_state_id`, without hashing the large, shared states of split characters again."""
        if not isinstance(state, Digits):
            return self._state_id(state, origin)
        known = self._identities.get(id(state))
        if known is None:
            known = (self._state_id(state, origin), state)
            self._identities[id(state)] = known
        return known[0]

    def _state_id(self, state: LexState, origin: int) -> int:
        q = self._state_ids.get(state)
        if q is None:
            q = len(self._states)
            t = self.tables
            if q >= len(t.filled):
                self.tables = t = t._replace(
                    rows=_grown(t.rows, -1),
                    filled=_grown(t.filled),
                    accept=_grown(t.accept, -1),
                    recorded=_grown(t.recorded),
                )
            self._states.append(state)
            self._state_ids[state] = q
            self.origins.states.append(origin)
            self.origins.births.append(STATE)
            t.recorded[q] = state.recorded
        return q

    def _label_id(self, label: Hashable, origin: tuple[int, int]) -> int:
        number = self._label_ids.get(label)
        if number is None:
            number = len(self._labels)
            t = self.tables
            if number >= len(t.needs_text):
                self.tables = t = t._replace(needs_text=_grown(t.needs_text))
            self._labels.append(label)
            self._label_ids[label] = number
            self.origins.labels.append(origin)
            self.origins.births.append(LABEL)
            t.needs_text[number] = self.machine.needs_text(label)
        return number

    def _restore(self) -> None:
        """Make the states, labels and frames of saved tables again, in the order of their birth."""
        origins, self.origins = self.origins, Origins()
        places: dict[int, list[Any]] = {
            STATE: origins.states,
            FRAME: origins.frames,
            LABEL: origins.labels,
        }
        todo: dict[int, Iterator[Any]] = {birth: iter(p) for birth, p in places.items()}
        self._states, self._labels = [], []
        for birth in origins.births:
            origin = next(todo[birth])
            if birth == STATE:
                self._state_id(self._state_from(origin), origin)
            elif birth == LABEL:
                self._label_id(self._label_from(*origin), origin)
            else:
                self._frame_from(*origin)
        self.origins = origins

    def _frame_from(self, ctx: int, source: int, label: int) -> None:
        frame: Frame | None = self.machine.start
        if source >= 0:
            frame = self.machine.event(self.frame(source), self._labels[label], self.text(source))
        if frame is None:
            raise _foreign()
        self._frames[ctx] = frame
        self._frame_ids[frame] = ctx

    def _state_from(self, origin: int) -> LexState:
        if origin < 0:
            return self._frames[-1 - origin].lexeme
        parent, place = self._states[origin >> 9], origin & 511
        target = free_form(parent) if place == FREE else self.row_of(parent).targets[place]
        if not isinstance(target, LexState):
            raise _foreign()
        return target

    def _label_from(self, q: int, place: int) -> Hashable:
        if q < 0:
            return END_OF_TEXT
        if place == ONLY:
            return next(e.label for e in ends(self._states[q], self.row_of) if e.label is not None)
        row = self.row_of(self._states[q])
        target = row.targets[place] if place != BEFORE else None
        return target.label if isinstance(target, End) else row.accept

    # -- growth ---------------------------------------------------------------------------------

    def _grow_contexts(self) -> None:
        t = self.tables
        if t.sizes[0] >= len(t.ctx_base):
            self.tables = t = t._replace(
                ctx_base=_grown(t.ctx_base), ctx_origin=_grown(t.ctx_origin, -1)
            )
        if 2 * t.sizes[1] >= len(t.ctx_next):
            self.tables = t._replace(ctx_next=self._rehashed(t.ctx_next))

    def masks(self, vocabulary: Vocabulary) -> Masks:
        """See `Automaton.masks`."""
        from structgen.mask.walker import Walker

        return Walker(self, vocabulary)

    def completions(self, alphabet: Bytes = range(256)) -> Completions:
        """See `Automaton.completions`."""
        return Completions(self, alphabet)

    def stored(self) -> Stored:
        """See `Automaton.stored`."""
        return engine_store.stored(self)

    def _rehashed(self, table: Int64s) -> Int64s:
        larger = _hash_table(2 * len(table))
        self._k.rehash(table, larger)
        return larger

    @property
    def size(self) -> dict[str, int]:
        """How much has been built: lexer states, contexts, events, bytes of all tables."""
        t = self.tables
        return {
            "lexer_states": len(self.origins.states),
            "contexts": int(t.sizes[0]),
            "events": int(t.sizes[2]),
            "bytes": sum(array.nbytes for array in t),
        }


def _fresh_tables() -> dict[str, npt.NDArray[Any]]:
    return {
        "rows": np.full((64, 256), -1, np.int32),
        "filled": np.zeros(64, np.uint8),
        "accept": np.full(64, -1, np.int32),
        "recorded": np.zeros(64, np.uint8),
        "needs_text": np.zeros(64, np.uint8),
        "ctx_base": np.zeros(256, np.int32),
        "ctx_origin": np.full(256, -1, np.int64),
        "ctx_next": _hash_table(256),
        "events": _hash_table(256),
        "sizes": np.zeros(4, np.int64),
        "need": np.zeros(8, np.int64),
    }


def _hash_table(size: int) -> Int64s:
    table = np.zeros((size, 2), np.int64)
    table[:, 0] = -1
    return table


def _grown(array: npt.NDArray[Any], fill: int = 0) -> npt.NDArray[Any]:
    larger = np.full((2 * len(array), *array.shape[1:]), fill, array.dtype)
    larger[: len(array)] = array
    return larger


def _foreign() -> ArtifactError:
    return ArtifactError(
        "the saved tables do not belong to the saved spec", hint="compile the spec again"
    )
