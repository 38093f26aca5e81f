"""Character sets of Unicode properties and of ECMA-262's class escapes.

The data is that of Python's own `unicodedata`, so its Unicode version is Python's. General
categories are exact, as are the binary properties listed below; scripts and the properties that
Python holds no data for are not offered: `property_set` returns None for them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise

from structgen.regular.charset import ALL, NONE, CharSet, union_all

DIGIT = CharSet.of([(0x30, 0x39)])
WORD = CharSet.of([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
LINE_END = CharSet.chars("\n\r\u2028\u2029")
WHITE_SPACE = CharSet.of([(0x9, 0xD), (0x2000, 0x200A)]) | CharSet.chars(
    " \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
)
SPACE = (WHITE_SPACE - CharSet.chars("\x85")) | CharSet.chars("\ufeff")  # \s of ECMA-262
_HEX = CharSet.of([(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)])

# Planes 4 to 13 hold no assigned character in any version of Unicode yet; 15 and 16 are private.
_SCANNED = ((0, 0x40000), (0xE0000, 0xE1000))
_PRIVATE_PLANES = ((0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))

_LONG_NAMES = {
    "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M",
    "Combining_Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me",
    "Number": "N", "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl",
    "Other_Number": "No", "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc",
    "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe",
    "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf", "Other_Punctuation": "Po",
    "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk",
    "Other_Symbol": "So", "Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl",
    "Paragraph_Separator": "Zp", "Other": "C", "Control": "Cc", "cntrl": "Cc", "Format": "Cf",
    "Surrogate": "Cs", "Private_Use": "Co", "Unassigned": "Cn",
}  # fmt: skip


@cache
def _categories() -> dict[str, CharSet]:
    """The character set of every two-letter general category."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for low, high in _SCANNED:
        names = [*map(unicodedata.category, map(chr, range(low, high)))]
        starts = [0, *(i for i, (a, b) in enumerate(pairwise(names), 1) if a != b), len(names)]
        for start, end in pairwise(starts):
            spans.setdefault(names[start], []).append((low + start, low + end - 1))
    spans.setdefault("Co", []).extend(_PRIVATE_PLANES)
    sets = {name: CharSet.of(ranges) for name, ranges in spans.items() if name != "Cn"}
    return {**sets, "Cs": NONE, "Cn": ALL - union_all(list(sets.values()))}


def _where(test: Callable[[str], bool]) -> CharSet:
    """All assigned characters that pass a test."""
    points = (
        point
        for chars in _categories().values()
        if chars is not _categories()["Cn"]
        for low, high in chars.ranges
        if low < 0xF0000
        for point in range(low, high + 1)
    )
    return CharSet.of((point, point) for point in points if test(chr(point)))


_BINARY: dict[str, Callable[[], CharSet]] = {
    "Any": lambda: ALL,
    "ASCII": lambda: CharSet.of([(0, 0x7F)]),
    "Assigned": lambda: ALL - _categories()["Cn"],
    "ASCII_Hex_Digit": lambda: _HEX,
    "Hex_Digit": lambda: _HEX | CharSet.of([(0xFF10, 0xFF19), (0xFF21, 0xFF26), (0xFF41, 0xFF46)]),
    "White_Space": lambda: WHITE_SPACE,
    "Uppercase": lambda: _where(str.isupper),
    "Lowercase": lambda: _where(str.islower),
    "XID_Start": lambda: _where(str.isidentifier) - CharSet.chars("_"),
    "XID_Continue": lambda: _where(lambda letter: ("a" + letter).isidentifier()),
    "Bidi_Mirrored": lambda: _where(lambda letter: unicodedata.mirrored(letter) == 1),
    "Join_Control": lambda: CharSet.of([(0x200C, 0x200D)]),
    "Noncharacter_Code_Point": lambda: CharSet.of(
        [(0xFDD0, 0xFDEF)] + [(p + 0xFFFE, p + 0xFFFF) for p in range(0, 0x110000, 0x10000)]
    ),
    "Regional_Indicator": lambda: CharSet.of([(0x1F1E6, 0x1F1FF)]),
}
_SHORT_BINARY = {
    "AHex": "ASCII_Hex_Digit", "Hex": "Hex_Digit", "space": "White_Space", "Upper": "Uppercase",
    "Lower": "Lowercase", "XIDS": "XID_Start", "XIDC": "XID_Continue", "Bidi_M": "Bidi_Mirrored",
    "Join_C": "Join_Control", "NChar": "Noncharacter_Code_Point", "RI": "Regional_Indicator",
}  # fmt: skip


def _category(name: str) -> CharSet | None:
    short = _LONG_NAMES.get(name, name)
    if short == "LC":
        short_names = ["Lu", "Ll", "Lt"]
    else:
        short_names = [key for key in _categories() if key == short or key[0] == short]
    return union_all([_categories()[key] for key in short_names]) if short_names else None


@lru_cache(maxsize=256)
def property_set(name: str) -> CharSet | None:
    r"""The set that `\p{name}` stands for, None when the name is unknown or without data.

    `name` is a general category (`L`, `Lu`, `Letter`, `gc=Lu`, `General_Category=Letter`) or one of
    the binary properties above, spelled exactly as ECMA-262 wants it.
    """
    key, equals, value = name.partition("=")
    if equals:
        return _category(value) if key in ("gc", "General_Category") else None
    make = _BINARY.get(_SHORT_BINARY.get(name, name))
    return make() if make else _category(name)


@cache
def property_names() -> list[str]:
    """All names that `property_set` knows."""
    categories = {*_LONG_NAMES, *_LONG_NAMES.values()}
    prefixed = [f"{key}={name}" for key in ("gc", "General_Category") for name in categories]
    return sorted({*categories, *prefixed, *_BINARY, *_SHORT_BINARY})
