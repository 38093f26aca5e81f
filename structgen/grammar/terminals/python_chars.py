"""The character sets of classes and case-insensitive characters in Python patterns.

They are those of the version of Unicode that this Python has: `re` asks its strings whether a
character is a digit, white space or a letter, and so does this module, of many at once.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from re import _constants as sre
from typing import Any

import numpy as np

from structgen.regular.charset import ALL, CharSet, union_all
from structgen.regular.syntax.unicode import WHITE_SPACE

LINE_FEED = CharSet.chars("\n")
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
# What `re` asks of a character that is not ASCII.
_UNICODE: dict[str, Callable[[Any], Any]] = {
    r"\d": np.strings.isdecimal,
    r"\w": np.strings.isalnum,
}
# Few characters are white space, and no version of Unicode has added one for long.
_WHITE_SPACE = WHITE_SPACE | CharSet.of([(0x1C, 0x1F)])
# What is left out is private, or holds no assigned character yet: no class has any of it.
_ASSIGNED = ((0, 0xD7FF), (0xF900, 0x33FFF), (0xE0000, 0xE0FFF))
_ASCII = 128
_SPAN = 1 << 13  # characters that are looked at together: few, so that no memory is taken anew
_BLOCK = 128  # characters of which it is asked at once whether one has another case
_CASED_AS_ASCII = f"{string.ascii_letters}\u0130\u0131\u017f\u212a"  # what ASCII letters match


@cache
def word_characters(flags: int) -> CharSet:
    r"""What `\w` stands for."""
    return _scanned(r"\w", flags & sre.SRE_FLAG_ASCII)


@lru_cache(maxsize=4096)
def literal_set(code: int, flags: int) -> CharSet:
    """The characters that one character of a pattern matches."""
    plain = CharSet.of([(code, code)])
    if not flags & sre.SRE_FLAG_IGNORECASE:
        return plain
    relevant = flags & (sre.SRE_FLAG_IGNORECASE | sre.SRE_FLAG_ASCII)
    if code < _ASCII:
        return _letters(relevant).get(chr(code).lower(), plain)
    return _any_case(re.escape(chr(code)), relevant, plain, ascii_only=False)


@cache
def _letters(flags: int) -> dict[str, CharSet]:
    """What each ASCII letter matches in any case."""
    each = re.compile("|".join(f"({letter})" for letter in string.ascii_lowercase), flags)
    found: dict[str, str] = dict.fromkeys(string.ascii_lowercase, "")
    for match in each.finditer(_CASED_AS_ASCII):
        found[string.ascii_lowercase[(match.lastindex or 0) - 1]] += match[0]
    return {letter: CharSet.chars(others) for letter, others in found.items()}


@lru_cache(maxsize=256)
def class_set(items: tuple[tuple[Any, Any], ...], flags: int) -> CharSet:
    """The characters of a class, given as `re`'s parser has it."""
    plain = _plain_class(items, flags)
    if not flags & sre.SRE_FLAG_IGNORECASE:
        return plain
    relevant = flags & (sre.SRE_FLAG_IGNORECASE | sre.SRE_FLAG_ASCII)
    ascii_only = not plain or plain.ranges[-1][1] < _ASCII
    return _any_case(_class_text(items), relevant, plain, ascii_only=ascii_only)


def _plain_class(items: tuple[tuple[Any, Any], ...], flags: int) -> CharSet:
    """The characters of a class where case matters."""
    found: list[CharSet] = []
    negated = False
    for kind, value in items:
        if kind is sre.NEGATE:
            negated = True
        elif kind is sre.LITERAL:
            found.append(CharSet.of([(value, value)]))
        elif kind is sre.RANGE:
            found.append(CharSet.of([value]))
        else:
            name = _CATEGORIES[value]
            members = _scanned(name.lower(), flags & sre.SRE_FLAG_ASCII)
            found.append(ALL - members if name.isupper() else members)
    members = union_all(found)
    return ALL - members if negated else members


def _class_text(items: tuple[tuple[Any, Any], ...]) -> str:
    """The class in the syntax of `re`."""
    text = ""
    for kind, value in items:
        if kind is sre.NEGATE:
            text += "^"
        elif kind is sre.LITERAL:
            text += re.escape(chr(value))
        elif kind is sre.RANGE:
            text += "-".join(re.escape(chr(end)) for end in value)
        else:
            text += _CATEGORIES[value]
    return f"[{text}]"


def _any_case(pattern: str, flags: int, plain: CharSet, *, ascii_only: bool) -> CharSet:
    """What a pattern for one character matches; `plain` is what it does where case matters."""
    cased = _CASED_AS_ASCII if ascii_only else _cased()
    found = CharSet.chars("".join(re.findall(pattern, cased, flags)))
    return found | (plain - CharSet.chars(cased))


@cache
def _cased() -> str:
    """All characters that have another case."""
    some = "".join(b for b in _blocks() if b.lower() != b or b.upper() != b)
    return "".join(c for c in some if c.lower() != c or c.upper() != c)


@cache
def _scanned(name: str, flags: int) -> CharSet:
    """What a class escape stands for."""
    plain = CharSet.chars("".join(re.findall(name, "".join(map(chr, range(_ASCII))), flags)))
    if flags & sre.SRE_FLAG_ASCII:
        return plain
    if name == r"\s":
        return _WHITE_SPACE
    found: list[tuple[int, int]] = []
    for low, high in _ASSIGNED:
        for at in range(low, high + 1, _SPAN):
            codes = np.arange(at, min(at + _SPAN, high + 1), dtype="<u4")
            inside = np.zeros(len(codes) + 2, np.bool_)  # nothing is a member before and behind
            inside[1:-1] = _UNICODE[name](codes.view("U1"))
            bounds = at + np.flatnonzero(inside[1:] != inside[:-1])
            found += zip(bounds[::2].tolist(), (bounds[1::2] - 1).tolist(), strict=True)
    return plain | CharSet.of(found)


def _blocks() -> Iterator[str]:
    """All characters that may be in some class, in order, some at a time."""
    for low, high in _ASSIGNED:
        for at in range(low, high + 1, _BLOCK):
            codes = np.arange(at, min(at + _BLOCK, high + 1), dtype="<u4")
            yield codes.tobytes().decode("utf-32-le")
