r"""How JSON strings spell characters, as regular languages: as themselves, `\n`, `\u000a`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from structgen.automata.lexer.lexer import ESCAPES, SOLIDUS
from structgen.regular.charset import CharSet
from structgen.regular.regex import EPSILON, Regex, alt, chars, concat, literal
from structgen.regular.utf8 import ASTRAL, Segment, blocks

_PLAIN = ~CharSet.of([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])  # characters that need no escape
_SHORT = CharSet.of([(code, code) for code in ESCAPES.values()])
_LETTERS = {code: chr(letter) for letter, code in ESCAPES.items()}
_HEX_ONLY = ~_PLAIN - _SHORT
_BASIC = CharSet.of([(0, ASTRAL - 1)])  # characters with one \\u
_HIGH, _LOW, _HALF = 0xD800, 0xDC00, 0x400


@lru_cache(maxsize=4096)
def canonical(members: CharSet) -> Regex:
    """The only spelling of each character where strings have the escapes that they need."""
    short = members & _SHORT - CharSet.of([(SOLIDUS, SOLIDUS)])
    return alt(
        chars(members & _PLAIN),
        _escaped(short),
        concat(literal("\\u"), _digits(_segments(members & _HEX_ONLY), 4, capitals=False)),
    )


@lru_cache(maxsize=4096)
def any_spelling(members: CharSet) -> Regex:
    """All spellings of each character."""
    astral = _segments(members - _BASIC, ASTRAL)
    pairs = [
        concat(
            literal("\\u"),
            _digits([Segment(_HIGH + first, _HIGH + last, None)], 4),
            literal("\\u"),
            _digits([Segment(_LOW + low.lo, _LOW + low.hi, None) for low in inside], 4),
        )
        for first, last, inside in blocks(astral, _HALF)
    ]
    return alt(
        chars(members & _PLAIN),
        _escaped(members & _SHORT),
        concat(literal("\\u"), _digits(_segments(members & _BASIC), 4)),
        *pairs,
    )


def _segments(members: CharSet, start: int = 0) -> list[Segment[None]]:
    """The ranges of a set, counted from `start`."""
    return [Segment(first - start, last - start, None) for first, last in members.ranges]


def _escaped(members: CharSet) -> Regex:
    """Short escapes: a backslash and a letter."""
    letters = "".join(_LETTERS[code] for code in _LETTERS if code in members)
    return concat(literal("\\"), chars(CharSet.chars(letters)))


def _digits(segments: Sequence[Segment[None]], count: int, *, capitals: bool = True) -> Regex:
    """The numbers in some segments in `count` hexadecimal digits."""
    if count == 0:
        return EPSILON
    return alt(
        *(
            concat(
                chars(_hexadecimal(range(first, last + 1), capitals)),
                _digits(inside, count - 1, capitals=capitals),
            )
            for first, last, inside in blocks(segments, 16 ** (count - 1))
        )
    )


def _hexadecimal(digits: Iterable[int], capitals: bool) -> CharSet:
    small = "".join(f"{digit:x}" for digit in digits)
    return CharSet.chars(small + small.upper() if capitals else small)
