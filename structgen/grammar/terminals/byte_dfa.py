"""The byte DFA of languages over characters: all their states, with characters in UTF-8.

Between two characters a state is a set of positions of a plain expression (V. Glushkov, 1961), or a
vector of languages (derivatives, J. A. Brzozowski 1964). Inside a character it is a row of 64
continuation bytes; equal rows are one state (`kernels.terminals.utf8`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automata.lexer.lexer import Vector, vector_moves
from structgen.errors import BudgetError
from structgen.grammar.terminals.position_sets import (
    Bits,
    Ints,
    all_sets,
    classes_of,
    empty_slots,
    rows_of,
)
from structgen.kernels.build.loader import kernels
from structgen.regular.charset import CharSet
from structgen.regular.expressions.base import Regex
from structgen.regular.expressions.nodes import Alt, And, Not
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.glushkov import PositionAutomaton
from structgen.regular.lazy_dfa.positions import MAX_POSITIONS, Program
from structgen.regular.utf8 import LAST_ASCII
from structgen.util.arrays import distinct
from structgen.util.cancellation import checkpoint

Flags = npt.NDArray[np.bool_]
Condition = Callable[[Bits], Flags]
SOME_STATES = 64  # inside characters that tables are made for at first
BLOCKS = 1 << 6, 1 << 12, 1 << 18  # characters that differ in the last continuation bytes only
SOME_NODES = 256  # of the tree of what characters do in a state
MOST_POSITIONS = 4 * MAX_POSITIONS  # of all expressions
FEW_POSITIONS = 64  # of an expression alone, whose sets are looked at as they are


class ByClasses(NamedTuple):
    """A DFA over characters, by classes of these; n states, of which 0 is the start.

    moves: int32[n, classes], -1 dead. spans: int32[k, 3], first and last code points and their
    class, ascending. ends: bool[n, languages].
    """

    moves: Ints
    spans: Ints
    ends: Flags


def explored(vector: Vector, most: int) -> tuple[npt.NDArray[np.int32], Flags, list[Vector | None]]:
    """All states of the DFA that reads some languages side by side.

    Returns int32[n, 256], the next states, -1 dead, in the order in which bytes lead to them;
    bool[n, languages], which of these each state accepts; and the vector of each state between
    characters, where they were found by derivatives. Raises BudgetError past `most` states.
    """
    vectors = [vector]
    found = _by_positions(vector, most) or _by_derivatives(vectors, most)
    table, ends, order = in_bytes(found, most)
    vectors_of = [vectors[at] if at < len(vectors) else None for at in order.tolist()]
    return table, ends, vectors_of


def explored_together(
    languages: Iterable[Regex], most: int
) -> tuple[Ints, Flags, dict[Regex, int]]:
    """The DFAs of some languages as one; states that they share are there once, as a rule.

    Returns int32[n, 256], the next states, -1 dead; bool[n], whether each accepts; and the state in
    which each language begins. Raises BudgetError past `most` states.
    """
    parts: list[tuple[ByClasses, list[Regex]]] = []
    others: list[Regex] = []
    for language in languages:
        alone = _by_positions((language,), most)
        if alone is None:
            others.append(language)
        else:
            parts.append((alone, [language]))
    if others:
        parts.append((_by_derivatives([(language,) for language in others], most), others))
    tables, accepts, starts, count = list[Ints](), list[Flags](), dict[Regex, int](), 0
    for found, some in parts:
        table = _rows_in_bytes(found, most - count)
        tables.append(np.where(table < 0, -1, table + count))
        accepts.append(np.zeros(len(table), np.bool_))
        accepts[-1][: len(found.ends)] = found.ends[:, 0]
        starts |= {language: count + i for i, language in enumerate(some)}
        count += len(table)
    return np.concatenate(tables), np.concatenate(accepts), starts


def in_bytes(found: ByClasses, most: int) -> tuple[Ints, Flags, Ints]:
    """A DFA over bytes, its states in the order in which bytes lead to them.

    Returns int32[m, 256], the next states, -1 dead; bool[m, languages], which languages each
    accepts; and int32[m], the state of `found` that each is, from n on for those inside characters.
    Raises BudgetError past `most` states.
    """
    rows, between = _rows_in_bytes(found, most), len(found.moves)
    order, place = np.zeros(len(rows), np.int32), np.full(len(rows) + 1, -1, np.int32)
    order = order[: kernels("terminals.minimal").in_order(rows, order, place[:-1])]
    ends = np.zeros((len(rows), found.ends.shape[1]), np.bool_)
    ends[:between] = found.ends
    return place[rows[order]], ends[order], order


def _rows_in_bytes(found: ByClasses, most: int) -> npt.NDArray[np.int32]:
    """int32[n, 256]: the DFA over bytes; its first states are those between characters.

    Raises BudgetError past `most` states.
    """
    moves = np.ascontiguousarray(found.moves, np.int32)
    spans, count = np.ascontiguousarray(found.spans, np.int32), len(moves)
    more = SOME_STATES + len(spans) // 2 if len(spans) and spans[-1, 1] > LAST_ASCII else 0
    rows, size = count + more, SOME_NODES + more
    while True:
        checkpoint()
        table, slots = np.full((rows, 256), -1, np.int32), empty_slots(rows)
        alls, nodes = np.full((3, count), -1, np.int32), np.empty((size, 128), np.int32)
        states = kernels("terminals.utf8").states_inside(
            moves, spans, alls, table, nodes, slots, slots.copy()
        )
        if states > most or (states < 0 and rows > most):
            raise too_large(most)
        if states >= 0:
            return table[:states]
        rows, size = 4 * rows, 4 * size


def _by_derivatives(vectors: list[Vector], most: int) -> ByClasses:
    """The DFA over characters by derivatives. vectors: of the starts, set to that of each state.

    Raises BudgetError past `most` states.
    """
    numbers = {vector: i for i, vector in enumerate(vectors)}
    moves = list[list[tuple[int, int]]]()  # of each state: a set of characters, the state behind
    sets, blocks = dict[CharSet, int](), list[int]()  # by number; and `_blocks` of each
    inside, least = dict[int, int](), 0  # the fewest states inside characters before each; in all
    for some in vectors:
        checkpoint()
        found = []
        for chars, after in vector_moves(some):
            if after not in numbers:
                numbers[after] = len(vectors)
                vectors.append(after)
            if chars not in sets:
                sets[chars] = len(sets)
                blocks.append(_blocks(chars))
            to, what = numbers[after], sets[chars]
            found.append((what, to))
            least += max(blocks[what] - inside.get(to, 0), 0)
            inside[to] = max(blocks[what], inside.get(to, 0))
        moves.append(found)
        if len(vectors) + least > most:
            raise too_large(most)
    bounds = [np.array(chars.ranges).T for chars in sets]  # the first and the last of each range
    points = distinct(
        np.concatenate([[0], *(ends for low, high in bounds for ends in (low, high + 1))])
    )
    changes = np.zeros((len(sets), len(points)), np.int8)
    for change, (low, high) in zip(changes, bounds, strict=True):
        change[np.searchsorted(points, low)] += 1
        change[np.searchsorted(points, high + 1)] -= 1
    among = np.cumsum(changes, axis=1, dtype=np.int8) > 0
    kinds: dict[bytes, int] = {}
    classes = [kinds.setdefault(key, len(kinds)) for key in _keys(among.T)]
    first = [classes.index(kind) for kind in range(len(kinds))]
    spans = np.stack([points[:-1], points[1:] - 1, classes[:-1]], axis=1)
    read = [np.flatnonzero(row) for row in among[:, first]]
    behind = np.full((len(moves), len(kinds)), -1, np.int32)
    for row, found in zip(behind, moves, strict=True):
        for what, to in found:
            row[read[what]] = to
    nullable = np.array([[one.nullable for one in some] for some in vectors])
    return ByClasses(behind, spans, nullable)


def _blocks(chars: CharSet) -> int:
    """In how many continuation bytes characters of a set surely differ from all of some block."""
    widest = max(high - max(low, LAST_ASCII) for low, high in chars.ranges)
    return sum(widest >= 2 * block for block in BLOCKS)


def _by_positions(vector: Vector, most: int) -> ByClasses | None:
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


def _of_many_positions(language: Regex, most: int) -> ByClasses:
    """The same for many positions of one expression, of which some read all that others read.

    Raises BudgetError past `most` states, TooLargeError.
    """
    found = PositionAutomaton(language)
    try:
        found.explore_all(most)
    except TooLargeError:
        raise too_large(most) from None
    moves, classes = found.search.moves[: found.size], found.classes
    spans = np.stack([classes.low, classes.high, classes.group], axis=1)
    return ByClasses(moves, spans, found.ends[: found.size, None] > 0)


class _PositionSets:
    """Sets of positions of all plain expressions in some languages are the states.

    A state is a row of bits: for each expression its positions, one behind the other, each of them
    from a bit on that says whether the text may end. The languages are unions, intersections and
    complements of the expressions.
    """

    def __init__(self, vector: Vector) -> None:
        """Raises TooLargeError for other languages, and for those that any text may be one of."""
        self._program = Program(most=MOST_POSITIONS)
        self._kept: dict[Regex, tuple[int, int]] = {}
        self._whether = [self._read(language) for language in vector]
        self._is_plain = len(vector) == 1 and len(self._kept) == 1 and vector[0] in self._kept
        self.size = self._program.size
        nothing = self._rows([0])
        if not self._is_plain and any(alive(nothing).any() for _, alive in self._whether):
            raise TooLargeError

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
        return rows_of(sets, self.size + 1)

    def _add(self, language: Regex) -> tuple[int, int]:
        """Take in an expression: the bit for its end, and all of its bits."""
        end = self._program.add(language)
        self._kept[language] = 1 << end, (1 << self._program.size) - (1 << end)
        return self._kept[language]

    def explored(self, most: int) -> ByClasses:
        """All states. Raises BudgetError past `most` states, TooLargeError."""
        positions = self._program.positions()
        sets = self._program.read[1:]
        spans, reading = classes_of(sets, positions.reading(len(sets)))
        found = all_sets(positions.start[None], positions.follow, reading, most)
        if found is None:
            raise too_large(most)
        states, moves = found
        if self._is_plain:  # of one expression no state is dead, and bit 0 says where it ends
            return ByClasses(moves, spans, (states[:, :1] & np.uint64(1)) > 0)
        alive = np.logical_or.reduce([alive(states) for _, alive in self._whether])
        ends = np.stack([ends(states) for ends, _ in self._whether], axis=1)
        return ByClasses(np.where((moves >= 0) & alive[moves], moves, -1), spans, ends)


def _keys(rows: Ints) -> list[bytes]:
    """The bytes of each row of a matrix, by which equal rows are found."""
    if not rows.size:
        return [b""] * len(rows)
    whole = np.dtype((np.void, rows.itemsize * rows.shape[1]))
    found: list[Any] = np.ascontiguousarray(rows).view(whole).reshape(-1).tolist()
    return found


def too_large(most: int) -> BudgetError:
    """The error for a terminal with more than `most` states."""
    return BudgetError(
        f"a terminal has more than {most} byte states",
        hint="use smaller counts or character classes in it",
    )
