"""The byte DFA of languages over characters: all their states, with characters in UTF-8.

Between two characters a state is a set of positions of a plain expression (V. Glushkov, 1961), or a
vector of languages (derivatives, J. A. Brzozowski 1964). Inside a character it is a row of 64
continuation bytes; equal rows are one state, and a block of characters that all lead to one place
is made once for each place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache, partial
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
from structgen.util.cancellation import checkpoint

Ints = npt.NDArray[Any]
Span = tuple[int, int, int]  # first and last code point, class
Flags = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint64]
Condition = Callable[[Bits], Flags]
SOME_STATES = 64  # for which there is room at first
FEW_POSITIONS = 64  # of an expression alone, whose sets are looked at as they are


class _ByClasses(NamedTuple):
    """A DFA over characters, by classes of these; n states, of which 0 is the start.

    moves: int32[n, classes], -1 dead. spans: of code points, ascending. ends: bool[n, languages].
    """

    moves: Ints
    spans: list[Span]
    ends: Flags


def explored(vector: Vector, most: int) -> tuple[npt.NDArray[np.int32], Flags, list[Vector | None]]:
    """All states of the DFA that reads some languages side by side.

    Returns int32[n, 256], the next states, -1 dead, in the order in which bytes lead to them;
    bool[n, languages], which of these each state accepts; and the vector of each state between
    characters, where they were found by derivatives. Raises BudgetError past `most` states.
    """
    dfa, found = _ByteDfa(most), _by_positions(vector, most)
    vectors: dict[int, Vector] = {}
    if found is not None:
        dfa.explore_classes(found)
        between, ends = np.arange(len(found.ends)), found.ends
    else:
        dfa.number(vector)
        for at, some in dfa.between:
            checkpoint()
            dfa.explore(at, _moves(some))
        vectors |= dfa.between
        between = np.array([*vectors])
        ends = np.array([[one.nullable for one in some] for some in vectors.values()])
    table, order = dfa.in_order()
    held = np.zeros((dfa.count, len(vector)), np.bool_)
    held[between] = ends
    return table, held[order], [vectors.get(at) for at in order.tolist()]


def _moves(vector: Vector) -> list[tuple[int, int, Vector]]:
    """Spans of code points, ascending, and the derivatives that they lead to."""
    moves = vector_moves(vector)
    found = [(*span, after) for chars, after in moves for span in chars.ranges]
    return sorted(found, key=itemgetter(0))


def _by_positions(vector: Vector, most: int) -> _ByClasses | None:
    """The DFA over characters by positions of plain expressions, None where these do not do.

    Raises BudgetError past `most` states.
    """
    with contextlib.suppress(TooLargeError):
        sets = _PositionSets(vector)
        alone = vector[0] if len(vector) == 1 else None
        if sets.size > FEW_POSITIONS and isinstance(alone, Regex) and alone.plain:
            return _of_many_positions(alone, most)
        return sets.explored(most)
    return None


def _of_many_positions(language: Regex, most: int) -> _ByClasses:
    """The same for many positions of one expression, of which some read all that others read.

    Raises BudgetError past `most` states, TooLargeError.
    """
    found = PositionAutomaton(language)
    try:
        found.explore_all(most)
    except TooLargeError:
        raise too_large(most) from None
    moves, classes = found.search.moves[: found.size], found.classes
    spans = zip(classes.low.tolist(), classes.high.tolist(), classes.group.tolist(), strict=True)
    return _ByClasses(moves, [*spans], found.ends[: found.size, None] > 0)


class _PositionSets:
    """Sets of positions of all plain expressions in some languages are the states.

    A state is a row of bits: for each expression its positions, one behind the other, each of them
    from a bit on that says whether the text may end. The languages are unions, intersections and
    complements of the expressions.
    """

    def __init__(self, vector: Vector) -> None:
        """Raises TooLargeError for other languages, and for those that any text may be one of."""
        self.start, self.size = 0, 0
        self._follow: list[int] = []
        self._toggles: dict[int, int] = {}  # positions whose characters begin or end at a point
        self._kept: dict[Regex, tuple[int, int]] = {}
        self._whether = [self._read(language) for language in vector]
        nothing = np.zeros((1, self._words), np.uint64)
        if any(alive(nothing).any() for _, alive in self._whether):
            raise TooLargeError

    @property
    def _words(self) -> int:
        return -(-self.size // 64)

    def _read(self, language: Any) -> tuple[Condition, Condition]:
        """Whether the text may end in states, and whether anything may follow or it may end."""
        match language:
            case Regex(plain=True):
                end, mine = self._kept.get(language) or self._add(language)
                return partial(self._has_some, end), partial(self._has_some, mine)
            case Not():
                ends, _ = self._read(language.body)
                return lambda states: ~ends(states), lambda states: np.ones(len(states), np.bool_)
            case And() | Alt():
                how = np.logical_and if isinstance(language, And) else np.logical_or
                parts = [*map(self._read, language.parts)]
                return (
                    lambda states: how.reduce([ends(states) for ends, _ in parts]),
                    lambda states: how.reduce([alive(states) for _, alive in parts]),
                )
        raise TooLargeError

    def _has_some(self, positions: int, states: Bits) -> Flags:
        """Whether any of some positions is in each state."""
        found: Flags = ((states & self._rows([positions])) != 0).any(axis=1)
        return found

    def _rows(self, sets: Iterable[int]) -> Bits:
        """uint64[sets, words]: sets of positions."""
        size = 8 * self._words
        data = b"".join([one.to_bytes(size, "little") for one in sets])
        return np.frombuffer(data, np.uint64).reshape(-1, self._words).copy()

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

    def explored(self, most: int) -> _ByClasses:
        """All states. Raises BudgetError past `most` states."""
        points = sorted(self._toggles)
        reading = accumulate((self._toggles[point] for point in points), xor)
        number: dict[int, int] = {}  # of each class of characters, by the positions that read it
        classes = [
            (first, after - 1, number.setdefault(some, len(number)))
            for first, after, some in zip(points, points[1:], reading, strict=False)
            if some
        ]
        follow, read, room = self._rows(self._follow), self._rows(number), SOME_STATES
        while True:
            checkpoint()
            states = np.zeros((room, self._words), np.uint64)
            moves = np.empty((room, len(number)), np.int32)
            states[:1] = self._rows([self.start])
            slots = np.full(4 * room, -1, np.int32)
            count = kernels("grammar.terminals").position_sets(follow, read, states, moves, slots)
            if count >= 0:
                break
            if room > most:
                raise too_large(most)
            room *= 8
        states, moves = states[:count], moves[:count]
        alive = np.logical_or.reduce([alive(states) for _, alive in self._whether])
        ends = np.stack([ends(states) for ends, _ in self._whether], axis=1)
        return _ByClasses(np.where((moves >= 0) & alive[moves], moves, -1), classes, ends)


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
    if not rows.size:
        return [b""] * len(rows)
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
    """The states found so far. count: how many.

    between: those between characters, with what they stand for, where derivatives are explored.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._table = np.full((SOME_STATES, 256), -1, np.int32)  # with room for more
        self.count = 0
        self._numbers: dict[Hashable, int] = {np.full(1 << DIGIT, -1, np.int32).tobytes(): -1}
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
        first, self.count = self.count, self.count + more
        if self.count > self._most:
            raise too_large(self._most)
        if self.count > len(self._table):
            self._table = with_room(self._table, self.count, -1)
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

    def explore_classes(self, found: _ByClasses) -> None:
        """Take in all states of a DFA over characters, which keep their numbers."""
        count = len(found.moves)
        self._new(count)
        ascii_kinds = np.full(LAST_ASCII + 1, -1, np.int32)
        for first, last, kind in found.spans:
            ascii_kinds[first : last + 1] = kind
        moves = np.append(found.moves, np.full((count, 1), -1, np.int32), axis=1)  # at index -1
        self._table[:count, : LAST_ASCII + 1] = moves[:, ascii_kinds]
        multibyte = [span for span in found.spans if span[1] > LAST_ASCII]
        moves = found.moves[:, sorted({kind for _, _, kind in multibyte})]
        alike: dict[bytes, list[int]] = {}
        some = np.flatnonzero((moves >= 0).any(axis=1))
        for state, key in zip(some.tolist(), _keys(moves[some]), strict=True):
            alike.setdefault(key, []).append(state)
        for states in alike.values():
            checkpoint()
            self._explore_multibyte(states[0], multibyte, found.moves[states[0]].tolist())
            self._table[states, LAST_ASCII + 1 :] = self._table[states[0], LAST_ASCII + 1 :]

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
        keys, numbers = _keys(rows), self._numbers
        fresh = {key: i for i, key in enumerate(keys) if key not in numbers}
        if fresh:
            first = self._new(len(fresh))
            numbers |= zip(fresh, range(first, self.count), strict=True)
            inside = slice(FIRST_CONTINUATION, FIRST_CONTINUATION + (1 << DIGIT))
            self._table[first : self.count, inside] = rows[[*fresh.values()]]
        return np.array([*map(numbers.__getitem__, keys), -1], np.int32)

    def in_order(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The rows of states, in the order in which bytes lead to them, and which states these are.

        int32[n, 256], -1 dead.
        """
        rows = self._table[: self.count]
        order, place = np.zeros(len(rows), np.int32), np.full(len(rows) + 1, -1, np.int32)
        order = order[: kernels("grammar.terminals").in_order(rows, order, place[:-1])]
        return place[rows[order]], order
