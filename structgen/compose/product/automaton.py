"""The product of two automata, one of them finite: the texts that both accept.

A position numbers a pair of positions that can be finished together (see `viability`). Special
tokens that one side names are read by the other as their text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from structgen.automata.interface import DEAD, Automaton, Bytes, Completes, Stored
from structgen.compose.product.viability import Pair, Pairs
from structgen.errors import UnsatisfiableSchemaError, UnsupportedSchemaError

if TYPE_CHECKING:
    pass

_SPECIAL = 256  # stands for a special token where bytes stand
_PAIR_BYTES = 400  # of a position: a pair, its number, where it was met


class Product(Automaton):
    """The automaton of two others. Position 0 is the start."""

    MASKS = "structgen.compose.product.masks:PairMasks"

    start = 0

    def __init__(self, left: Automaton, right: Automaton, saved: Stored | None = None) -> None:
        """Raises UnsatisfiableSchemaError when no text fits both, or BudgetError.

        UnsupportedSchemaError where a side names tokens of the vocabulary.
        """
        if left.reads_tokens or right.reads_tokens:
            raise UnsupportedSchemaError(
                "a spec that names tokens of the vocabulary is read beside no other, nor counted",
                hint="write the tokens' text instead of their numbers",
            )
        self.pairs = Pairs(left, right)
        self._found: list[Pair] = []
        self._numbers: dict[Pair, int] = {}
        self._provenance: list[tuple[int, int]] = []  # position and byte that first led to each
        self._texts: list[bytes] = []  # special tokens met, numbered from _SPECIAL in origins
        if not self.pairs.live(self.pairs.start):
            raise UnsatisfiableSchemaError(
                "no text fits all of the specs",
                expected=f"{left.expected(left.start)}, and that {right.expected(right.start)}",
                hint="look for rules that exclude each other",
            )
        self._number(self.pairs.start, (-1, 0))
        if saved is not None:
            self._replay(saved)

    def pair(self, at: int) -> Pair:
        """The positions of both sides."""
        return self._found[at]

    def _number(self, pair: Pair, came_from: tuple[int, int]) -> int:
        number = self._numbers.get(pair)
        if number is None:
            number = self._numbers[pair] = len(self._found)
            self._found.append(pair)
            self._provenance.append(came_from)
        return number

    # -- reading --------------------------------------------------------------------------------

    def run(self, at: int, text: bytes) -> tuple[int, int]:
        """See `Automaton.run`."""
        path = [self._found[at]]
        for byte in text:
            after = self.pairs.step(path[-1], byte)
            if after is None:
                break
            path.append(after)
        read = len(path) - 1
        if read and not self.pairs.live(path[read], path[0]):  # a beginning of what is live is live
            ends = range(1, read + 1)
            read = bisect_left(ends, True, key=lambda end: not self.pairs.live(path[end]))
        for pair, byte in zip(path[1 : read + 1], text, strict=False):
            at = self._number(pair, (at, byte))
        return (at if read == len(text) else DEAD), read

    def is_accepting(self, at: int) -> bool:
        """See `Automaton.is_accepting`."""
        return self.pairs.ends(self._found[at])

    def next_bytes(self, at: int) -> list[int]:
        """See `Automaton.next_bytes`."""
        pair = self._found[at]
        steps = self.pairs.steps(self.pairs.representative(pair))
        different = {after for after in steps if after is not None}
        live = {after for after in different if self.pairs.live(after, pair)}
        return [byte for byte, after in enumerate(steps) if after in live]

    def specials(self, at: int) -> Mapping[bytes, int]:
        """See `Automaton.specials`."""
        pair = self._found[at]
        left, right = self.pairs.left, self.pairs.right
        named = left.automaton.specials(pair[0]), right.automaton.specials(pair[1])
        found: dict[bytes, int] = {}
        for text in {*named[0], *named[1]}:
            both = []
            for side, here, texts in zip((left, right), pair, named, strict=True):
                after = texts.get(text, DEAD)
                both.append(side.automaton.run(here, text)[0] if after < 0 else after)
            if min(both) < 0:
                continue
            after_both = (both[0], both[1])
            if self.pairs.live(after_both):
                if text not in self._texts:
                    self._texts.append(text)
                came_from = (at, _SPECIAL + self._texts.index(text))
                found[text] = self._number(after_both, came_from)
        return found

    def is_position(self, at: int) -> bool:
        """See `Automaton.is_position`."""
        return 0 <= at < len(self._found)

    def core(self, at: int) -> Hashable:
        """See `Automaton.core`."""
        return self.pairs.representative(self._found[at])

    def remembers(self, at: int) -> Hashable:
        """See `Automaton.remembers`."""
        return self.pairs.remembers(self._found[at])

    def expected(self, at: int) -> str:
        """See `Automaton.expected`."""
        left, right = self._found[at]
        words = self.pairs.left.automaton.expected(left)
        return f"{words}; also {self.pairs.right.automaton.expected(right)}"

    # -- masks, completions, files ----------------------------------------------------------------

    def completions(self, alphabet: Bytes = range(256)) -> Completes:
        """See `Automaton.completions`."""
        return _Shortest(self, alphabet)

    @property
    def size(self) -> dict[str, int]:
        """See `Automaton.size`."""
        sides = self.pairs.left.automaton.size, self.pairs.right.automaton.size
        total = {"pairs": len(self._found), "bytes": _PAIR_BYTES * len(self._found)}
        for kind in {*sides[0], *sides[1]}:
            total[kind] = total.get(kind, 0) + sides[0].get(kind, 0) + sides[1].get(kind, 0)
        return total

    def stored(self) -> Stored:
        """How each position was first met; the automata of the sides are made again."""
        origins = np.array(self._provenance, np.int64).reshape(-1, 2)
        texts = [text.hex() for text in self._texts]
        return Stored({"specials": texts}, {"origins": origins})

    def _replay(self, saved: Stored) -> None:
        self._texts = [bytes.fromhex(text) for text in saved.header["specials"]]
        for parent, step in saved.arrays["origins"].tolist()[1:]:
            if step >= _SPECIAL:
                self.specials(parent)
                continue
            pair = self.pairs.step(self._found[parent], step)
            if pair is not None:
                self._number(pair, (parent, step))


class _Shortest:
    """Shortest ends of a product."""

    def __init__(self, product: Product, alphabet: Bytes) -> None:
        self._product = product
        self._alphabet = alphabet
        self._known: dict[int, bytes] = {}

    def shortest(self, at: int) -> bytes:
        """See `Completes.shortest`."""
        if at not in self._known:
            pairs = self._product.pairs
            self._known[at] = pairs.shortest(self._product.pair(at), self._alphabet)
        return self._known[at]
