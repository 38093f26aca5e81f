"""Subset construction over sub-automata and expressions that tell the same characters apart.

Languages of numbers are unions of a few sub-automata that all read digits, a point, signs and `e`.
A DFA state is the set of parts a text may be in; a part is a sub-automaton state or an expression.
What each part leads to is found once in a process, and shared by all languages with the same
character classes (`SharedParts`), since ranges of numbers have most parts in common.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.regular.charset import CharSet
from structgen.regular.expressions.base import Regex
from structgen.regular.expressions.nodes import Alt, Concat, Repeat, SubAutomaton, is_listed
from structgen.regular.lazy_dfa.character_classes import (
    CharacterClasses,
    TooLargeError,
    classes_of,
    sets_of,
)
from structgen.regular.lazy_dfa.glushkov import Positions
from structgen.regular.lazy_dfa.states import TableAutomaton
from structgen.regular.lazy_dfa.sub_automata import NARROW, NO_BLOCKS, explore_sets
from structgen.util.arrays import with_room

NEAR = 2  # characters: parts within so many digits are explored together
MANY = 16  # parts of one state; of more, only the parts themselves are explored
MAX_NODES = 20_000  # shared parts; beyond, new languages begin another collection
MAX_LETTERS = 64  # characters that sub-automata may read that stand beside plain expressions

Part = Any  # a `SubAutomatonState`, an expression, or a frozenset of these


class SharedParts:
    """Parts by number, and the moves of those explored. Hold `lock` to use it.

    nodes: `kernels.regular.sub_automata.Nodes`, for each part the part that each class leads to.
    """

    def __init__(self, classes: CharacterClasses) -> None:
        self.lock = threading.Lock()
        self.classes = classes
        self._letters = tuple(classes.letters.tolist())
        self._digits = [i for i, letter in enumerate(self._letters) if chr(letter).isdigit()]
        self._parts: list[Part] = []
        self._numbers: dict[Part, int] = {}
        self._sets: dict[frozenset[int], int] = {}  # several parts -> the number of their union
        self.nodes = kernels("regular.sub_automata").Nodes(
            moves=np.full((64, len(self._letters)), -1, np.int32),
            known=np.zeros(64, np.uint8),
            ends=np.zeros(64, np.uint8),
            block=np.zeros(64, np.int32),
        )

    def __len__(self) -> int:
        """How many parts have a number."""
        return len(self._parts)

    def numbers(self, parts: Iterable[Part]) -> list[int]:
        """The numbers of some parts, sorted."""
        return sorted(map(self._number, parts))

    def explore(self, waiting: Iterable[int]) -> None:
        """Explore some parts, and those a few digits after them unless they are many.

        Tokens have several digits in a row, while signs and points mostly stand alone.
        """
        waiting = list(waiting)
        for _ in range(NEAR + 1 if len(waiting) <= MANY else 1):
            rows = [self._explore_one(node) for node in waiting if not self.nodes.known[node]]
            waiting = {row[digit] for row in rows for digit in self._digits if row[digit] >= 0}

    def _explore_one(self, node: int) -> list[int]:
        """Explore a part: for each class the number of the part it leads to, -1 for none."""
        if not self.nodes.known[node]:
            row = self.nodes.moves[node] = self._row(node)
            self.nodes.known[node] = 1
            return row
        return self.nodes.moves[node].tolist()  # type: ignore[no-any-return]

    def _row(self, node: int) -> list[int]:
        """The row of moves that `_explore_one` stores."""
        part = self._parts[node]
        if isinstance(part, frozenset):
            rows = [self._explore_one(self._number(one)) for one in part]
            return [*map(self._union_of, zip(*rows, strict=True))]
        row = [-1] * len(self._letters)
        for chars, target in part.steps() if isinstance(part, Regex) else part.moves():
            after = _as_part(parts_of(target)) if isinstance(target, Regex) else target
            number = self._number(after)
            for place in _places_of(chars, self._letters):
                row[place] = number
        return row

    def _union_of(self, numbers: Sequence[int]) -> int:
        """The number of the union of some parts; -1 is the empty language."""
        wanted = {number for number in numbers if number >= 0}
        if len(wanted) < 2:
            return max(numbers)
        known = self._sets.get(found := frozenset(wanted))
        if known is None:
            each = [self._parts[number] for number in found]
            one = frozenset().union(*(p if isinstance(p, frozenset) else (p,) for p in each))
            known = self._sets[found] = self._number(one)
        return known

    def _number(self, part: Part) -> int:
        number = self._numbers.get(part)
        if number is None:
            number = self._numbers[part] = len(self._parts)
            self._parts.append(part)
            if number >= len(self.nodes.known):
                grown = (with_room(array, number + 1) for array in self.nodes)
                self.nodes = type(self.nodes)(*grown)
            several = isinstance(part, frozenset)
            ends = any(one.nullable for one in part) if several else part.nullable
            self.nodes.ends[number] = ends
        return number


def _as_part(parts: Sequence[Part]) -> Part:
    """The union of some parts as one part."""
    return parts[0] if len(parts) == 1 else frozenset(parts)


class PartsByClasses:
    """All `SharedParts` of the process, by the character sets that their parts tell apart."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start empty, as a forked process must: another thread may have held a lock."""
        self._found: dict[tuple[CharSet, ...], SharedParts] = {}
        self._lock = threading.Lock()

    def of(self, reads: tuple[CharSet, ...]) -> SharedParts:
        """The shared parts for these character sets. Raises TooLargeError."""
        with self._lock:
            found = self._found.get(reads)
            if found is None or len(found) > MAX_NODES:
                found = self._found[reads] = SharedParts(classes_of([None, *reads]))
            return found


