"""A bound on the length of an internationalised label in Punycode, from counts of its letters.

The exact length of a Punycode depends on every letter and its position, so to know it at the end of
a label would take a state per label. Instead the size of a label is the number of its letters and
the window of Unicode that they lie in; `LIMITS` says how many letters of a window fit into 63
characters in the worst case. It was found by dynamic
programming over RFC 3492, section 6.3, and its test repeats that. Only labels of the few letters
that `idna_classes.COUNTED` lists are remembered letter by letter, and measured.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from structgen.schema.formats.idna_classes import CJK, ELSEWHERE, HANGUL, LATIN, LOW
from structgen.schema.formats.idna_labels import punycode

MAX_LABEL = 63
PREFIX = "xn--"
# ASCII characters before the first other letter are rounded up to a multiple of it, so that labels
# that differ in these alone have the same states.
ROUNDED = 8
_LATIN_BLOCKS = frozenset((0, 1, 2, LATIN))
_ENOUGH = 57  # ASCII characters with which no other letter is sure to fit

# How many letters beyond ASCII fit beside 0, 1, 2, ... ASCII characters, for each kind of window.
_BLOCK = (
    "24 23 22 21 21 20 19 19 18 18 17 17 17 16 16 15 15 14 14 13 13 12 12 11 11 10 10 10 9 9 9 8 8"
    " 8 7 7 6 6 6 5 5 5 4 4 3 3 3 2 2 2 1 1 1 1 0 0 0"
)
_LATIN = (
    "22 21 21 20 20 19 19 18 18 17 17 16 16 15 15 14 14 13 13 13 12 12 11 11 11 10 10 10 9 9 8 8 8"
    " 7 7 7 6 6 6 5 5 5 4 4 4 3 3 3 2 2 2 2 1 1 1 1 0"
)
_LOW = (
    "17 16 16 15 15 14 14 13 13 13 12 12 12 11 11 10 10 10 9 9 9 9 8 8 8 8 7 7 7 7 6 6 6 6 5 5 5 5"
    " 4 4 4 4 3 3 3 2 2 2 2 1 1 1 1 1 0 0 0"
)
_CJK = (
    "15 14 14 13 13 13 12 12 12 11 11 11 10 10 10 10 9 9 9 9 8 8 8 7 7 7 7 6 6 6 6 5 5 5 5 4 4 4 4"
    " 4 3 3 3 3 2 2 2 2 1 1 1 1 1 1 0 0 0"
)
_HANGUL = (
    "16 15 15 14 14 14 13 13 12 12 12 11 11 11 10 10 10 9 9 9 9 8 8 8 8 7 7 7 7 6 6 6 6 5 5 5 4 4 4"
    " 4 3 3 3 3 3 2 2 2 2 1 1 1 1 1 0 0 0"
)
_ANY = (
    "11 11 11 10 10 10 10 9 9 9 9 8 8 8 8 8 7 7 7 7 6 6 6 6 6 5 5 5 5 5 4 4 4 4 4 3 3 3 3 3 2 2 2 2"
    " 2 2 1 1 1 1 1 1 0 0 0 0 0"
)
LIMITS = {
    name: tuple(map(int, table.split()))
    for name, table in (
        (0, _BLOCK), (LATIN, _LATIN), (LOW, _LOW), (CJK, _CJK), (HANGUL, _HANGUL),
        (ELSEWHERE, _ANY),
    )
}  # fmt: skip
_DIGITS = {0: 4, LATIN: 4, LOW: 6, CJK: 6, HANGUL: 6, ELSEWHERE: 8}  # most that a letter can take
MOST_DIGITS = 16  # ... with the dot and the prefix of its label


class Size(NamedTuple):
    """How many ASCII characters and how many other letters a label has, and their window.

    text: the label, with `a` for every ASCII character, while all others are in `COUNTED`.
    """

    ascii: int = 0
    others: int = 0
    window: int = -1
    text: str = ""

    def with_ascii(self) -> Size:
        """One ASCII character more."""
        text = f"{self.text}a" if self.text else ""
        return Size(self.ascii + 1, self.others, self.window, text)

    def with_other(self, window: int, itself: str = "") -> Size:
        """One other letter more; `itself` if it is in `COUNTED`."""
        plain = self.ascii if self.others else -(-self.ascii // ROUNDED) * ROUNDED
        text = ""
        if itself and (self.text or not self.others):
            text = (self.text or "a" * plain) + itself
        return Size(plain, self.others + 1, _joined(self.window, window), text)

    def with_letters(self, plain: int, windows: tuple[int, ...]) -> Size:
        """So many ASCII characters more, and a letter of each window."""
        found = self
        for _ in range(plain):
            found = found.with_ascii()
        for window in windows:
            found = found.with_other(window)
        return found

    @property
    def length(self) -> int:
        """An upper bound on the length of the A-label; exact where `text` is known."""
        if not self.others:
            return self.ascii
        if self.text:
            return len(PREFIX) + _measured(self.text)
        bound = self.ascii + 1 + self.others * _DIGITS[_kind(self.window)]
        return min(len(PREFIX) + bound, MAX_LABEL)

    def fits(self, left: float) -> bool:
        """Whether the A-label certainly has at most 63 characters, and at most `left`."""
        if self.others:
            table = LIMITS[_kind(self.window)]
            surely = self.ascii < _ENOUGH and self.others <= table[self.ascii]
            if not surely and not self.text:
                return False
            if surely and left >= MAX_LABEL:
                return True
        return self.length <= min(left, MAX_LABEL)

    @property
    def room(self) -> int:
        """How many ASCII characters certainly fit, besides; below zero if not even the others."""
        if not self.others:
            return MAX_LABEL - self.ascii
        return _most_ascii(_kind(self.window), self.others) - self.ascii

    @property
    def free(self) -> int:
        """How many characters of any kind certainly fit; below zero if none has room."""
        return _free(self.ascii, self.others)


@cache
def _most_ascii(kind: int, others: int) -> int:
    """Beside how many ASCII characters so many others fit; -1 if not even alone."""
    return sum(most >= others for most in LIMITS[kind]) - 1


@cache
def _free(plain: int, others: int) -> int:
    """For how many characters a label with so many is short enough, whatever they are."""
    least = [min(most) for most in zip(*LIMITS.values(), strict=True)]
    for more in range(MAX_LABEL):
        for n in range(more + 1):  # of which are ASCII
            others_then = others + more - n
            plain_then = plain + n
            if not others:  # all of them may come first
                plain_then = -(-plain_then // ROUNDED) * ROUNDED
            if plain_then >= _ENOUGH or (others_then and others_then > least[plain_then]):
                return more - 1
    return MAX_LABEL


def _kind(window: int) -> int:
    """The key of `LIMITS` for a window: blocks of 256 letters share one."""
    return window if window in LIMITS else 0


def _joined(one: int, other: int) -> int:
    if one in {-1, other}:
        return other
    if {one, other} <= _LATIN_BLOCKS:
        return LATIN
    return LOW if _is_low(one) and _is_low(other) else ELSEWHERE


def _is_low(window: int) -> bool:
    return window < HANGUL or window in {LATIN, LOW}


@lru_cache(maxsize=1 << 14)
def _measured(text: str) -> int:
    return len(punycode(text))
