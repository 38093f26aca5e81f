"""In: a foreign automaton, or plain expressions that must hold at once. Out: tables of states."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automaton.charset import ALL, CharSet
from structgen.automaton.regex_base import Regex
from structgen.automaton.regex_blocks import places_in, sets_of
from structgen.automaton.regex_nodes import Alt, And, Concat, Leaf, Not, Repeat
from structgen.automaton.regex_positions import (
    PositionClasses,
    Positions,
    TooLargeError,
    classes_of,
)
from structgen.automaton.regex_states import SteppedAutomaton, TableAutomaton

NEAR = 2  # characters: states of a foreign automaton so near are found together
MAX_PART = 1000  # states of an expression that others are met with
MAX_LETTERS = 64  # characters that foreign automata read, to be looked at one by one
MAX_MET = 5000  # states of several expressions at once
LARGEST = 2.0**62  # of a number that stands for states of several expressions

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


class LeafAutomaton(TableAutomaton):
    """The states of a foreign automaton that says which characters it tells apart."""

    def __init__(self, regex: Leaf) -> None:
        """Raises TooLargeError where it does not say so."""
        reads = getattr(regex.state, "reads", None)
        if reads is None:
            raise TooLargeError
        super().__init__(np.zeros(1, np.int32), _classes_of(reads), ends=regex.nullable)
        self._leaves = [regex.state]
        self._numbers = {regex.state: 0}

    def _find(self, state: int, count: int) -> None:
        found = self.search
        made, known, _ = found.sizes.tolist()
        letters = tuple(self.classes.letters.tolist())
        waiting = [(state, 0)]
        for s, far in waiting:
            found.queue[s] = 1
            found.order[known] = s
            known += 1
            found.moves[s] = -1
            for chars, target in self._leaves[s].moves():
                places = _places_of(chars, letters)
                number = self._numbers.setdefault(target, made)
                if number == made:
                    self._leaves.append(target)
                    found.came[made] = s, places[0]
                    made += 1
                    if far < NEAR and len(waiting) < count:
                        waiting.append((number, far + 1))
                found.moves[s, places] = number
        found.sizes[:2] = made, known

    def _endings(self, begin: int, end: int) -> Flags:
        return np.array([leaf.nullable for leaf in self._leaves[begin:end]], np.bool_)


class LeavesAutomaton(SteppedAutomaton):
    """States as sets of states of foreign automata that read the same few characters, and of parts.

    So languages of numbers are found: what leads on from a state of one is known for all.
    """

    def __init__(self, regex: Regex) -> None:
        """Raises TooLargeError where something else is read, or excluded."""
        leaf = next(_leaves_in(regex), None)
        reads = getattr(leaf.state, "reads", None) if leaf else None
        letters = sorted(x for chars in reads or () for x in _points_of(chars))
        if not letters or not _reads_only(regex, tuple(letters)):
            raise TooLargeError
        self._letters = tuple(letters)
        super().__init__(frozenset(_parts_of(regex)), ends=regex.nullable)

    def _steps(self, node: frozenset[Any]) -> list[tuple[int, int, frozenset[Any]]]:
        rows = [_behind(part, self._letters) for part in node]
        found: list[tuple[int, int, frozenset[Any]]] = []
        for letter, *targets in zip(self._letters, *rows, strict=True):
            target = targets[0].union(*targets[1:])
            if found and found[-1][1] == letter - 1 and found[-1][2] == target:
                found[-1] = found[-1][0], letter, target
            elif target:
                found.append((letter, letter, target))
        return found

    def _flags(self, node: frozenset[Any]) -> tuple[bool, bool]:
        return any(part.nullable for part in node), False


def _leaves_in(node: Regex) -> Iterator[Leaf]:
    """The foreign automata that occur in an expression, as far as `_reads_only` looks."""
    if isinstance(node, Leaf):
        yield node
    for part in _inner(node):
        yield from _leaves_in(part)


def _inner(node: Regex) -> Sequence[Regex]:
    """The parts of an alternative, sequence or repetition that is not plain."""
    if node.plain:
        return ()
    if isinstance(node, Concat):
        return node.head, node.tail
    if isinstance(node, Repeat):
        return (node.body,)
    return node.parts if isinstance(node, Alt) else ()


def _reads_only(node: Regex, letters: tuple[int, ...]) -> bool:
    """Whether nothing but some characters is read, by plain parts and by automata that say so."""
    if node.plain:
        return _plain_reads_only(node, letters)
    if isinstance(node, Leaf):
        reads = getattr(node.state, "reads", ())
        return bool(reads) and all(_points_of(chars) <= {*letters} for chars in reads)
    return isinstance(node, Alt | Concat | Repeat) and all(
        _reads_only(part, letters) for part in _inner(node)
    )


@lru_cache(maxsize=4096)
def _plain_reads_only(node: Regex, letters: tuple[int, ...]) -> bool:
    sets = {chars for chars in Positions(node).sets if chars is not None}
    return all(_points_of(chars) <= {*letters} for chars in sets)


@lru_cache(maxsize=256)
def _points_of(chars: CharSet) -> frozenset[int]:
    """The code points of a small set. Raises TooLargeError."""
    if sum(high - low + 1 for low, high in chars.ranges) > MAX_LETTERS:
        raise TooLargeError
    return frozenset(x for low, high in chars.ranges for x in range(low, high + 1))


def _parts_of(regex: Regex) -> list[Any]:
    """The alternatives of an expression, foreign automata by their states."""
    parts = regex.parts if isinstance(regex, Alt) else (regex,)
    return [part.state if isinstance(part, Leaf) else part for part in parts]


@lru_cache(maxsize=1 << 14)
def _behind(part: Any, letters: tuple[int, ...]) -> list[frozenset[Any]]:
    """What each letter leads to from a part, or from a state of a foreign automaton."""
    found: list[frozenset[Any]] = [frozenset()] * len(letters)
    steps = part.steps() if isinstance(part, Regex) else part.moves()
    for chars, target in steps:
        after = frozenset(_parts_of(target) if isinstance(target, Regex) else (target,))
        for place in _places_of(chars, letters):
            found[place] = after
    return found


@lru_cache(maxsize=64)
def _classes_of(reads: tuple[CharSet, ...]) -> PositionClasses:
    return classes_of([None, *reads])


@lru_cache(maxsize=4096)
def _places_of(chars: CharSet, letters: tuple[int, ...]) -> list[int]:
    """Which of some code points are among `chars`."""
    return [place for place, letter in enumerate(letters) if letter in chars]


class Found(NamedTuple):
    """As `kernels.patterns.Search` has it, of states that are all known."""

    moves: Ints
    order: Ints
    sizes: npt.NDArray[np.int64]


class Met:
    """What is in each of some plain expressions, and in none of others: a `regex_blocks.Block`."""

    def __init__(self, regex: Regex, table_of: Callable[[Regex], TableAutomaton]) -> None:
        """Find all states of an intersection or complement. Raises TooLargeError.

        table_of: the states of an expression that a table has.
        """
        parts = regex.parts if isinstance(regex, And) else (regex,)
        bodies = [part.body if isinstance(part, Not) else part for part in parts]
        if not all(body.plain for body in bodies):
            raise TooLargeError
        bases = [table_of(body) for body in bodies]
        for base in bases:
            with base.lock:
                base.explore_all(MAX_PART)
        self.lock = threading.Lock()
        self.classes = classes_of([None, ALL, *(x for b in bases for x in sets_of(b.classes))])
        wanted = [not isinstance(part, Not) for part in parts]
        tables = [_table(base, self.classes.letters) for base in bases]
        flags = [np.append(np.False_, base.ends[: base.made] != 0) for base in bases]
        moves, ends = _side_by_side(tables, flags, wanted)
        self.ends = ends.astype(np.uint8)
        count = len(moves)
        sizes = np.array([count, count, count], np.int64)
        self.search = Found(moves, np.arange(count, dtype=np.int32), sizes)

    def explore(self, state: int) -> None:
        """Nothing is left to be found."""


def _table(base: TableAutomaton, letters: Ints) -> Ints:
    """int32[states + 1, letters]: what code points lead to; state 0 is the one without texts."""
    moves = np.pad(base.search.moves[: base.made], ((0, 0), (0, 1)), constant_values=-1)
    return np.pad(moves[:, places_in(base.classes, letters)] + 1, ((1, 0), (0, 0)))


def _side_by_side(tables: list[Ints], flags: list[Flags], wanted: list[bool]) -> tuple[Ints, Flags]:
    """The moves and ends of all states of several tables, as far as these lead to a text.

    A text ends where each of `flags` is as `wanted`; a state is one number made of those of the
    tables. Raises TooLargeError, also where no text is left.
    """
    sizes = [len(table) for table in tables]
    if np.prod(sizes, dtype=np.float64) > LARGEST:
        raise TooLargeError
    codes = np.array([np.ravel_multi_index([1] * len(sizes), sizes)], np.int64)
    met, behind, ends = [], [], []
    seen = codes
    while len(codes):
        digits = np.unravel_index(codes, sizes)
        after = [table[digit] for table, digit in zip(tables, digits, strict=True)]
        found = np.ravel_multi_index(after, sizes)
        for part in (a for a, want in zip(after, wanted, strict=True) if want):
            found[part == 0] = -1
        fits = [flag[d] == want for flag, d, want in zip(flags, digits, wanted, strict=True)]
        met.append(codes)
        behind.append(found)
        ends.append(np.logical_and.reduce(fits))
        codes = np.setdiff1d(found[found >= 0], seen)
        seen = np.union1d(seen, codes)
        if len(seen) > MAX_MET:
            raise TooLargeError
    return _trimmed(np.concatenate(met), np.concatenate(behind), np.concatenate(ends))


def _trimmed(
    codes: npt.NDArray[np.int64], targets: npt.NDArray[np.int64], ends: Flags
) -> tuple[Ints, Flags]:
    """Moves and ends by number, without the states that lead to no end. Raises TooLargeError."""
    order = np.argsort(codes)
    places = np.append(order, len(codes))  # the last stands for none
    found = places[np.where(targets < 0, len(codes), np.searchsorted(codes[order], targets))]
    live = np.append(ends, np.False_)
    while not np.array_equal(live[:-1], now := live[:-1] | live[found].any(axis=1)):
        live[:-1] = now
    if not live[0]:
        raise TooLargeError
    numbers = np.where(live, np.cumsum(live) - 1, -1).astype(np.int32)
    return numbers[found][live[:-1]], ends[live[:-1]]
