"""Character sets of Unicode properties and of ECMA-262's class escapes.

The data is that of Python's own `unicodedata`, so its Unicode version is Python's. General
categories are exact, as are the binary properties listed below. Scripts, and the properties that
Python holds no data for, are those of the package `regex` (which tokenizers need as well), with its
version of Unicode; without it `property_set` returns None for them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import pairwise

import numpy as np

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
_BLOCK = 256  # characters
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
        text = np.arange(low, high, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
        names = np.frombuffer("".join(map(unicodedata.category, text)).encode(), "S2")
        starts = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist(), len(names)]
        for start, end in pairwise(starts):
            spans.setdefault(names[start].decode(), []).append((low + start, low + end - 1))
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


_SCRIPT_KEYS = {
    "Script": "Script", "sc": "Script",
    "Script_Extensions": "Script_Extensions", "scx": "Script_Extensions",
}  # fmt: skip
_SCRIPT_NAME = re.compile("[A-Z][A-Za-z_]*").fullmatch
# Binary properties of ECMA-262 that Python has no data for, by their short names.
_SHORT_OF_REGEX = {
    "Alpha": "Alphabetic", "CI": "Case_Ignorable", "CWCF": "Changes_When_Casefolded",
    "CWCM": "Changes_When_Casemapped", "CWKCF": "Changes_When_NFKC_Casefolded",
    "CWL": "Changes_When_Lowercased", "CWT": "Changes_When_Titlecased",
    "CWU": "Changes_When_Uppercased", "DI": "Default_Ignorable_Code_Point", "Dep": "Deprecated",
    "Dia": "Diacritic", "EComp": "Emoji_Component", "EMod": "Emoji_Modifier",
    "EBase": "Emoji_Modifier_Base", "EPres": "Emoji_Presentation",
    "ExtPict": "Extended_Pictographic", "Ext": "Extender", "Gr_Base": "Grapheme_Base",
    "Gr_Ext": "Grapheme_Extend", "IDSB": "IDS_Binary_Operator", "IDST": "IDS_Trinary_Operator",
    "IDC": "ID_Continue", "IDS": "ID_Start", "Ideo": "Ideographic",
    "LOE": "Logical_Order_Exception", "Pat_Syn": "Pattern_Syntax",
    "Pat_WS": "Pattern_White_Space", "QMark": "Quotation_Mark", "STerm": "Sentence_Terminal",
    "SD": "Soft_Dotted", "Term": "Terminal_Punctuation", "UIdeo": "Unified_Ideograph",
    "VS": "Variation_Selector",
}  # fmt: skip
_OF_REGEX = {*_SHORT_OF_REGEX.values(), "Cased", "Dash", "Emoji", "Math", "Radical"}


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

    `name` is a general category (`L`, `Lu`, `Letter`, `gc=Lu`, `General_Category=Letter`), a script
    (`Script=Greek`, `sc=Grek`, `scx=Han`) or a binary property of ECMA-262, spelled as there.
    """
    key, equals, value = name.partition("=")
    if equals and key in ("gc", "General_Category"):
        return _category(value)
    if equals:
        known = _SCRIPT_KEYS.get(key) if _SCRIPT_NAME(value) else None
        return None if known is None else _of_regex(f"{known}={value}")
    long = _SHORT_BINARY.get(name, _SHORT_OF_REGEX.get(name, name))
    if long in _OF_REGEX:
        return _of_regex(long)
    make = _BINARY.get(long)
    return make() if make else _category(name)


def _of_regex(name: str) -> CharSet | None:
    """The set of a property that the package `regex` knows; None without it, or for others."""
    try:
        import regex
    except ImportError:
        return None
    try:
        found = regex.compile(rf"\p{{{name}}}+")
    except regex.error:
        return None
    return CharSet.of(
        (low + match.start(), low + match.end() - 1)
        for low, text in _texts()
        for match in found.finditer(text)
    )


@cache
def _texts() -> list[tuple[int, str]]:
    """All characters that may have such properties, in runs, and the first of each."""
    runs = ((0, 0xD800), (0xE000, 0x40000), (0xE0000, 0xE1000))
    return [(low, "".join(map(chr, range(low, high)))) for low, high in runs]


def needs_regex(name: str) -> bool:
    """Whether a property is unknown because the package `regex` is missing."""
    long = _SHORT_OF_REGEX.get(name, name)
    of_regex = long in _OF_REGEX or name.partition("=")[0] in _SCRIPT_KEYS
    return of_regex and find_spec("regex") is None


@cache
def property_names() -> list[str]:
    """All names that `property_set` knows."""
    categories = {*_LONG_NAMES, *_LONG_NAMES.values()}
    prefixed = [f"{key}={name}" for key in ("gc", "General_Category") for name in categories]
    return sorted({*categories, *prefixed, *_BINARY, *_SHORT_BINARY})


@cache
def _folds() -> dict[int, CharSet]:
    """For each character with others in its place, all of them: those with one simple case fold."""
    found: dict[str, list[int]] = {}
    cased = (text for text in _blocks() if _has_case(text))
    for letter in (letter for text in cased for letter in text if _has_case(letter)):
        found.setdefault(_fold(letter), []).append(ord(letter))
        found.setdefault(_fold(letter), []).append(ord(_fold(letter)))
    groups = [CharSet.of((p, p) for p in points) for points in found.values()]
    return {low: group for group in groups for lo, hi in group.ranges for low in range(lo, hi + 1)}


def _blocks() -> Iterator[str]:
    """All characters that may be assigned, in texts of which few have letters of two cases."""
    for low, high in _SCANNED:
        for begin in range(low, high, _BLOCK):
            yield "".join(map(chr, range(begin, begin + _BLOCK)))


def _has_case(text: str) -> bool:
    """Whether a letter of a text has another case."""
    return not text.lower() == text.upper() == text.casefold() == text


def _fold(letter: str) -> str:
    """The simple case folding of a letter: one character."""
    for folded in (letter.casefold(), letter.lower()):
        if len(folded) == 1:
            return folded
    return letter


@lru_cache(maxsize=1024)
def either_case(members: CharSet) -> CharSet:
    """The characters that flag `i` takes for members of a set."""
    found = [group for point, group in _folds().items() if point in members]
    return union_all([members, *found])
