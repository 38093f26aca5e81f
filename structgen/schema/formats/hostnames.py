"""The format `hostname`: an automaton that reads host names, with A-labels (`xn--...`) checked.

Whether `xn--...` is an A-label depends on the Punycode in it, so host names are a sub-automaton.
It is two that are read side by side: one knows A-labels alone (`Codes`), the other counts what is
left of the 253 characters of a name and of the 63 of a label (`Names`). From every state some name
can be finished. While much is left of the name it does not matter how much: states say so by
`boundless`. In the last 63 characters of a name no A-label begins any more, nor before a
`maxLength`, which is then the length of the name.

There are endlessly many A-labels, each with states of its own, so beside other demands names have
none (`PlainNames`), and what is no host name has none that is wrong.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

from structgen.regular.charset import ALL, NONE, CharSet, refine
from structgen.regular.regex import ANY_CHAR, INFINITE, Regex, intersect, repeat, sub_automaton
from structgen.schema.formats.a_labels import (
    ALNUM,
    CLOSING,
    ROOM,
    ALabel,
    Code,
    free_within,
    longer_name,
)

MAX_NAME = 253  # characters of a name
MAX_LABEL = 63  # characters of a label

_DOT, _HYPHEN = CharSet.chars("."), CharSet.chars("-")
PREFIXES = [CharSet.chars(letters) for letters in ("xX", "nN", "-", "-")]
IN_CODE, IN_OTHERS = len(PREFIXES), len(PREFIXES) + 1  # behind "xn--", and in another label


def next_of_prefix(begun: int) -> CharSet:
    """What goes on with "xn--" behind so many characters of it; nothing in another label."""
    return PREFIXES[begun] if begun < IN_CODE else NONE


@dataclass(frozen=True)
class Codes:
    """In a label that is no A-label so far: any characters; the labels are those of `Names`.

    begun: how much of "xn--" was read, or that the label is another one.
    """

    begun: int = 0
    live: ClassVar[bool] = True
    nullable: ClassVar[bool] = True
    witness: ClassVar[int] = 0
    ending: ClassVar[str] = ""
    straying: ClassVar[int] = ROOM
    closing: ClassVar[CharSet] = CLOSING
    directed: ClassVar[None] = None
    dots: ClassVar[CharSet] = _DOT

    @property
    def boundless(self) -> tuple[Codes, int]:
        """See `SubAutomatonState`: until an A-label may have begun."""
        return self, (IN_CODE if self.begun == IN_OTHERS else 3 - self.begun)

    @property
    def again(self) -> tuple[CharSet, int]:
        """Any characters that begin no A-label."""
        return ALL - _DOT - next_of_prefix(self.begun), INFINITE

    def length_from(self, least: int) -> int | None:
        """See `SubAutomatonState`."""
        return longer_name(0, least, inf)

    def free_within(self, least: int, most: int) -> int:
        """See `SubAutomatonState`."""
        return free_within(least, most, inf)

    def following(self, _direction: str) -> Codes:
        """The state of a new label."""
        return Codes()

    def moves(self) -> list[tuple[CharSet, Any]]:
        """See `SubAutomatonState`."""
        goes_on, after = next_of_prefix(self.begun), self.begun + 1
        found = (
            (_DOT, Codes()),
            (goes_on, ALabel(Code(), Codes()) if after == IN_CODE else Codes(after)),
            (ALL - _DOT - goes_on, Codes(IN_OTHERS)),
        )
        return [move for move in found if move[0]]


class InLabel(ABC):
    """A state in a label. `last`: "a" behind a letter or digit, "-" behind a hyphen."""

    last: str
    live: ClassVar[bool] = True

    @property
    def nullable(self) -> bool:
        """Does the label end in a letter or digit?"""
        return self.last == "a"

    @property
    def witness(self) -> int:
        """One letter finishes any label."""
        return 0 if self.nullable else 1

    def moves(self) -> list[tuple[CharSet, Any]]:
        """A letter or digit, a hyphen that can be followed, the next label."""
        return [move for move in self._moves() if move[0]]

    @abstractmethod
    def _moves(self) -> Iterator[tuple[CharSet, Any]]:
        """The same, with moves by no character."""


@dataclass(frozen=True)
class Names(InLabel):
    """In a label of ASCII.

    `left` characters of the name, `inf` for any number, and `room` characters of the label may
    follow. `begun` is how much of "xn-" was read of the label, -1 if it is another one.
    """

    left: float = MAX_NAME
    room: int = MAX_LABEL
    begun: int = 0
    last: str = ""

    @property
    def ending(self) -> str:
        """See `SubAutomatonState`."""
        return "a" * self.witness

    @property
    def again(self) -> tuple[CharSet, int]:
        """Letters and digits, as long as there is room for them."""
        return ALNUM, int(min(self.left, self.room))

    def length_from(self, least: int) -> int | None:
        """See `SubAutomatonState`."""
        return longer_name(self.witness, least, self.left)

    def free_within(self, least: int, most: int) -> int:
        """See `SubAutomatonState`."""
        return free_within(least, most, self.left)

    @property
    def boundless(self) -> tuple[Names, float]:
        """See `SubAutomatonState`: until it matters how a label can be finished in what is left."""
        return replace(self, left=inf), self.left - MAX_LABEL

    def _moves(self) -> Iterator[tuple[CharSet, Names]]:
        left, room = self.left - 1, self.room - 1
        if self.nullable and left > 0:
            yield _DOT, Names(left)
        if left < 0 or room < 0:
            return
        cases = PREFIXES[self.begun] & ALNUM if 0 <= self.begun < 2 else NONE
        yield cases, Names(left, room, self.begun + 1, "a")
        yield ALNUM - cases, Names(left, room, -1, "a")
        codes = self.begun == 3  # an A-label begins, of which any end may be wanted
        if self.last and left > 0 and room > 0 and (not codes or left >= room):
            yield _HYPHEN, Names(left, room, 3 if self.begun == 2 else -1, "-")


@dataclass(frozen=True)
class PlainNames(InLabel):
    """In a label of names of any length; a `SubAutomatonState` with a table.

    As in `Names`. coded: whether labels may begin with "xn--", whatever follows.
    """

    coded: bool = False
    room: int = MAX_LABEL
    begun: int = 0
    last: str = ""
    reads: ClassVar[tuple[CharSet, ...]] = (
        *PREFIXES[:2],
        ALNUM - PREFIXES[0] - PREFIXES[1],
        _HYPHEN,
        _DOT,
    )

    def _moves(self) -> Iterator[tuple[CharSet, PlainNames]]:
        if self.nullable:
            yield _DOT, PlainNames(self.coded)
        if not self.room:
            return
        cases = PREFIXES[self.begun] if 0 <= self.begun < 2 else NONE
        yield cases, self._after("a", self.begun + 1)
        yield ALNUM - cases, self._after("a")
        if self.last and self.room > 1 and (self.coded or self.begun != 3):
            yield _HYPHEN, self._after("-", 3 if self.begun == 2 else -1)

    def _after(self, last: str, begun: int = -1) -> PlainNames:
        return PlainNames(self.coded, self.room - 1, begun, last)


@dataclass(frozen=True)
class HostName:
    """Both side by side; a `SubAutomatonState`."""

    halves: tuple[Any, Names] = (Codes(), Names())
    live: ClassVar[bool] = True
    unread: ClassVar[CharSet] = CharSet.chars(" ")

    @property
    def nullable(self) -> bool:
        """Whether a name may end here."""
        return all(half.nullable for half in self.halves)

    @property
    def witness(self) -> int:
        """The length of some text that finishes the name."""
        codes, names = self.halves
        return max(codes.bound if isinstance(codes, ALabel) else codes.witness, names.witness)

    @property
    def estimates(self) -> tuple[Regex, Regex] | None:
        """See `SubAutomatonState`: of whole names, those without A-labels, and with any."""
        names = self.halves[1]
        if self != of_length(names.left):
            return None
        length = repeat(ANY_CHAR, 1, int(names.left))
        narrow, wide = (sub_automaton(PlainNames(coded)) for coded in (False, True))
        return intersect(narrow, length), intersect(wide, length)

    def within(self, low: int, high: int) -> Regex | None:
        """See `SubAutomatonState`: names of another length; short ones have no A-labels."""
        most = int(min(high, self.halves[1].left))
        if most < MAX_LABEL:
            return intersect(sub_automaton(PlainNames()), repeat(ANY_CHAR, max(low, 1), most))
        shorter = sub_automaton(of_length(most))
        if low <= 1:
            return shorter
        return None if high == INFINITE else intersect(shorter, repeat(ANY_CHAR, low))

    def moves(self) -> list[tuple[CharSet, HostName]]:
        """See `SubAutomatonState`."""
        each = refine(move for half in self.halves for move in half.moves())
        return [(of, HostName(states)) for of, states in each if len(states) == len(self.halves)]


def of_length(most: float) -> HostName:
    """The start of a name of so many characters at most."""
    return HostName((Codes(), Names(most)))


def hostname() -> Regex:
    """RFC 1123 section 2.1 with the sizes of RFC 1035 section 2.3.4; A-labels as in RFC 5890."""
    return sub_automaton(HostName())
