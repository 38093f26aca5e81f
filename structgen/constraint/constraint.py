"""The `Constraint`: states of a text are ints, and each state has a mask.

A state is an interned position of the automaton, so states can be kept, compared and forked like
any int. Its mask is the lexeme mask and the boundary tokens of `masks.pushdown_masks`, and the end
tokens where the text may end. Masks are kept in a `MaskRows`; what takes too much memory is
dropped and made again.
"""

from __future__ import annotations

import operator
import os
import struct
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD, Automaton, Completes, Masks, Row, completing
from structgen.constraint.artifact import save
from structgen.constraint.completable import Completable
from structgen.constraint.precompute import explore
from structgen.errors import (
    ArgumentError,
    ArtifactError,
    BudgetError,
    SpecError,
    UnsatisfiableSchemaError,
)
from structgen.masks.bitmask import allow, forbid, unpack
from structgen.masks.registry import masks_of
from structgen.masks.row_store import MaskRows, States, check_row
from structgen.masks.saved_rows import Saved, pack
from structgen.masks.shared import shared_masks
from structgen.spec.base import Spec
from structgen.util.arguments import check_integer, several
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import limited
from structgen.vocabulary.vocabulary import Vocabulary, checked_vocabulary

FINAL = -2  #: the state after an end-of-text token; nothing can follow
MAX_BYTES = 256 << 20  # of memory for all that one constraint has made
# Shares of it: tables of the automaton, mask rows, parts of masks, and steps by token.
TABLES, ROWS, PARTS, STEPS = 3 / 8, 1 / 4, 1 / 4, 1 / 8
STEP_BYTES = 128  # of a cached (state, token) -> state, about
STATE_BYTES = 256  # of a state, with how it was reached, about
UNKNOWN = -1  # the position of a state whose tables were dropped
MAX_WORK = 150_000  # units of work for the first mask, or one completion
MAX_FORCED = 1 << 16  # bytes that `forced_bytes` returns at most
CHECK_EVERY = 64  # states made between two looks at the memory taken
MASK_COUNT = 8  # states that a mask counts for there


