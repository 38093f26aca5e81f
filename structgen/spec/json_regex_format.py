r"""In: nothing. Out: the language of the patterns that this library reads (format `regex`).

Groups nest, so this is no regular language but a foreign automaton whose states hold the open
groups. It is `regex_syntax` told from the writing side, and a little stricter, never wider: a
backreference names a group to its left, at most the ninth; group names are ASCII and distinct;
surrogates are not written as `\uD83D`; beside ASCII, the ends of a range lie in different blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from structgen.automaton.charset import ALL, CharSet
from structgen.automaton.regex import Regex, leaf
from structgen.automaton.regex_unicode import property_names

Moves = Iterable[tuple[CharSet, "_State"]]

_MAX_COUNT = 10**15
_MAX_NAME = 40
_DIGITS = CharSet.chars("0123456789")
_PLAIN = ALL - CharSet.chars("^$\\.*+?()[{|")
_PUNCTUATION = CharSet.of([(0x20, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)])
_HEX = [CharSet.chars(f"{digit:x}{digit:X}") for digit in range(16)]
_NAME_START = CharSet.of([(0x41, 0x5A), (0x61, 0x7A)]) | CharSet.chars("_$")
_BLOCKS = [(low, low + 31) for low in range(0x80, 0x800, 32)] + [
    (low, low + 0xFFF) for low in range(0x800, 0x110000, 0x1000)
]
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}


def _one(letter: str) -> CharSet:
    return CharSet.chars(letter)


@dataclass(frozen=True)
class _Place:
    """Open groups from the outside in (is it a lookbehind?), and the groups one may refer to."""

    stack: tuple[bool, ...] = ()
    groups: int = 0
    names: frozenset[str] = frozenset()

    def opened(self, *, behind: bool = False, captures: bool = False) -> _Place:
        """Inside one more group."""
        groups = min(self.groups + captures, 9)
        return replace(self, stack=(*self.stack, behind), groups=groups)


@dataclass(frozen=True)
class _State:
    """A position in a pattern; every one can be completed."""

    place: _Place
    live: ClassVar[bool] = True
    closing: ClassVar[int] = 0  # least number of characters that end what is begun, groups aside
    complete: ClassVar[bool] = False

    @property
    def nullable(self) -> bool:
        """May the pattern end here?"""
        return self.complete and not self.place.stack

    @property
    def shortest(self) -> int:
        """A lower bound on the characters still missing."""
        return self.closing + len(self.place.stack)

    def moves(self) -> list[tuple[CharSet, _State]]:
        """The characters that may follow."""
        return [move for move in self.steps() if move[0]]

    def steps(self) -> Moves:
        """`moves`, with empty sets among them."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Between(_State):
    """Between terms, after: "start", "atom", "bare" assertion, "quantified" or "lazy" atom."""

    after: str = "start"
    complete: ClassVar[bool] = True

    def steps(self) -> Moves:
        place = self.place
        yield _PLAIN | _one("."), _Between(place, "atom")
        yield CharSet.chars("^$"), _Between(place, "bare")
        yield _one("|"), _Between(place)
        yield _one("("), _Opened(place)
        yield _one("["), _ClassStart(place)
        yield _one("\\"), _Escape(place)
        yield _one("{"), _Brace(place, repeats=self.after == "atom")
        if place.stack:
            outer = replace(place, stack=place.stack[:-1])
            yield _one(")"), _Between(outer, "bare" if place.stack[-1] else "atom")
        if self.after == "atom":
            yield CharSet.chars("*+?"), _Between(place, "quantified")
        elif self.after == "quantified":
            yield _one("?"), _Between(place, "lazy")


@dataclass(frozen=True)
class _Without(_State):
    """Like another state, but some characters may not come next."""

    state: _State
    barred: CharSet

    @property
    def nullable(self) -> bool:
        return self.state.nullable

    @property
    def shortest(self) -> int:
        return self.state.shortest

    def steps(self) -> Moves:
        return ((chars - self.barred, state) for chars, state in self.state.moves())


