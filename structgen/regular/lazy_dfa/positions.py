"""The positions of expressions (Glushkov 1961), with bounded repeats written out.

A position is one place in an expression where a character is read. Which positions may come first
and which may follow each is read off the expression once: Python writes down its parts in postfix
order, and a kernel puts the positions together (`kernels.regular.positions`).

Two reductions keep the sets of positions that texts lead to few. In a run of positions that repeat
one character class (x{0,9}) some positions read all that the others read, so only one of them is
kept in a set (subsumption). And alternatives that any text may follow share the positions of that
any-text tail.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.regular.charset import one_character
from structgen.regular.expressions.base import EPSILON, INFINITE, Regex
from structgen.regular.expressions.nodes import ANY, Alt, Chars, Concat, Literal, Repeat, Words
from structgen.regular.lazy_dfa.character_classes import TooLargeError

Bits = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int32]

MAX_POSITIONS = 2000
MAX_DEPTH = 100  # of nested expressions
MAX_LINKS = 20_000  # "may follow" links written while the expression is read


class Positions(NamedTuple):
    """Positions as rows of bits: bit i of word k is position 64 k + i.

    follow: uint64[n, words], the positions that may follow each, and those that say that the text
    may end. start: uint64[words], the same at the beginning. sets: int32[n], the number of what
    each reads, 0 for nothing. runs: int32[k, 3], first and last positions that repeat one class, of
    which one subsumes the others: in x{0,n} the first reads all that later ones read, since more
    repeats are left; in x{n,} the last does (1 in the last column).
    """

    follow: Bits
    start: Bits
    sets: Ints
    runs: Ints

    def reading(self, count: int) -> Bits:
        """uint64[count, words]: the positions that read each of `count` sets."""
        rows = np.zeros((count + 1, self.follow.shape[1]), np.uint64)
        places = np.arange(len(self.sets))
        bits = np.uint64(1) << (places & 63).astype(np.uint64)
        np.bitwise_or.at(rows, (self.sets, places >> 6), bits)
        return rows[1:]


class Program:
    """Expressions in postfix order, one after the other, and what their positions read.

    read: what is read, by number from 1 on; 0 is for positions that read nothing. size: positions
    so far.
    """

    has_plain_parts = False  # whether plain expressions are parts as they are

    def __init__(self, first: int = 0, most: int | None = None) -> None:
        """first: the first position; most: how many there may be, MAX_POSITIONS by default."""
        self.read: list[Any] = [None]
        self.size, self._most = first, first + (MAX_POSITIONS if most is None else most)
        self._numbers: dict[Hashable, int] = {}
        self._code: list[int] = []
        self._codes: list[tuple[int, list[int]]] = []
        self._height = self._highest = 0  # parts on the kernel's stack
        self._k = kernels("regular.positions")

    def add(self, regex: Regex) -> int:
        """Add an expression; returns the position that says that it may end. Its own come next.

        Raises TooLargeError.
        """
        end, self._code, self._height = self.size, [], 0
        self.size += 1
        self._part(regex, 0)
        self._codes.append((end, self._code))
        return end

    def number_of(self, what: Hashable) -> int:
        """The number of what some position reads, 0 if none does."""
        return self._numbers.get(what, 0)

    def positions(self) -> Positions:
        """The positions of all expressions. Raises TooLargeError."""
        size, words, parts = self.size, self.size // 64 + 1, self._highest
        layout = self._k.Layout(
            follow=np.zeros((size, words), np.uint64),
            start=np.zeros(words, np.uint64),
            sets=np.zeros(size, np.int32),
            first=np.empty((parts + 3, words), np.uint64),
            last=np.empty((parts + 3, words), np.uint64),
            parts=np.empty((parts, 4), np.int64),
            runs=np.zeros((size // 2, 3), np.int32),
            counts=np.zeros(4, np.int64),
        )
        for end, code in self._codes:
            if not self._k.lay_out(np.array(code, np.int32), layout, end, MAX_LINKS):
                raise TooLargeError
        runs = layout.runs[: layout.counts[self._k.RUNS]]
        return Positions(layout.follow, layout.start, layout.sets, runs)

    def _part(self, node: Regex, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise TooLargeError
        match node:
            case Chars():
                self._chain([self._number(node.chars)])
            case Literal():
                self._check(len(node.text))
                self._chain([self._number(one_character(one)) for one in node.text])
            case Concat():
                self._sequence(node, depth + 1)
            case Repeat():
                self._repetition(node, depth + 1)
            case Alt():
                self._alternatives(node, depth + 1)
            case Words():
                self._words(node.members())
            case _ if node is EPSILON:
                self._nothing()
            case _:
                raise TooLargeError

    def _number(self, what: Hashable) -> int:
        """The number of what a position reads."""
        number = self._numbers.setdefault(what, len(self.read))
        if number == len(self.read):
            self.read.append(what)
        return number

    def _grow(self, count: int) -> None:
        """Note a part with so many positions of its own."""
        self._height += 1
        self._highest = max(self._highest, self._height)
        self._add_positions(count)

    def _add_positions(self, count: int) -> None:
        self._check(count)
        self.size += count

    def _check(self, count: int) -> None:
        """Raise TooLargeError where so many positions more are too many."""
        if self.size + count - 1 > self._most:
            raise TooLargeError

    def _nothing(self) -> None:
        self._grow(0)
        self._code.append(self._k.NOTHING)

    def _or_nothing(self) -> None:
        self._nothing()
        self._join(self._k.EITHER)

    def _chain(self, numbers: list[int]) -> None:
        """A position for each of some sets in a row; the next one follows each."""
        self._grow(len(numbers))
        self._code += [self._k.CHAIN, len(numbers), *numbers]

    def _join(self, how: int) -> None:
        """One part of the last two."""
        self._height -= 1
        self._code.append(how)

    def _words(self, texts: list[str]) -> None:
        """A trie: one position for each prefix of a word."""
        nodes: dict[str, int] = {}
        code = []
        ends = {*texts}
        for text in texts:
            for size in range(1, len(text) + 1):
                begin = text[:size]
                if begin not in nodes:
                    self._check(len(nodes) + 1)
                    nodes[begin] = len(nodes) + 1
                    letter = self._number(one_character(begin[-1]))
                    code += [nodes.get(begin[:-1], 0), letter, int(begin in ends)]
        self._grow(len(nodes))
        self._code += [self._k.TRIE, len(nodes), *code]
        if "" in ends:
            self._or_nothing()

    def _alternatives(self, node: Alt, depth: int) -> None:
        """A union. Alternatives that any text may follow share the positions of that tail.

        Otherwise a state would say which of them have been read, which does not matter.
        """
        opened = [part for part in node.parts if isinstance(part, Concat) and part.ends_in_anything]
        if len(opened) < 2:
            opened = []
        closed = [part for part in node.parts if part not in opened]
        for i, part in enumerate(closed):
            self._part(part, depth)
            if i:
                self._join(self._k.EITHER)
        for i, part in enumerate(opened):
            self._sequence(part, depth, opened=True)
            if i:
                self._join(self._k.EITHER)
        if opened:
            self._part(ANY, depth)
            self._join(self._k.JOIN)
            if closed:
                self._join(self._k.EITHER)

    def _sequence(self, node: Concat, depth: int, *, opened: bool = False) -> None:
        """A concatenation. opened: without its last part."""
        self._part(node.head, depth)
        at = node.tail
        while isinstance(at, Concat) and (opened or not (at.plain and self.has_plain_parts)):
            self._part(at.head, depth)
            self._join(self._k.JOIN)
            at = at.tail
        if not opened:
            self._part(at, depth)
            self._join(self._k.JOIN)

    def _repetition(self, node: Repeat, depth: int) -> None:
        """A repeat: copies of the body in a row; without an upper bound the last one loops."""
        endless = node.high == INFINITE
        count = max(node.low, 1) if endless else node.high
        if count * max(node.body.shortest, 1) > MAX_POSITIONS:
            raise TooLargeError
        if isinstance(node.body, Chars):
            self._grow(count)
            number = self._number(node.body.chars)
            self._code += [self._k.LOOP, number, count, node.low, int(endless)]
            return
        before = self.size
        self._part(node.body, depth)
        self._add_positions((self.size - before) * (count - 1))
        self._code += [self._k.COPIES, node.low, -1 if endless else node.high, count]
