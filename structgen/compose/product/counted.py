"""Constraints that bound the number of tokens of a text.

States know how many tokens they are from the start. A token is allowed if, behind it, some number
of tokens within the bounds ends the text: shown by a way to spell what the text needs at least, or
found by search through what tokens lead to, step by step, until BudgetError.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import Automaton, Bytes, Completes, Masks, Row, Stored
from structgen.compose.product.automaton import Product
from structgen.compose.product.masks import PairMasks
from structgen.compose.product.viability import Pair
from structgen.constraint.constraint import Constraint
from structgen.errors import ArtifactError, BudgetError, UnsatisfiableSchemaError
from structgen.masks.bitmask import allow
from structgen.masks.trie_walk import Ints, trie_walk
from structgen.util.cancellation import checkpoint

if TYPE_CHECKING:
    from structgen.spec.base import Spec
    from structgen.vocabulary.vocabulary import Vocabulary

MAX_SEARCHED = 5_000  # positions looked at for one answer


class Counted(Automaton):
    """A product whose positions know how many tokens have been read; bytes count for nothing."""

    MASKS = "structgen.compose.product.counted:CountedMasks"

    def __init__(self, inner: Product, at_least: int, at_most: int | None) -> None:
        self.inner, self._least, self._most = inner, at_least, at_most
        self._found: list[tuple[int, int]] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self.start = self.number(inner.start, 0)

    def number(self, at: int, count: int) -> int:
        """The position `count` tokens from the start. Counts that make no difference are one."""
        if self._most is None:
            count = min(count, self._least)
        number = self._numbers.get((at, count))
        if number is None:
            number = self._numbers[at, count] = len(self._found)
            self._found.append((at, count))
        return number

    def place(self, at: int) -> tuple[int, int]:
        """The inner position, and the number of tokens."""
        return self._found[at]

    def bounds(self, count: int) -> tuple[int, int | None]:
        """How many tokens must still come, and how many may."""
        most = None if self._most is None else self._most - count
        return max(self._least - count, 0), most

    def run(self, at: int, text: bytes) -> tuple[int, int]:
        """See `Automaton.run`."""
        inner, count = self._found[at]
        after, read = self.inner.run(inner, text)
        return (after if after < 0 else self.number(after, count)), read

    def is_accepting(self, at: int) -> bool:
        """See `Automaton.is_accepting`."""
        inner, count = self._found[at]
        least, most = self.bounds(count)
        return least == 0 and (most is None or most >= 0) and self.inner.is_accepting(inner)

    def next_bytes(self, at: int) -> list[int]:
        """See `Automaton.next_bytes`."""
        return self.inner.next_bytes(self._found[at][0])

    def specials(self, at: int) -> Mapping[bytes, int]:
        """See `Automaton.specials`."""
        inner, count = self._found[at]
        found = self.inner.specials(inner)
        return {text: self.number(after, count) for text, after in found.items()}

    def is_position(self, at: int) -> bool:
        """See `Automaton.is_position`."""
        return 0 <= at < len(self._found)

    def core(self, at: int) -> Hashable:
        """See `Automaton.core`."""
        return self._found[at]

    def expected(self, at: int) -> str:
        """See `Automaton.expected`."""
        inner, count = self._found[at]
        return f"{self.inner.expected(inner)}, after {count} tokens"

    def completions(self, alphabet: Bytes = range(256)) -> Completes:
        """Completions of the text; how many tokens they are is left open."""
        inner = self.inner.completions(alphabet)
        return _Texts(self, inner)

    @property
    def size(self) -> dict[str, int]:
        """See `Automaton.size`."""
        return self.inner.size

    def stored(self) -> Stored:
        """Raises ArtifactError: counts are not kept in files."""
        raise ArtifactError(
            "a constraint that counts tokens is not saved", hint="compile the spec again"
        )


class _Texts:
    """The completions of the inner automaton."""

    def __init__(self, counted: Counted, inner: Completes) -> None:
        self._counted, self._inner = counted, inner

    def shortest(self, at: int) -> bytes:
        """See `Completes.shortest`."""
        return self._inner.shortest(self._counted.place(at)[0])


class CountedMasks(Masks):
    """The masks of a counting automaton over one vocabulary, whose tokens are counted."""

    def __init__(self, counted: Counted, vocabulary: Vocabulary) -> None:
        self._counted, self._pairs = counted, counted.inner.pairs
        self._masks = PairMasks(counted.inner, vocabulary)
        self._walk = trie_walk(vocabulary)
        self._tokens = vocabulary.trie.token
        texts = map(vocabulary.token_bytes, vocabulary.text_ids.tolist())
        self._texts = frozenset(texts)
        self._longest = max(map(len, self._texts), default=1)
        self._spellings: dict[bytes, int] = {b"": 1}
        self._rests: dict[Pair, bytes] = {}
        self._steps: dict[Pair, frozenset[Pair]] = {}

    def row(self, at: int) -> Row:
        """See `Masks.row`."""
        inner, count = self._counted.place(at)
        row = np.zeros(self._walk.words, np.int32)
        tokens, pairs, which = self._reached(self._counted.inner.pair(inner))
        ends = np.array([self.ends(pair, count + 1) for pair in pairs], np.bool_)
        allow(row, tokens[ends[which]].tolist() if len(tokens) else ())
        self._walk.spread(row)
        return row

    def below(self, at: int, node: int, row: Row) -> npt.NDArray[np.int32]:
        """Raises NotImplementedError: tokens are counted in whole texts only."""
        raise NotImplementedError

    def ends(self, pair: Pair, count: int) -> bool:
        """Whether tokens can end the text within the bounds, `count` of them having been read.

        pair: of the inner product's automata.
        """
        least, most = self._counted.bounds(count)
        if most is not None and most < 0:
            return False
        rest = self._rest(pair)
        spelt = self._spelt(rest) >> least
        if spelt and (most is None or spelt & ((2 << (most - least)) - 1)):
            return True
        if most is not None and len(rest) > most * self._longest:
            return False
        return self._search(pair, least, most)

    def _spelt(self, text: bytes) -> int:
        """Bit k is set if k tokens can write the text."""
        if text not in self._spellings:
            ways = [0] * len(text) + [1]
            for at in range(len(text) - 1, -1, -1):
                for end in range(at + 1, min(at + self._longest, len(text)) + 1):
                    if ways[end] and text[at:end] in self._texts:
                        ways[at] |= ways[end] << 1
            self._spellings[text] = ways[0]
        return self._spellings[text]

    def _rest(self, pair: Pair) -> bytes:
        """A shortest text that finishes a pair."""
        found = self._rests.get(pair)
        if found is None:
            found = self._rests[pair] = self._pairs.shortest(pair, range(256))
        return found

    def _search(self, start: Pair, least: int, most: int | None) -> bool:
        """Token by token: without an upper bound the longest first, since all may still go on."""
        queue = deque([(start, 0)])
        seen = {(start, 0)}  # pairs, and the tokens before them (no more than `least` if all count)
        while queue:
            checkpoint()
            pair, count = queue.popleft() if most is not None else queue.pop()
            enough = count >= least
            if enough and (
                self._pairs.ends(pair) or (most is None and self._spelt(self._rest(pair)))
            ):
                return True
            if count == most:
                continue
            longer = least if most is None and enough else count + 1
            following = {(after, longer) for after in self._after(pair)} - seen
            seen |= following
            queue += following
            if len(seen) > MAX_SEARCHED:
                raise BudgetError(
                    f"telling whether tokens can end the text in time takes more than "
                    f"{MAX_SEARCHED} positions",
                    hint="allow more tokens",
                )
        return False

    def _after(self, pair: Pair) -> frozenset[Pair]:
        """Where one token leads, or what stands for that."""
        found = self._steps.get(pair)
        if found is None:
            _, pairs, which = self._reached(pair)
            found = self._steps[pair] = frozenset(pairs[i] for i in np.unique(which))
        return found

    def _reached(self, pair: Pair) -> tuple[Ints, list[Pair], Ints]:
        """The tokens that can be read, and to which of the pairs each leads."""
        unused = np.zeros(self._walk.words, np.int32)
        nodes, (pairs, which) = self._masks.reached(pair, -1, unused)
        tokens = self._tokens[nodes]
        return tokens[tokens >= 0], pairs, which[tokens >= 0]


class CountingConstraint(Constraint):
    """A constraint whose states count tokens. `advance_bytes` reads text and counts nothing."""

    automaton: Counted
    can_replay = False

    def __init__(
        self, spec: Spec, vocabulary: Vocabulary, counted: Counted, max_bytes: int
    ) -> None:
        """UnsatisfiableSchemaError when no text has so few, or so many, tokens."""
        super().__init__(spec, vocabulary, counted, max_bytes=max_bytes)
        masks = self._masks
        if isinstance(masks, CountedMasks) and not masks.ends(counted.inner.pairs.start, 0):
            raise UnsatisfiableSchemaError(
                "no text of the spec has a number of tokens within the bounds",
                expected="bounds that leave room for a text",
            )

    def _advance(self, state: int, token_id: int) -> int:
        after = super()._advance(state, token_id)
        if after < 0:
            return after
        with self.lock:
            inner, count = self.automaton.place(self._position(after))
            masks = self._masks
            if isinstance(masks, CountedMasks) and not masks.ends(
                self.automaton.inner.pair(inner), count + 1
            ):
                return -1
            data = self.vocabulary.token_bytes(token_id)
            return self._intern(self.automaton.number(inner, count + 1), state, data)
