"""Internationalised host names that can be joined with other demands: a table of states.

The names of `idn_hostnames` have many states with hundreds of classes of letters, too many to read
beside a pattern. Here are those without A-labels whose non-ASCII letters are all of the scripts
that have long runs of letters of which no rule asks anything: Latin, Greek, Cyrillic and Armenian,
kana, Han and Hangul (`_WINDOWS`). How long a label is as an A-label follows from the counts of its
letters (`idna_sizes`). A name has at most three such labels, and with one of them at most 60
characters: so it never has more than 253 as it is sent.

`around_names` is the other estimate: a simple language that has all names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from structgen.regular.charset import CharSet, union_all
from structgen.regular.expressions.nodes import StateTable
from structgen.regular.regex import (
    ANY_CHAR,
    Regex,
    alt,
    intersect,
    repeat,
    sub_automaton,
)
from structgen.schema.formats.a_labels import ALNUM
from structgen.schema.formats.hostnames import MAX_LABEL, MAX_NAME
from structgen.schema.formats.idna_classes import CJK, ELSEWHERE, HANGUL, LOW, classes
from structgen.schema.formats.idna_limits import DOTS
from structgen.schema.formats.idna_sizes import LIMITS, joined

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MOST_WIDE = 3  # labels with non-ASCII letters
LONGEST = MAX_NAME - MOST_WIDE * (MAX_LABEL + 1) - 1  # characters of a name with some of these

_HYPHEN = CharSet.chars("-")
_UPPER = CharSet.of([(0x41, 0x5A)])
_WINDOWS = {  # as in `idna_sizes`, with the letters of each that are read
    LOW: CharSet.of([(0x80, 0x58F)]),
    CJK: CharSet.of([(0x3000, 0x9FFF)]),
    HANGUL: CharSet.of([(0xAC00, 0xD7A3)]),
}
_JOINED = [*_WINDOWS, ELSEWHERE]  # of letters of several of these
_MANY = 4  # non-ASCII letters: labels with as many or more are shorter than others
_THIRD = 3  # behind so many characters no second hyphen may come


@cache
def _letters() -> tuple[CharSet, ...]:
    """The letters of each of `_WINDOWS`."""
    plain = union_all(
        [
            of
            for of, letter in classes()
            if letter.direction == "L" and not (letter.context or letter.combines)
        ]
    )
    return tuple(plain & window for window in _WINDOWS.values())


# The states of a label by these axes: how many labels with non-ASCII letters may still come, this
# one among them; what kind of label it is; whether the last character is a hyphen; how many
# characters there are.
_SHAPE = MOST_WIDE + 1, 2 + len(_JOINED) * _MANY, 2, MAX_LABEL + 1
_PLAIN, _CAPITAL = 0, 1  # kinds of labels of ASCII: without capital letters, with some


def _kind(window: Ints | int, others: Ints | int) -> Ints | int:
    """The kind of label with non-ASCII letters, of a window in `_JOINED`, so many up to `_MANY`."""
    return 1 + window * _MANY + others


@cache
def _table() -> StateTable:
    """All states, with a column for each of `_reads`."""
    labels, kind, hyphen, size = (axis.ravel() for axis in np.indices(_SHAPE))
    window, others = np.divmod(np.maximum(kind - 2, 0), _MANY)
    others += kind > _CAPITAL  # none in labels of ASCII
    wide, ended = others > 0, (size > 0) & (hyphen == 0)
    moves = np.full((len(size), len(_reads())), -1, np.int32)

    def lead(column: int, where: Bools, *to: Ints | int, size_then: int = 1) -> None:
        """The moves of a column, where labels of the kind behind may have so many more letters."""
        after = [*np.broadcast_arrays(*to, size + 1)]
        found = where & _fit()[after[1], size + size_then]
        moves[found, column] = np.ravel_multi_index([part[found] for part in after], _SHAPE)

    for column, letters in enumerate(_WINDOWS):
        own = _JOINED.index(letters)
        both = [_JOINED.index(joined(one, letters)) for one in _JOINED]
        after = np.where(wide, np.array(both)[window], own)
        then = _kind(after, np.minimum(others + 1, _MANY))
        lead(column, (labels > 0) & (kind != _CAPITAL), labels, then, 0)
    upper, lower, dash, dot = range(len(_WINDOWS), len(_reads()))
    lead(upper, ~wide, labels, _CAPITAL, 0)
    lead(lower, np.ones_like(wide), labels, kind, 0)
    second = (hyphen > 0) & (wide | (size == _THIRD))
    lead(dash, (size > 0) & ~second, labels, kind, 1, size_then=2)
    left = np.maximum(labels - wide, 0)[ended]
    moves[ended, dot] = left * (len(size) // _SHAPE[0])  # the first state with so many labels left
    return StateTable(moves, ended.astype(np.uint8), np.where(ended, 0, 1))


@cache
def _fit() -> Bools:
    """bool[kinds, sizes]: whether labels of a kind are short enough as they are sent."""
    found = np.zeros((_SHAPE[1], MAX_LABEL + 3), np.bool_)
    found[: _CAPITAL + 1, : MAX_LABEL + 1] = True
    for at, window in enumerate(_JOINED):
        for others in range(1, _MANY):
            limits = np.array(LIMITS[window])
            found[_kind(at, others), others : others + len(limits)] = others <= limits
        found[_kind(at, _MANY), : _most(window) + 1] = True
    return found


@dataclass(frozen=True, slots=True)
class PlainNames:
    """In a label, see `_table`; a `SubAutomatonState`."""

    number: int
    live: ClassVar[bool] = True

    @property
    def reads(self) -> tuple[CharSet, ...]:
        """See `SubAutomatonState`."""
        return _reads()

    @staticmethod
    def table() -> StateTable:
        """See `SubAutomatonState`."""
        return _table()

    @property
    def nullable(self) -> bool:
        """Does the label end in a letter or digit?"""
        return bool(_table().ends[self.number])

    @property
    def witness(self) -> int:
        """One letter finishes any label."""
        return int(_table().least[self.number])

    def moves(self) -> list[tuple[CharSet, PlainNames]]:
        """A letter or digit, a hyphen that can be followed, the next label."""
        after = zip(_reads(), _table().moves[self.number].tolist(), strict=True)
        return [(chars, PlainNames(to)) for chars, to in after if to >= 0]


def _names(labels: int) -> Regex:
    """Names with so many labels that have non-ASCII letters."""
    return sub_automaton(PlainNames(int(np.ravel_multi_index((labels, 0, 0, 0), _SHAPE))))


@cache
def _most(window: int) -> int:
    """With how many characters a label is short enough, `_MANY` or more of them not ASCII."""
    limits, size = LIMITS[window], _MANY
    while all(others <= limits[size + 1 - others] for others in range(_MANY, size + 2)):
        size += 1
    return size


@cache
def _reads() -> tuple[CharSet, ...]:
    return (*_letters(), _UPPER, ALNUM - _UPPER, _HYPHEN, DOTS)


@cache
def plain_names() -> Regex:
    """The names without what the module leaves out."""
    return alt(
        intersect(_names(MOST_WIDE), repeat(ANY_CHAR, 1, LONGEST)),
        intersect(_names(0), repeat(ANY_CHAR, 1, MAX_NAME)),
    )


@dataclass(frozen=True)
class AnyNames:
    """In a label of permitted characters; a `SubAutomatonState` with a table.

    last: "a" behind a letter or digit, "-" behind a hyphen.
    """

    last: str = ""
    live: ClassVar[bool] = True

    @property
    def reads(self) -> tuple[CharSet, ...]:
        """See `SubAutomatonState`."""
        return _permitted(), _HYPHEN, DOTS

    @property
    def nullable(self) -> bool:
        """Does the label end in a letter or digit?"""
        return self.last == "a"

    def moves(self) -> list[tuple[CharSet, AnyNames]]:
        """A letter or digit, a hyphen between these, the next label."""
        found = [(_permitted(), AnyNames("a"))]
        found += [(_HYPHEN, AnyNames("-"))] if self.last else []
        return found + ([(DOTS, AnyNames())] if self.nullable else [])


@cache
def _permitted() -> CharSet:
    return union_all([ALNUM, *(of for of, _ in classes())])


def around_names() -> Regex:
    """All names, and texts whose labels are wrong by more than their characters and hyphens."""
    return intersect(sub_automaton(AnyNames()), repeat(ANY_CHAR, 1, MAX_NAME))
