"""In: nothing. Out: the language of host names, labels of the form `xn--...` included.

Plain labels are a regular expression. Whether `xn--...` is an A-label depends on the Punycode
behind it, so those labels are a foreign automaton whose states are the texts read so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from structgen.automaton.charset import CharSet
from structgen.automaton.regex import (
    ANY_CHAR,
    Regex,
    alt,
    concat,
    intersect,
    leaf,
    literal,
    repeat,
)
from structgen.automaton.regex_syntax import parse
from structgen.spec.idna_labels import a_label_fits, punycode

_MAX_NAME = 253
_MAX_CODE = 63 - len("xn--")
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-"
_MOVES = [(CharSet.chars(letter + letter.upper()), letter) for letter in _LETTERS]

_ROOMY = 50

# A label of letters, digits and hyphens (RFC 1123 section 2.1) that does not begin with `xn--`.
_PLAIN_LABEL = (
    "<no x>(?:<h>{0,61}<l>)?"
    "|[xX](?:<l>|<no n><h>{0,60}<l>)?"
    "|[xX][nN]<l>(?:<h>{0,59}<l>)?"
    "|[xX][nN]-<l>(?:<h>{0,58}<l>)?"
)


@dataclass(frozen=True)
class _ALabel:
    """What may follow `xn--` and `code`.

    A text stays alive while it can become an A-label by completions that add one or two letters
    "ß" to what it spells. Completions of other kinds matter only within the last few characters of
    a label of more than 55; of those labels some that are allowed are therefore left out.
    """

    code: str
    shortest: ClassVar[int] = 0
    live: ClassVar[bool] = True

    @property
    def nullable(self) -> bool:
        """Is the label complete?"""
        return a_label_fits(self.code)

    def moves(self) -> list[tuple[CharSet, _ALabel]]:
        """The letters that keep an A-label within reach."""
        found = ((chars, self.code + letter) for chars, letter in _MOVES)
        return [(chars, _ALabel(code)) for chars, code in found if _alive(code)]


def _alive(code: str) -> bool:
    """Does some A-label begin with this text? See `_ALabel` for what it leaves out."""
    if len(code) > _MAX_CODE:
        return False
    if len(code) <= _ROOMY and code[:1] != "-" and code[2:4] != "--":
        return True  # with "ß" at its end the text is a label: four to five characters more
    return _alive_near_the_end(code)


@lru_cache(maxsize=1 << 12)
def _alive_near_the_end(code: str) -> bool:
    if a_label_fits(code) or any(map(a_label_fits, _completions(code))):
        return True
    base, hyphen, _ = code.rpartition("-")
    return hyphen != "" and any(
        text.startswith(code) and a_label_fits(text) for text in _completions(base)
    )


def _completions(base: str) -> Iterator[str]:
    """The Punycode of `base` with one or two "ß" put in, where it is not too long."""
    spots = range(len(base), -1, -1)
    for text in [*(base[:at] + "ß" + base[at:] for at in spots), f"ß{base}ß"]:
        code = punycode(text)
        if len(code) <= _MAX_CODE:
            yield code


def hostname() -> Regex:
    """RFC 1123 section 2.1 with the sizes of RFC 1035 section 2.3.4; A-labels as in RFC 5890."""
    letter, inner = "[0-9A-Za-z]", "[0-9A-Za-z-]"
    pattern = _PLAIN_LABEL.replace("<no x>", "[0-9A-WYZa-wyz]").replace(
        "<no n>", "[0-9A-MO-Za-mo-z-]"
    )
    plain = parse(pattern.replace("<l>", letter).replace("<h>", inner), anchored=True)
    coded = concat(parse("[xX][nN]--", anchored=True), leaf(_ALabel("")))
    label = alt(plain, coded)
    names = concat(label, repeat(concat(literal("."), label), 0, None))
    return intersect(repeat(ANY_CHAR, 1, _MAX_NAME), names)
