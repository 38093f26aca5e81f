"""In: positions of expressions. Out: states as sets of those that may be read next.

An expression has one automaton; several that a text is read in side by side can have one together:
which of them the text fits is read off a position behind each, which reads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from structgen.automaton.regex import ANY, EMPTY, INFINITE, Regex
from structgen.automaton.regex_nodes import Concat, Literal, Not, Words
from structgen.automaton.regex_positions import Positions, TooLargeError, classes_of
from structgen.automaton.regex_states import Array, TableAutomaton, anything, unread
from structgen.jit import kernels
from structgen.once import found_once

FEW_POSITIONS = 1000  # of listed words: up to so many, all their states are found at once
MAX_OUTCOMES = 255  # sets of expressions that a text may fit

Vector = tuple[Regex, ...]
Outcome = tuple[bool, ...]


class PositionAutomaton(TableAutomaton):
    """States as sets of positions."""

    def __init__(self, regex: Regex) -> None:
        """Raises TooLargeError."""
        self._open = isinstance(regex, Concat) and regex.head is ANY  # then nothing is ever fatal
        self._listed = isinstance(regex, Words)  # then nothing is read again and again
        self._number(Positions(regex), few=self._listed, ends=regex.nullable)

    def _number(self, positions: Positions, *, few: bool, ends: bool) -> None:
        """Begin with the start. few: whether there are not many more states than positions."""
        classes = classes_of(positions.sets)
        width = len(positions.follow) // 64 + 1
        bits = [*positions.follow, positions.start, *positions.universal]
        data = b"".join(part.to_bytes(8 * width, "little") for part in bits)
        rows = np.frombuffer(data, np.uint64).reshape(-1, width).copy()
        count = len(positions.follow)
        super().__init__(rows[count], classes, ends=ends)
        self._follow, self._universal = rows[:count], rows[count + 1 :]
        pieces = [piece for run in positions.runs for piece in run.pieces()]
        self._runs = np.array(pieces, np.uint64).reshape(-1, 4)
        self._scratch = np.zeros((len(classes.letters), width), np.uint64)
        self._few = few and count <= FEW_POSITIONS

    def find(self, state: int, count: int) -> None:
        """See `TableAutomaton.find`: all states of a few words, as each look has its cost."""
        if self._few and not self.found:
            self.explore_near(2 * FEW_POSITIONS)
        else:
            super().find(state, count)

    def _find(self, state: int, count: int) -> None:
        known, now, end = -1, self.found, self.found + count
        while known < now < end:
            known = now
            kernels("patterns").explore(
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
            state = self._next()  # walks along words turn to the next word soon

    def _endings(self, begin: int, end: int) -> Array:
        found: Array = (self.states[begin:end, 0] & np.uint64(1)).astype(np.bool_)
        return found

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`."""
        found = anything(end - begin)
        states = np.ascontiguousarray(self.states[begin:end])
        kernels("ahead").look_from(states, self.classes.reads, self._behind, found)
        return found

    @found_once
    def _behind(self) -> Any:
        """What texts read behind each position."""
        found = unread(len(self._follow))
        kernels("ahead").look_behind(self._follow, self.classes.reads, found)
        return found

    def _knows_loops(self, order: Array) -> bool:
        if self._open:
            self.loops[order], self.often[order] = -1, 255
        return self._open or self._listed


class Beside(Positions):
    """The positions of several expressions. ends: those behind each. Raises TooLargeError."""

    def __init__(self, regexes: Iterable[Regex]) -> None:
        """Number the positions of each, and one that reads nothing behind them."""
        self._begin()
        self.start = 0
        self.universal = []
        self.ends: list[int] = []
        for regex in regexes:
            part = self._part(regex, 0)
            end = self._position(None)
            self._link(part.last, 1 << end)
            self.start |= part.first | part.empty << end
            self.ends.append(end)


class VectorAutomaton(PositionAutomaton):
    """States of expressions side by side; that no text of one follows does not end the others.

    outcomes: for each value of `ends` from 1 on, which expressions a text fits that ends so, as far
    as met. free_place: that of the only expression that anything may follow in the end, if any.
    """

    def __init__(self, vector: Vector) -> None:
        """Raises TooLargeError, also where an expression is neither plain nor a complement of one.

        A complement is one of finitely many texts, so there is always a text that fits it.
        """
        languages = dict.fromkeys(map(_read, vector))
        languages.pop(EMPTY, None)
        if not all(language.plain for language in languages) or not _is_clear(languages):
            raise TooLargeError
        if any(isinstance(x, Not) for x in vector):
            if any(isinstance(x, Not) and x.body.longest == INFINITE for x in vector):
                raise TooLargeError
            languages[ANY] = None  # such a text goes on
        positions = Beside(languages)
        at = {EMPTY: 0, **dict(zip(languages, positions.ends, strict=True))}
        self._ends = np.array([at[_read(language)] for language in vector])
        self._denied = np.array([isinstance(language, Not) for language in vector])
        self._open = self._listed = False
        few = all(x is ANY or isinstance(x, Literal | Words) for x in languages)
        self._number(positions, few=few, ends=False)
        free = [i for i, x in enumerate(vector) if x is ANY or isinstance(x, Not)]
        self.free_place = free[0] if len(free) == 1 else None
        self._codes: dict[Outcome, int] = {}
        self.outcomes: list[Outcome] = []
        if self.free_place is not None:
            self._code(tuple(i == self.free_place for i in range(len(vector))))
        self.ends[0] = self._endings(0, 1)[0]

    def _code(self, outcome: Outcome) -> int:
        """What `ends` says of states with that outcome."""
        code = self._codes.setdefault(outcome, len(self._codes) + 1)
        if code > len(self.outcomes):
            self.outcomes.append(outcome)
        return code

    def _endings(self, begin: int, end: int) -> Array:
        bits = self.states[begin:end, self._ends >> 6] >> (self._ends & 63).astype(np.uint64)
        fits = ((bits & np.uint64(1)) != 0) ^ self._denied
        found = np.zeros(end - begin, np.uint8)
        some = np.flatnonzero(fits.any(axis=1))
        found[some] = [self._code(tuple(outcome)) for outcome in fits[some].tolist()]
        return found

    def note(self) -> None:
        """See `TableAutomaton.note`; any text may follow where it fits what it always may fit."""
        super().note()
        free = self.ends[: self.made] == (1 if self.free_place is not None else 0)
        self.endless[: self.made] &= free


def _read(language: Regex) -> Regex:
    """The expression that is read to know whether a text fits."""
    return language.body if isinstance(language, Not) else language


def _is_clear(languages: Iterable[Regex]) -> bool:
    """Whether so many sets of expressions at most may be fitted as there are numbers for."""
    texts, patterns = 2, 0
    for language in languages:
        if isinstance(language, Words):
            texts += language.high - language.low
        elif isinstance(language, Literal):
            texts += 1
        elif language is not ANY:
            patterns += 1
    return patterns < 8 and texts << patterns <= MAX_OUTCOMES
