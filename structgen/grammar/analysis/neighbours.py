"""Which terminals may stand beside, before and behind which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from structgen.grammar.analysis.follow_sets import follow_sets
from structgen.grammar.ir import Grammar, Indentation, Terminal
from structgen.kernels.build.loader import kernels

Flags = npt.NDArray[np.bool_]
AT_ONCE = 512  # sets of terminals, each as a row of all of them
PAIRS = 1 << 12  # of states, for which there is room at first
BY_SETS = "_common", "_tails", "_rivals", "_near"  # depend on what the lexer looks for at once


class Neighbours:
    """Which terminals may be looked for together and follow each other.

    Terminals are numbered in Lark's order; sets are bit masks. spurious: terminals that may be
    looked for although the grammar does not allow them (`lalr_guided.Guide`).
    """

    def __init__(
        self,
        grammar: Grammar,
        terminals: list[Terminal],
        tables: Any,
        terminal_sets: Iterable[int] | None,
        embedded: Mapping[int, list[bytes]],
    ) -> None:
        """terminal_sets: sets that the lexer may look for at once, ignored ones aside.

        None: what may follow each terminal, and what may come first; each set is part of one of
        these. embedded: beginnings of the texts of embedded specs, by their terminals.
        """
        k = kernels("grammar.tables")
        self._tables = tables
        names = (
            "CLASS",
            "T_START",
            "S_TERMINAL",
            "S_ENDS",
            "S_NO_LONGER",
            "S_NO_MATCH",
            "L_VIOLATED",
        )
        kept = (self._constant(getattr(k, name)) for name in names)
        (self._class, self._start, self._terminal, self._ends, self._no_longer, self._no_match,
         self._violated_at_end) = kept  # fmt: skip
        self._watch = np.ascontiguousarray(tables.watch.T)  # a row for each class of bytes
        self._behind_texts: dict[bytes, npt.NDArray[np.int32]] = {}
        self._ordered = grammar.lexing != "free"
        self.spurious: set[int] = set()
        self._count = len(terminals)
        self._renames = self._pairs(k.RENAME_START, k.RENAME)
        self._within = self._pairs(k.WITHIN_START, k.WITHIN)
        numbers = {terminal.name: i for i, terminal in enumerate(terminals)}
        self.embedded = embedded
        self._ignored = [numbers[name] for name in grammar.ignore]
        self._follow, first = follow_sets(grammar, numbers)
        directly = [first, *self._follow]
        if grammar.layout is not None:
            self._lay_out(numbers, grammar.layout)
        everything = first
        for following in self._follow:
            everything |= following
        for i in self._ignored:
            self._follow[i] |= everything
        self._anywhere = sum(1 << i for i in set(self._ignored))
        if grammar.layout is not None and grammar.layout.newline in numbers:
            self._anywhere |= 1 << numbers[grammar.layout.newline]  # in brackets
        self._beside = self._together(directly if terminal_sets is None else terminal_sets)

    def beside(self, terminal_sets: Iterable[int]) -> Self:
        """The same for other sets that the lexer may look for at once."""
        found = copy(self)
        found._beside = self._together(terminal_sets)
        for name in BY_SETS:
            found.__dict__.pop(name, None)
        return found

    def _together(self, sets: Iterable[int]) -> Flags:
        """bool[terminals, terminals]: which terminals are in one of some sets together."""
        found = np.zeros((self._count, self._count), np.bool_)
        every = [one | self._anywhere for one in set(sets)]
        for row in matrix(every, self._count) if self._ordered else ():
            found[row] |= row
        return found

    def _lay_out(self, numbers: dict[str, int], layout: Indentation) -> None:
        """Line breaks may stand anywhere in brackets; indents and dedents have no text."""
        newline = numbers.get(layout.newline)
        made_up = [numbers[name] for name in (layout.indent, layout.dedent) if name in numbers]
        for _ in made_up:
            for i in range(self._count):
                for j in made_up:
                    if self._follow[i] >> j & 1:
                        self._follow[i] |= self._follow[j]
        if newline is not None:
            everything = (1 << self._count) - 1
            self._follow = [following | 1 << newline for following in self._follow]
            self._follow[newline] = everything

    def follow_classes(self) -> npt.NDArray[np.uint8]:
        """uint8[terminals, classes]: whether a byte of a class can follow a terminal."""
        if not self._count:
            return np.zeros((1, self._tables.next.shape[1]), np.uint8)
        begins = self._tables.next[self._start] >= 0
        sets = {following: i for i, following in enumerate(dict.fromkeys(self._follow))}
        listed, parts = [*sets], []
        for first in range(0, len(listed), AT_ONCE):
            following = matrix(listed[first : first + AT_ONCE], self._count)
            following[:, self._ignored] = True
            parts.append(product(following, begins).astype(np.uint8))
        found: npt.NDArray[np.uint8] = np.concatenate(parts)[[sets[one] for one in self._follow]]
        return found

    def last_bytes(self, behind: Iterable[int]) -> frozenset[int]:
        """The bytes with which terminals end that may stand in front of any of some."""
        wanted = sum(1 << terminal for terminal in behind)
        nexts, found = self._tables.next, np.zeros(self._tables.next.shape[1], np.bool_)
        for i, following in enumerate(self._follow if wanted else ()):
            if following & wanted or i in self._ignored:
                mine = nexts[self._terminal == i]
                found |= ((mine >= 0) & (self._ends[mine] > 0)).any(axis=0)
        return frozenset(np.flatnonzero(found[self._class]).tolist())

    def competing(self) -> npt.NDArray[np.uint8]:
        """uint8[terminals, terminals]: whether the lexer may read one otherwise beside the other.

        Namely where one may end while the other goes on or ends.
        """
        found = np.zeros((max(1, self._count), max(1, self._count)), np.uint8)
        if self._ordered:
            one, two = self._common
            competing = (self._ends[one] > 0) | (self._ends[two] > 0)
            one, two = self._terminal[one[competing]], self._terminal[two[competing]]
            found[one, two] = 1
            np.fill_diagonal(found, 0)
        commits = self._ends == kernels("grammar.lexer").COMMITS
        for i in set(self._terminal[commits].tolist()):  # it ends what is read beside it
            found[i, :] = found[:, i] = 1
        return found

    def _constant(self, name: int) -> Any:
        offsets = self._tables.offsets
        return self._tables.fixed[offsets[name] : offsets[name + 1]]

    def _pairs(self, start: int, listed: int) -> list[list[int]]:
        bounds, values = self._constant(start).tolist(), self._constant(listed).tolist()
        return [values[bounds[i] : bounds[i + 1]] for i in range(self._count)]

    @cached_property
    def _byte_of(self) -> dict[int, bytes]:
        """A byte of each class, a visible one if there is one."""
        by_rank = sorted(range(255, -1, -1), key=lambda byte: 0x20 < byte < 0x7F)
        return {int(self._class[byte]): bytes((byte,)) for byte in by_rank}

    def _behind(self, text: bytes) -> npt.NDArray[np.int32]:
        """int32[lookahead states]: the state of the lookahead DFA behind some bytes, from each."""
        found = self._behind_texts.get(text)
        if found is None:
            found = np.arange(len(self._tables.watch), dtype=np.int32)
            for byte in text:
                found = self._watch[self._class[byte]][found]
            self._behind_texts[text] = found
        return found

    def _state(self, terminal: int, text: bytes) -> int:
        """The state of a terminal's DFA behind some bytes, or -1."""
        state = int(self._start[terminal])
        for byte in text:
            state = int(self._tables.next[state, self._class[byte]])
            if state < 0:
                break
        return state

    def _matches(self, terminal: int, text: bytes) -> bool:
        state = self._state(terminal, text)
        return state >= 0 and bool(self._ends[state])

    @cached_property
    def _common(self) -> tuple[Any, Any]:
        """The states to which texts lead: of a terminal, and of itself or one beside it (pairs)."""
        k, room = kernels("grammar.terminals"), PAIRS
        beside = np.ascontiguousarray(self._beside, np.uint8)
        while True:
            queue, seen = np.empty(room, np.int64), np.full((4 * room, 2), -1, np.int64)
            count = k.paired_states(self._tables.next, self._start, beside, queue, seen)
            if count >= 0:
                break
            room *= 4
        one, two = queue[:count] >> 32, queue[:count] & (1 << 32) - 1
        itself = np.flatnonzero(self._terminal < self._count)
        return np.concatenate([one, two, itself]), np.concatenate([two, one, itself])


