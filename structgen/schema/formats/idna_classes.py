"""The letters of internationalised host names, in classes that no rule of IDNA2008 tells apart.

Two letters of one class are equivalent in every rule of RFC 5891 to 5893 and in the bound on the
length of Punycode (`formats.idna_sizes`), so the automaton needs one transition per class.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import accumulate, groupby
from typing import NamedTuple

from structgen.regular.charset import ALL, CharSet
from structgen.schema.formats import idna_labels as rules

LAST = 0x32000  # no letter is behind it
# Blocks of ideographs and syllables: all that are assigned are permitted, and alike.
UNIFORM = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA016, 0xA48C),
    (0xAC00, 0xD7A3),
    (0x12000, 0x123FF),
    (0x13000, 0x1343F),
    (0x14400, 0x1467F),
    (0x16800, 0x16A3F),
    (0x17000, 0x18CFF),
    (0x1B170, 0x1B2FF),
    (0x20000, 0x2F7FF),
    (0x30000, LAST),
)  # fmt: skip
_BLOCK = 8  # letters below U+2000 are grouped by 256
COUNTED = "αβγδεζηθικλμνξοπρςστυφχψωάέήίόύώϊϋΐΰ"  # labels of these letters are kept in states


class Letter(NamedTuple):
    """All that the rules use of a letter beyond ASCII.

    window: the part of Unicode that it is in, see `idna_sizes`. itself: the letter, if it is one
    of `COUNTED`. context: the letter, if it has a contextual rule. script: "greek", "hebrew",
    "kana" (Han too) or "". combines: is it a mark, which cannot begin a label? order: canonical
    combining class. composes: does it compose with some mark? mark: is it such a mark? direction:
    L, R (AL too), AN, EN, NSM, "N" (may stand anywhere), "-" (not in right-to-left labels). joins:
    "D" to the left and right, "R" to the right, "T" transparent. digits: 1 Arabic-Indic, 2 extended
    Arabic-Indic.
    """

    window: int
    itself: str
    context: str
    script: str
    combines: bool
    order: int
    composes: bool
    mark: bool
    direction: str
    joins: str
    digits: int


HANGUL, CJK, ELSEWHERE, LATIN, LOW = range(0x2000, 0x2005)  # LOW: all below U+2000
_DIRECTIONS = {"L": "L", "R": "R", "AL": "R", "AN": "AN", "EN": "EN", "NSM": "NSM"}
_NEUTRAL = frozenset(("ES", "CS", "ET", "ON", "BN"))


def window_of(point: int) -> int:
    """The window of a code point: its block of 256, or one of the larger windows."""
    if point < 0x2000:
        return point >> _BLOCK
    if 0x3000 <= point <= 0x9FFF:
        return CJK
    return HANGUL if 0xAC00 <= point <= 0xD7A3 else ELSEWHERE


@cache
def composing() -> tuple[frozenset[str], frozenset[str]]:
    """The letters that compose with marks in normal form C, and these marks."""
    letters: set[str] = set()
    marks: set[str] = set()
    alike = CharSet.of(UNIFORM)  # of these no letter has parts
    points = (ALL & CharSet.of([(0x80, 0x30000)]) & ~alike).ranges
    for letter in (chr(point) for low, high in points for point in range(low, high + 1)):
        written = unicodedata.decomposition(letter)
        if not written or written[0] == "<":
            continue
        parts = written.split()
        letters.add(letter)
        if len(parts) == 2:
            letters.add(chr(int(parts[0], 16)))
            marks.add(chr(int(parts[1], 16)))
    return frozenset(letters), frozenset(mark for mark in marks if rules.permitted(mark))


@cache
def ascii_marks() -> frozenset[str]:
    """The marks that compose with some ASCII letter."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    marks = filter(rules.permitted, map(chr, range(0x300, 0x370)))  # they are all in this block
    return frozenset(m for m in marks if not all(_stays(a + m) for a in letters))


def _stays(text: str) -> bool:
    return unicodedata.normalize("NFC", text) == text


def letter_of(char: str) -> Letter:
    """The properties of a permitted letter beyond ASCII."""
    letters, marks = composing()
    bidi = unicodedata.bidirectional(char)
    category, named = unicodedata.category(char), unicodedata.name(char, "")
    script = _SCRIPTS.get(named[:6], "") if named.startswith(_NAMES) else ""
    joins = "T" if category == "Mn" else rules.joining(char)
    digits = 1 if char in rules.ARABIC_DIGITS else 2 if char in rules.PERSIAN_DIGITS else 0
    return Letter(
        window_of(ord(char)),
        char if char in COUNTED else "",
        char if char in rules.CONTEXTUAL else "",
        script,
        category[0] == "M",
        unicodedata.combining(char),
        char in letters,
        char in marks,
        _DIRECTIONS.get(bidi, "N" if bidi in _NEUTRAL else "-"),
        joins,
        digits,
    )


_NAMES = ("GREEK ", "HEBREW ", *rules.KANA_AND_HAN)
_SCRIPTS = {name[:6]: "kana" for name in _NAMES} | {"GREEK ": "greek", "HEBREW": "hebrew"}


@cache
def classes() -> tuple[tuple[CharSet, Letter], ...]:
    """All permitted letters beyond ASCII: the set and the properties of each class."""
    found: dict[Letter, list[tuple[int, int]]] = {}
    alike = CharSet.of(UNIFORM)
    judged: Callable[[str], bool] = rules.permitted.__wrapped__  # each is asked once
    for low, high in (ALL & CharSet.of([(0x80, LAST)]) & ~alike).ranges:
        chars = [*map(chr, range(low, high + 1))]
        for char, category in zip(chars, map(unicodedata.category, chars), strict=True):
            if (category in rules.CATEGORIES or char in rules.OTHERS) and judged(char):
                found.setdefault(letter_of(char), []).append((ord(char), ord(char)))
    for low, high in UNIFORM:
        categories = [*map(unicodedata.category, map(chr, range(low, high + 1)))]
        runs = [(assigned, len([*run])) for assigned, run in groupby(categories, "Lo".__eq__)]
        begins = accumulate((count for _, count in runs), initial=low)
        spans = [(a, a + n - 1) for a, (of, n) in zip(begins, runs, strict=False) if of]
        if spans:
            found.setdefault(letter_of(chr(spans[0][0])), []).extend(spans)
    return tuple((CharSet.of(points), letter) for letter, points in found.items())
