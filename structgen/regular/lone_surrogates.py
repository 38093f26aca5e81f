r"""Unpaired surrogates as characters of languages: each has a character that stands in for it.

Languages hold Unicode scalar values. Where a JSON string may have unpaired surrogates (`\ud800`),
each is read as one of the last 2048 code points, which are private ones of plane 16 and then stand
for nothing else: a constant or class of characters cannot name them, and in a text they are read as
the private characters before them. High and low halves in a row are no two characters, but the one
that they spell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from structgen.regular.charset import CharSet
from structgen.regular.regex import ANY, Regex, chars, complement, concat

FIRST, LAST = 0xD800, 0xDFFF  # surrogates
STAND_IN = 0x10F800  # the first character that stands in for one
SHIFT = STAND_IN - FIRST  # from a surrogate to its stand-in
STAND_INS = CharSet.of([(STAND_IN, LAST + SHIFT)])

_HIGH = CharSet.of([(STAND_IN, STAND_IN + 0x3FF)])
#: the texts that can be written: without a high half before a low one
WRITABLE: Regex = complement(concat(ANY, chars(_HIGH), chars(STAND_INS - _HIGH), ANY))

# patterns of `re`, which compiles them when they are needed
_LONE = "[\ud800-\udfff]"
_UNWRITABLE = "[\ud800-\udbff][\udc00-\udfff]|[\U0010f800-\U0010ffff]"
_NAMED = r"[\ud800-\udfff]|\\u\{?0*[dD][89a-fA-F]"
_SPECIAL = "[\ud800-\udfff\U0010f800-\U0010ffff]"
_WITH_SURROGATES = frozenset(("C", "Cs", "Other", "Surrogate", "Any", "Assigned"))


def with_stand_ins(text: str) -> str | None:
    """A text with its surrogates replaced; None for one that no JSON string has."""
    if text.isascii():
        return text
    if re.search(_UNWRITABLE, text):
        return None
    return re.sub(_LONE, lambda half: chr(ord(half[0]) + SHIFT), text)


def with_surrogates(text: str) -> str:
    """The text that one with its surrogates replaced stands for."""
    if not has_stand_in(text):
        return text
    return "".join(chr(ord(c) - SHIFT) if ord(c) >= STAND_IN else c for c in text)


def has_stand_in(text: str) -> bool:
    """Whether a text with its surrogates replaced has some."""
    return not text.isascii() and max(text) >= chr(STAND_IN)


def members(ranges: Iterable[tuple[int, int]]) -> CharSet:
    """The set of some ranges of code points, surrogates replaced."""
    listed = [*ranges]
    halves = [(max(a, FIRST) + SHIFT, min(b, LAST) + SHIFT) for a, b in listed]
    return (CharSet.of(listed) - STAND_INS) | CharSet.of([(a, b) for a, b in halves if a <= b])


def property_members(name: str, found: CharSet) -> CharSet:
    """The set of a property of Unicode, surrogates replaced."""
    has_surrogates = name.rpartition("=")[2] in _WITH_SURROGATES
    return found | STAND_INS if has_surrogates else found - STAND_INS


def names_surrogates(pattern: str) -> bool:
    """Whether a pattern names surrogates, so that it may treat some of them differently."""
    return re.search(_NAMED, pattern) is not None


def escaped(pattern: str) -> str:
    """A pattern with escapes for surrogates, and for what would stand in for them."""
    return re.sub(_SPECIAL, lambda letter: f"\\u{{{ord(letter[0]):x}}}", pattern)
