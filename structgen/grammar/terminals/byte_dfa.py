"""The byte DFA of languages over characters: all their states, with characters in UTF-8.

Between two characters a state is a set of positions of a plain expression (V. Glushkov, 1961), or a
vector of languages (derivatives, J. A. Brzozowski 1964). Inside a character it is a row of 64
continuation bytes; equal rows are one state, and a block of characters that all lead to one place
is made once for each place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter, xor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automata.lexer.lexer import Vector, vector_moves
from structgen.errors import BudgetError
from structgen.kernels.build.loader import kernels
from structgen.regular.expressions.base import Regex
from structgen.regular.expressions.nodes import Alt, And, Not
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.glushkov import PositionAutomaton, Positions
from structgen.regular.utf8 import DIGIT, FIRST_CONTINUATION, LAST_ASCII, LEADS
from structgen.util.arrays import distinct, with_room
from structgen.util.bits import ones
from structgen.util.cancellation import checkpoint

Ints = npt.NDArray[Any]
Span = tuple[int, int, int]  # first and last code point, class
Condition = Callable[[int], bool]
SOME_STATES = 16  # for which there is room at first
FEW_POSITIONS = 64  # of an expression alone, whose sets are found in Python


def explored(
    vector: Vector, most: int
) -> tuple[npt.NDArray[np.int32], list[tuple[bool, ...]], list[Vector | None]]:
    """All states of the DFA that reads some languages side by side.

    Returns int32[n, 256], the next states, -1 dead, in the order in which bytes lead to them; which
    languages each state accepts; and the vector of each state between characters, where they were
    found by derivatives. Raises BudgetError past `most` states.
    """
    ends: dict[int, tuple[bool, ...]] = {}
    vectors: dict[int, Vector] = {}
    states = _states_of(vector, most)
    dfa = _ByteDfa(most, states.classes if isinstance(states, _PositionSets) else [])
    dfa.number(states.start)
    for at, state in dfa.between:
        checkpoint()
        ends[at] = states.ends(state)
        if isinstance(states, _PositionSets):
            dfa.explore_classes(at, states.moves(state))
            continue
        dfa.explore(at, states.moves(state))
        if isinstance(states, _Derivatives):
            vectors[at] = state
    table, order = dfa.in_order()
    dead = (False,) * len(vector)
    return table, [ends.get(at, dead) for at in order], [vectors.get(at) for at in order]


def _states_of(vector: Vector, most: int) -> _Derivatives | _PositionSets | _Positions:
    """The DFA over characters, by the construction that finds it soonest.

    Raises BudgetError past `most` states.
    """
    with contextlib.suppress(TooLargeError):
        sets = _PositionSets(vector)
        alone = vector[0] if len(vector) == 1 else None
        if sets.size > FEW_POSITIONS and isinstance(alone, Regex) and alone.plain:
            return _Positions(alone, most)
        return sets
    return _Derivatives(vector)


class _Derivatives:
    """Vectors of languages are the states; their derivatives are found one by one."""

    def __init__(self, vector: Vector) -> None:
        self.start = vector

    @staticmethod
    def ends(vector: Vector) -> tuple[bool, ...]:
        """Which languages a state accepts."""
        return tuple([language.nullable for language in vector])

    @staticmethod
    def moves(vector: Vector) -> list[tuple[int, int, Vector]]:
        """Spans of code points, ascending, and the states that they lead to."""
        moves = vector_moves(vector)
        found = [(*span, after) for chars, after in moves for span in chars.ranges]
        return sorted(found, key=itemgetter(0))


class _PositionSets:
    """Sets of positions of all plain expressions in some languages are the states.

    A state is a bit set: for each expression its positions, one behind the other, each of them from
    a bit on that says whether the text may end. The languages are unions, intersections and
    complements of the expressions.
    """

    def __init__(self, vector: Vector) -> None:
        """Raises TooLargeError for other languages, and for those that any text may be one of."""
        self.start, self.size = 0, 0
        self._follow: list[int] = []
        self._toggles: dict[int, int] = {}  # positions whose characters begin or end at a point
        self._kept: dict[Regex, tuple[int, int]] = {}
        self._whether = [self._read(language) for language in vector]
        if any(alive(0) for _, alive in self._whether):
            raise TooLargeError
        points = sorted(self._toggles)
        reading = accumulate((self._toggles[point] for point in points), xor)
        number: dict[int, int] = {}  # of each class of characters, by the positions that read it
        spans = zip(points, points[1:], reading, strict=False)
        self.classes = [
            (first, after - 1, number.setdefault(some, len(number)))
            for first, after, some in spans
            if some
        ]
        self._reading = list(number)
        self._after: dict[int, int] = {}

    def _read(self, language: Any) -> tuple[Condition, Condition]:
        """Whether the text may end in a state, and whether anything may follow or it may end."""
        match language:
            case Regex(plain=True):
                end, mine = self._kept.get(language) or self._add(language)
                return lambda state: bool(state & end), lambda state: bool(state & mine)
            case Not():
                ends, _ = self._read(language.body)
                return lambda state: not ends(state), lambda _: True
            case And() | Alt():
                parts = [self._read(part) for part in language.parts]
                how = all if isinstance(language, And) else any
                return (
                    lambda state: how(ends(state) for ends, _ in parts),
                    lambda state: how(alive(state) for _, alive in parts),
                )
        raise TooLargeError

    def _add(self, language: Regex) -> tuple[int, int]:
        """Lay out the positions of an expression: the bit for its end, and all of its bits."""
        positions, base = Positions(language), self.size
        self.size += len(positions.follow)
        self.start |= positions.start << base
        self._follow += [following << base for following in positions.follow]
        for place, chars in enumerate(positions.sets, base):
            for first, last in () if chars is None else chars.ranges:
                self._toggles[first] = self._toggles.get(first, 0) ^ 1 << place
                self._toggles[last + 1] = self._toggles.get(last + 1, 0) ^ 1 << place
        self._kept[language] = 1 << base, (1 << self.size) - (1 << base)
        return self._kept[language]

    def ends(self, state: int) -> tuple[bool, ...]:
        """See `_Derivatives.ends`."""
        return tuple([ends(state) for ends, _ in self._whether])

    def moves(self, state: int) -> list[int]:
        """The state behind a character of each class, 0 for none."""
        return [self._behind(state & reading) for reading in self._reading]

    def _behind(self, places: int) -> int:
        """The state behind a character that some positions read, 0 where nothing may follow."""
        found = self._after.get(places)
        if found is None:
            found = 0
            for place in ones(places):
                found |= self._follow[place]
            if len(self._kept) > 1 and not any(alive(found) for _, alive in self._whether):
                found = 0
            self._after[places] = found
        return found


class _Positions:
    """The same for more positions, by a kernel; its numbers are the states."""

    start = 0

    def __init__(self, language: Regex, most: int) -> None:
        """Raises BudgetError past `most` states, TooLargeError."""
        self._found = PositionAutomaton(language)
        try:
            self._found.explore_all(most)
        except TooLargeError:
            raise too_large(most) from None

    def ends(self, state: int) -> tuple[bool, ...]:
        """See `_Derivatives.ends`."""
        return (bool(self._found.ends[state]),)

    def moves(self, state: int) -> list[tuple[int, int, int]]:
        """See `_Derivatives.moves`."""
        found: list[tuple[int, int, int]] = self._found.spans_from(state).tolist()
        return found


class _Digit(NamedTuple):
    """What characters do whose last bytes are one continuation byte more than in the one before.

    rows: int[n, 64], by the digit of that byte: what of the one before (of the spans, in the first)
    comes next, -1 for nothing. first_bytes, behind: first bytes of characters, and their rows.
    """

    rows: Ints
    first_bytes: Ints
    behind: Ints


@lru_cache(maxsize=128)
def _digits(spans: tuple[Span, ...]) -> tuple[_Digit, ...]:
    """UTF-8 of spans of code points behind ASCII, from the last byte of characters to the first.

    Most terminals have the same few spans: of all such characters, say.
    """
    found = []
    points = np.array([end for low, high, _ in spans for end in (low, high + 1)], np.int64)
    kinds = np.array([kind for *_, of in spans for kind in (of, -1)], np.int64)
    width = 1 << DIGIT
    for more, (lead, first, last, size, _) in enumerate(LEADS):
        first_bytes = np.arange(first // size, last // size + 1)
        first >>= DIGIT * more
        kept = points > first  # shorter forms spell what is below
        kinds = np.append(_at(np.array([first]), points, kinds), kinds[kept])
        points = np.append(first, points[kept])
        mixed = distinct(points[points % width > 0] // width)
        blocks = distinct(np.concatenate([-(-points // width), mixed, mixed + 1]))
        cells = _at(blocks[:, None] * width + np.arange(width), points, kinds)
        numbers = {b"\xff" * cells.itemsize * width: -1}
        places: list[int] = []
        listed = _keys(cells)
        for at, row in enumerate(listed):
            if numbers.setdefault(row, len(numbers) - 1) == len(places):
                places.append(at)
        points, kinds = blocks, np.array([numbers[row] for row in listed])
        found.append(_Digit(cells[places], lead + first_bytes, _at(first_bytes, points, kinds)))
    return (*found,)


def _keys(rows: Ints) -> list[bytes]:
    """The bytes of each row of a matrix, by which equal rows are found."""
    whole = np.dtype((np.void, rows.itemsize * rows.shape[1]))
    found: list[Any] = np.ascontiguousarray(rows).view(whole).reshape(-1).tolist()
    return found


def _at(code: Ints, points: Ints, kinds: Ints) -> Ints:
    """The kinds of some code points; `kinds` has those from each of the points on."""
    found: Ints = np.append(kinds, -1)[np.searchsorted(points, code, side="right") - 1]
    return found


def too_large(most: int) -> BudgetError:
    """The error for a terminal with more than `most` states."""
    return BudgetError(
        f"a terminal has more than {most} byte states",
        hint="use smaller counts or character classes in it",
    )


class _ByteDfa:
    """The states found so far. between: those between characters, with what they stand for."""

    def __init__(self, most: int, classes: list[Span]) -> None:
        """classes: spans of code points and their class, ascending; for `explore_classes`."""
        self._most = most
        self._multibyte = [span for span in classes if span[1] > LAST_ASCII]
        self._multibyte_kinds = sorted({kind for _, _, kind in self._multibyte})
        self._ascii = np.full(LAST_ASCII + 1, -1, np.int32)  # the class of each character
        for first, last, kind in classes:
            self._ascii[first : last + 1] = kind
        self._table = np.full((SOME_STATES, 256), -1, np.int32)  # with room for more
        self._count = 0
        self._numbers: dict[Hashable, int] = {np.full(1 << DIGIT, -1, np.int32).tobytes(): -1}
        self._by_class: list[tuple[int, list[int]]] = []  # states, what each class leads to
        self._leads: dict[tuple[int, ...], npt.NDArray[np.int32]] = {}  # what first bytes do
        self.between: list[tuple[int, Any]] = []

    def number(self, what: Hashable) -> int:
        """The state between characters that stands for something."""
        found = self._numbers.get(what)
        if found is None:
            found = self._numbers[what] = self._new(1)
            self.between.append((found, what))
        return found

    def _new(self, more: int) -> int:
        """The first of some new states, of which nothing is known yet."""
        first, self._count = self._count, self._count + more
        if self._count > self._most:
            raise too_large(self._most)
        if self._count > len(self._table):
            self._table = with_room(self._table, self._count, -1)
        return first

    def explore(self, state: int, moves: Iterable[tuple[int, int, Hashable]]) -> None:
        """Find what each byte does in a state.

        moves: spans of code points, ascending, and what they lead to.
        """
        plain, multibyte = [], []
        to: dict[int, int] = {}
        for low, high, after in moves:
            target = self.number(after)
            if low <= LAST_ASCII:
                plain.append((low, min(high, LAST_ASCII) + 1, target))
            if high > LAST_ASCII:
                multibyte.append((low, high, to.setdefault(target, len(to))))
        for low, behind, target in plain:
            self._table[state, low:behind] = target
        self._explore_multibyte(state, multibyte, [*to])

    def explore_classes(self, state: int, moves: Iterable[int]) -> None:
        """The same by classes. moves: what a character of each class leads to, 0 for nothing."""
        to = [self.number(after) if after else -1 for after in moves]
        self._by_class.append((state, [*to, -1]))
        key = tuple([to[kind] for kind in self._multibyte_kinds])
        if max(key, default=-1) < 0:
            return
        if key not in self._leads:
            self._explore_multibyte(state, self._multibyte, to)
            self._leads[key] = self._table[state, LAST_ASCII + 1 :].copy()
        self._table[state, LAST_ASCII + 1 :] = self._leads[key]

    def _explore_multibyte(self, state: int, spans: Iterable[Span], to: list[int]) -> None:
        """Find what the first bytes of characters behind ASCII do in a state.

        spans: of code points, each with its number in `to`, which has the states.
        """
        states = np.array([*to, -1], np.int32)  # the last for no span
        for rows, first_bytes, behind in _digits((*spans,)):
            states = self._inner(states[rows])
            self._table[state, first_bytes] = states[behind]

    def _inner(self, rows: Ints) -> Ints:
        """The states inside a character with these rows, -1 where one leads nowhere; -1 behind."""
        keys, numbers = _keys(rows) if len(rows) else [], self._numbers
        fresh = {key: i for i, key in enumerate(keys) if key not in numbers}
        if fresh:
            first = self._new(len(fresh))
            numbers |= zip(fresh, range(first, self._count), strict=True)
            inside = slice(FIRST_CONTINUATION, FIRST_CONTINUATION + (1 << DIGIT))
            self._table[first : self._count, inside] = rows[[*fresh.values()]]
        return np.array([*map(numbers.__getitem__, keys), -1], np.int32)

    def in_order(self) -> tuple[npt.NDArray[np.int32], list[int]]:
        """The rows of states, in the order in which bytes lead to them, and which states these are.

        int32[n, 256], -1 dead.
        """
        rows = self._table[: self._count]
        if self._by_class:
            states, to = zip(*self._by_class, strict=True)
            rows[[*states], : LAST_ASCII + 1] = np.array(to, np.int32)[:, self._ascii]
        order, place = np.zeros(len(rows), np.int32), np.full(len(rows) + 1, -1, np.int32)
        order = order[: kernels("grammar.terminals").in_order(rows, order, place[:-1])]
        return place[rows[order]], order.tolist()