@dataclass(frozen=True)
class _Brace(_State):
    """After `{` and part of two counts, which may turn out to be plain text instead."""

    repeats: bool
    low: int = -1
    comma: bool = False
    high: int = -1
    complete: ClassVar[bool] = True

    def steps(self) -> Moves:
        text = _Between(self.place, "atom")
        yield from _Without(self.place, text, _DIGITS | CharSet.chars(",}")).moves()
        for digit in range(10):
            if self.comma:
                after = replace(self, high=max(self.high, 0) * 10 + digit)
            else:
                after = replace(self, low=max(self.low, 0) * 10 + digit)
            if max(after.low, after.high) < _MAX_COUNT:
                yield _one(str(digit)), after
        counted = self.low >= 0 and not self.comma
        yield _one(","), replace(self, comma=True) if counted else text
        if self.low < 0:
            yield _one("}"), text
        elif self.repeats and (self.high < 0 or self.high >= self.low):
            yield _one("}"), _Between(self.place, "quantified")


@dataclass(frozen=True)
class _Opened(_State):
    """After `(`; `place` is still outside the group."""

    closing: ClassVar[int] = 1

    def steps(self) -> Moves:
        inside = _Between(self.place.opened(captures=True))
        yield from _Without(inside.place, inside, _one("?")).moves()
        yield _one("?"), _GroupMark(self.place)


@dataclass(frozen=True)
class _GroupMark(_State):
    """After `(?`."""

    closing: ClassVar[int] = 2

    def steps(self) -> Moves:
        yield CharSet.chars(":=!"), _Between(self.place.opened())
        yield _one("<"), _GroupName(self.place)


@dataclass(frozen=True)
class _GroupName(_State):
    """After `(?<` and part of a name."""

    text: str = ""
    closing: ClassVar[int] = 2

    def steps(self) -> Moves:
        if not self.text:
            yield CharSet.chars("=!"), _Between(self.place.opened(behind=True))
        elif self.text not in self.place.names:
            inside = self.place.opened(captures=True)
            yield _one(">"), _Between(replace(inside, names=inside.names | {self.text}))
        if len(self.text) < _MAX_NAME:
            allowed = _NAME_START | _DIGITS if self.text else _NAME_START
            for low, high in allowed.ranges:
                for point in range(low, high + 1):
                    yield _one(chr(point)), replace(self, text=self.text + chr(point))


@dataclass(frozen=True)
class _Escape(_State):
    r"""After a backslash, outside classes or, where `inside` is set, in one."""

    inside: _Class | None = None
    closing: ClassVar[int] = 1

    def taken(self, value: int | None) -> _State | None:
        """The state after an escape that stands for a code point, or for a set (None)."""
        return self.inside.member(value) if self.inside else _Between(self.place, "atom")

    def steps(self) -> Moves:
        found: list[tuple[CharSet, _State | None]] = [
            (CharSet.chars("dDwWsS"), self.taken(None)),
            *((_one(letter), self.taken(value)) for letter, value in _CONTROLS.items()),
            *self._places(),
        ]
        zero = self.taken(0)
        if zero is not None:
            found.append((_one("0"), _Without(self.place, zero, _DIGITS)))
        reach = self.inside.least if self.inside else 0
        if reach <= 0xFF:
            found.append((_one("x"), _Hex(self.place, self, 2)))
        if reach <= 0x1A:
            found.append((_one("c"), _Control(self.place, self)))
        found.append((_one("u"), _UnicodeEscape(self.place, self)))
        properties = frozenset(f"{{{name}}}" for name in property_names())
        found.append((CharSet.chars("pP"), _Listed(self.place, self, "", properties)))
        return [(chars, state) for chars, state in found if state is not None]

    def _places(self) -> Iterator[tuple[CharSet, _State | None]]:
        """The escapes that differ inside and outside classes."""
        if self.inside:
            yield _one("b"), self.taken(8)
            for low, high in _PUNCTUATION.ranges:
                for point in range(low, high + 1):
                    yield _one(chr(point)), self.taken(point)
            return
        yield CharSet.chars("bB"), _Between(self.place, "bare")
        yield _PUNCTUATION | CharSet.of([(0x80, 0x10FFFF)]), self.taken(None)
        if self.place.groups:
            allowed = CharSet.of([(0x31, 0x30 + self.place.groups)])
            atom = _Between(self.place, "atom")
            yield allowed, _Without(self.place, atom, _DIGITS)
        if self.place.names:
            names = frozenset(f"<{name}>" for name in self.place.names)
            yield _one("k"), _Listed(self.place, self, "", names)