def product(one: Flags, other: Flags) -> Flags:
    """bool[n, k]: the product of boolean matrices, bool[n, m] and bool[m, k].

    By words of bits: those of numbers are left to threads, which take longer to begin than this.
    """
    rows = packed(other)
    found = np.zeros((len(one), rows.shape[1]), np.uint64)
    counts = one.sum(axis=1)
    some, counts = counts > 0, counts[counts > 0]
    if len(counts):
        listed = rows[np.nonzero(one)[1]]
        found[some] = np.bitwise_or.reduceat(listed, np.cumsum(counts) - counts, axis=0)
    return unpacked(found, other.shape[1])


def packed(rows: Flags) -> npt.NDArray[np.uint64]:
    """uint64[n, words]: the bits of boolean rows."""
    padded = np.zeros((rows.shape[0], 64 * -(-rows.shape[1] // 64)), np.bool_)
    padded[:, : rows.shape[1]] = rows
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def unpacked(bits: npt.NDArray[np.uint64], count: int) -> Flags:
    """bool[n, count]: the boolean rows that `packed` has packed."""
    found = np.unpackbits(bits.view(np.uint8), axis=1, count=count, bitorder="little")
    return found.astype(np.bool_)


def matrix(sets: list[int], count: int) -> Flags:
    """bool[sets, count]: the bits of each set."""
    size = count + 7 >> 3
    data = b"".join(one.to_bytes(size, "little") for one in sets)
    rows = np.frombuffer(data, np.uint8).reshape(len(sets), size)
    return np.unpackbits(rows, axis=1, count=count, bitorder="little").astype(np.bool_)
