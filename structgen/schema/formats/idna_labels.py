"""The rules of IDNA2008 for one label of an internationalised host name.

Code points follow RFC 5892, worked out from Python's `unicodedata` with the rules of its section 3
(so the Unicode version is Python's); contextual rules are its appendix A; direction is the Bidi
rule of RFC 5893 section 2, for the label alone. Python has no table of scripts and of joining
types: scripts are read off character names, and a ZERO WIDTH NON-JOINER without a virama before it
is allowed only between letters of the Arabic block.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_ALLOWED = frozenset("ßς་〇\u06fd\u06fe")
_FORBIDDEN = frozenset("\u0640\u07fa\u302e\u302f\u3031\u3032\u3033\u3034\u3035\u303b")
CONTEXTUAL = frozenset("\u200c\u200d\u00b7\u0375\u05f3\u05f4\u30fb")
ARABIC_DIGITS = frozenset(map(chr, range(0x660, 0x66A)))
PERSIAN_DIGITS = frozenset(map(chr, range(0x6F0, 0x6FA)))
_EITHER_WAY = ("EN", "ES", "CS", "ET", "ON", "BN", "NSM")  # may stand in labels of both directions
CATEGORIES = frozenset("Ll Lu Lo Nd Lm Mn Mc".split())  # of letters and digits
OTHERS = _ALLOWED | CONTEXTUAL  # permitted whatever their category
KANA_AND_HAN = (
    "HIRAGANA ", "KATAKANA ", "CJK UNIFIED IDEOGRAPH",
    "IDEOGRAPHIC ITERATION MARK", "IDEOGRAPHIC NUMBER ZERO",
)  # fmt: skip
_VIRAMA = 9  # canonical combining class

# Default ignorable letters and marks, blocks left out by RFC 5892 2.4, conjoining Jamo of 2.9.
_FORBIDDEN_RANGES = (
    (0x034F, 0x034F), (0x1100, 0x11FF), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x20D0, 0x20FF),
    (0x3164, 0x3164), (0xA960, 0xA97C), (0xD7B0, 0xD7FB), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0),
    (0x1D100, 0x1D1FF), (0x1D200, 0x1D24F), (0xE0000, 0xE0FFF),
)  # fmt: skip
_FORBIDDEN_POINTS = frozenset(
    point for low, high in _FORBIDDEN_RANGES for point in range(low, high + 1)
)
# Arabic letters that join only to the right (ArabicShaping.txt, type R, letters of RFC 5892 A.1).
_JOIN_RIGHT = frozenset(
    "\u0622\u0623\u0624\u0625\u0627\u0629\u062f\u0630\u0631\u0632\u0648"
    + "".join(map(chr, [*range(0x671, 0x674), *range(0x675, 0x678), *range(0x688, 0x69A)]))
    + "\u06c0\u06c3\u06c4\u06c5\u06c6\u06c7\u06c8\u06c9\u06ca\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5"
    + "\u06ee\u06ef"
)


@lru_cache(maxsize=1 << 16)
def permitted(letter: str) -> bool:
    """RFC 5892 section 3: is the code point PVALID, or allowed where its context fits?"""
    if letter in _ALLOWED or letter in CONTEXTUAL:
        return True
    if letter in _FORBIDDEN:
        return False
    if letter.isascii():
        return letter in "abcdefghijklmnopqrstuvwxyz0123456789-"
    point = ord(letter)
    if unicodedata.category(letter) not in CATEGORIES:
        return False
    if point in _FORBIDDEN_POINTS:
        return False
    folded = unicodedata.normalize("NFKC", letter).casefold()
    return folded == letter or unicodedata.normalize("NFKC", folded) == letter


def is_script(letter: str, *names: str) -> bool:
    """Does the name of a letter begin with one of these?"""
    return unicodedata.name(letter, "").startswith(names)


def _context_fits(text: str, at: int) -> bool:
    """RFC 5892 appendix A, for the contextual code point at an index."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    match text[at]:
        case "\u200d":
            return _after_virama(before)
        case "\u200c":
            return _after_virama(before) or _between_joiners(text, at)
        case "\u00b7":
            return before == "l" and after == "l"
        case "\u0375":
            return is_script(after, "GREEK ") if after else False
        case "\u05f3" | "\u05f4":
            return is_script(before, "HEBREW ") if before else False
        case _:
            others = (letter for letter in text if letter != "\u30fb")
            return any(is_script(letter, *KANA_AND_HAN) for letter in others)


def _after_virama(before: str) -> bool:
    return before != "" and unicodedata.combining(before) == _VIRAMA


def _between_joiners(text: str, at: int) -> bool:
    """(joins left) transparent* ZWNJ transparent* (joins right), within the Arabic block."""
    left, right = at - 1, at + 1
    while left >= 0 and unicodedata.category(text[left]) == "Mn":
        left -= 1
    while right < len(text) and unicodedata.category(text[right]) == "Mn":
        right += 1
    if left < 0 or right >= len(text):
        return False
    return joining(text[left]) == "D" and joining(text[right]) != ""


def joining(letter: str) -> str:
    """Give "D" for an Arabic letter that joins to both sides, "R" to the right only, else ""."""
    in_block = 0x620 <= ord(letter) <= 0x6FF and letter not in "\u0621\u0674"
    if not in_block or unicodedata.category(letter) != "Lo":
        return ""
    return "R" if letter in _JOIN_RIGHT else "D"


def _direction_fits(text: str) -> bool:
    """RFC 5893 section 2, rules 1 to 6, for a label with a right-to-left character."""
    kinds = [unicodedata.bidirectional(letter) for letter in text]
    if not {"R", "AL", "AN"}.intersection(kinds):
        return True
    if kinds[0] not in ("R", "AL"):
        return False
    if not {"R", "AL", "AN", *_EITHER_WAY}.issuperset(kinds):
        return False
    while kinds[-1] == "NSM":
        kinds.pop()
    return kinds[-1] in ("R", "AL", "EN", "AN") and not {"EN", "AN"}.issubset(kinds)


def label_direction(text: str) -> str:
    """The direction of a label that fits: "R", "L", or "N" for one that RFC 5893 does not know.

    A name with an "R" label must have no "N" label, such as one that begins with a digit.
    """
    kinds = [unicodedata.bidirectional(letter) for letter in text]
    if {"R", "AL", "AN"}.intersection(kinds):
        return "R"
    known = kinds[0] == "L" and {"L", *_EITHER_WAY}.issuperset(kinds)
    while kinds[-1] == "NSM":
        kinds.pop()
    return "L" if known and kinds[-1] in ("L", "EN") else "N"


def label_fits(text: str) -> bool:
    """RFC 5891 section 5.4 for one label, a U-label or plain ASCII in lower case."""
    if not text or text[0] == "-" or text[-1] == "-" or text[2:4] == "--":
        return False
    if unicodedata.category(text[0]).startswith("M") or unicodedata.normalize("NFC", text) != text:
        return False
    if not all(map(permitted, text)):
        return False
    if not all(_context_fits(text, at) for at, c in enumerate(text) if c in CONTEXTUAL):
        return False
    if not (ARABIC_DIGITS.isdisjoint(text) or PERSIAN_DIGITS.isdisjoint(text)):
        return False
    return _direction_fits(text)


def punycode(text: str) -> str:
    """The Punycode of a label (RFC 3492), without the prefix `xn--`."""
    return text.encode("punycode").decode("ascii")