@dataclass(frozen=True)
class _Hex(_State):
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
class _UnicodeEscape(_State):
    r"""After `\u`."""

    escape: _Escape
    closing: ClassVar[int] = 3

    def steps(self) -> Moves:
        yield _one("{"), _CodePoint(self.place, self.escape)
        inside = self.escape.inside
        if not inside or inside.least <= 0xFFFF:
            yield from _Hex(self.place, self.escape, 4).moves()


@dataclass(frozen=True)
class _CodePoint(_State):
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
            yield _one("}"), after

    @staticmethod
    def _reaches(value: int, least: int) -> bool:
        """Can more digits bring the value to `least` without passing the last code point?"""
        high = value
        while value and value * 16 <= 0x10FFFF:
            value, high = value * 16, min(high * 16 + 15, 0x10FFFF)
        return value == 0 or high >= least


@dataclass(frozen=True)
class _Control(_State):
    r"""After `\c`."""

    escape: _Escape
    closing: ClassVar[int] = 1

    def steps(self) -> Moves:
        for number in range(1, 27):
            after = self.escape.taken(number)
            if after is not None:
                yield CharSet.chars(chr(0x40 + number) + chr(0x60 + number)), after


@dataclass(frozen=True)
class _Listed(_State):
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
                yield _one(letter), after


@dataclass(frozen=True)
class _ClassStart(_State):
    """After `[`."""

    closing: ClassVar[int] = 1

    def steps(self) -> Moves:
        inside = _Class(self.place)
        yield from _Without(self.place, inside, _one("^")).moves()
        yield _one("^"), inside


@dataclass(frozen=True)
class _Class(_State):
    """Inside a class.

    `last` is the code point that was just read and may begin a range: -1 when there is none, -2
    after an escape that stands for a set. With `dash` a range has begun.
    """

    last: int = -1
    dash: bool = False
    closing: ClassVar[int] = 1

    @property
    def least(self) -> int:
        """The least code point that may come next."""
        return self.last if self.dash else 0

    def member(self, value: int | None) -> _State | None:
        """The state after one more member, None when it would end a range below its start."""
        if not self.dash:
            return _Class(self.place, -2 if value is None else value)
        return None if value is not None and value < self.last else _Class(self.place)

    def steps(self) -> Moves:
        place = self.place
        yield _one("]"), _Between(place, "atom")
        if self.dash:
            yield _one("\\"), _Escape(place, self)
            letters = ALL if self.last < 0 else CharSet.of([(self.last, 0x10FFFF)])
            yield letters - CharSet.chars("]\\"), _Class(place)
            return
        yield _one("\\"), _Escape(place, _Class(place))
        if self.last != -1:
            yield _one("-"), replace(self, dash=True)
        for chars, value in _class_letters():
            yield (chars - _one("-") if self.last != -1 else chars), _Class(place, value)


@cache
def _class_letters() -> list[tuple[CharSet, int]]:
    """The letters of a class with the least code point that may end a range they begin."""
    found = [(_one(chr(point)), point) for point in range(0x80) if chr(point) not in "]\\"]
    return found + [(CharSet.of([block]), block[1]) for block in _BLOCKS]


def patterns() -> Regex:
    """The language of ECMA-262 patterns as described above."""
    return leaf(_Between(_Place()))
