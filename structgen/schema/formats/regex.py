r"""In: nothing. Out: the language of the patterns that this library reads (format `regex`).

Groups nest, so this is no regular language but a foreign automaton whose states hold the open
groups. It is `regex_syntax` told from the writing side, and a little stricter, never wider: a
backreference names a group to its left, at most the ninth; group names are ASCII and distinct;
surrogates are not written as `\uD83D`; beside ASCII, the ends of a range lie in different blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from structgen.regular.charset import ALL, CharSet
from structgen.regular.regex import INFINITE, Regex, sub_automaton
from structgen.regular.syntax.unicode import property_names
from structgen.schema.formats.regex_states import (
    Again,
    Like,
    Moves,
    Own,
    Place,
    State,
    Without,
    one,
)

_MAX_COUNT = 10**15
_MAX_NAME = 40
_DIGITS = CharSet.chars("0123456789")
_PLAIN = ALL - CharSet.chars("^$\\.*+?()[{|")
_ANYWHERE = _PLAIN | CharSet.chars("^$.|")
_MEMBERS = ALL - CharSet.chars("]\\-")
_PUNCTUATION = CharSet.of([(0x20, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)])
_HEX = [CharSet.chars(f"{digit:x}{digit:X}") for digit in range(16)]
_NAME_START = CharSet.of([(0x41, 0x5A), (0x61, 0x7A)]) | CharSet.chars("_$")
_BLOCKS = [
    (low, low + size - 1)
    for begin, end, size in [
        (0x80, 0x800, 0x20),
        (0x800, 0x1000, 0x800),
        (0x1000, 0x40000, 0x1000),
        (0x40000, 0x110000, 0x8000),  # of most of these planes no character is assigned
    ]
    for low in range(begin, end, size)
]
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}


@dataclass(frozen=True)
class _Between(State):
    """Between terms, after: "start", "atom", "bare" assertion, "quantified" or "lazy" atom."""

    after: str = "start"
    complete: ClassVar[bool] = True
    again: ClassVar[Again] = (_ANYWHERE, INFINITE)

    def steps(self) -> Moves:
        place = self.place
        yield _PLAIN | one("."), _Between(place, "atom")
        yield CharSet.chars("^$"), _Between(place, "bare")
        yield one("|"), _Between(place)
        yield one("("), _Opened(place)
        yield one("["), _ClassStart(place)
        yield one("\\"), _Escape(place)
        yield one("{"), _Brace(place, repeats=self.after == "atom")
        if place.stack:
            outer = replace(place, stack=place.stack[:-1])
            yield one(")"), _Between(outer, "bare" if place.stack[-1] else "atom")
        if self.after == "atom":
            yield CharSet.chars("*+?"), _Between(place, "quantified")
        elif self.after == "quantified":
            yield one("?"), _Between(place, "lazy")


@dataclass(frozen=True)
class _Brace(Like):
    """After `{` and part of two counts, which may turn out to be plain text instead."""

    repeats: bool
    low: int = -1
    comma: bool = False
    high: int = -1
    complete: ClassVar[bool] = True
    apart: ClassVar[CharSet] = _DIGITS | CharSet.chars(",}")

    @property
    def base(self) -> State:  # type: ignore[override]
        return _Between(self.place, "atom")

    @property
    def again(self) -> Again:  # type: ignore[override]
        """As in plain text, as long as the counts are not too large."""
        room = len(str(_MAX_COUNT)) - len(str(max(self.low, self.high))) - 1
        return _ANYWHERE - CharSet.chars(",}"), max(room, 0)

    def own(self) -> Own:
        place, repeats, low, high = self.place, self.repeats, self.low, self.high
        for digit in range(10):
            number = max(high if self.comma else low, 0) * 10 + digit
            counts = (low, True, number) if self.comma else (number, False, -1)
            fits = number < _MAX_COUNT
            yield one(str(digit)), _Brace(place, repeats, *counts) if fits else None
        goes_on = low >= 0 and not self.comma
        yield one(","), _Brace(place, repeats, low, True) if goes_on else self.base
        ends = repeats and (high < 0 or high >= low)
        after = _Between(place, "quantified") if ends else None
        yield one("}"), self.base if low < 0 else after


@dataclass(frozen=True)
class _Opened(Like):
    """After `(`; `place` is still outside the group."""

    closing: ClassVar[int] = 1
    apart: ClassVar[CharSet] = CharSet.chars("?")

    @property
    def base(self) -> State:  # type: ignore[override]
        return _Between(self.place.opened(captures=True))

    def own(self) -> Own:
        return [(self.apart, _GroupMark(self.place))]


@dataclass(frozen=True)
class _GroupMark(State):
    """After `(?`."""

    closing: ClassVar[int] = 2

    def steps(self) -> Moves:
        yield CharSet.chars(":=!"), _Between(self.place.opened())
        yield one("<"), _GroupName(self.place)


@dataclass(frozen=True)
class _GroupName(State):
    """After `(?<` and part of a name."""

    text: str = ""
    closing: ClassVar[int] = 2

    @property
    def again(self) -> Again:  # type: ignore[override]
        """Letters, and digits behind the first of them, up to the longest name."""
        return self._allowed(), _MAX_NAME - len(self.text)

    def _allowed(self) -> CharSet:
        return _NAME_START | _DIGITS if self.text else _NAME_START

    def steps(self) -> Moves:
        if not self.text:
            yield CharSet.chars("=!"), _Between(self.place.opened(behind=True))
        elif self.text not in self.place.names:
            inside = self.place.opened(captures=True)
            yield one(">"), _Between(replace(inside, names=inside.names | {self.text}))
        if len(self.text) < _MAX_NAME:
            for low, high in self._allowed().ranges:
                for point in range(low, high + 1):
                    yield one(chr(point)), replace(self, text=self.text + chr(point))


@dataclass(frozen=True)
class _Escape(State):
    r"""After a backslash, outside classes or, where `inside` is set, in one."""

    inside: _Class | _Range | None = None
    closing: ClassVar[int] = 1

    def taken(self, value: int | None) -> State | None:
        """The state after an escape that stands for a code point, or for a set (None)."""
        return self.inside.member(value) if self.inside else _Between(self.place, "atom")

    def steps(self) -> Moves:
        found: list[tuple[CharSet, State | None]] = [
            (CharSet.chars("dDwWsS"), self.taken(None)),
            *((one(letter), self.taken(value)) for letter, value in _CONTROLS.items()),
            *self._places(),
        ]
        zero = self.taken(0)
        if zero is not None:
            found.append((one("0"), Without(self.place, zero, _DIGITS)))
        reach = self.inside.least if self.inside else 0
        if reach <= 0xFF:
            found.append((one("x"), _Hex(self.place, self, 2)))
        if reach <= 0x1A:
            found.append((one("c"), _Control(self.place, self)))
        found.append((one("u"), _UnicodeEscape(self.place, self)))
        properties = frozenset(f"{{{name}}}" for name in property_names())
        found.append((CharSet.chars("pP"), _Listed(self.place, self, "", properties)))
        return [(chars, state) for chars, state in found if state is not None]

    def _places(self) -> Iterator[tuple[CharSet, State | None]]:
        """The escapes that differ inside and outside classes."""
        if self.inside:
            yield one("b"), self.taken(8)
            for low, high in _PUNCTUATION.ranges:
                for point in range(low, high + 1):
                    yield one(chr(point)), self.taken(point)
            return
        yield CharSet.chars("bB"), _Between(self.place, "bare")
        yield _PUNCTUATION | CharSet.of([(0x80, 0x10FFFF)]), self.taken(None)
        if self.place.groups:
            allowed = CharSet.of([(0x31, 0x30 + self.place.groups)])
            atom = _Between(self.place, "atom")
            yield allowed, Without(self.place, atom, _DIGITS)
        if self.place.names:
            names = frozenset(f"<{name}>" for name in self.place.names)
            yield one("k"), _Listed(self.place, self, "", names)


@dataclass(frozen=True)
class _Hex(State):
    """Part of an escape of `left` more hexadecimal digits."""

    escape: _Escape
    left: int
    value: int = 0
    closing: ClassVar[int] = 1

    def steps(self) -> Moves:
        least = self.escape.inside.least if self.escape.inside else 0
        for digit, chars in enumerate(_HEX):
            value, left = self.value * 16 + digit, self.left - 1
            highest = (value + 1) * 16**left - 1
            surrogate = left <= 2 and 0xD8 <= value >> 8 - 4 * left <= 0xDF
            if surrogate or highest < least:
                continue
            after = _Hex(self.place, self.escape, left, value) if left else self.escape.taken(value)
            if after is not None:
                yield chars, after


@dataclass(frozen=True)
class _UnicodeEscape(State):
    r"""After `\u`."""

    escape: _Escape
    closing: ClassVar[int] = 3

    def steps(self) -> Moves:
        yield one("{"), _CodePoint(self.place, self.escape)
        inside = self.escape.inside
        if not inside or inside.least <= 0xFFFF:
            yield from _Hex(self.place, self.escape, 4).moves()


@dataclass(frozen=True)
class _CodePoint(State):
    r"""After `\u{` and part of a code point."""

    escape: _Escape
    value: int = -1
    closing: ClassVar[int] = 1

    def steps(self) -> Moves:
        least = self.escape.inside.least if self.escape.inside else 0
        for digit, chars in enumerate(_HEX):
            value = max(self.value, 0) * 16 + digit
            if value <= 0x10FFFF and self._reaches(value, least):
                yield chars, replace(self, value=value)
        after = self.escape.taken(self.value) if self.value >= 0 else None
        if after is not None:
            yield one("}"), after

    @staticmethod
    def _reaches(value: int, least: int) -> bool:
        """Can more digits bring the value to `least` without passing the last code point?"""
        high = value
        while value and value * 16 <= 0x10FFFF:
            value, high = value * 16, min(high * 16 + 15, 0x10FFFF)
        return value == 0 or high >= least


@dataclass(frozen=True)
class _Control(State):
    r"""After `\c`."""

    escape: _Escape
    closing: ClassVar[int] = 1

    def steps(self) -> Moves:
        for number in range(1, 27):
            after = self.escape.taken(number)
            if after is not None:
                yield CharSet.chars(chr(0x40 + number) + chr(0x60 + number)), after


@dataclass(frozen=True)
class _Listed(State):
    """Part of one of finitely many texts, after which the escape stands for a set."""

    escape: _Escape
    text: str
    endings: frozenset[str]
    closing: ClassVar[int] = 1

    def steps(self) -> Moves:
        at = len(self.text)
        begun = [ending for ending in self.endings if ending.startswith(self.text)]
        for letter in sorted({ending[at] for ending in begun}):
            text = self.text + letter
            after = self.escape.taken(None) if text in self.endings else replace(self, text=text)
            if after is not None:
                yield one(letter), after


@dataclass(frozen=True)
class _ClassStart(Like):
    """After `[`."""

    closing: ClassVar[int] = 1
    apart: ClassVar[CharSet] = CharSet.chars("^")

    @property
    def base(self) -> State:  # type: ignore[override]
        return _Class(self.place)

    def own(self) -> Own:
        return [(self.apart, self.base)]


@dataclass(frozen=True)
class _Class(State):
    """Inside a class."""

    closing: ClassVar[int] = 1
    least: ClassVar[int] = 0  #: the least code point that may come next
    again: ClassVar[Again] = (_MEMBERS, INFINITE)

    def member(self, value: int | None) -> State | None:
        """The state after one more member, a code point or a set (None)."""
        return _Member(self.place, -1 if value is None else value)

    def steps(self) -> Moves:
        place = self.place
        yield one("]"), _Between(place, "atom")
        yield one("\\"), _Escape(place, self)
        for chars, value in _class_letters():
            yield chars, _Member(place, value)


@dataclass(frozen=True)
class _Member(Like):
    """After a member of a class: a code point that may begin a range, or -1 for a set."""

    value: int
    closing: ClassVar[int] = 1
    apart: ClassVar[CharSet] = CharSet.chars("-")

    @property
    def base(self) -> State:  # type: ignore[override]
        return _Class(self.place)

    def own(self) -> Own:
        return [(self.apart, _Range(self.place, self.value))]


@dataclass(frozen=True)
class _Range(State):
    """After a member of a class and `-`; -1 for a set, where the range is none."""

    first: int
    closing: ClassVar[int] = 1

    @property
    def least(self) -> int:
        """The least code point that may come next."""
        return self.first

    def member(self, value: int | None) -> State | None:
        """The state after the end of the range, None if it were below its start."""
        return None if value is not None and value < self.first else _Class(self.place)

    def steps(self) -> Moves:
        place = self.place
        yield one("]"), _Between(place, "atom")
        yield one("\\"), _Escape(place, self)
        letters = ALL if self.first < 0 else CharSet.of([(self.first, 0x10FFFF)])
        yield letters - CharSet.chars("]\\"), _Class(place)


@cache
def _class_letters() -> list[tuple[CharSet, int]]:
    """The letters of a class with the least code point that may end a range they begin."""
    found = [(one(chr(point)), point) for point in range(0x80) if chr(point) not in "]\\"]
    return found + [(CharSet.of([block]), block[1]) for block in _BLOCKS]


def patterns() -> Regex:
    """The language of ECMA-262 patterns as described above."""
    return sub_automaton(_Between(Place()))
