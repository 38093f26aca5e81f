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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from structgen.regular.charset import CharSet, union_all
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
from structgen.schema.formats.idna_classes import CJK, HANGUL, LOW, classes
from structgen.schema.formats.idna_limits import DOTS
from structgen.schema.formats.idna_sizes import LIMITS, joined

MOST_WIDE = 3  # labels with non-ASCII letters
LONGEST = MAX_NAME - MOST_WIDE * (MAX_LABEL + 1) - 1  # characters of a name with some of these

_HYPHEN = CharSet.chars("-")
_UPPER = CharSet.of([(0x41, 0x5A)])
_WINDOWS = {  # as in `idna_sizes`, with the letters of each that are read
    LOW: CharSet.of([(0x80, 0x58F)]),
    CJK: CharSet.of([(0x3000, 0x9FFF)]),
    HANGUL: CharSet.of([(0xAC00, 0xD7A3)]),
}
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


@dataclass(frozen=True)
class PlainNames:
    """In a label; a `SubAutomatonState` with a table.

    labels: how many labels with non-ASCII letters may still come, this one among them. window:
    of the non-ASCII letters, -1 without any. size: how many characters there are; others: how
    many of them are not ASCII, up to `_MANY`. upper: whether there is a capital letter of ASCII.
    hyphen: whether the last character is a hyphen.
    """

    labels: int = MOST_WIDE
    window: int = -1
    size: int = 0
    others: int = 0
    upper: bool = False
    hyphen: bool = False
    live: ClassVar[bool] = True

    @property
    def reads(self) -> tuple[CharSet, ...]:
        """See `SubAutomatonState`."""
        return _reads()

    @property
    def nullable(self) -> bool:
        """Does the label end in a letter or digit?"""
        return self.size > 0 and not self.hyphen

    @property
    def witness(self) -> int:
        """One letter finishes any label."""
        return 0 if self.nullable else 1

    def moves(self) -> list[tuple[CharSet, PlainNames]]:
        """A letter or digit, a hyphen that can be followed, the next label."""
        return [*self._moves()]

    def _moves(self) -> Iterator[tuple[CharSet, PlainNames]]:
        if self.nullable:
            yield DOTS, PlainNames(self.labels - (self.others > 0))
        more = replace(self, size=self.size + 1, hyphen=False)
        if more._fits():
            if not self.others:
                yield _UPPER, replace(more, upper=True)
            yield ALNUM - _UPPER, more
        second = self.hyphen and (self.others > 0 or self.size == _THIRD)
        if self.size and not second and replace(more, size=self.size + 2)._fits():
            yield _HYPHEN, replace(more, hyphen=True)
        if self.upper or not self.labels:
            return
        for window, letters in zip(_WINDOWS, _letters(), strict=True):
            wide = joined(self.window, window), min(self.others + 1, _MANY)
            after = replace(more, window=wide[0], others=wide[1])
            if after._fits():
                yield letters, after

    def _fits(self) -> bool:
        """Whether the label is short enough as it is sent."""
        if not self.others:
            return self.size <= MAX_LABEL
        if self.others == _MANY:
            return self.size <= _most(self.window)
        limits, plain = LIMITS[self.window], self.size - self.others
        return plain < len(limits) and self.others <= limits[plain]


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
    some, none = PlainNames(), PlainNames(labels=0)
    return alt(
        intersect(sub_automaton(some), repeat(ANY_CHAR, 1, LONGEST)),
        intersect(sub_automaton(none), repeat(ANY_CHAR, 1, MAX_NAME)),
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
