"""A bound on the length of an internationalised label in Punycode, from counts of its letters.

The exact length of a Punycode depends on every letter and its position, so to know it at the end of
a label would take a state per label. Instead the size of a label is the number of its letters and
the window of Unicode that they lie in; `LIMITS` says how many letters of a window fit into 63
characters in the worst case. It was found by dynamic
programming over RFC 3492, section 6.3, and its test repeats that. Only labels of the few letters
that `idna_classes.COUNTED` lists are remembered letter by letter, and measured.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from structgen.schema.formats.idna_classes import CJK, ELSEWHERE, HANGUL, LATIN, LOW
from structgen.schema.formats.idna_labels import punycode

MAX_LABEL = 63
PREFIX = "xn--"
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
        text = ""
        if itself and (self.text or not self.others):
            text = (self.text or "a" * self.ascii) + itself
        return Size(self.ascii, self.others + 1, _joined(self.window, window), text)

    @property
    def length(self) -> int:
        """An upper bound on the length of the A-label; exact where `text` is known."""
        if not self.others:
            return self.ascii
        if self.text:
            return len(PREFIX) + _measured(self.text)
        bound = self.ascii + 1 + self.others * _DIGITS[_kind(self.window)]
        return min(len(PREFIX) + bound, MAX_LABEL)

    def fits(self, left: int) -> bool:
        """Whether the A-label certainly has at most 63 characters, and at most `left`."""
        if self.others and not self.text:
            table = LIMITS[_kind(self.window)]
            if self.ascii >= _ENOUGH or self.others > table[self.ascii]:
                return False
        return self.length <= min(left, MAX_LABEL)


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
