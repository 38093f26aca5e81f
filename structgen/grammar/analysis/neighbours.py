"""Which terminals may stand beside, before and behind which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.grammar.analysis.follow_sets import follow_sets, members
from structgen.grammar.ir import Grammar, Indentation, Terminal
from structgen.kernels.build.loader import kernels


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
        terminal_sets: Iterable[int],
        embedded: Mapping[int, list[bytes]],
    ) -> None:
        """terminal_sets: sets that the lexer may look for at once, ignored ones aside.

        embedded: beginnings of the texts of embedded specs, by their terminals.
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
        by_rank = sorted(range(255, -1, -1), key=lambda byte: 0x20 < byte < 0x7F)
        self._byte_of = {int(self._class[byte]): bytes((byte,)) for byte in by_rank}
        self._after_texts: dict[tuple[int, bytes], int] = {}
        self._commons: dict[int, tuple[Any, Any]] = {}
        self._ordered = grammar.lexing != "free"
        self.spurious: set[int] = set()
        self._count = len(terminals)
        self._renames = self._pairs(k.RENAME_START, k.RENAME)
        self._within = self._pairs(k.WITHIN_START, k.WITHIN)
        numbers = {terminal.name: i for i, terminal in enumerate(terminals)}
        self.embedded = embedded
        self._ignored = [numbers[name] for name in grammar.ignore]
        self._follow, first = follow_sets(grammar, numbers)
        if grammar.layout is not None:
            self._lay_out(numbers, grammar.layout)
        ignored = sum(1 << i for i in set(self._ignored))
        everything = first
        for following in self._follow:
            everything |= following
        for i in self._ignored:
            self._follow[i] |= everything
        self._beside = [ignored] * self._count
        anywhere = ignored
        if grammar.layout is not None and grammar.layout.newline in numbers:
            anywhere |= 1 << numbers[grammar.layout.newline]  # in brackets
        for terminal_set in terminal_sets:
            for i in members(terminal_set | anywhere):
                self._beside[i] |= terminal_set | anywhere

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
        nexts = self._tables.next
        found = np.zeros((max(1, self._count), nexts.shape[1]), np.uint8)
        for i, following in enumerate(self._follow):
            for j in {*members(following), *self._ignored}:
                found[i] |= nexts[self._start[j]] >= 0
        return found

    def last_bytes(self, behind: Iterable[int]) -> frozenset[int]:
        """The bytes with which terminals end that may stand in front of any of some."""
        wanted = sum(1 << terminal for terminal in behind)
        nexts, found = self._tables.next, np.zeros(self._tables.next.shape[1], np.bool_)
        for i, following in enumerate(self._follow):
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
            for i in range(self._count):
                one, two = self._common(i)
                other = self._terminal[two]
                competing = ((self._ends[one] > 0) | (self._ends[two] > 0)) & (other != i)
                found[i, other[competing]] = found[other[competing], i] = 1
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

    def _after(self, lookahead: int, text: bytes) -> int:
        """The lookahead state behind some bytes."""
        known = self._after_texts.get((lookahead, text))
        if known is None:
            known = lookahead
            for byte in text:
                known = int(self._tables.watch[known, self._class[byte]])
            self._after_texts[lookahead, text] = known
        return known

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

    def _common(self, terminal: int) -> tuple[Any, Any]:
        """The states to which texts lead: of a terminal, and of itself or one beside it (pairs)."""
        if terminal not in self._commons:
            nexts, count = self._tables.next, len(self._tables.next)
            first, last = np.searchsorted(self._terminal, (terminal, terminal + 1))
            beside = members(self._beside[terminal]) if self._ordered else ()
            two = self._start[sorted({terminal, *beside})]
            one = np.full(len(two), self._start[terminal])
            seen = np.zeros((last - first) * count, np.bool_)
            while len(one):
                after, beyond = nexts[one], nexts[two]
                both = (after >= 0) & (beyond >= 0)
                pairs = (after[both].astype(np.int64) - first) * count + beyond[both]
                pairs = np.unique(pairs[~seen[pairs]])
                seen[pairs] = True
                one, two = first + pairs // count, pairs % count
            pairs = np.flatnonzero(seen)
            self._commons[terminal] = first + pairs // count, pairs % count
        return self._commons[terminal]
