"""In: expressions that a text is read in side by side. Out: one automaton for all of them.

Which of them a text fits is read off a position behind each plain part, which reads nothing: others
are made of such parts, their complements, unions and intersections.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from structgen.regular.expressions.logic import begin_apart
from structgen.regular.expressions.nodes import (
    Alt,
    And,
    Concat,
    Literal,
    Not,
    Repeat,
    Words,
    free_place,
    is_lasting,
    is_span,
    matches,
    texts_of,
)
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.glushkov import PositionAutomaton, Positions
from structgen.regular.lazy_dfa.states import Array
from structgen.regular.regex import ANY, EMPTY, INFINITE, Regex

MAX_OUTCOMES = 255  # sets of parts that a text may fit
MAX_ENDLESS = 12  # parts with texts of any length where some rule others out
WIDE = 6  # expressions side by side of which it takes long to look at each letter
FEW_PARTS = 8  # of a union that is taken apart

Vector = tuple[Regex, ...]
Outcome = tuple[bool, ...]


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
        """Raises TooLargeError, also where it is not plain that texts fit what has been read."""
        parts, self._dies = parts_of(vector)
        positions = Beside(parts)
        self._vector = vector
        self._places = dict(zip(parts, positions.ends, strict=True))
        self._open = self._listed = False
        few = all(x is ANY or isinstance(x, Literal | Words) for x in parts)
        self._number(positions, few=few, ends=False)
        self.free_place = free_place(vector)
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
        states, known = self.states[begin:end], {EMPTY: np.zeros(end - begin, np.bool_)}
        for part, at in self._places.items():
            known[part] = states[:, at >> 6] >> np.uint64(at & 63) & np.uint64(1) != 0
        fits = np.array([_fits(language, known) for language in self._vector]).T
        found = np.zeros(end - begin, np.uint8)
        some = np.flatnonzero(fits.any(axis=1))
        found[some] = [self._code(tuple(outcome)) for outcome in fits[some].tolist()]
        return found

    def _go_on(self, state: int, count: int) -> None:
        known = self.found
        super()._go_on(state, count)
        if self._dies:  # nothing leads to states where a text fits no expression
            order, moves = self.search.order[known : self.found], self.search.moves
            to = moves[order]
            moves[order] = np.where((to >= 0) & (self.ends[to] == 0), -1, to)

    def note(self) -> None:
        """See `TableAutomaton.note`; any text may follow where it fits what it always may fit."""
        super().note()
        free = self.ends[: self.made] == (1 if self.free_place is not None else 0)
        self.endless[: self.made] &= free & (not self._dies)


def parts_of(vector: Vector) -> tuple[list[Regex], bool]:
    """What tells which expressions a text fits, and whether it can go on only while it fits one.

    Else all that is read of the parts can go on. Raises TooLargeError, also where neither is plain.
    """
    lasting = [language for language in vector if is_lasting(language)]
    few = len({*vector} - {EMPTY}) < WIDE
    if few and len(lasting) > 1 and any(map(_rules_out_many, lasting)):
        raise TooLargeError  # behind most letters nothing else is left: each is looked at alone
    whole = not any(isinstance(language, And | Not) for language in vector)
    for unions in (False,) if whole else (False, True):  # as few as will do
        found: dict[Regex, None] = {}
        for language in vector:
            _take_apart(language, found, unions=unions)
        found.pop(EMPTY, None)
        if not all(part.plain for part in found) or not _is_clear(found):
            continue
        known = {EMPTY, *found}
        if whole or all(language in known or _goes_on(language) for language in vector):
            return [*found], False
        dies = _dies(vector, found)
        if dies is not None:
            return [*dict.fromkeys((*found, ANY))], dies
    raise TooLargeError


def _rules_out_many(language: Regex) -> bool:
    return isinstance(language, Not) and language.body.longest == INFINITE


def _take_apart(node: Regex, parts: dict[Regex, None], *, unions: bool) -> None:
    """Collect what an expression is made of. unions: whether they are taken apart, if small."""
    if isinstance(node, Not):
        _take_apart(node.body, parts, unions=unions)
    elif isinstance(node, And) or (
        unions and isinstance(node, Alt) and len(node.parts) <= FEW_PARTS
    ):
        for part in node.parts:
            _take_apart(part, parts, unions=unions)
    else:
        parts[node] = None


def _fits(node: Regex, known: Mapping[Regex, Array]) -> Array:
    """bool[n]: whether each text fits an expression, by which parts it fits."""
    if node in known:
        return known[node]
    if isinstance(node, Not):
        return ~_fits(node.body, known)
    joined: Any = np.logical_and if isinstance(node, And) else np.logical_or
    parts: Sequence[Regex] = getattr(node, "parts", ())
    found: Array = joined.reduce([_fits(part, known) for part in parts])
    return found


def _dies(vector: Vector, parts: Iterable[Regex]) -> bool | None:
    """Whether texts can go on only while they fit an expression. False if all can, None if unknown.

    All can where one is fitted however few of the endless parts are left at the end. Where what has
    been fitted stays so, and less never is worse, a text that fits none is lost.
    """
    endless = [part for part in parts if part.longest == INFINITE and part is not ANY]
    if len(endless) > MAX_ENDLESS:
        return None
    cases = np.arange(1 << len(endless))
    known = {part: np.zeros(len(cases), np.bool_) for part in (EMPTY, *parts)}
    known |= {part: (cases >> i & 1) != 0 for i, part in enumerate(endless)}
    some = _some(vector, known)
    if some.all():
        return False
    less = (some[cases & ~(1 << i)] for i in range(len(endless)))
    if not (all(map(_stays, endless)) and all((some <= fewer).all() for fewer in less)):
        return None
    listed = [texts_of(part) for part in parts if part not in endless and part is not ANY]
    if None in listed:
        return None
    texts = [text for few in listed for text in few or ()]  # fitted as what follows them is?
    fitted = {part: np.array([matches(part, t) for t in texts], np.bool_) for part in known}
    case = sum((fitted[part] << i for i, part in enumerate(endless)), np.zeros(len(texts), int))
    return True if (_some(vector, fitted) == some[case]).all() else None


def _some(vector: Vector, known: Mapping[Regex, Array]) -> Array:
    """bool[n]: whether each text fits one of the expressions, by which parts it fits."""
    known = {**known, ANY: np.ones(len(known[EMPTY]), np.bool_)}
    found: Array = np.logical_or.reduce([_fits(language, known) for language in vector])
    return found


def _stays(node: Regex) -> bool:
    """Whether a text that has been fitted is, whatever follows it."""
    if isinstance(node, Alt):
        return all(map(_stays, node.parts))
    while isinstance(node, Concat):
        node = node.tail
    return node is ANY


def _goes_on(node: Regex) -> bool:
    """Whether all that can be read of an expression is followed by texts that fit, as is plain.

    So it is of endless texts, but for a few that are ruled out.
    """
    parts = node.parts if isinstance(node, And) else (node,)
    wanted = [part for part in parts if not isinstance(part, Not)]
    if len(wanted) != 1 or not wanted[0].plain or not _is_endless(wanted[0]):
        return False
    barred = [part.body for part in parts if isinstance(part, Not)]
    listed = [*map(texts_of, barred)]
    return all(x is not None and all(matches(wanted[0], text) for text in x) for x in listed)


def _is_endless(node: Regex) -> bool:
    """Whether all that can be read leads to texts of any length: they end or begin with repeats."""
    if isinstance(node, Alt):
        return any(map(_is_open, node.parts)) or all(map(_is_endless, node.parts))
    if _is_open(node):
        return True
    while isinstance(node, Concat):
        node = node.tail
    return isinstance(node, Repeat) and node.high >= INFINITE


def _is_open(node: Regex) -> bool:
    """Whether texts may begin with anything, so that nothing is ever fatal."""
    return isinstance(node, Concat) and is_span(node.head) and node.head.longest == INFINITE


def _is_clear(parts: Iterable[Regex]) -> bool:
    """Whether so many sets of expressions at most may be fitted as there are numbers for."""
    texts = 2
    patterns: list[Regex] = []
    for part in parts:
        if isinstance(part, Words):
            texts += part.high - part.low
        elif isinstance(part, Literal):
            texts += 1
        elif part is not ANY:
            patterns.append(part)
    if all(begin_apart(one, other) for one, other in combinations(patterns, 2)):
        return texts * (1 + len(patterns)) <= MAX_OUTCOMES
    return len(patterns) < 8 and texts << len(patterns) <= MAX_OUTCOMES
