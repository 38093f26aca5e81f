"""A bound on the length of an internationalised label in Punycode, from counts of its letters.

The exact length of a Punycode depends on every letter and its position, so to know it at the end of
a label would take a state per label. Instead `idna_limits` counts its letters and keeps the window
of Unicode that they lie in; `LIMITS` says how many letters of a window fit into 63 characters in
the worst case. It was found by dynamic programming over RFC 3492, section 6.3, and its test repeats
that. Only labels that begin with one of the few letters that `idna_classes.COUNTED` lists, and have
no others beyond ASCII, are remembered letter by letter, and measured.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from structgen.schema.formats.idna_classes import CJK, ELSEWHERE, HANGUL, LATIN, LOW
from structgen.schema.formats.idna_labels import punycode

MAX_LABEL = 63
PREFIX = "xn--"
# ASCII characters before the first other letter are rounded up to a multiple of it, so that labels
# that differ in these alone have the same states.
ROUNDED = 8
_LATIN_BLOCKS = frozenset((0, 1, 2, LATIN))
_ENOUGH = 57  # ASCII characters with which no other letter is sure to fit
MOST_OTHERS = 26  # letters beyond ASCII: beside so many, no other one fits

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
MOST_DIGITS = 7  # that a letter or a dot takes of a name at most, with the prefix of its label


@cache
def free_beside(kind: int, most: int = 1) -> npt.NDArray[np.int16]:
    """int16[p, n]: how many more characters, of ASCII and a kind of window, leave a label short.

    Beside p characters of ASCII and n others; below zero if these are too many already. most: for
    how many a character of ASCII behind others counts.
    """
    sizes = np.ogrid[: MAX_LABEL + 1, : MAX_LABEL + 1, : MOST_OTHERS + 1]
    more, plain, others = (size.astype(np.int16) for size in sizes)  # more: of ASCII
    alone, beside = plain + more, plain + most * more  # so many then, without others and with some
    beside = np.where(others, beside, _rounded(beside))  # all of them may come before others
    limits = np.array(LIMITS[kind], np.int16)[np.minimum(beside, _ENOUGH - 1)]
    added = np.where(beside >= _ENOUGH, 0, limits + 1) - others  # others that make it too long
    added = np.where(
        (others == 0) & (_rounded(alone) >= _ENOUGH), 0, np.maximum(added, others == 0)
    )
    found: npt.NDArray[np.int16] = (more + np.maximum(added, 0)).min(axis=0) - np.int16(1)
    return found


def _rounded(plain: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    return -(-plain // ROUNDED) * ROUNDED


def kind_of(window: int) -> int:
    """The key of `LIMITS` for a window: blocks of 256 letters share one."""
    return window if window in LIMITS else 0


def joined(one: int, other: int) -> int:
    """The window of letters of two windows; -1 stands for none."""
    if one in {-1, other}:
        return other
    if {one, other} <= _LATIN_BLOCKS:
        return LATIN
    return LOW if _is_low(one) and _is_low(other) else ELSEWHERE


def _is_low(window: int) -> bool:
    return window < HANGUL or window in {LATIN, LOW}


@lru_cache(maxsize=1 << 14)
def measured(text: str) -> int:
    """The length of the Punycode of a label."""
    return len(punycode(text))