class Constraint:
    """What `compile` returns: which tokens may come next, for every state of a text.

    Attributes: `start`, the state before any token; `vocabulary`; `spec`. States are non-negative
    ints, or DEAD or FINAL; they stay valid as long as the constraint lives, in all threads.

    What is made on demand takes at most about `max_bytes`, with a share for each kind: mask rows,
    of which those used last are kept; parts of masks; steps by token; the tables of the automaton.
    Where one of the last three outgrows its share, all of it is dropped. Each state has a link to
    the state before it and the bytes between, so its position can be found again by reading.
    """

    can_replay = True  #: whether reading the text of a state again leads to its position

    def __init__(
        self,
        spec: Spec | Callable[[], Spec],
        vocabulary: Vocabulary,
        automaton: Automaton | Callable[[], Automaton],
        saved: Saved | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """Wrap the automaton of `spec`; both may be functions that make them when needed.

        saved: rows that were read from a file, for this automaton's positions.
        """
        self._spec, self.vocabulary = spec, checked_vocabulary(vocabulary)
        self._size, self._texts = vocabulary.size, vocabulary.lazy_tokens
        if callable(automaton):
            self._restored = automaton
        else:
            self.automaton = automaton
            self._check_named(automaton)
        self.max_bytes = max_bytes
        self.lock = threading.RLock()
        self._saved = None if saved is None else saved.rows
        room = int(ROWS * max_bytes)
        self._rows = MaskRows(vocabulary.words, room, self.lock)
        self._write = self._rows.write
        self._positions: list[int] = []
        # How each state was first reached: the state before it (~ of it by a special token) and
        # the bytes in between.
        self._from: list[int] = []
        self._by: list[bytes] = []
        self._state_of: dict[int, int] = {}
        self._steps: dict[int, dict[int, int]] = {}  # state -> token -> state after it
        self._step_count = 0
        self._ends: dict[int, bool] = {}
        self._countdown = CHECK_EVERY
        self._eos, self._specials = frozenset(vocabulary.eos_ids), vocabulary.special_ids
        self._most_steps = int(STEPS * max_bytes) // STEP_BYTES
        known = shared_masks(vocabulary) if saved is None else saved
        self.writes_all_bytes = known.writes_all_bytes
        self.start = self._intern((saved or self.automaton).start, DEAD, b"")
        self._completable = None if self.writes_all_bytes else self._completable_states()
        if self._completable is not None and not self._completable(self.start):
            error = BudgetError if self._completable.gave_up else UnsatisfiableSchemaError
            raise error(
                "no text of the spec was found that this vocabulary can write",
                expected="tokens for the bytes that the spec needs",
                hint="give the vocabulary a token for each single byte",
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> Constraint:
        """Itself: states belong to one constraint, and hosts copy requests that share it."""
        return self

    def __copy__(self) -> Constraint:
        """Itself, as a deep copy is."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as what it was compiled from; its states, other than `start`, stay behind."""
        return constraint_of, (self.spec, self.vocabulary, self.max_bytes)

    @cached_attribute
    def spec(self) -> Spec:
        """What it was compiled from."""
        return self._spec() if callable(self._spec) else self._spec

    @cached_attribute
    def automaton(self) -> Automaton:
        """The automaton of its spec. Raises ArtifactError where the file that has it is damaged."""
        return self._restored()

    @cached_attribute
    def _reads_tokens(self) -> bool:
        """Whether tokens may stand for themselves. Then texts do not lead back to positions."""
        return self.automaton.reads_tokens

    @cached_attribute
    def _masks(self) -> Masks:
        return masks_of(self.automaton, self.vocabulary)

    @cached_attribute
    def _most(self) -> int:
        """Bytes that the tables may take; twice those of a saved automaton in any case."""
        return max(int(TABLES * self.max_bytes), 2 * self.automaton.size["bytes"])

    @cached_attribute
    def _completions(self) -> Completes:
        return self.automaton.completions()

    # -- states ---------------------------------------------------------------------------------

    def advance(self, state: int, token_id: int) -> int:
        """The state after a token, DEAD if it is not allowed, FINAL after an allowed EOS token."""
        try:
            return self._steps[state][token_id]
        except KeyError:  # not taken yet
            pass
        except TypeError:  # no integer, which is said below
            pass
        try:
            if state < 0 or not 0 <= token_id < self._size:
                return DEAD
            after = self._advance(state, token_id)
        except (TypeError, ValueError, IndexError):
            self._check_state(state)
            check_integer("the token", token_id, "bytes of text are read by advance_bytes")
            raise
        if self._step_count >= self._most_steps:
            self._steps, self._step_count = {}, 0
        self._steps.setdefault(state, {})[token_id] = after
        self._step_count += 1
        return after

    def _advance(self, state: int, token_id: int) -> int:
        after = self._read_token(state, token_id)
        if self._completable is None or after < 0:
            return after
        if token_id in self._specials and not self._reads_tokens:
            return after
        return after if self._completable(after) else DEAD

    def _read_token(self, state: int, token_id: int) -> int:
        """The state after a token, whether or not other tokens can finish it."""
        data = self._texts[token_id]
        if token_id in self._specials:
            return self._advance_by_special(state, token_id, data or b"")
        after = self.read(state, data)[0] if data else DEAD
        return self._joined_by_token(state, token_id, after) if self._reads_tokens else after

    def _advance_by_special(self, state: int, token_id: int, text: bytes) -> int:
        if token_id in self._eos:
            return FINAL if self.is_accepting(state) else DEAD
        with self.lock:
            self._limit_memory()
            named: Any = self.automaton.specials(self._position(state))
            numbered = self._reads_tokens
            position = named.after(token_id, text) if numbered else named.get(text, DEAD)
            return DEAD if position < 0 else self._intern(position, ~state, text)

    def _joined_by_token(self, state: int, token_id: int, after: int) -> int:
        """The state after a text token that may stand for itself, too. after: by its bytes."""
        with self.lock:
            automaton: Any = self.automaton
            named = automaton.specials(self._position(state))
            position = named.after(token_id, self._texts[token_id] or b"")
            if position < 0:
                return after
            if after >= 0:
                position = automaton.joined(position, self._position(after))
            return self._intern(position, state, self._texts[token_id] or b"")

    def advance_bytes(self, state: int, data: bytes) -> int:
        """The state after some bytes of text, or DEAD."""
        return self.read(state, data)[0]

    def read(self, state: int, data: bytes) -> tuple[int, int]:
        """The state after `data`, DEAD if not all of it is allowed; and how many bytes are."""
        try:
            if state < 0:
                return (DEAD, 0) if data else (state, 0)
            with self.lock:
                self._limit_memory()
                position, count = self.automaton.run(self._position(state), data)
                return (DEAD if position < 0 else self._intern(position, state, data)), count
        except (TypeError, ValueError):
            self._check_state(state)
            _check_bytes(data)
            raise

    def state_of(self, token_ids: Iterable[int]) -> int:
        """The state after these tokens, for a host that dropped a text and goes on with it later.

        DEAD if they are not allowed, FINAL behind an end token. Runs of text are read at once: that
        takes less than `advance` token by token, and makes no states in between.
        """
        state, text = self.start, bytearray()
        for token in several("tokens", token_ids, "integers, one for each token"):
            check_integer("the token", token, "bytes of text are read by advance_bytes")
            plain = self._completable is None and token not in self._specials
            data = self._texts[token] if plain and 0 <= token < self._size else None
            if data:
                text += data
                continue
            if text:
                state, text = self.advance_bytes(state, bytes(text)), bytearray()
            state = self.advance(state, token)
        return self.advance_bytes(state, bytes(text)) if text else state

    def _intern(self, position: int, came_from: int, by: bytes) -> int:
        state = self._state_of.get(position)
        if state is None:
            state = self._state_of[position] = len(self._positions)
            self._positions.append(position)
            self._from.append(came_from)
            self._by.append(by)
        return state

    def _position(self, state: int) -> int:
        """The position of a state; `_limit_memory` may change it, so it must not be kept."""
        try:
            position = self._positions[state]
        except (IndexError, TypeError):
            self._check_state(state)
            raise
        return self._replayed(state) if position == UNKNOWN else position

    def _check_state(self, state: object) -> None:
        """ArgumentError where `state` is no state of this constraint."""
        check_integer("the state", state, "begin with constraint.start")
        if operator.index(state) >= len(self._positions):  # type: ignore[arg-type]  # checked
            raise ArgumentError(
                f"the state is {state!r}",
                expected=f"one of the {len(self._positions)} states of this constraint",
                hint="states belong to the constraint that handed them out",
            )

    def _is_over(self, state: int) -> bool:
        """Whether nothing can follow: DEAD or FINAL. ArgumentError for what is no state."""
        try:
            return bool(state < 0)
        except (TypeError, ValueError):
            self._check_state(state)
            raise

    def _limit_memory(self) -> None:
        """Drop tables that have grown too large; looks at their size every CHECK_EVERY states."""
        self._countdown -= 1
        if self._countdown < 0:
            self._countdown = CHECK_EVERY
            if self._parts_bytes > PARTS * self.max_bytes:
                del self._masks
            if self.can_replay and not self._reads_tokens and self.automaton.nbytes > self._most:
                self._drop_tables()

    @property
    def _parts_bytes(self) -> int:
        return self._masks.nbytes if "_masks" in self.__dict__ else 0

    def _drop_tables(self) -> None:
        """Drop the automaton's tables and begin them anew; states keep their numbers."""
        self.automaton = self.spec.of_text().automaton()
        self._saved = None  # its positions were those of the tables
        for name in ("_masks", "_completions", "_spelled"):
            self.__dict__.pop(name, None)
        self._positions = [UNKNOWN] * len(self._positions)
        self._positions[self.start] = self.automaton.start
        self._state_of = {self.automaton.start: self.start}

    def _replayed(self, state: int) -> int:
        """The position of a state after `_drop_tables`, by reading its text again."""
        path = []  # states back to one whose position is known
        while self._positions[state] == UNKNOWN:
            path.append(state)
            state = max(self._from[state], ~self._from[state])
        position = self._positions[state]
        for state in reversed(path):
            data, special = self._by[state], self._from[state] < 0
            known = self.automaton.specials(position) if special else {}
            position = known[data] if special else self.automaton.run(position, data)[0]
            self._positions[state] = position
            self._state_of.setdefault(position, state)
        return position

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end here; then, and only then, EOS tokens are allowed."""
        try:
            if state < 0:
                return False
            found = self._ends.get(state)
        except (TypeError, ValueError):
            self._check_state(state)
            raise
        if found is None:
            with self.lock:
                found = self._ends[state] = self.automaton.is_accepting(self._position(state))
        return found

    def allowed_bytes(self, state: int) -> frozenset[int]:
        """The bytes of text that may come next."""
        if self._is_over(state):
            return frozenset()
        with self.lock:
            return frozenset(self.automaton.next_bytes(self._position(state)))

    def forced_bytes(self, state: int) -> bytes:
        """Bytes that every completion starts with, MAX_FORCED at most; b"" at a choice."""
        if self._is_over(state):
            return b""
        out = bytearray()
        with self.lock:
            position = self._position(state)
            passed = {position}
            while len(out) < MAX_FORCED and not self.automaton.is_accepting(position):
                byte = self.automaton.only_byte(position)
                if byte < 0:
                    break
                out.append(byte)
                position, _ = self.automaton.run(position, bytes((byte,)))
                if position in passed:  # a circle without a way out, as damaged files may have
                    break
                passed.add(position)
        return bytes(out)

    def shortest_completion(self, state: int) -> bytes:
        """A shortest text (in bytes) that may follow so that the whole may end."""
        if self._is_over(state):
            return b""
        with self.lock, completing(MAX_WORK):
            return self._completions.shortest(self._position(state))

    def core(self, state: int) -> Hashable:
        """Equal for states with the same futures, up to the key that is being read."""
        if self._is_over(state):
            return state
        with self.lock:
            return self.automaton.core(self._position(state))

    def branches(self, state: int) -> list[int]:
        """Some of the bytes that may come next: each other leads to the core of one of these."""
        if self._is_over(state):
            return []
        with self.lock:
            return self.automaton.branches(self._position(state))

    # -- masks ----------------------------------------------------------------------------------

    def fill_mask(self, state: int, row: npt.NDArray[Any]) -> None:
        """Write the allowed tokens of a state: bit t % 32 of word t // 32.

        row: int32 or uint32, shape (ceil(V / 32),), V = `vocabulary.size`. All zeros for DEAD and
        FINAL, and only for those. ArgumentError for a row of another size or type.
        """
        store = self._rows.current
        try:
            at = store.index.get(state)  # as `MaskRows.fill` does, one call less
            done = at is not None and self._write(store.pool, at, row)
        except TypeError:
            done = False
        if not done:
            try:
                self._rows.fill(state, row, self)
            except (TypeError, AttributeError, IndexError):
                self._check_state(state)
                check_row("the row", row, (self.vocabulary.words,))
                raise

    def fill_known(self, state: int, row: npt.NDArray[Any]) -> bool:
        """`fill_mask` where the row is kept; else False, and the row is left alone."""
        store = self._rows.current
        try:
            at = store.index.get(state)
            return at is not None and self._write(store.pool, at, row)
        except TypeError:  # of another type: `fill_mask` copies, or says what is wrong
            return False

    def fill_masks(self, states: States, rows: npt.NDArray[Any]) -> None:
        """The same for a batch, rows[i] for states[i]. ArgumentError where they do not fit."""
        try:
            self._rows.fill_many(states, rows, self)
        except (TypeError, AttributeError, IndexError, struct.error):
            if not isinstance(states, Sequence | np.ndarray):
                raise ArgumentError(
                    f"the states are {states!r:.80}",
                    expected="a sequence of states",
                    hint="fill_mask(state, row) is for a single one",
                ) from None
            for state in states:
                self._check_state(state)
            check_row("rows", rows, (len(states), self.vocabulary.words))
            raise

    def mask_view(self, state: int) -> npt.NDArray[np.int32]:
        """The same without a copy: a row int32[ceil(V / 32)], read-only, that never changes."""
        try:
            return self._rows.view(state, self)
        except (TypeError, ValueError):
            self._check_state(state)
            raise

    def mask_id(self, state: int) -> int:
        """A number of 128 bits for the mask of a state: equal masks have equal ones.

        It stays the same when rows are made again, and is the same for other constraints.
        """
        try:
            return self._rows.id_of(state, self)
        except (TypeError, ValueError):
            self._check_state(state)
            raise

    def state_with_same_mask(self, state: int) -> int | None:
        """Another state that is known to have the same mask; None if there is none."""
        if "_masks" not in self.__dict__ or state < 0 or self._completable is not None:
            return None
        return self._state_of.get(self._masks.cached_position(self._position(state)))

    def write_row(self, state: int, row: Row) -> None:
        """Write the mask of a state as it was saved, or compute it; `fill_mask` also keeps it."""
        if state < 0:
            row[:] = 0
            return
        if self._saved is not None and self._saved.write(self._position(state), row):
            return
        self._countdown -= MASK_COUNT - 1
        self._limit_memory()
        position = self._position(state)
        if state == self.start:
            with limited(MAX_WORK, "the first mask takes too long", "make the spec simpler"):
                ends = self._masks.write(position, row)
        else:  # never in the middle of a text that was let in
            ends = self._masks.write(position, row)
        if ends is not None:
            self._ends[state] = ends
        if self._reads_tokens:
            self._allow_named(self.automaton.specials(position), row)
        if self._completable is not None:
            forbid(row, [t for t in self._tokens_of(row) if self.advance(state, t) == DEAD])
            position = self._position(state)
        if self.is_accepting(state):
            allow(row, self.vocabulary.eos_ids)
        specials = {} if self._reads_tokens else self.automaton.specials(position)
        if specials:
            allow(row, [t for t in self._specials if (self._texts[t] or b"") in specials])

    def _allow_named(self, specials: Any, row: Row) -> None:
        """Allow the tokens that may stand for themselves, end tokens aside."""
        chosen = np.zeros(32 * len(row), np.bool_)
        for token in specials.tokens:
            named = token.named(self._texts)
            if token.negated:
                others = self._nameable.copy()
                others[named] = False
                chosen |= others
            else:
                chosen[named] = self._nameable[named]
        row |= np.packbits(chosen, bitorder="little").view(np.int32)
        texts = [way for way, _ in specials.ways if isinstance(way, bytes)]
        allow(row, [t for t in self._specials - self._eos if self._texts[t] in texts])

    @cached_attribute
    def _nameable(self) -> npt.NDArray[np.bool_]:
        """bool[32 * words]: the tokens of text and the special ones, but for end tokens."""
        found = np.zeros(32 * self.vocabulary.words, np.bool_)
        found[self.vocabulary.text_ids] = True
        found[list(self._specials)] = True
        found[list(self._eos)] = False
        return found

    def _check_named(self, automaton: Automaton) -> None:
        """SpecError unless the vocabulary has each token that the spec names."""
        for token in automaton.named_tokens:
            if not token.named(self._texts):
                raise SpecError(
                    f"the vocabulary has no {str(token).removeprefix('the ')}",
                    expected=f"a number below {self._size}, or the text of a token",
                )

    def _tokens_of(self, row: npt.NDArray[np.int32]) -> list[int]:
        return [int(t) for t in np.flatnonzero(unpack(row, self._size))]

    def _completable_states(self) -> Completable:
        """For a vocabulary that cannot write every byte: which states its tokens can finish."""
        texts = frozenset(map(self.vocabulary.token_bytes, self.vocabulary.text_ids.tolist()))
        self._alphabet = frozenset(b"".join(texts))
        return Completable(self._successors, self.is_accepting, self._finish, self.core, texts)

    def _successors(self, state: int) -> list[int]:
        """The states after the tokens that fit, whether or not these can be finished.

        Special tokens only where they may stand for themselves.
        """
        row = self._masks.row(self._position(state))
        if self._reads_tokens:
            self._allow_named(self.automaton.specials(self._position(state)), row)
        return [self._read_token(state, token) for token in self._tokens_of(row)]

    @cached_attribute
    def _spelled(self) -> Completes:
        return self.automaton.completions(self._alphabet)

    def _finish(self, state: int) -> bytes | None:
        try:
            return self._spelled.shortest(self._position(state))
        except BudgetError:
            return None

    def precompute(
        self, max_states: int = 10_000, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Compute the masks of at most `max_states` states ahead of time; see `explore`.

        Returns how many states have been visited; `progress` gets (done, known) from time to time.
        """
        return explore(self, max_states, progress).states

    @property
    def full(self) -> bool:
        """Whether rows take all the memory that they may, so that new ones replace old ones."""
        return self._rows.current.full

    @property
    def size(self) -> dict[str, int]:
        """Counts of what has been built, by kind; "bytes" is about the memory of all of it."""
        with self.lock:
            built = self.automaton.size
            states, steps, rows = len(self._positions), self._step_count, self._rows.current
            kept = STATE_BYTES * states + STEP_BYTES * steps + self._parts_bytes + rows.nbytes
            found = {"states": states, "steps": steps, "rows": len(rows)}
            return built | found | {"bytes": built["bytes"] + kept}

    # -- saving ---------------------------------------------------------------------------------

    def stored(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that a file has of the mask rows; see `saved_rows.pack`."""
        with self.lock:
            rows = {} if self._saved is None else dict(self._saved.items())
            rows |= {self._position(s): kept for s, kept in self._rows.current.items() if s >= 0}
            return pack(self.vocabulary.words, rows)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the constraint, its first mask and all that it has built to a file for `load`.

        ArtifactError when it cannot be written.
        """
        if not isinstance(path, str | os.PathLike):
            raise ArtifactError(f"the path is {path!r:.80}", expected="the path of a file")
        save(self, path)

    def expected(self, state: int) -> str:
        """What may come next, in words."""
        if self._is_over(state):
            return "nothing"
        with self.lock:
            return self.automaton.expected(self._position(state))


def _check_bytes(data: object) -> None:
    if not isinstance(data, bytes):
        hint = "use text.encode()" if isinstance(data, str) else ""
        raise ArgumentError(f"the text is a {type(data).__name__}", expected="bytes", hint=hint)


@singledispatch
def constraint_of(spec: Spec, vocabulary: Vocabulary, max_bytes: int) -> Constraint:
    """The constraint of a spec over a vocabulary; specs with constraints of their own register."""
    return Constraint(spec, vocabulary, spec.automaton(), max_bytes=max_bytes)