_parts_by_classes = PartsByClasses()
os.register_at_fork(after_in_child=_parts_by_classes.forget)


class SubsetAutomaton(TableAutomaton):
    """A DFA of sets of parts (part + 1 each, 0 for none). shared_parts: their moves."""

    def __init__(self, regex: Regex) -> None:
        """Raises TooLargeError for other expressions.

        Those are: any with a complement or intersection, with a part that tells other characters
        apart, or whose sub-automaton has a complete table (see `sub_automata.CompleteTable`).
        """
        sub_automaton = next(_sub_automata_in(regex), None)
        reads = (
            getattr(sub_automaton.state, "reads", None)
            if sub_automaton and not is_listed(sub_automaton)
            else None
        )
        if not reads or not (isinstance(regex, SubAutomaton) or _reads_only(regex, reads)):
            raise TooLargeError
        self.shared_parts = _parts_by_classes.of(reads)
        with self.shared_parts.lock:
            first = self.shared_parts.numbers(parts_of(regex))
        start = np.zeros(max(NARROW, len(first)), np.uint64)
        start[: len(first)] = np.array(first, np.uint64) + np.uint64(1)
        super().__init__(start, self.shared_parts.classes, ends=regex.nullable)

    def _find(self, state: int, count: int) -> None:
        end = self.found + count
        with self.shared_parts.lock:
            self.shared_parts.explore([int(node) - 1 for node in self.states[state] if node])
            explore_sets(self, self.shared_parts.nodes, NO_BLOCKS, state, end)

    def _endings(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        nodes = self.states[begin:end].astype(np.int64) - 1
        with self.shared_parts.lock:
            ends = self.shared_parts.nodes.ends[nodes] != 0
        found: npt.NDArray[np.bool_] = (ends & (nodes >= 0)).any(axis=1)
        return found


def parts_of(regex: Regex) -> list[Part]:
    """The alternatives of an expression; of sub-automata their states."""
    parts = regex.parts if isinstance(regex, Alt) else (regex,)
    return [part.state if isinstance(part, SubAutomaton) else part for part in parts]


def _sub_automata_in(node: Regex) -> Iterator[SubAutomaton]:
    """The sub-automata in an expression, as far as `_reads_only` looks."""
    if isinstance(node, SubAutomaton):
        yield node
    for part in _inner(node):
        yield from _sub_automata_in(part)


def _inner(node: Regex) -> Sequence[Regex]:
    """The subexpressions of a union, sequence or repetition that is not plain."""
    if node.plain:
        return ()
    if isinstance(node, Concat):
        return node.head, node.tail
    if isinstance(node, Repeat):
        return (node.body,)
    return node.parts if isinstance(node, Alt) else ()


def _reads_only(node: Regex, reads: tuple[CharSet, ...]) -> bool:
    """Whether an expression tells no other characters apart than the sets `reads` do."""
    if node.plain:
        return _plain_reads_only(node, reads)
    if isinstance(node, SubAutomaton):
        return getattr(node.state, "reads", None) == reads
    return isinstance(node, Alt | Concat | Repeat) and all(
        _reads_only(part, reads) for part in _inner(node)
    )


@lru_cache(maxsize=4096)
def _plain_reads_only(node: Regex, reads: tuple[CharSet, ...]) -> bool:
    classes = _classes_of(reads)
    sets = {chars for chars in Positions(node).sets if chars is not None}
    return all(_is_union(chars, classes) for chars in sets)


@lru_cache(maxsize=64)
def _classes_of(reads: tuple[CharSet, ...]) -> list[CharSet]:
    """The classes of some sets. Raises TooLargeError where these have many characters."""
    if sum(high - low + 1 for chars in reads for low, high in chars.ranges) > MAX_LETTERS:
        raise TooLargeError
    return sets_of(classes_of([None, *reads]))


def _is_union(chars: CharSet, classes: list[CharSet]) -> bool:
    """Whether a set is a union of classes."""
    left = chars
    for one in classes:
        if one & chars:
            if one & ~chars:
                return False
            left = left & ~one
    return not left


@lru_cache(maxsize=4096)
def _places_of(chars: CharSet, letters: tuple[int, ...]) -> list[int]:
    """The indices of those code points that are in `chars`."""
    return [place for place, letter in enumerate(letters) if letter in chars]
