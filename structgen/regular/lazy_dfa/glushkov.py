"""The position automaton of a plain regular expression (Glushkov 1961), determinised lazily.

A DFA state is a set of positions of the expression (`positions`), one bit each, and a kernel finds
its moves with bit operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structgen.kernels.build.loader import kernels
from structgen.regular.charset import ALL
from structgen.regular.expressions.base import Regex
from structgen.regular.expressions.nodes import ANY, Concat, Words
from structgen.regular.lazy_dfa.character_classes import classes_of
from structgen.regular.lazy_dfa.positions import Bits, Positions, Program
from structgen.regular.lazy_dfa.states import (
    ANY_NUMBER,
    Array,
    TableAutomaton,
    nothing_ahead,
    unknown_ahead,
)
from structgen.util.cached import cached_attribute


class PositionAutomaton(TableAutomaton):
    """A DFA whose states are sets of positions: uint64[S, W] bits."""

    is_kernel_only = True

    def __init__(self, regex: Regex) -> None:
        """Raises TooLargeError."""
        # any text may come first: no state is dead
        self._open = isinstance(regex, Concat) and regex.head is ANY
        self._listed = isinstance(regex, Words)  # a finite language: no loops
        program = Program()
        program.add(regex)
        self._begin(program, ends=regex.nullable)

    def _begin(self, program: Program, *, ends: bool) -> None:
        """Begin with what comes first in some expressions. Raises TooLargeError."""
        classes, positions = classes_of(program.read), program.positions()
        super().__init__(
            positions.start, classes._replace(reads=classes.reads[positions.sets]), ends=ends
        )
        self._follow = positions.follow
        self._universal = _universal(positions, program.number_of(ALL))
        pieces = [piece for run in positions.runs.tolist() for piece in _pieces(*run)]
        self._runs = np.array(pieces, np.uint64).reshape(-1, 4)
        self._scratch = np.zeros((len(classes.letters), len(self._follow[0])), np.uint64)

    def _find(self, state: int, count: int) -> None:
        known, now, end = -1, self.found, self.found + count
        while known < now < end:
            known = now
            kernels("regular.glushkov").explore(
                self._follow,
                self.classes.reads,
                self._universal,
                self._runs,
                self.states,
                self.search,
                self._scratch,
                state,
                end - now,
            )
            made, now, _ = self.search.sizes.tolist()
            if now == made:
                return
            state = self._next()  # a branch ended before `count`: go on with another one

    def _endings(self, begin: int, end: int) -> Array:
        found: Array = (self.states[begin:end, 0] & np.uint64(1)).astype(np.bool_)
        return found

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`."""
        found = unknown_ahead(end - begin)
        states = np.ascontiguousarray(self.states[begin:end])
        kernels("regular.required_ahead").look_from(states, self.classes.reads, self._behind, found)
        return found

    @cached_attribute
    def _behind(self) -> Any:
        """`Ahead` of each position, as a fixpoint over `follow`."""
        found = nothing_ahead(len(self._follow))
        kernels("regular.required_ahead").look_behind(self._follow, self.classes.reads, found)
        return found

    def _write_known_loops(self, order: Array) -> bool:
        if self._open:
            self.loops[order], self.often[order] = -1, ANY_NUMBER
        return self._open or self._listed


def _universal(positions: Positions, number: int) -> Bits:
    """Sets that accept every text: a position that repeats all characters, and the end at bit 0.

    number: of all characters.
    """
    places = np.flatnonzero(positions.sets == number) if number else np.zeros(0, np.int64)
    words, bits = places >> 6, np.uint64(1) << (places & 63).astype(np.uint64)
    rows = positions.follow[places]
    loops = (rows[np.arange(len(places)), words] & bits != 0) & (rows[:, 0] & np.uint64(1) != 0)
    found = np.zeros((np.count_nonzero(loops), rows.shape[1]), np.uint64)
    found[np.arange(len(found)), words[loops]] = bits[loops]
    found[:, 0] |= np.uint64(1)
    return found


def _pieces(first: int, last: int, rises: int) -> list[tuple[int, int, bool, int]]:
    """A run of positions cut at 64-bit words, beginning with the word of the one that is kept.

    Each piece: the index of the word; the run's bits in it; whether it is not the first piece;
    whether the last position is kept.
    """
    bits = (2 << last) - (1 << first)
    words = range(first >> 6, (last >> 6) + 1)
    return [
        (word, bits >> (word << 6) & (1 << 64) - 1, i > 0, rises)
        for i, word in enumerate(reversed(words) if rises else words)
    ]
