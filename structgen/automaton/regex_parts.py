"""In: plain expressions that must hold at once, or must not. Out: a table of their states."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automaton.charset import ALL
from structgen.automaton.regex_base import Regex
from structgen.automaton.regex_blocks import places_in, sets_of
from structgen.automaton.regex_nodes import And, Not
from structgen.automaton.regex_positions import (
    TooLargeError,
    classes_of,
)
from structgen.automaton.regex_states import TableAutomaton

MAX_PART = 1000  # states of an expression that others are met with
MAX_MET = 5000  # states of several expressions at once
MANY = 1 << 12  # moves, of which sets are made sooner when they are sorted first
LARGEST = 2.0**62  # of a number that stands for states of several expressions

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


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
    seen = set(codes.tolist())
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
        new = set((np.unique(found) if found.size > MANY else found.ravel()).tolist())
        new -= seen
        new.discard(-1)
        codes = np.array(sorted(new), np.int64)
        seen |= new
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
