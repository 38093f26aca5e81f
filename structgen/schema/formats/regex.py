r"""The format `regex`: an automaton that reads ECMA-262 patterns, as far as this library can.

Groups nest, so this is no regular language but a sub-automaton whose states hold the open groups.
It accepts what `regular.syntax.ecma` parses, or a little less, never more: a backreference refers
to a group to its left, at most the ninth; group names are ASCII and distinct; surrogates are not
written as `\uD83D`; beyond ASCII, the ends of a range lie in different blocks. From every state
some pattern can be completed, so that masks never lead into a dead end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import ClassVar

from structgen.regular.charset import ALL, CharSet
from structgen.regular.regex import INFINITE, Regex, sub_automaton
from structgen.regular.syntax.unicode import property_names

_MAX_COUNT = 10**15  # counts in braces are below it
_MAX_NAME = 40  # letters of a group name
_NAME_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789"
_CLOSING = CharSet.chars(_NAME_LETTERS + "(){}<>[]:=")
_DIGITS = CharSet.chars("0123456789")
_FARTHEST = len("u{10FFFF}]")  # what may be missing behind a character, apart from groups
_PLAIN = ALL - CharSet.chars("^$\\.*+?()[{|")
_ANYWHERE = _PLAIN | CharSet.chars("^$.|")
_FILLER = _ANYWHERE - _DIGITS - CharSet.chars(",}")  # end a pattern behind any other
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
        (0x40000, 0x110000, 0x8000),  # most of these planes have no assigned characters
    ]
    for low in range(begin, end, size)
]
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}

Moves = Iterable[tuple[CharSet, "State"]]
SpecialSteps = Iterable[tuple[CharSet, "State | None"]]
Again = tuple[CharSet, int] | None


@cache
def one(letter: str) -> CharSet:
    """The set of one letter."""
    return CharSet.chars(letter)


@dataclass(frozen=True)
class GroupContext:
    """The open groups, and the groups that a backreference may refer to.

    stack: for each open group from the outside in, whether it is a lookbehind. groups: how many
    capturing groups there are, up to 9. names: the names of groups.
    """

    stack: tuple[bool, ...] = ()
    groups: int = 0
    names: frozenset[str] = frozenset()

    @cached_property
    def _hash(self) -> int:
        return hash((self.stack, self.groups, self.names))

    def __hash__(self) -> int:
        """The hash of the fields, computed once: each state has a context."""
        return self._hash

    def opened(self, *, behind: bool = False, captures: bool = False) -> GroupContext:
        """Inside one more group."""
        groups = min(self.groups + captures, 9)
        return replace(self, stack=(*self.stack, behind), groups=groups)


@dataclass(frozen=True)
class State:
    """A state inside a pattern; every one can be completed (see `SubAutomatonState`)."""

    context: GroupContext
    live: ClassVar[bool] = True
    filler: ClassVar[CharSet] = _FILLER
    closing: ClassVar[CharSet] = _CLOSING
    unread: ClassVar[CharSet] = CharSet.chars(")")
    complete: ClassVar[bool] = False
    again: ClassVar[Again] = None

    @property
    def nullable(self) -> bool:
        """May the pattern end here?"""
        return self.complete and not self.context.stack

    @property
    def rest(self) -> str:
        """A shortest text that ends what has begun, apart from groups."""
        return ""

    @property
    def ending(self) -> str:
        """See `SubAutomatonState`."""
        return self.rest + ")" * len(self.context.stack)

    def length_from(self, least: int) -> int:
        """See `SubAutomatonState`: characters that stand for themselves fill any pattern up."""
        return max(least, len(self.ending))

    def free_within(self, _least: int, most: int) -> int:
        """See `SubAutomatonState`: besides groups, at most `_FARTHEST` characters are missing."""
        return (most - len(self.ending) - _FARTHEST) // 2

    def moves(self) -> list[tuple[CharSet, State]]:
        """The characters that may follow."""
        return [move for move in self.steps() if move[0]]

    def steps(self) -> Moves:
        """`moves`, with empty sets among them."""
        raise NotImplementedError


class Variation(State):
    """A state that behaves like another one, `base`, except for the characters `special`."""

    base: State
    special: ClassVar[CharSet]

    def special_steps(self) -> SpecialSteps:
        """What these characters lead to; None if they may not come next."""
        raise NotImplementedError

    @property
    def again(self) -> Again:  # type: ignore[override]
        """As in `base`."""
        found = self.base.again
        return None if found is None else (found[0] - self.special, found[1])

    def steps(self) -> Moves:
        """See `State.steps`."""
        yield from ((chars - self.special, state) for chars, state in self.base.moves())
        yield from ((chars, state) for chars, state in self.special_steps() if state is not None)


@dataclass(frozen=True)
class Excluding(Variation):
    """A state that behaves like `base`, but some characters may not come next."""

    base: State
    excluded: CharSet

    @property
    def special(self) -> CharSet:  # type: ignore[override]
        """See `Variation`."""
        return self.excluded

    @property
    def nullable(self) -> bool:
        """See `State.nullable`."""
        return self.base.nullable

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        return self.base.rest

    def special_steps(self) -> SpecialSteps:
        """See `Variation.special_steps`."""
        return [(self.excluded, None)]


@dataclass(frozen=True)
class _Between(State):
    """Between terms, after: "start", "atom", "bare" assertion, "quantified" or "lazy" atom."""

    after: str = "start"
    complete: ClassVar[bool] = True
    again: ClassVar[Again] = (_ANYWHERE, INFINITE)

    def steps(self) -> Moves:
        context = self.context
        yield _PLAIN | one("."), _Between(context, "atom")
        yield CharSet.chars("^$"), _Between(context, "bare")
        yield one("|"), _Between(context)
        yield one("("), _AfterParenthesis(context)
        yield one("["), _ClassStart(context)
        yield one("\\"), _Escape(context)
        yield one("{"), _Brace(context, repeats=self.after == "atom")
        if context.stack:
            outer = replace(context, stack=context.stack[:-1])
            yield one(")"), _Between(outer, "bare" if context.stack[-1] else "atom")
        if self.after == "atom":
            yield CharSet.chars("*+?"), _Between(context, "quantified")
        elif self.after == "quantified":
            yield one("?"), _Between(context, "lazy")


@dataclass(frozen=True)
class _Brace(Variation):
    """After `{` and part of two counts, which may turn out to be plain text instead."""

    repeats: bool
    low: int = -1
    comma: bool = False
    high: int = -1
    complete: ClassVar[bool] = True
    special: ClassVar[CharSet] = _DIGITS | CharSet.chars(",}")

    @property
    def base(self) -> State:  # type: ignore[override]
        return _Between(self.context, "atom")

    @property
    def again(self) -> Again:  # type: ignore[override]
        """As in plain text, as long as the counts are not too large."""
        room = len(str(_MAX_COUNT)) - len(str(max(self.low, self.high))) - 1
        return _ANYWHERE - CharSet.chars(",}"), max(room, 0)

    def special_steps(self) -> SpecialSteps:
        context, repeats, low, high = self.context, self.repeats, self.low, self.high
        for digit in range(10):
            number = max(high if self.comma else low, 0) * 10 + digit
            counts = (low, True, number) if self.comma else (number, False, -1)
            fits = number < _MAX_COUNT
            yield one(str(digit)), _Brace(context, repeats, *counts) if fits else None
        goes_on = low >= 0 and not self.comma
        yield one(","), _Brace(context, repeats, low, True) if goes_on else self.base
        ends = repeats and (high < 0 or high >= low)
        after = _Between(context, "quantified") if ends else None
        yield one("}"), self.base if low < 0 else after


@dataclass(frozen=True)
class _AfterParenthesis(Variation):
    """After `(`; `context` is still that outside the group."""

    special: ClassVar[CharSet] = CharSet.chars("?")

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        return ")"

    @property
    def base(self) -> State:  # type: ignore[override]
        return _Between(self.context.opened(captures=True))

    def special_steps(self) -> SpecialSteps:
        return [(self.special, _GroupMark(self.context))]


@dataclass(frozen=True)
class _GroupMark(State):
    """After `(?`."""

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        return ":)"

    def steps(self) -> Moves:
        yield CharSet.chars(":=!"), _Between(self.context.opened())
        yield one("<"), _GroupName(self.context)


@dataclass(frozen=True)
class _GroupName(State):
    """After `(?<` and part of a name."""

    text: str = ""

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        if not self.text:
            return "=)"
        new = (x for x in ("", *_NAME_LETTERS) if self.text + x not in self.context.names)
        return f"{next(new)}>)"

    @property
    def again(self) -> Again:  # type: ignore[override]
        """Letters, and digits behind the first of them, up to the longest name."""
        return self._allowed(), _MAX_NAME - len(self.text)

    def _allowed(self) -> CharSet:
        return _NAME_START | _DIGITS if self.text else _NAME_START

    def steps(self) -> Moves:
        if not self.text:
            yield CharSet.chars("=!"), _Between(self.context.opened(behind=True))
        elif self.text not in self.context.names:
            inside = self.context.opened(captures=True)
            yield one(">"), _Between(replace(inside, names=inside.names | {self.text}))
        if len(self.text) < _MAX_NAME:
            for low, high in self._allowed().ranges:
                for point in range(low, high + 1):
                    text = self.text + chr(point)
                    if len(text) < _MAX_NAME or text not in self.context.names:
                        yield one(chr(point)), replace(self, text=text)


@dataclass(frozen=True)
class _Escape(State):
    r"""After a backslash, outside classes or, where `inside` is set, in one."""

    inside: _Class | _Range | None = None

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        return f"d{self.tail}"

    @property
    def least(self) -> int:
        """The least code point that it may stand for."""
        return max(self.inside.least, 0) if self.inside else 0

    @property
    def tail(self) -> str:
        """The shortest text behind it that ends the class it is in."""
        return "]" if self.inside else ""

    def taken(self, value: int | None) -> State | None:
        """The state after an escape that stands for a code point, or for a set (None)."""
        return self.inside.member(value) if self.inside else _Between(self.context, "atom")

    def steps(self) -> Moves:
        found: list[tuple[CharSet, State | None]] = [
            (CharSet.chars("dDwWsS"), self.taken(None)),
            *((one(letter), self.taken(value)) for letter, value in _CONTROLS.items()),
            *self._places(),
        ]
        zero = self.taken(0)
        if zero is not None:
            found.append((one("0"), Excluding(self.context, zero, _DIGITS)))
        if self.least <= 0xFF:
            found.append((one("x"), _Hex(self.context, self, 2)))
        if self.least <= 0x1A:
            found.append((one("c"), _Control(self.context, self)))
        found.append((one("u"), _UnicodeEscape(self.context, self)))
        properties = frozenset(f"{{{name}}}" for name in property_names())
        found.append((CharSet.chars("pP"), _OneOfTexts(self.context, self, "", properties)))
        return [(chars, state) for chars, state in found if state is not None]

    def _places(self) -> Iterator[tuple[CharSet, State | None]]:
        """The escapes that differ inside and outside classes."""
        if self.inside:
            yield one("b"), self.taken(8)
            for low, high in _PUNCTUATION.ranges:
                for point in range(low, high + 1):
                    yield one(chr(point)), self.taken(point)
            return
        yield CharSet.chars("bB"), _Between(self.context, "bare")
        yield _PUNCTUATION | CharSet.of([(0x80, 0x10FFFF)]), self.taken(None)
        if self.context.groups:
            allowed = CharSet.of([(0x31, 0x30 + self.context.groups)])
            atom = _Between(self.context, "atom")
            yield allowed, Excluding(self.context, atom, _DIGITS)
        if self.context.names:
            names = frozenset(f"<{name}>" for name in self.context.names)
            yield one("k"), _OneOfTexts(self.context, self, "", names)


@dataclass(frozen=True)
class _Hex(State):
    """Part of an escape of `left` more hexadecimal digits."""

    escape: _Escape
    left: int
    value: int = 0

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        text, value = "", self.value
        for left in reversed(range(self.left)):
            digit = next(d for d in reversed(range(16)) if self._fits(value * 16 + d, left))
            text, value = f"{text}{digit:x}", value * 16 + digit
        return text + self.escape.tail

    def steps(self) -> Moves:
        for digit, chars in enumerate(_HEX):
            value, left = self.value * 16 + digit, self.left - 1
            if not self._fits(value, left):
                continue
            after = (
                _Hex(self.context, self.escape, left, value) if left else self.escape.taken(value)
            )
            if after is not None:
                yield chars, after

    def _fits(self, value: int, left: int) -> bool:
        """Whether `left` more digits can make a code point that may stand here."""
        surrogate = left <= 2 and 0xD8 <= value >> 8 - 4 * left <= 0xDF
        return not surrogate and (value + 1) * 16**left > self.escape.least


@dataclass(frozen=True)
class _UnicodeEscape(State):
    r"""After `\u`."""

    escape: _Escape

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        braced = f"{{{self.escape.least:x}}}"
        return min(braced, f"{self.escape.least:04x}", key=len) + self.escape.tail

    def steps(self) -> Moves:
        yield one("{"), _CodePoint(self.context, self.escape)
        if self.escape.least <= 0xFFFF:
            yield from _Hex(self.context, self.escape, 4).moves()


@dataclass(frozen=True)
class _CodePoint(State):
    r"""After `\u{` and part of a code point."""

    escape: _Escape
    value: int = -1

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        least, value, digits = self.escape.least, max(self.value, 0), int(self.value < 0)
        while (value + 1) * 16**digits <= least:
            digits += 1
        value *= 16**digits
        return (f"{max(least - value, 0):0{digits}x}" if digits else "") + "}" + self.escape.tail

    def steps(self) -> Moves:
        least = self.escape.least
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

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        return f"Z{self.escape.tail}"

    def steps(self) -> Moves:
        for number in range(1, 27):
            after = self.escape.taken(number)
            if after is not None:
                yield CharSet.chars(chr(0x40 + number) + chr(0x60 + number)), after


@dataclass(frozen=True)
class _OneOfTexts(State):
    """Part of one of finitely many texts, after which the escape stands for a set."""

    escape: _Escape
    text: str
    endings: frozenset[str]

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        begun = (ending for ending in self.endings if ending.startswith(self.text))
        return min(begun, key=len)[len(self.text) :] + self.escape.tail

    def steps(self) -> Moves:
        at = len(self.text)
        begun = [ending for ending in self.endings if ending.startswith(self.text)]
        for letter in sorted({ending[at] for ending in begun}):
            text = self.text + letter
            after = self.escape.taken(None) if text in self.endings else replace(self, text=text)
            if after is not None:
                yield one(letter), after


@dataclass(frozen=True)
class _ClassStart(Variation):
    """After `[`."""

    special: ClassVar[CharSet] = CharSet.chars("^")

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        return "]"

    @property
    def base(self) -> State:  # type: ignore[override]
        return _Class(self.context)

    def special_steps(self) -> SpecialSteps:
        return [(self.special, self.base)]


@dataclass(frozen=True)
class _Class(State):
    """Inside a class."""

    least: ClassVar[int] = 0  #: the least code point that may come next
    again: ClassVar[Again] = (_MEMBERS, INFINITE)

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        return "]"

    def member(self, value: int | None) -> State | None:
        """The state after one more member, a code point or a set (None)."""
        return _Member(self.context, -1 if value is None else value)

    def steps(self) -> Moves:
        context = self.context
        yield one("]"), _Between(context, "atom")
        yield one("\\"), _Escape(context, self)
        for chars, value in _class_letters():
            yield chars, _Member(context, value)


@dataclass(frozen=True)
class _Member(Variation):
    """After a member of a class: a code point that may begin a range, or -1 for a set."""

    value: int
    special: ClassVar[CharSet] = CharSet.chars("-")

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        return "]"

    @property
    def base(self) -> State:  # type: ignore[override]
        return _Class(self.context)

    def special_steps(self) -> SpecialSteps:
        return [(self.special, _Range(self.context, self.value))]


@dataclass(frozen=True)
class _Range(State):
    """After a member of a class and `-`; -1 for a set, where the range is none."""

    first: int

    @property
    def rest(self) -> str:
        """See `State.rest`."""
        return "]"

    @property
    def least(self) -> int:
        """The least code point that may come next."""
        return self.first

    def member(self, value: int | None) -> State | None:
        """The state after the end of the range, None if it were below its start."""
        return None if value is not None and value < self.first else _Class(self.context)

    def steps(self) -> Moves:
        context = self.context
        yield one("]"), _Between(context, "atom")
        yield one("\\"), _Escape(context, self)
        letters = ALL if self.first < 0 else CharSet.of([(self.first, 0x10FFFF)])
        yield letters - CharSet.chars("]\\"), _Class(context)


@cache
def _class_letters() -> list[tuple[CharSet, int]]:
    """The letters of a class with the least code point that may end a range they begin."""
    found = [(one(chr(point)), point) for point in range(0x80) if chr(point) not in "]\\"]
    return found + [(CharSet.of([block]), block[1]) for block in _BLOCKS]


def patterns() -> Regex:
    """The language of ECMA-262 patterns as described above."""
    return sub_automaton(_Between(GroupContext()))
