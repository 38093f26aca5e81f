"""A-labels (`xn--` and Punycode), read character by character as part of a host name.

Punycode is ASCII characters, a hyphen, and digits that say where which letters go in between. Only
the digits after the last hyphen matter one by one; of the characters before it the states keep
whether each is an `l` (beside a middle dot), another letter, a digit or a hyphen. Digits that can
spell no allowed letter are kept like that, too: another hyphen makes them the text itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any, ClassVar, NamedTuple

from structgen.regular.charset import ALL, CharSet
from structgen.regular.expressions.base import INFINITE
from structgen.schema.formats.idna_classes import ascii_marks
from structgen.schema.formats.idna_labels import label_direction, label_fits, permitted, punycode

ROOM = 4  # characters that finish any ordinary beginning of a code: a hyphen, and "ß" in digits
MAX_CODE = 59  # characters of a label of 63 behind `xn--`
SHORTEST = 2  # characters of a further label with its dot; any greater number will do as well
_MANY_HYPHENS = "----"  # no more come in a row: tokens have long runs, labels do not
MOST_MISSING = 6  # characters with which any label can be finished; others are left out

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_HYPHEN = CharSet.chars("-")
ALNUM = CharSet.of([(0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)])
CLOSING = CharSet.chars(_LETTERS + "-")
_CASES = [(CharSet.chars(letter + letter.upper()), letter) for letter in _LETTERS + "-"]
# the outline of a text: "l", "a" for other letters, "0" for digits, hyphens
_OUTLINES = str.maketrans(
    "abcdefghijkmnopqrstuvwxyz123456789", "a" * len("abcdefghijkmnopqrstuvwxyz") + "0" * 9
)


class Code(NamedTuple):
    """What was read of the Punycode: the outline of all before the last hyphen, the digits after.

    digits: None if they spell no allowed letter; they are then part of the outline, with the hyphen
    before them.
    """

    outline: str = ""
    digits: str | None = ""
    hyphen: bool = False

    @property
    def whole(self) -> str:
        """The outline of everything."""
        if self.digits is None:
            return self.outline
        return self.outline + "-" * self.hyphen + self.digits.translate(_OUTLINES)

    def then(self, letter: str) -> Code:
        """The code with one more character."""
        whole = self.whole
        if letter == "-":
            return Code(whole, "", hyphen=True) if whole else Code("-", None)
        if (
            self.digits is not None
            and _decoded(len(self.outline), self.digits + letter) is not None
        ):
            return self._replace(digits=self.digits + letter)
        return Code(whole + letter.translate(_OUTLINES), None)

    @property
    def text(self) -> str | None:
        """The label, as far as it is known, if the code ends here."""
        if not self.digits:
            return None
        found = _decoded(len(self.outline), self.digits)
        if found is None or not found.complete:
            return None
        text = list(self.outline)
        for place, letter in found.letters:
            text.insert(place, letter)
        return "".join(text)


class _Digits(NamedTuple):
    """The state of the decoder of RFC 3492 after some digits.

    letters: those decoded, with their indices. complete: whether no letter is half read. at,
    point, bias, value, weight, position: the variables i, n, bias, delta, w and k of section 6.2.
    """

    letters: tuple[tuple[int, str], ...] = ()
    complete: bool = False
    at: int = 0
    point: int = 0x80
    bias: int = 72
    value: int = 0
    weight: int = 1
    position: int = 36


@lru_cache(maxsize=1 << 16)
def _decoded(outline: int, digits: str) -> _Digits | None:
    """RFC 3492 section 6.2 after `outline` characters; None if no allowed letter can come of it."""
    if not digits:
        return _Digits()
    before = _decoded(outline, digits[:-1])
    if before is None:
        return None
    letters, _, at, point, bias, value, weight, position = before
    digit = ord(digits[-1]) - 97 if digits[-1] >= "a" else ord(digits[-1]) - 22
    value += digit * weight
    size = outline + len(letters) + 1
    if (at + value) // size + point > 0x10FFFF:
        return None
    limit = min(max(position - bias, 1), 26)
    if digit >= limit:
        return _Digits(letters, False, at, point, bias, value, weight * (36 - limit), position + 36)
    bias = _adapted(value, size, first=not letters)
    rounds, at = divmod(at + value, size)
    point += rounds
    if 0xD800 <= point <= 0xDFFF or not permitted(chr(point)):
        return None
    return _Digits((*letters, (at, chr(point))), True, at + 1, point, bias)


def _adapted(delta: int, size: int, *, first: bool) -> int:
    """RFC 3492 section 6.1."""
    delta = delta // 700 if first else delta // 2
    delta += delta // size
    steps = 0
    while delta > 455:
        delta, steps = delta // 35, steps + 36
    return steps + 36 * delta // (delta + 38)


@dataclass(frozen=True)
class ALabel:
    """After `xn--` and a code, in any case of letters; a limit of labels says how long they are.

    `after` is asked for the state of a new label. `after.directed` says which labels the name can
    still have: None any, "L" only left-to-right ones (all of them right by RFC 5893) and "R" ones,
    "N" no right-to-left ones. Other characters than those of ASCII names are left to an automaton
    beside this one, which refuses them.
    """

    code: Code
    after: Any
    live: ClassVar[bool] = True
    straying: ClassVar[int] = ROOM
    closing: ClassVar[CharSet] = CLOSING

    @property
    def nullable(self) -> bool:
        """Whether the label is an A-label that the name can have."""
        return self.direction is not None

    @property
    def boundless(self) -> tuple[ALabel, int]:
        """See `SubAutomatonState`: which character may come is of importance from the start."""
        return self, 0

    def length_from(self, least: int) -> int | None:
        """See `SubAutomatonState`."""
        return longer_name(self.witness, least, inf)

    def free_within(self, least: int, most: int) -> int:
        """See `SubAutomatonState`."""
        return free_within(least, most, inf)

    @property
    def again(self) -> tuple[CharSet, int]:
        """Letters and digits, which a hyphen and digits behind them make a code; and others."""
        whole = self.code.whole
        often = max(MAX_CODE - len(whole) - ROOM, 0)
        chars = ALL - _HYPHEN - self.after.dots
        return chars, often if _is_ordinary(whole, self.after.directed) else 0

    @property
    def witness(self) -> int:
        """The length of some text that finishes the label."""
        return len(self.ending or "")

    @property
    def bound(self) -> int:
        """As `witness`, or a little more, and found sooner."""
        return shortest_ending(self.code, self.after.directed) or 0

    @property
    def ending(self) -> str | None:
        """See `SubAutomatonState`."""
        return ending_of(self.code, inf, self.after.directed)

    @property
    def direction(self) -> str | None:
        """The direction of the label that was read, None if it is not allowed here."""
        return _direction(self.code, self.after.directed)

    def moves(self) -> list[tuple[CharSet, Any]]:
        """The letters that keep an A-label within reach, and the next label."""
        found: list[tuple[CharSet, Any]] = [(ALL - ALNUM - _HYPHEN - self.after.dots, REFUSED)]
        for chars, letter in _CASES:
            if letter == "-" and self.code.whole.endswith(_MANY_HYPHENS):
                continue
            code = self.code.then(letter)
            missing = shortest_ending(code, self.after.directed, quick=True)
            if missing is not None and missing <= MOST_MISSING:
                found.append((chars, ALabel(code, self.after)))
        direction = self.direction
        if direction is not None:
            found.append((self.after.dots, self.after.following(direction)))
        return found


class Refused:
    """Behind a character that an automaton beside this one refuses: any text may follow."""

    live: ClassVar[bool] = True
    nullable: ClassVar[bool] = True
    witness: ClassVar[int] = 0
    again: ClassVar[tuple[CharSet, int]] = ALL, INFINITE

    def moves(self) -> list[tuple[CharSet, Refused]]:
        """See `SubAutomatonState`."""
        return [(ALL, self)]


REFUSED = Refused()


def longer_name(length: int, least: int, left: float) -> int | None:
    """The length of a name's rest: `length`, or more, by further labels, to have at least so many.

    None if that is more than `left`.
    """
    length = length if length >= least else max(least, length + SHORTEST)
    return length if length <= left else None


def free_within(least: int, most: int, left: float) -> int:
    """For how many characters any label begun can be finished within `most` and `left`.

    And, if it has to be at least `least` characters, another one behind it.
    """
    room = min(most, left) - SHORTEST if least else most
    return int(room) - MOST_MISSING if least <= left else 0


@lru_cache(maxsize=1 << 16)
def _direction(code: Code, directed: str | None) -> str | None:
    text = code.text
    if text is None or len(code.outline) + code.hyphen + len(code.digits or "") > MAX_CODE:
        return None
    return _allowed(text, directed)


def _allowed(text: str, directed: str | None) -> str | None:
    """The direction of a label that is allowed, else None."""
    if not label_fits(text) or _composes(text):
        return None
    direction = label_direction(text)
    barred = {"L": "N", "N": "R"}.get(directed or "", "")
    return None if direction == barred else direction


def _composes(text: str) -> bool:
    """Whether a mark follows an ASCII character, with some of which it composes."""
    base = ""
    for letter in text:
        if letter.isascii():
            base = letter
        elif letter in ascii_marks() and base:
            return True
        elif not _is_mark(letter):
            base = ""
    return False


def _is_mark(letter: str) -> bool:
    """Whether it is a combining mark, after which others may still apply to the letter before."""
    return unicodedata.combining(letter) != 0


def shortest_ending(code: Code, directed: str | None, *, quick: bool = False) -> int | None:
    """How many characters finish the A-label; None if no ending is found.

    quick: fewer may do, where that takes a look at the label.
    Tries to add one or two letters "ß", and one digit: sufficient, not exact.
    """
    whole = code.whole
    room = MAX_CODE - len(whole)
    if room < 0:
        return None
    if room >= ROOM and quick and _is_ordinary(whole, directed):
        return ROOM
    if _direction(code, directed) is not None:
        return 0
    if room >= ROOM and _is_ordinary(whole, directed):
        return ROOM
    found = ending_of(code, room, directed)
    return None if found is None else len(found)


def ending_of(code: Code, room: float, directed: str | None) -> str | None:
    """Characters that finish the A-label, at most `room`; None if none are found."""
    whole = code.whole
    if _direction(code, directed) is not None:
        return ""
    found = ["-" * (whole != "") + digits for digits in _endings(whole, directed)]
    if code.digits is not None:
        endings = _endings(code.outline, directed)
        found += [e[len(code.digits) :] for e in endings if e.startswith(code.digits)]
    text = min(found, key=len, default=None)
    if text is not None and len(text) <= room:
        return text
    return None if code.digits is None or room < 1 else _last_digit(code, directed)


def _is_ordinary(whole: str, directed: str | None) -> bool:
    """Whether a hyphen and one "ß" in digits finish an outline, as letters and digits go on."""
    if whole[:1] == "-":  # with "ß" before it
        return directed is None and whole[1:2] not in {"", "-"} and whole[-1] != "-"
    return whole[2:4] != "--" and (directed != "L" or whole[:1] in {"a", "l"})


@lru_cache(maxsize=1 << 14)
def _endings(outline: str, directed: str | None) -> tuple[str, ...]:
    """The digits that add one or two letters "ß" to an outline so that it is a label."""
    found = []
    end = len(outline)
    for places in ((0,), (3,), (end,), (0, end + 1), (3, end + 1), (0, 0)):
        text = list(outline)
        for place in places:
            text.insert(place, "ß")
        label = "".join(text)
        if _allowed(label, directed) is not None:
            found.append(punycode(label)[end + (end > 0) :])
    return tuple(found)


@lru_cache(maxsize=1 << 14)
def _last_digit(code: Code, directed: str | None) -> str | None:
    """A digit with which a code makes an A-label."""
    for after in _followers(code):
        if _direction(after, directed) is not None:
            return (after.digits or "")[-1:]
    return None


def _followers(code: Code) -> Iterator[Code]:
    for letter in _LETTERS:
        after = code.then(letter)
        if after.digits is not None:
            yield after
