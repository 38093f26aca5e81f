"""In: an automaton and a vocabulary. Out: the constraint: states are ints, masks are rows of bits.

A state is an interned position in the text. Its mask is `inside | crossing`: the tokens that stay
within the current lexeme (a property of the lexer state alone, shared by all states with it), and
the tokens that cross its end (for which the syntax decides).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.automaton import DEAD, Automaton
from structgen.errors import BudgetError, UnsatisfiableSchemaError
from structgen.mask.bitmask import unpack
from structgen.mask.rows import RowStore
from structgen.mask.spellable import Spellable

if TYPE_CHECKING:
    from structgen.spec.specs import Spec
    from structgen.tokens.vocabulary import Vocabulary

FINAL = -2  #: the state after an end-of-text token; nothing can follow
MAX_STEPS = 1 << 18  # remembered (state, token) -> state


class Constraint:
    """What `compile` returns: which tokens may come next, for every state of a text.

    Attributes: `start`, the state before any token; `vocabulary`; `spec`. States are non-negative
    ints, or DEAD or FINAL; they stay valid as long as the constraint lives, in all threads.
    """

    def __init__(
        self,
        spec: Spec,
        vocabulary: Vocabulary,
        automaton: Automaton,
        rows: RowStore | None = None,
        stored: dict[str, npt.NDArray[Any]] | None = None,
    ) -> None:
        """Wrap an automaton; `rows` and `stored` (see `stored()`) bring back what was saved."""
        self.spec = spec
        self.vocabulary = vocabulary
        self.automaton = automaton
        self.lock = threading.RLock()
        self._masks = automaton.masks(vocabulary)
        self._completions = automaton.completions()
        self._rows = RowStore(vocabulary.words) if rows is None else rows
        self._pairs: list[int] = [] if stored is None else stored["pairs"].tolist()
        self._state_of = {pair: state for state, pair in enumerate(self._pairs)}
        self._steps: dict[int, int] = {}
        self._ends: dict[int, bool] = {}
        self._size = vocabulary.size
        self._eos = frozenset(vocabulary.eos_ids)
        if stored is not None:
            kept = enumerate(stored["mask_index"].tolist())
            self._rows.index.update((state, at) for state, at in kept if at >= 0)
            endings = enumerate(stored["endings"].tolist())
            self._ends.update((state, bool(e)) for state, e in endings if e >= 0)
        self.start = self._intern(automaton.start)
        self._spellable = None if _writes_all_bytes(vocabulary) else self._search()
        if self._spellable is not None and not self._spellable(self.start):
            error = BudgetError if self._spellable.gave_up else UnsatisfiableSchemaError
            raise error(
                "no text of the spec was found that this vocabulary can write",
                expected="tokens for the bytes that the spec needs",
                hint="give the vocabulary a token for each single byte",
            )

    # -- states ---------------------------------------------------------------------------------

    def advance(self, state: int, token_id: int) -> int:
        """The state after a token, DEAD if it is not allowed, FINAL after an allowed EOS token."""
        if not 0 <= token_id < self._size:
            return DEAD
        key = state * self._size + token_id
        after = self._steps.get(key)
        if after is None:
            after = self._advance(state, token_id)
            if len(self._steps) >= MAX_STEPS:
                self._steps = {}
            if state >= 0:
                self._steps[key] = after
        return after

    def _advance(self, state: int, token_id: int) -> int:
        if state < 0:
            return DEAD
        if token_id in self._eos:
            return FINAL if self.is_accepting(state) else DEAD
        data = self.vocabulary.token_bytes(token_id)
        if token_id in self.vocabulary.special_ids:
            with self.lock:
                pair = self.automaton.specials(self._pairs[state]).get(data, DEAD)
                return DEAD if pair < 0 else self._intern(pair)
        if not data:
            return DEAD
        after = self.advance_bytes(state, data)
        if self._spellable is not None and after >= 0 and not self._spellable(after):
            return DEAD
        return after

    def advance_bytes(self, state: int, data: bytes) -> int:
        """The state after some bytes of text, or DEAD."""
        return self.read(state, data)[0]

    def read(self, state: int, data: bytes) -> tuple[int, int]:
        """The state after as many bytes as are allowed, DEAD if not all; and how many that is."""
        if state < 0:
            return (DEAD, 0) if data else (state, 0)
        with self.lock:
            pair, count = self.automaton.run(self._pairs[state], data)
            return (DEAD if pair < 0 else self._intern(pair)), count

    def _intern(self, pair: int) -> int:
        state = self._state_of.get(pair)
        if state is None:
            state = self._state_of[pair] = len(self._pairs)
            self._pairs.append(pair)
        return state

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end here; then, and only then, EOS tokens are allowed."""
        if state < 0:
            return False
        found = self._ends.get(state)
        if found is None:
            with self.lock:
                found = self._ends[state] = self.automaton.is_accepting(self._pairs[state])
        return found

    def allowed_bytes(self, state: int) -> frozenset[int]:
        """The bytes of text that may come next."""
        if state < 0:
            return frozenset()
        with self.lock:
            return frozenset(self.automaton.next_bytes(self._pairs[state]))

    def forced_bytes(self, state: int) -> bytes:
        """Bytes that every completion starts with, b"" when there is a choice."""
        if state < 0:
            return b""
        out = bytearray()
        with self.lock:
            pair = self._pairs[state]
            while not self.automaton.is_accepting(pair):
                byte = self.automaton.only_byte(pair)
                if byte < 0:
                    break
                out.append(byte)
                pair, _ = self.automaton.run(pair, bytes((byte,)))
        return bytes(out)

    def shortest_completion(self, state: int) -> bytes:
        """A shortest text (in bytes) that may follow so that the whole may end."""
        if state < 0:
            return b""
        with self.lock:
            return self._completions.shortest(self._pairs[state])

    # -- masks ----------------------------------------------------------------------------------

    def fill_mask(self, state: int, row: npt.NDArray[Any]) -> None:
        """Write the allowed tokens of a state: bit t % 32 of word t // 32.

        row: int32 or uint32, shape (ceil(V / 32),), V = `vocabulary.size`. All zeros for DEAD and
        FINAL, and only for those.
        """
        store = self._rows
        index = store.index.get(state)
        if index is None:
            store, index = self._build(state)
        row[:] = store.table[index]

    def fill_masks(self, states: Sequence[int], rows: npt.NDArray[Any]) -> None:
        """The same for a batch: rows has shape (len(states), ceil(V / 32))."""
        index = np.empty(len(states), np.int32)
        with self.lock:
            store = self._rows
            for i, state in enumerate(states):
                at = store.index.get(state)
                index[i] = self._add(store, state) if at is None else at
        store.copy(store.table, index, rows)

    def _build(self, state: int) -> tuple[RowStore, int]:
        """Make the mask of a state now; returns where its row is."""
        with self.lock:
            if self._rows.full:
                self._rows = RowStore(self.vocabulary.words)
            return self._rows, self._add(self._rows, state)

    def _add(self, store: RowStore, state: int) -> int:
        with self.lock:
            if state < 0:
                return store.add(state, np.zeros(self.vocabulary.words, np.int32))
            row = self._masks.row(self._pairs[state])
            if self._spellable is not None:
                for token in self._tokens_of(row):
                    if self.advance(state, token) == DEAD:
                        row[token >> 5] &= np.int32(~np.uint32(1 << (token & 31)).view(np.int32))
            allowed = list(self._eos) if self.is_accepting(state) else []
            specials = self.automaton.specials(self._pairs[state])
            if specials:
                special_ids = self.vocabulary.special_ids
                allowed += [t for t in special_ids if self.vocabulary.token_bytes(t) in specials]
            for token in allowed:
                row[token >> 5] |= np.int32(np.uint32(1 << (token & 31)).view(np.int32))
            return store.add(state, row)

    def _tokens_of(self, row: npt.NDArray[np.int32]) -> list[int]:
        """The tokens whose bits are set."""
        return [int(t) for t in np.flatnonzero(unpack(row, self._size))]

    def _search(self) -> Spellable:
        """For a vocabulary that cannot write every byte: which states it can finish from."""

        def successors(state: int) -> list[int]:
            texts = map(
                self.vocabulary.token_bytes, self._tokens_of(self._masks.row(self._pairs[state]))
            )
            return [self.advance_bytes(state, text) for text in texts]

        texts = frozenset(map(self.vocabulary.token_bytes, self.vocabulary.text_ids.tolist()))
        completions = self.automaton.completions(frozenset(b"".join(texts)))

        def completion(state: int) -> bytes | None:
            try:
                return completions.shortest(self._pairs[state])
            except BudgetError:
                return None

        def core(state: int) -> Hashable:
            return self.automaton.core(self._pairs[state])

        return Spellable(successors, self.is_accepting, completion, core, texts)

    def precompute(
        self, max_states: int = 10_000, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Build states and rows breadth-first from the start, at most `max_states` of them.

        Ends early when the rows take all the memory that a constraint gives them.

        Follows single bytes, so that every way to cut the text into tokens is covered. Returns how
        many states there are now; `progress` gets (done, known) from time to time.
        """
        queue, seen = [self.start], {self.start}
        for done, state in enumerate(queue):
            if self._rows.full:
                break
            self._build(state)
            if progress is not None and done % 64 == 0:
                progress(done, len(queue))
            for byte in sorted(self.allowed_bytes(state)):
                after = self.advance_bytes(state, bytes((byte,)))
                if after not in seen and len(queue) < max_states:
                    seen.add(after)
                    queue.append(after)
        return len(queue)

    @property
    def size(self) -> dict[str, int]:
        """How much has been built, in numbers; "bytes" is the memory of rows and tables."""
        built = self.automaton.size
        rows = self._rows.table.nbytes
        return built | {
            "states": len(self._pairs),
            "rows": len(self._rows),
            "bytes": built["bytes"] + rows,
        }

    # -- saving ---------------------------------------------------------------------------------

    def stored(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps of states: their pairs, whether they end, and their rows' places."""
        count = len(self._pairs)
        known = self._rows.index
        return {
            "pairs": np.array(self._pairs, np.int64),
            "endings": np.array([self._ends.get(s, -1) for s in range(count)], np.int8),
            "mask_index": np.array([known.get(s, -1) for s in range(count)], np.int32),
            "mask_rows": self._rows.table[: len(self._rows)],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the constraint and all that it has made so far to a file for `structgen.load`."""
        from structgen.artifact import save

        save(self, path)

    def expected(self, state: int) -> str:
        """What may come next, in words."""
        if state < 0:
            return "nothing"
        with self.lock:
            return self.automaton.expected(self._pairs[state])


def _writes_all_bytes(vocabulary: Vocabulary) -> bool:
    trie = vocabulary.trie
    return bool((trie.root_child >= 0).all() and (trie.token[trie.root_child] >= 0).all())
