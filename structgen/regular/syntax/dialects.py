"""Dialects of patterns: how what ECMA-262 lacks, or reads otherwise, is read in other languages.

`ecma` is ECMA-262 with flag `u`, as JSON Schema wants it. The others are Go's RE2, Java's
`java.util.regex` and Python's `re` with flag ASCII, in what schemas take from them: anchors, inline
flags, names of groups, properties and character classes, classes within classes. What a dialect has
besides (possessive quantifiers, comments, ...) is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from structgen.regular.charset import CharSet
from structgen.regular.syntax.unicode import LINE_END, SPACE


@dataclass(frozen=True)
class Dialect:
    r"""How one language reads a pattern.

    line_end: what `.` leaves out. space: `\s`. anchors: the letters of `\A` (start), `\z` (end) and
    `\Z` (end) that it has. trailing: anchors that also hold before a line end that ends the text.
    inline_flags: whether `(?i)` stands for the rest of a group, and its letters. named: what begins
    a named group beside `(?<`. letters: whether categories of one letter need no braces, as in
    `\pL`. caret: whether `\p{^L}` is `\P{L}`. posix: whether names of POSIX are properties, as in
    `\p{Alnum}`. scripts: what stands before the name of a script or another property, as in
    `\p{IsLatin}`, None where scripts have no such names. brackets: whether classes have
    `[:alnum:]`. operators: whether classes have `&&` and classes within.
    """

    name: str
    line_end: CharSet = LINE_END
    space: CharSet = SPACE
    anchors: str = ""
    trailing: str = ""
    inline_flags: str = ""
    named: tuple[str, ...] = ("<",)
    letters: bool = False
    caret: bool = False
    posix: bool = False
    scripts: str | None = None
    brackets: bool = False
    operators: bool = False


_NEWLINE = CharSet.chars("\n")
ECMA = Dialect("ecma")
RE2 = Dialect(
    "re2",
    line_end=_NEWLINE,
    space=CharSet.chars(" \t\n\f\r"),
    anchors="Az",
    inline_flags="imsU",
    named=("<", "P<"),
    letters=True,
    caret=True,
    scripts="",
    brackets=True,
)
PYTHON = Dialect(
    "python",
    line_end=_NEWLINE,
    space=CharSet.chars(" \t\n\v\f\r"),
    anchors="AZ",
    trailing="$",
    inline_flags="imsau",
    named=("P<",),
)
JAVA = Dialect(
    "java",
    line_end=LINE_END | CharSet.chars("\x85"),
    space=CharSet.chars(" \t\n\v\f\r"),
    anchors="AZz",
    trailing="$Z",
    inline_flags="imsu",
    letters=True,
    posix=True,
    scripts="Is",
    operators=True,
)
DIALECTS = {dialect.name: dialect for dialect in (ECMA, RE2, PYTHON, JAVA)}
AUTO = "auto"
NAMES = (AUTO, *DIALECTS)

_PRINTED = CharSet.of([(0x21, 0x7E)])
_ALPHA = CharSet.of([(0x41, 0x5A), (0x61, 0x7A)])
_DIGITS = CharSet.of([(0x30, 0x39)])
_ALNUM = _ALPHA | _DIGITS
#: character classes of POSIX, by their names in small letters
POSIX = {
    "alnum": _ALNUM,
    "alpha": _ALPHA,
    "ascii": CharSet.of([(0, 0x7F)]),
    "blank": CharSet.chars(" \t"),
    "cntrl": CharSet.of([(0, 0x1F), (0x7F, 0x7F)]),
    "digit": _DIGITS,
    "graph": _PRINTED,
    "lower": CharSet.of([(0x61, 0x7A)]),
    "print": _PRINTED | CharSet.chars(" "),
    "punct": _PRINTED - _ALNUM,
    "space": CharSet.chars(" \t\n\v\f\r"),
    "upper": CharSet.of([(0x41, 0x5A)]),
    "word": _ALNUM | CharSet.chars("_"),
    "xdigit": _DIGITS | CharSet.of([(0x41, 0x46), (0x61, 0x66)]),
}
